"""Kinds of columns: how each is converted to its declared type, and what counts as missing."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from askance.channels.alphabet import Label, label_type, listed

_MISSING_NUMBERS = pa.array(["", "na", "n/a", "nan", "null", "none"])
_NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

_WITH_COMMA = r"-?[0-9][0-9.,' ]*,[0-9]+"
_MAY_BE_WHOLE = r"-?[1-9][0-9]{0,2}(,[0-9]{3})+"
_WITH_THOUSANDS = r"-?[0-9]{1,3}(,[0-9]{3})+\.[0-9]+"
_WITH_MARK = r"[$€£¥]? ?([-\N{MINUS SIGN}]?[0-9]{1,20}(?:\.[0-9]{1,20})?) ?[%$€£¥]?"
_MOST_SHOWN = 40  # characters of a value in a message
_MOST_SEARCHED = 10_000  # values, for other words
_MOST_WORDS = 20  # that a message says how to recode


# Squares of both are full doubles too: every model adds up squares.
_LARGEST = 1e150
_SMALLEST = 1e-150


class Column(Protocol):
    """A declared column: how to convert it and what counts as missing."""

    @property
    def name(self) -> str:
        """Its name in the data."""

    @property
    def missing(self) -> bool:
        """Whether a row may lack it."""

    def convert(self, values: pa.Array) -> pa.Array:
        """Return the values in the declared type; null where they are missing or unusable."""

    def is_missing(self, values: pa.Array) -> pa.Array:
        """Return which values are absent, rather than wrong."""

    def wanted(self) -> str:
        """What a value should have been."""

    def problem(self, values: pa.Array) -> str:
        """Say what is wrong with values that could not be converted: with the first, and what helps all of them."""


class _PlainColumn:
    """A column whose values are shown whole in a message."""

    def is_missing(self, values: pa.Array) -> pa.Array:
        return _blank(values)

    def wanted(self) -> str:
        raise NotImplementedError

    def problem(self, values: pa.Array) -> str:
        return f"{_shown(values[0].as_py())} is not {self.wanted()}"


@dataclass(frozen=True)
class LabelColumn(_PlainColumn):
    """One of a fixed set of labels in every row; converts to a dictionary of exactly these labels."""

    name: str
    labels: tuple[Label, ...]
    missing: bool = False
    recode: tuple[tuple[str, Label], ...] | None = None
    """Which other words stand for which labels; None where nothing could say so."""

    @cached_property
    def _known(self) -> pa.Array:
        return pa.array(self.labels, type=label_type(self.labels, self.name))

    @cached_property
    def _other_words(self) -> tuple[pa.Array, pa.Array]:
        """Other words, and the code of the label that each stands for."""
        meant = [(word, self.labels.index(label)) for word, label in self.recode or () if label in self.labels]
        return pa.array([word for word, _ in meant], pa.string()), pa.array([code for _, code in meant], pa.int32())

    def convert(self, values: pa.Array) -> pa.Array:
        known = self._known
        if pa.types.is_string(known.type):
            found = _as_text(values)
        elif pa.types.is_boolean(known.type):
            found = _as_truth_values(values)
        else:
            # As doubles, so that a 1 that arrives as 1.0 is still a 1.
            known, found = known.cast(pa.float64()), _as_numbers(values)
        codes = pc.index_in(found, value_set=known, skip_nulls=True)
        words, meant = self._other_words
        if len(words):
            codes = pc.coalesce(codes, meant.take(pc.index_in(_as_text(values), value_set=words, skip_nulls=True)))
        return pa.DictionaryArray.from_arrays(codes, self._known)

    def wanted(self) -> str:
        return f"one of {listed(self.labels)}"

    def problem(self, values: pa.Array) -> str:
        said = super().problem(values)
        words = [*dict.fromkeys(map(str, values[:_MOST_SEARCHED].to_pylist()))]
        likely = {word: likely_label(word, self.labels) for word in words[:_MOST_WORDS]}
        near = likely[words[0]]
        if near is None:
            return said
        if self.recode is None:
            return f"{said} (did you mean {near!r}?)"
        # All of them at once, and those that the study knows already: nobody has to come back for each.
        meant = dict(self.recode) | {word: label for word, label in likely.items() if label is not None}
        written = ", ".join(f"{json.dumps(word)} = {json.dumps(label)}" for word, label in meant.items())
        return f"{said} (did you mean {near!r}? The study file can say recode = {{ {written} }})"


_NO, _YES = {"0", "false", "f", "n", "no"}, {"1", "true", "t", "y", "yes"}


def likely_label(word: str, labels: Sequence[Label]) -> Label | None:
    """Return the label that differs from a word by case, spaces or the way to write yes and no; None if there is none.

    Examples
    --------
    >>> likely_label(" No", ("no", "yes")), likely_label("1", ("no", "yes")), likely_label("perhaps", ("no", "yes"))
    ('no', 'yes', None)
    """

    def plain(text: object) -> str:
        return str(text).strip().casefold()

    found = [label for label in labels if plain(label) == plain(word)]
    if not found:
        side = next((words for words in (_NO, _YES) if plain(word) in words), set())
        found = [label for label in labels if plain(label) in side]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class NumberColumn(_PlainColumn):
    """A finite number in every row; ``decimal`` stands before its decimals where it is text."""

    name: str
    missing: bool = False
    decimal: str = "."

    def convert(self, values: pa.Array) -> pa.Array:
        numbers = _as_numbers(values if self.decimal == "." else _with_points(values))
        sizes = pc.abs(numbers)
        # Of what is no number, the comparison is null or false.
        usable = pc.and_(
            pc.less_equal(sizes, _LARGEST), pc.or_(pc.greater_equal(sizes, _SMALLEST), pc.equal(sizes, 0.0))
        )
        return pc.if_else(usable, numbers, pa.scalar(None, pa.float64()))

    def is_missing(self, values: pa.Array) -> pa.Array:
        if _is_text(values):
            lower = pc.utf8_lower(pc.utf8_trim_whitespace(values.cast(pa.string())))
            return pc.or_(values.is_null(), pc.is_in(lower, value_set=_MISSING_NUMBERS))
        return super().is_missing(values)

    def meant(self) -> str:
        """What a value is, without how large it may be."""
        return "a finite number"

    def wanted(self) -> str:
        return f"{self.meant()}, at most {_LARGEST:g} in size, and 0 or at least {_SMALLEST:g}"

    def problem(self, values: pa.Array) -> str:
        said = str(values[0].as_py()).strip()
        if self.decimal == "," and "." in said and len(said) <= _MOST_SHOWN:
            return (
                f'{said!r} has a point, where the study says decimal = ",": write numbers with a comma and nothing else'
            )
        if self.decimal == "." and re.fullmatch(_WITH_COMMA, said) and len(said) <= _MOST_SHOWN:
            # 1,234 may be either, and a factor of a thousand is nothing to guess about.
            whole = f"{said.replace(',', '')} or " if re.fullmatch(_MAY_BE_WHOLE, said) else ""
            return (
                f"{said!r} has a comma: write numbers with a decimal point ({whole}{_with_point(said)}) and nothing "
                'between thousands; or, if all numbers of the table have decimal commas, write decimal = "," under '
                "[study] in the study file"
            )
        if self.decimal == "." and len(said) <= _MOST_SHOWN and re.fullmatch(_WITH_THOUSANDS, said):
            return f"{said!r} has commas: write {said.replace(',', '')}, with nothing between thousands"
        marked = re.fullmatch(_WITH_MARK, said)
        alone = said if marked is None else marked[1].replace("\N{MINUS SIGN}", "-")
        if alone != said:
            return f"{said!r} is not {self.meant()}: write {alone}, as digits alone"
        if _is_text(values) and not re.search("[0-9]", said):  # no limits for what was never meant as a number
            return f"{_shown(said)} is not {self.meant()}"
        return super().problem(values)


@dataclass(frozen=True)
class TextColumn(_PlainColumn):
    """Any text in every row."""

    name: str
    missing: bool = False

    def convert(self, values: pa.Array) -> pa.Array:
        text = _as_text(values)
        return pc.if_else(_blank(text), pa.scalar(None, pa.string()), text)

    def wanted(self) -> str:
        return "text or a whole number"


@dataclass(frozen=True)
class ReportsColumn(_PlainColumn):
    """Reports about numbers, packed as their channel packs them."""

    name: str
    type: pa.DataType
    missing: bool = False

    def convert(self, values: pa.Array) -> pa.Array:
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_binary(kind) or kind == self.type):
            return pa.nulls(len(values), self.type)
        try:  # Spark knows neither bytes of a fixed number nor numbers without a sign
            return values.cast(self.type)
        except pa.ArrowInvalid:
            return pa.nulls(len(values), self.type)

    def is_missing(self, values: pa.Array) -> pa.Array:
        return values.is_null()

    def wanted(self) -> str:
        return f"a report as askance packs it ({self.type})"


def _shown(value: object) -> str:
    said = repr(value)
    return said if len(said) <= _MOST_SHOWN else f"{said[:_MOST_SHOWN]}..."


def _with_point(number: str) -> str:
    """A number as it would be with its last comma as the decimal mark."""
    whole, _, rest = number.rpartition(",")
    return f"{re.sub('[^0-9-]', '', whole)}.{rest}"


def _with_points(values: pa.Array) -> pa.Array:
    """Texts with decimal commas as they are written with points; nothing of a text that has points already."""
    if not _is_text(values):
        return values
    text = values.cast(pa.string())
    dotted = pc.match_substring(text, ".")
    return pc.if_else(dotted, pa.scalar(None, pa.string()), pc.replace_substring(text, ",", "."))


def _is_text(values: pa.Array) -> bool:
    kind = values.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _blank(values: pa.Array) -> pa.Array:
    if _is_text(values):
        return pc.or_(values.is_null(), pc.equal(values.cast(pa.string()).fill_null(""), ""))
    return values.is_null(nan_is_null=True)


def _as_text(values: pa.Array) -> pa.Array:
    kind = values.type
    if _is_text(values) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind):
        return values.cast(pa.string())
    return pa.nulls(len(values), pa.string())


def _as_numbers(values: pa.Array) -> pa.Array:
    kind = values.type
    if _is_text(values):
        text = pc.utf8_trim_whitespace(values.cast(pa.string()))
        try:
            return text.cast(pa.float64())
        except pa.ArrowInvalid:  # some value is no number: find out which
            numeric = pc.match_substring_regex(text, _NUMBER)
            return pc.if_else(numeric, text, pa.scalar(None, pa.string())).cast(pa.float64())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return values.cast(pa.float64(), safe=False)
    if pa.types.is_boolean(kind):
        return values.cast(pa.int8()).cast(pa.float64())
    return pa.nulls(len(values), pa.float64())


def _as_truth_values(values: pa.Array) -> pa.Array:
    if pa.types.is_boolean(values.type):
        return values
    said = pc.utf8_lower(_as_text(values))
    yes = pc.is_in(said, value_set=pa.array(["true", "1"]))
    no = pc.is_in(said, value_set=pa.array(["false", "0"]))
    return pc.if_else(pc.or_(yes, no), yes, pa.scalar(None, pa.bool_()))
