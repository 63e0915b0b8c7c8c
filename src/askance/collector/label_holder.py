"""Private labels that answer a distant learner: everything is checked without them, then paid for, then drawn.

Whatever is said before the ledger has paid is a function of what the learner sent, of the task file and of the ledger.
The checks that look at labels (does a column, or an identifier, tell them?) are made when the service starts, of what
its operator brought; of what a learner sends they are not made: their answer would tell the labels.
"""

import tomllib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import Label, as_labels, listed
from askance.collector.page_settings import only, table
from askance.collector.texts import text_of
from askance.errors import AskanceError, AskanceWarning, BudgetSpent, InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.ledger import Ledger
from askance.releases.counts_release import CountsRelease, release_counts, simulate_counts_release
from askance.releases.labels_told import refuse_telling_identifiers
from askance.releases.mean_operator_preview import preview_mean_operator
from askance.releases.mean_operator_release import MeanOperatorRelease, release_mean_operator
from askance.tables.count_tables import count_labels
from askance.tables.counted_region import is_writable
from askance.tables.identifiers import Identifiers
from askance.tables.people import read_all_labels

TABLE = "labels"
_KEYS = ("file", "id", "label", "classes", "ledger", "largest_epsilon")
_OF_MEAN_OPERATOR = ("ids", "columns", "features", "epsilon", "delta", "mechanism", "intercept", "shape", "anyway")
_OF_COUNTS = ("ids", "bags", "epsilon", "delta", "mechanism")
_COUNT_MECHANISMS = (
    "auto", "discrete-laplace", "truncated-laplace", "discrete-gaussian", "laplace", "gaussian", "laplace-prior",
    "dirichlet",
)  # fmt: skip
_LONGEST = 200  # letters of a name or an identifier
_MOST_COLUMNS = 1000  # turning so many takes a few seconds; it grows with their cube, and others wait
Log = Callable[[str], None]
Made = TypeVar("Made", MeanOperatorRelease, CountsRelease)


class NotReleased(AskanceError):
    """Something went wrong with the labels at hand. Its words say nothing: the label holder's log does."""

    def __init__(self) -> None:
        super().__init__(
            "the release was not made", remedy="The label holder's log says why. It may have been paid for."
        )


@dataclass(frozen=True, eq=False)
class LabelHolder:
    """Labels, whose they are, and the budget that releases about them are paid from.

    Parameters
    ----------
    people : Identifiers
    codes : array
        Which class each of them has.
    classes : tuple of labels
    label : str
        The name of the private column.
    ledger : Ledger
    largest : Fraction, optional
        The largest epsilon that one request may ask for.
    log : callable
        Told what the learner is not: for the operator only.
    """

    people: Identifiers
    codes: NDArray[Any]
    classes: tuple[Label, ...]
    label: str
    ledger: Ledger
    largest: Fraction | None
    log: Log

    @classmethod
    def read(cls, path: Path, log: Log) -> "LabelHolder":
        """Read the task file of a label holder; labels and ledger are beside it."""
        said = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        only(said, (TABLE,), str(path))
        task, where = table(said, TABLE, str(path)), f"[{TABLE}]"
        only(task, _KEYS, where)
        absent = [key for key in _KEYS[:-1] if key not in task]
        if absent:
            raise InvalidInput(f"{where} has no {absent[0]}", "all of file, id, label, classes and ledger")
        classes = as_labels(task["classes"], "classes")
        file, identifier, label, ledger = (text_of(task, key, where) for key in ("file", "id", "label", "ledger"))
        people, codes = read_all_labels(path.parent / file, identifier, label, classes)
        refuse_telling_identifiers(people, codes)
        largest = Budget.of(task["largest_epsilon"]).epsilon if "largest_epsilon" in task else None
        return cls(people, codes, classes, label, Ledger(path.parent / ledger), largest, log)

    # -- what a learner may ask for ------------------------------------------------------------------

    def release(self, path: str, body: Any) -> MeanOperatorRelease | CountsRelease:
        """Check a request, pay for it, and draw the release."""
        return self._mean_operator(body) if path == "/mean-operator" else self._counts(body)

    def _mean_operator(self, body: Any) -> MeanOperatorRelease:
        request = _entries(body, _OF_MEAN_OPERATOR)
        budget = self._level(request)
        columns = _texts(request["columns"], "columns")
        if len(columns) > _MOST_COLUMNS:
            raise InvalidInput(f"{len(columns):,} columns", f"at most {_MOST_COLUMNS:,}", "Larger tables go by files.")
        if len(set(columns)) < len(columns) or self.label in columns:
            raise InvalidInput(f"the columns {listed(columns)}", f"names that differ, and not {self.label!r}")
        order = self._everybody(request["ids"])
        features = _numbers(request["features"], len(columns), len(order))[order]
        intercept, shape, anyway = request["intercept"], request["shape"], request["anyway"]
        if not isinstance(intercept, bool) or not isinstance(anyway, bool) or shape not in ("auto", "none"):
            raise InvalidInput("intercept, anyway or shape", 'true or false, and "auto" or "none"')
        _text(request["mechanism"])
        level = budget.epsilon, budget.delta
        # No label goes into this one: whatever it refuses may be told.
        preview = preview_mean_operator(
            features, *level, request["mechanism"], classes=self.classes, fit_intercept=intercept, shape=shape
        )
        if preview.is_near_guessing and not anyway:
            raise InvalidInput(preview.warning.rstrip("."), "a release that is worth its budget", "Or say --anyway.")
        gaussian = preview.shape is None or preview.mechanism == "gaussian"
        return self._paid(
            lambda: release_mean_operator(
                features,
                np.array(self.classes, dtype=object)[self.codes],
                budget.epsilon,
                budget.delta if gaussian else 0,
                request["mechanism"] if preview.shape is None else preview.mechanism,
                ledger=self.ledger,
                classes=self.classes,
                fit_intercept=intercept,
                shape=preview.shape or "none",
                columns=columns,
                ids=self.people,
                # Columns come from the learner, who knows them: whether they tell labels is the learner's question, and
                # its answer would be one about labels.
                public_columns=columns,
            )
        )

    def _counts(self, body: Any) -> CountsRelease:
        request = _entries(body, _OF_COUNTS)
        budget = self._level(request)
        if request["mechanism"] not in _COUNT_MECHANISMS:
            raise InvalidInput(f"mechanism={_text(request['mechanism'])!r}", f"one of {', '.join(_COUNT_MECHANISMS)}")
        order = self._everybody(request["ids"])
        given = ["all"] * len(order) if request["bags"] is None else _texts(request["bags"], "bags")
        if len(given) != len(order):
            raise InvalidInput(f"{len(given)} bags for {len(order)} people", "a bag for everybody, or null")
        bags = np.array(given)[order]
        choices = budget.epsilon, budget.delta, request["mechanism"]
        counted = count_labels(self.codes, bags, range(len(self.classes)))
        # Everybody in the first class: whatever is refused has nothing to do with labels.
        nobody = np.zeros_like(counted.counts)
        nobody[:, 0] = counted.counts.sum(axis=1)
        simulate_counts_release(
            nobody,
            *choices,
            rng=np.random.default_rng(0),
            classes=self.classes,
            bags=counted.bags,
            people=self.people.texts,
        )
        return self._paid(
            lambda: release_counts(
                counted.counts,
                *choices,
                ledger=self.ledger,
                classes=self.classes,
                bags=counted.bags,
                people=self.people.texts,
            )
        )

    def _paid(self, release: Callable[[], Made]) -> Made:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskanceWarning)  # said by the preview already
            try:
                return release()
            except BudgetSpent:
                raise
            except Exception as error:  # with labels at hand: whatever it says stays here
                self.log(f"a request failed with labels at hand: {type(error).__name__}: {error}")
                raise NotReleased from None

    def _level(self, request: Mapping[str, Any]) -> Budget:
        budget = Budget.of(_text(request["epsilon"]), _text(request["delta"]))  # decimals as text: exact
        if self.largest is not None and budget.epsilon > self.largest:
            raise InvalidInput(f"{budget} in one request", f"at most epsilon {float(self.largest):g}")
        return budget

    def _everybody(self, ids: Any) -> NDArray[np.int64]:
        """Return in which order a learner's rows are those of the labels; who differs is told to the operator only."""
        given, order = Identifiers.sorted(_texts(ids, "ids"))
        if not given.texts.equals(self.people.texts):
            mine, theirs = set(self.people.texts.to_pylist()), set(given.texts.to_pylist())
            self.log(
                f"a request about other people: {len(theirs - mine):,} without a label, {len(mine - theirs):,} left out"
            )
            raise InvalidInput(
                "the people of this request are not those of the labels",
                "exactly the people whom both sides agreed on",
            )
        return order


def _entries(body: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(body, dict) or set(body) != set(names):
        raise InvalidInput("a request with other entries", ", ".join(names))
    return body


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or not is_writable(value):
        raise InvalidInput("an entry that is no text", f"a text of at most {_LONGEST} letters")
    return value


def _texts(values: Any, what: str) -> list[str]:
    if not isinstance(values, list) or not values:
        raise InvalidInput(f"{what} that are no list", "a list of texts")
    if not all(isinstance(value, str) and 0 < len(value) <= _LONGEST and is_writable(value) for value in values):
        raise InvalidInput(f"{what} that are no texts", f"texts of 1 to {_LONGEST} letters")
    return values


def _numbers(columns: Any, wide: int, long: int) -> NDArray[np.float64]:
    right = isinstance(columns, list) and len(columns) == wide
    if not right or not all(isinstance(column, list) and len(column) == long for column in columns):
        raise InvalidInput("features of another size", f"{wide} columns of {long:,} numbers")
    if not all(type(value) in (int, float) for column in columns for value in column):
        raise InvalidInput("a feature that is no number", "numbers")
    try:
        found = np.array(columns, dtype=np.float64).T.copy()
    except OverflowError:
        raise InvalidInput("a number that is too large", "finite numbers") from None
    if not np.isfinite(found).all():
        raise InvalidInput("a number that is not finite", "finite numbers")
    return found
