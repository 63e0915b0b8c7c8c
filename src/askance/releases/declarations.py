"""What a study declares: its questions, each with a channel, and its covariates."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from askance.channels.alphabet import Label, as_labels, label_type, listed
from askance.channels.attributes.row_channel import checked_columns
from askance.channels.base import LabelChannel
from askance.channels.guarantee import Guarantee
from askance.channels.question_channel import QuestionChannel
from askance.errors import InvalidInput
from askance.tables.counted_region import is_writable

_MOST_REPLICATES = 10_000  # columns: no agency publishes more than a few hundred
COVARIATE_TYPES = ("number", "category", "words")


@dataclass(frozen=True)
class Question:
    """A question, and how its answers are hidden.

    Parameters
    ----------
    name : str
        The column that holds the reports.
    channel : finite channel, DesignPerRow, PrivateNumber, PrivateRow, StateFlip, GaussianNoise or LaplaceNoise
        How an answer becomes a report.
    text : str
        The question as it is asked.
    design_column : str, optional
        The column that names each row's design; needed for a DesignPerRow, and only then.
    columns : sequence of str, optional
        For a channel that hides attributes one by one: the columns that they come in. If not given, they come as one
        column of arrays with the question's name.
    recode : pairs of a word and a choice, optional
        Words in a table of answers (or of reports) that stand for a choice, such as ``("No", "no")``.
    decimal : "." or ","
        What stands before the decimals of numbers in a table of text.

    Examples
    --------
    >>> from askance import Warner
    >>> from askance.releases.declarations import Question
    >>> print(Question("cheated", Warner(0.8)).guarantee)
    epsilon 1.386, protects one answer (any two answers of one person)
    """

    name: str
    channel: QuestionChannel
    text: str = ""
    design_column: str | None = None
    columns: tuple[str, ...] | None = None
    recode: tuple[tuple[str, Label], ...] = field(default=(), compare=False)
    decimal: str = field(default=".", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(f"a question called {self.name!r}", "a name that is not empty")
        if not isinstance(self.channel, QuestionChannel):
            raise InvalidInput(f"the channel of {self.name!r} is {self.channel!r}", "a channel such as Warner(0.8)")
        if self.channel.needs_design and not self.design_column:
            raise InvalidInput(
                f"the question {self.name!r} has several designs and no design_column",
                "design_column = the name of the column that says under which design a row was asked",
            )
        if self.design_column and not self.channel.needs_design:
            raise InvalidInput(
                f"the question {self.name!r} has one design and the design_column {self.design_column!r}",
                "no design_column, or several designs",
            )
        if self.columns is not None:
            columns = checked_columns(self.columns)
            vars(self).update(columns=columns, channel=self.channel.for_columns(columns))
        if self.recode and self.channel.hides != "labels":
            raise InvalidInput(f"the question {self.name!r} has recode", "a question with choices, one answer a row")
        if self.recode:
            vars(self).update(recode=_checked_recode(self.recode, self._choices, f"the question {self.name!r}"))
        if not self.hides_numbers:
            label_type(self.report_labels, f"the question {self.name!r}")
        self.channel.arrow_type  # noqa: B018 - refuses a channel that leaves open how many attributes a report has

    @property
    def hides_numbers(self) -> bool:
        """Whether the answer is a number, or a row of numbers, rather than one of a few choices."""
        return self.channel.hides in ("numbers", "attributes")

    @property
    def hides_sequences(self) -> bool:
        """Whether the answer is a sequence of labels, such as the tags of a sentence."""
        return self.channel.hides == "sequences"

    @property
    def hides_features(self) -> bool:
        """Whether the answer is a row of attributes that are hidden one by one."""
        return self.channel.hides == "attributes"

    @property
    def label_channel(self) -> LabelChannel:
        """The channel of an answer out of a few choices; refused if the answer is a number."""
        if self.hides_sequences:
            raise InvalidInput(
                f"the question {self.name!r}, which hides sequences",
                "a question with one answer a row",
                "askance fit fits sequences; in Python, IndirectModel(Chain(tags, features='words')).fit_release(...).",
            )
        if self.hides_numbers:
            raise InvalidInput(
                f"the question {self.name!r}, which hides numbers",
                "a question with choices",
                "Attributes are the features of SpreadClassifier; its label is a question of its own."
                if self.hides_features
                else "Numbers are for regressions: IndirectRegressor, or askance fit with a formula.",
            )
        channel: Any = self.channel
        return channel  # type: ignore[no-any-return]

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that hold the true answer. They stay behind."""
        return self.columns or self.channel.sources(self.name)

    @property
    def arrow_type(self) -> pa.DataType:
        """How reports are stored."""
        return self.channel.arrow_type

    @property
    def guarantee(self) -> Guarantee:
        """The privacy of this answer; of a sequence, of one token."""
        return self.channel.guarantee

    def guarantee_of(self, tokens: int) -> Guarantee:
        """Return the privacy of the whole answer, where it is a sequence of so many tokens."""
        channel: Any = self.channel
        return channel.guarantee_of(tokens) if self.hides_sequences and tokens else self.guarantee

    @property
    def designs(self) -> Mapping[str, Any]:
        """The designs by name; a single design has the name ""."""
        channel: Any = self.channel
        return channel.designs if channel.needs_design else {"": channel}

    @property
    def _choices(self) -> tuple[Label, ...]:
        """Everything that an answer or a report may be."""
        channel: Any = self.channel
        return tuple(dict.fromkeys([*channel.classes, *self.report_labels]))

    @cached_property
    def report_labels(self) -> tuple[Label, ...]:
        """Every report that some design can give."""
        return tuple(dict.fromkeys(label for law in self.designs.values() for label in law.report_labels))

    def declaration(self) -> dict[str, Any]:
        """Return what a study file says about it."""
        said = {"text": self.text} if self.text else {}
        declared = self.channel.declaration()
        if self.columns is not None:
            declared = {"columns": self.columns} | {key: value for key, value in declared.items() if key != "width"}
        if self.design_column is not None:
            declared = {"choices": declared.pop("choices"), "design_column": self.design_column} | declared
        recode = {"recode": dict(self.recode)} if self.recode else {}
        return said | declared | recode

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping (without the name, which is its key in the header)."""
        fields = {
            "text": self.text,
            "channel": self.channel.to_spec(),
            "guarantee": self.guarantee.to_dict(),
            "design_column": self.design_column,
        }
        return fields if self.columns is None else fields | {"columns": list(self.columns)}


@dataclass(frozen=True)
class Covariate:
    """Something else that is known about a person, published as it is.

    Parameters
    ----------
    name : str
        The column.
    type : "number", "category" or "words"
        How a model should read it. Words are a list of texts in every row, such as those of a sentence.
    levels : tuple of labels, optional
        The categories that may occur; any text if not given.
    missing : bool
        Whether a row may lack it.
    recode : pairs of a word and a level, optional
        Words in a table that stand for a level.
    decimal : "." or ","
        What stands before the decimals of numbers in a table of text.
    """

    name: str
    type: str = "number"
    levels: tuple[Label, ...] | None = None
    missing: bool = False
    recode: tuple[tuple[str, Label], ...] = field(default=(), compare=False)
    decimal: str = field(default=".", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(f"a covariate called {self.name!r}", "a name that is not empty")
        if self.type not in COVARIATE_TYPES:
            raise InvalidInput(f"the covariate {self.name!r} has type {self.type!r}", " or ".join(COVARIATE_TYPES))
        if self.levels is not None:
            if self.type != "category":
                raise InvalidInput(f"the covariate {self.name!r} is a {self.type} with levels", 'type = "category"')
            vars(self).update(levels=as_labels(self.levels, "levels"))
            label_type(self.levels, f"the covariate {self.name!r}")
        if self.recode:
            if self.levels is None:
                raise InvalidInput(f"the covariate {self.name!r} has recode", "levels = [...], which words stand for")
            vars(self).update(recode=_checked_recode(self.recode, self.levels, f"the covariate {self.name!r}"))

    @property
    def arrow_type(self) -> pa.DataType:
        """How it is stored."""
        if self.type == "number":
            return pa.float64()
        if self.type == "words":
            return pa.list_(pa.string())
        return pa.string() if self.levels is None else label_type(self.levels, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        levels = None if self.levels is None else list(self.levels)
        return {"name": self.name, "type": self.type, "levels": levels, "missing": self.missing}


def _checked_recode(recode: Any, labels: Sequence[Label], where: str) -> tuple[tuple[str, Label], ...]:
    """Return words and the labels that they stand for; refuse words that are labels already, and strange labels."""
    if not isinstance(recode, Mapping | list | tuple):
        raise InvalidInput(f"{where} has recode = {recode!r}", 'a table, such as { "No" = "no" }')
    pairs = tuple((str(word), label) for word, label in dict(recode).items())
    for word, label in pairs:
        if label not in labels:
            raise InvalidInput(f"{where} recodes {word!r} as {label!r}", f"one of {listed(tuple(labels))}")
        if word in map(str, labels):  # as text: a 1 in a table is found as the label 1 before anything is recoded
            raise InvalidInput(f"{where} recodes {word!r}, which is a label itself", "a word that is none")
    return pairs


@dataclass(frozen=True)
class Sample:
    """How people came into the sample: columns of covariates that say so.

    Parameters
    ----------
    weight : str, optional
        Sampling weights.
    strata, cluster : str, optional
        The stratum and the primary sampling unit of each row.
    fpc : str, optional
        The population of the stratum, in units that are sampled, or the share of it that is in the sample.
    missing : "refuse" or "drop", optional
        What is done with rows that lack something that a fit needs.
    replicate_weights : sequence of str, optional
        Columns of replicate weights, instead of strata and clusters; ``"rw1..rw80"`` stands for eighty of them.
    replicate_method : str, optional
        How these were made: "jk1", "jkn", "brr", "fay" or "bootstrap".
    rho : float, optional
        Of "fay".
    rscales : sequence of float, optional
        Of "jkn".

    Examples
    --------
    >>> Sample(weight="heft", replicate_weights=["rw1..rw3"]).replicate_weights
    ('rw1', 'rw2', 'rw3')
    """

    weight: str | None = None
    strata: str | None = None
    cluster: str | None = None
    fpc: str | None = None
    missing: str | None = None
    replicate_weights: Sequence[str] | None = None
    replicate_method: str | None = None
    rho: float | None = None
    rscales: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.replicate_weights is not None:
            vars(self)["replicate_weights"] = numbered_columns(self.replicate_weights)
        if self.rscales is not None:
            if not isinstance(self.rscales, list | tuple) or not all(map(_is_number, self.rscales)):
                raise InvalidInput(f"the sample has rscales = {self.rscales!r}", "a list of numbers")
            vars(self)["rscales"] = tuple(map(float, self.rscales))
        if self.rho is not None and not _is_number(self.rho):
            raise InvalidInput(f"the sample has rho = {self.rho!r}", "a number from 0 to 1")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping of what is declared."""
        declared = {name: value for name, value in vars(self).items() if value is not None}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in declared.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it names."""
        one = (self.weight, self.strata, self.cluster, self.fpc)
        return (*(name for name in one if name), *(self.replicate_weights or ()))

    def check(self, covariates: "Sequence[Covariate]") -> None:
        """Refuse columns that are not published."""
        declared = [covariate.name for covariate in covariates]
        uses = [(use, getattr(self, use)) for use in ("weight", "strata", "cluster", "fpc")]
        uses += [("replicate_weights", column) for column in self.replicate_weights or ()]
        for use, column in uses:
            if column is not None and column not in declared:
                raise InvalidInput(
                    f"the sample has {use} = {column!r}, which is no covariate",
                    f"one of {', '.join(declared)}" if declared else "a covariate",
                    f"Declare [covariates.{column}]: who analyses a release needs the column.",
                )
        if self.missing not in (None, "refuse", "drop"):
            raise InvalidInput(f"the sample has missing = {self.missing!r}", '"refuse" or "drop"')


def numbered_columns(names: Any) -> tuple[str, ...]:
    """Return names of columns, with ``"rw1..rw80"`` written out.

    Examples
    --------
    >>> numbered_columns(["w", "rw08..rw10"])
    ('w', 'rw08', 'rw09', 'rw10')
    """
    given = [names] if isinstance(names, str) else names
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) and name for name in given):
        raise InvalidInput(f"replicate_weights = {names!r}", 'names of columns, such as ["rw1", "rw2"] or "rw1..rw80"')
    found: list[str] = []
    for name in given:
        ends = re.fullmatch(r"(.*?)([0-9]+)\.\.(.*?)([0-9]+)", name)
        if ends is None or ends[1] != ends[3]:
            found.append(name)
            continue
        first, last = int(ends[2]), int(ends[4])
        if not 0 <= last - first < _MOST_REPLICATES:
            raise InvalidInput(f"{name!r}", f"a range of at most {_MOST_REPLICATES} columns, the smaller number first")
        width = len(ends[2]) if ends[2].startswith("0") else 0
        found += [f"{ends[1]}{number:0{width}d}" for number in range(first, last + 1)]
    return tuple(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


SIMPLE_SAMPLE = Sample()  # people drawn one by one, all with the same chance


def check_names(questions: Sequence[Question], covariates: Sequence[Covariate]) -> None:
    """Refuse two uses of one column; only a design column may serve several questions."""
    designs = dict.fromkeys(question.design_column for question in questions if question.design_column)
    names = [*(question.name for question in questions), *designs, *(covariate.name for covariate in covariates)]
    broken = [name for name in names if not is_writable(name)]
    if broken:
        raise InvalidInput(f"a column named {broken[0]!r}", "text that UTF-8 can hold")
    hidden = {name for question in questions for name in question.sources} - {question.name for question in questions}
    published = sorted(hidden.intersection(names))
    if published:
        raise InvalidInput(
            f"the column {', '.join(map(repr, published))} is hidden as part of a row, and declared again",
            "every column once",
            "A covariate is published as it is: what is hidden must not be one.",
        )
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InvalidInput(
            f"the column {', '.join(map(repr, twice))} is declared more than once",
            "questions, design columns and covariates to have different names",
            "A design column is published anyway and needs no declaration of its own."
            if set(twice) & set(designs)
            else "",
        )
