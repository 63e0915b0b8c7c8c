"""Whether public columns or identifiers tell the private labels: then no noise would hide them.

Four ways are looked for, one column at a time: each class has its own narrow range of values, far from the others; one
value belongs to some classes alone; each of a few values belongs to one class; the last digit does. Some people may be
exceptions. Of what several columns tell together only sums are looked for: a column and the same column plus the label,
say. What somebody took pains to hide (in the last bit of a number, in the parity of two columns) is not found.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.mechanisms.person_keys import id_texts
from askance.tables.identifiers import Identifiers

# Labels of which one in twenty was changed are still labels: so many exceptions are allowed, and a little more, as the
# changes fall on classes by chance. Measured columns that are right for 94% of each class hardly exist.
_CHANGED = 0.06
# With more values than classes a column can be a real feature that predicts very well: the odour of mushrooms, nine
# values, tells for 98.5% whether they are edible, and a pixel of handwritten digits is white in 94% of all zeros and of
# little else. It is the labels in disguise if it is right for 99%.
_DISGUISED = 0.01
# A sum of columns that is right for everybody, to so many digits, is no prediction: labels are never without error.
_EXACT = 1e-6
# What chance does so often, in all columns of a table together, is no reason to refuse it.
_CHANCE = 1e-3
# Ranges of two classes are far apart if they are so many widths apart. Of iris, which is easier than most data, the
# petals of one kind are 1.4 widths away from those of the others; labels plus noise can be any number of widths away.
_FAR = 3.0
# People of each class who are looked at: five in a hundred exceptions are 50 +- 7 of them, well below the 75 allowed.
_PEOPLE = 1000
# A column of the digits 0 to 9 has so many values.
_FEW_VALUES = 10
# The first and the last so many characters of identifiers are looked at, and as many words.
_ENDS, _WORDS = 3, 6


def refuse_named_label(labels: Any, names: Sequence[str]) -> None:
    """Refuse labels that are a column, as of pandas, whose name is that of a feature."""
    name = getattr(labels, "name", None)
    if isinstance(name, str) and name in names:
        raise InvalidInput(
            f"the private column {name!r} among the public features",
            "features without it",
            "Take it out; or rename it, if it is another column.",
        )


def refuse_telling_columns(
    features: NDArray[Any], codes: Codes, names: Sequence[str], public: Sequence[str] = ()
) -> None:
    """Refuse a column that tells nearly every label, unless its owner says that it is public all the same.

    Examples
    --------
    >>> labels = np.arange(100) % 2
    >>> refuse_telling_columns(np.c_[np.arange(100.0), 7 - 2 * labels], labels, ["a", "b"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    askance.errors.InvalidInput: ...the feature 'b' tells nearly every label...
    """
    strangers = [name for name in public if name not in names]
    if strangers:
        raise InvalidInput(f"public_columns with {listed(strangers)}", f"names of features: {listed(names)}")
    places = _some_of_each(codes)
    if len(places) < 2:
        return
    blocks = [np.asarray(features[place], dtype=np.float64) for place in places]
    chance = _CHANCE / len(names)
    cores = [_cores(block) for block in blocks]
    low, high = np.array([core[0] for core in cores]), np.array([core[1] for core in cores])
    # Where the ranges of all classes have a point in common, only the third way is left.
    differ = low.max(axis=0) > high.min(axis=0)
    few = _few_values(blocks, _most_values(len(places)))
    for j in np.flatnonzero(differ | few | _few_last_digits(blocks)).tolist():
        columns = [block[:, j] for block in blocks]
        if names[j] not in public and (
            _far_apart(columns, low[:, j], high[:, j], chance)
            or _own_value(columns, low[:, j], high[:, j], chance)
            or (few[j] and _told_by_values(columns, chance))
            or _told_by_the_last_digit(columns, chance)
        ):
            raise InvalidInput(
                f"the feature {names[j]!r} tells nearly every label",
                "public features without the private labels",
                "Take the column out: whoever knows it knows the labels, whatever the noise. If it is no copy of them "
                f"and everybody may know it, say so: public_columns=[{names[j]!r}], or --public-columns.",
            )
    if telling := _told_by_a_sum(blocks, [j for j, name in enumerate(names) if name not in public]):
        raise InvalidInput(
            f"the features {listed([names[j] for j in telling])} tell every label: by a sum of them",
            "public features without the private labels",
            "Take out what was made from the labels, such as a total that has them in it. If everybody may know all of "
            "them, say so: public_columns, or --public-columns.",
        )


def refuse_telling_identifiers(ids: Any, codes: Codes) -> None:
    """Refuse identifiers of which the beginning, the end or a word tells nearly every label.

    Examples
    --------
    >>> names = [f"{i}-{'no yes'.split()[i % 2]}" for i in range(100)]
    >>> refuse_telling_identifiers(names, np.arange(100) % 2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    askance.errors.InvalidInput: ...identifiers that tell nearly every label...
    """
    places = _some_of_each(codes)
    if len(places) < 2:
        return
    names = ids.texts if isinstance(ids, Identifiers) else id_texts(ids)
    if len(names) != len(codes):
        raise InvalidInput(f"{len(names)} identifiers for {len(codes)} rows", "one for each row")
    stops = np.cumsum([len(place) for place in places])[:-1]
    parts = list(_parts(names.take(np.concatenate(places)).to_pylist()))
    for words, where in parts:
        values, column = np.unique(words, return_inverse=True)
        columns = np.split(column.astype(np.float64), stops)
        # Not more values than classes: that odd and even numbers alternate, as labels may, says little.
        if len(values) <= len(places) and _told_by_values(columns, _CHANCE / len(parts)):
            raise InvalidInput(
                f"identifiers that tell nearly every label: by their {where}",
                "identifiers that say nothing about the labels",
                "Both sides hold the identifiers. Agree on others, such as numbers drawn at random.",
            )


def refuse_telling_bags(counts: NDArray[Any], column: str) -> None:
    """Refuse counts of people, bags x classes, if to know their bags is to know nearly every label."""
    if values_tell(np.asarray(counts, dtype=np.int64).T):
        raise InvalidInput(
            f"bags that tell nearly every label: the column {column!r}",
            "bags of people with different labels",
            "Who is in which bag is taken to be known: no noise hides such labels. If the column is no copy of them, "
            "and everybody may know it, say --public-bags.",
        )


def _parts(texts: list[str]) -> Iterator[tuple[list[str], str]]:
    """Yield what may be hidden in identifiers, and where it is."""
    for size in range(1, _ENDS + 1):
        yield [text[-size:] for text in texts], f"last {size} characters" if size > 1 else "last character"
        yield [text[:size] for text in texts], f"first {size} characters" if size > 1 else "first character"
    words = [re.split(r"[\W_]+", text) for text in texts]
    for place in range(min(_WORDS, max(map(len, words)))):
        yield [each[place] if place < len(each) else "" for each in words], f"words (number {place + 1})"


def _some_of_each(codes: Codes) -> list[NDArray[np.int64]]:
    """Return some rows of each class, evenly spread."""
    present = np.flatnonzero(np.bincount(codes))
    found = []
    for code in present:
        place = np.flatnonzero(codes == code)
        some = np.linspace(0, len(place) - 1, min(_PEOPLE, len(place))).astype(np.int64)
        found.append(place[some])
    return found


def _most_values(classes: int) -> int:
    return max(_FEW_VALUES, 2 * classes)


def _allowed(people: int, rate: float) -> int:
    """Return how many exceptions there may be: two standard deviations more than the rate."""
    return int(rate * people + 2 * math.sqrt(rate * people))


def _cores(block: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the narrowest range of each column that has everybody but the exceptions."""
    ordered = np.sort(block, axis=0)
    spare = _allowed(len(block), _CHANGED)
    tops = ordered[len(block) - 1 - spare :]
    with np.errstate(over="ignore", invalid="ignore"):  # ranges may be wider than the largest double
        first = np.argmin(tops - ordered[: spare + 1], axis=0)
    each = np.arange(block.shape[1])
    return ordered[first, each], tops[first, each]


def _few_values(blocks: list[NDArray[np.float64]], most: int) -> NDArray[np.bool_]:
    """Return which columns have few values."""
    ordered = np.sort(np.concatenate(blocks), axis=0)
    steps = np.count_nonzero(ordered[1:] != ordered[:-1], axis=0)
    return np.asarray((steps > 0) & (steps < most))


def _few_last_digits(blocks: list[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Return which columns are whole numbers that end in no more digits than there are classes."""
    rows = np.concatenate(blocks)
    with np.errstate(over="ignore", invalid="ignore"):
        digits = np.mod(rows, 10)
        whole = (digits == np.rint(digits)).all(axis=0) & (np.ptp(rows, axis=0) >= 10)
    found = [np.isin(digits, digit).any(axis=0) for digit in range(10)]
    return np.asarray(whole & (np.sum(found, axis=0) <= len(blocks)))


def _told_by_the_last_digit(columns: list[NDArray[np.float64]], chance: float) -> bool:
    """Whether the label was put behind another number."""
    digits = [np.mod(column, 10) for column in columns]
    # Not more digits than classes: that odd and even numbers alternate, as labels may, says little.
    return len(np.unique(np.concatenate(digits))) <= len(columns) and _told_by_values(digits, chance)


def _far_apart(
    columns: list[NDArray[np.float64]], low: NDArray[np.float64], high: NDArray[np.float64], chance: float
) -> bool:
    """Whether the narrow ranges of some classes are far above those of the others."""
    order = np.argsort(low)
    with np.errstate(over="ignore", invalid="ignore"):
        tops = np.maximum.accumulate(high[order])[:-1]
        gaps = low[order][1:] - tops
        widest = np.max(high - low)
    at = int(np.argmax(gaps))
    if not gaps[at] > max(0.0, _FAR * widest):
        return False
    above = set(order[at + 1 :].tolist())
    inside = [int(np.count_nonzero(column > tops[at])) for column in columns]
    return _surprises([len(column) for column in columns], inside, above, 2.0 ** len(columns), chance)


def _own_value(
    columns: list[NDArray[np.float64]], low: NDArray[np.float64], high: NDArray[np.float64], chance: float
) -> bool:
    """Whether one value is that of everybody in some classes, and of nobody in the others, but for few exceptions."""
    sizes = [len(column) for column in columns]
    for value in np.unique(low[low == high]):
        theirs = set(np.flatnonzero((low == value) & (high == value)).tolist())
        inside = [int(np.count_nonzero(column == value)) for column in columns]
        wrong = [sizes[k] - inside[k] if k in theirs else inside[k] for k in range(len(columns))]
        alone = all(few <= _allowed(size, _DISGUISED) for few, size in zip(wrong, sizes, strict=True))
        if alone and _surprises(sizes, inside, theirs, 2.0 ** len(columns), chance):
            return True
    return False


def _told_by_values(columns: list[NDArray[np.float64]], chance: float) -> bool:
    """Whether each value belongs to one class, but for exceptions; for a column of few values."""
    values = np.unique(np.concatenate(columns))
    counts = np.array([[np.count_nonzero(column == value) for value in values] for column in columns])
    sizes = counts.sum(axis=1)
    owner = np.argmax(counts / sizes[:, None], axis=0)
    rate = _CHANGED if len(values) <= len(columns) else _DISGUISED
    right = np.array([counts[k, owner == k].sum() for k in range(len(columns))])
    if any(size - mine > _allowed(int(size), rate) for size, mine in zip(sizes, right, strict=True)):
        return False
    for k in range(len(columns)):
        inside = counts[:, owner == k].sum(axis=1)
        if _surprises(sizes.tolist(), inside.tolist(), {k}, 2.0 ** len(values), chance):
            return True
    return False


def values_tell(counts: NDArray[np.int64]) -> bool:
    """Whether each value of a column belongs to one class, but for exceptions, and not by chance.

    Of all ways to deal the labels to so many people, no more are told by such a column than classes can be given to
    values, and exceptions be picked.

    Parameters
    ----------
    counts : array, classes x values
        People.

    Examples
    --------
    >>> values_tell(np.array([[50, 0, 0, 20], [0, 40, 30, 0]])), values_tell(np.array([[50, 20], [40, 30]]))
    (True, False)
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    classes, values = counts.shape
    if classes < 2 or values < 2:
        return False
    sizes = counts.sum(axis=1)
    owner = np.argmax(counts / sizes[:, None], axis=0)
    rate = _CHANGED if values <= classes else _DISGUISED
    wrong = sizes - np.array([counts[k, owner == k].sum() for k in range(classes)])
    if any(few > _allowed(int(size), rate) for few, size in zip(wrong, sizes, strict=True)):
        return False
    people, exceptions = int(sizes.sum()), int(wrong.sum())
    every = math.lgamma(people + 1) - sum(math.lgamma(int(size) + 1) for size in sizes)
    described = (values + exceptions) * math.log(classes) + _log_choices(people, exceptions)
    return bool(described - every < math.log(_CHANCE))


def _told_by_a_sum(blocks: list[NDArray[np.float64]], use: list[int]) -> list[int]:
    """Return columns of which a weighted sum is one number for a class and another for everybody else, if there are."""
    rows, owner = np.concatenate(blocks)[:, use], np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    step = max(1, len(rows) // max(_PEOPLE, 3 * len(use)))  # more people than that cost time, and tell nothing new
    rows, owner = rows[::step], owner[::step]
    with np.errstate(over="ignore", invalid="ignore"):
        spread = rows.std(axis=0)
    kept = np.flatnonzero(np.isfinite(spread) & (spread > 0))
    if 2 * len(kept) > len(rows) - 2:  # so many columns can say anything about so few people
        return []
    columns = (rows[:, kept] - rows[:, kept].mean(axis=0)) / spread[kept]
    belongs = (owner[:, None] == np.arange(len(blocks))).astype(np.float64)
    sizes = belongs.sum(axis=0)
    belongs -= belongs.mean(axis=0)
    weights = np.linalg.lstsq(columns, belongs, rcond=1e-9)[0]
    # The root mean square error, of a number that is 0 or 1.
    errors = np.sqrt(np.mean((columns @ weights - belongs) ** 2, axis=0))
    nearest = int(np.argmin(errors))
    # Columns of few values give not many more sums than four for each: less than the ways to deal the labels.
    ways = 2 * (len(kept) + 1) * math.log(2)
    if errors[nearest] > _EXACT or _log_choices(len(rows), int(sizes[nearest])) < ways - math.log(_CHANCE):
        return []
    return [use[int(j)] for j in kept[np.abs(weights[:, nearest]) > _EXACT]]


def _surprises(sizes: list[int], inside: list[int], theirs: set[int], ways: float, chance: float) -> bool:
    """Whether so many of some classes inside of a set would be a rare chance, if labels were dealt at random.

    The set and the classes were picked after looking, in one of so many ways.
    """
    people, group, drawn = sum(sizes), sum(sizes[k] for k in theirs), sum(inside)
    hits = sum(inside[k] for k in theirs)
    every = _log_choices(people, drawn)
    terms = (
        math.exp(_log_choices(group, x) + _log_choices(people - group, drawn - x) - every)
        for x in range(max(hits, drawn - (people - group)), min(group, drawn) + 1)
    )
    return ways * sum(terms) < chance


def _log_choices(of: int, take: int) -> float:
    return math.lgamma(of + 1) - math.lgamma(take + 1) - math.lgamma(of - take + 1)
