"""What a release says about itself: questions, channels, covariates and the privacy of a whole person.

The header travels inside the Parquet file as JSON, so nobody types a privacy parameter twice and a file
that was separated from its study is still understood.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa

from askance import __version__
from askance.channels.guarantee import HOWEVER_FAR_APART, ONE_TOKEN, Guarantee, proof_page
from askance.channels.specs import channel_from_spec
from askance.errors import InvalidInput, ReleaseError, did_you_mean
from askance.releases.declarations import SIMPLE_SAMPLE, check_names
from askance.releases.declarations import Covariate as Covariate
from askance.releases.declarations import Question as Question
from askance.releases.declarations import Sample as Sample
from askance.releases.restated import check_restated, once_each
from askance.tables.data_files import METADATA_KEY

_SEALED = "sealed"
_MADE_UP = "made_up"
_COMPOSITION = "One person answers every question, so the levels of the questions add up."


def whole_person(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Compose the guarantees of all answers of one person: epsilons and deltas add.

    Examples
    --------
    >>> from askance import Warner
    >>> from askance.releases.header import whole_person
    >>> print(whole_person([Warner(0.75).guarantee, Warner(0.75).guarantee]))
    epsilon 2.197, protects all 2 answers of one person together (any two sets of answers of one person)
    """
    parts = list(guarantees)
    if len(parts) == 1:
        return parts[0]
    endless = any(HOWEVER_FAR_APART in part.neighbours for part in parts)
    # Nobody knows here how long sequences are: each counts with one token, and the statement says so.
    of_tokens = any(ONE_TOKEN in part.neighbours for part in parts)
    return Guarantee(
        epsilon=math.fsum(part.epsilon for part in parts),
        delta=math.fsum(part.delta for part in parts),
        protects=f"all {len(parts)} answers of one person together{', of a sequence one token' if of_tokens else ''}",
        neighbours=f"any two sets of answers of one person{f' whose sequences {ONE_TOKEN}' if of_tokens else ''}"
        f"{HOWEVER_FAR_APART if endless else ''}",
        per_attribute=tuple(level for part in parts for level in part.per_attribute or (part.epsilon,)),
        proof=proof_page("composition"),
    )


@dataclass(frozen=True)
class Header:
    """Everything that a learner must know about a release besides its rows.

    Parameters
    ----------
    questions : tuple of Question
    covariates : tuple of Covariate
    study, title : str
        The study's short and long name.
    askance : str
        The version that wrote the release.
    sample : Sample
        How people came into the sample.
    sealed : bool
        Whether the file that it is in has a seal, by which it notices that a bit has changed.
    made_up : bool
        Whether ``askance simulate`` made up the answers. A release of an earlier version does not say.
    """

    FORMAT: ClassVar[str] = "askance-release"
    VERSION: ClassVar[int] = 1

    questions: tuple[Question, ...]
    covariates: tuple[Covariate, ...] = ()
    study: str = ""
    title: str = ""
    askance: str = __version__
    sealed: bool = field(default=False, compare=False)
    sample: Sample = SIMPLE_SAMPLE
    made_up: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        vars(self).update(questions=tuple(self.questions), covariates=tuple(self.covariates))
        if not self.questions:
            raise InvalidInput("no questions", "at least one")
        check_names(self.questions, self.covariates)
        self.sample.check(self.covariates)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The privacy of a person who answers every question; of a sequence, of one token."""
        return whole_person(question.guarantee for question in self.questions)

    def guarantee_of(self, longest: Mapping[str, int]) -> Guarantee:
        """Return the privacy of a person who answers every question, with sequences of up to so many tokens."""
        return whole_person(question.guarantee_of(longest.get(question.name, 0)) for question in self.questions)

    @cached_property
    def design_columns(self) -> tuple[str, ...]:
        """Columns that name a row's design."""
        return tuple(dict.fromkeys(q.design_column for q in self.questions if q.design_column))

    @cached_property
    def unprotected(self) -> tuple[str, ...]:
        """Columns that leave as they are: designs, covariates, and questions whose reports can reveal the answer."""
        revealed = [question.name for question in self.questions if math.isinf(question.guarantee.epsilon)]
        return (*self.design_columns, *(covariate.name for covariate in self.covariates), *revealed)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a release with this header: reports, then designs, then covariates."""
        types: dict[str, pa.DataType] = {question.name: question.arrow_type for question in self.questions}
        types |= dict.fromkeys(self.design_columns, pa.string())
        types |= {covariate.name: covariate.arrow_type for covariate in self.covariates}
        return pa.schema(list(types.items()))

    @cached_property
    def source_columns(self) -> tuple[str, ...]:
        """The columns that true answers come in: those of the questions, designs and covariates."""
        answers = [name for question in self.questions for name in question.sources]
        public = [*self.design_columns, *(covariate.name for covariate in self.covariates)]
        return tuple(dict.fromkeys([*answers, *public]))

    def question(self, name: str | None = None) -> Question:
        """Return a question by name, or the only one there is."""
        by_name = {question.name: question for question in self.questions}
        if name is None:
            if len(by_name) > 1:
                raise InvalidInput(
                    f"the release has {len(by_name)} questions and none was named",
                    f"one of {', '.join(by_name)}",
                )
            return self.questions[0]
        if name not in by_name:
            raise InvalidInput(
                f"no question {name!r} in the release", f"one of {', '.join(by_name)}", did_you_mean(name, by_name)
            )
        return by_name[name]

    def question_about(self, name: str | None = None, left: str | None = None) -> Question:
        """Return the question that is named, or that the left side of a formula is about: by name, or by a column that
        it hides. The only one, if neither is given.
        """
        if name is not None or left is None:
            asked = self.question(name)
            if left is not None and left not in (asked.name, *asked.sources):
                raise InvalidInput(
                    f"the question {asked.name!r} and a formula about {left!r}", "the same question in both"
                )
            return asked
        fitting = [q for q in self.questions if left == q.name] or [q for q in self.questions if left in q.sources]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise InvalidInput(
                f"the column {left!r} is hidden by {len(fitting)} questions",
                f"one of {', '.join(question.name for question in fitting)} by name",
            )
        known = dict.fromkeys(n for question in self.questions for n in (question.name, *question.sources))
        if len(known) == len(self.questions):
            return self.question(left)  # which says that there is none
        raise InvalidInput(
            f"no question and no hidden column {left!r} in the release",
            f"one of {', '.join(known)}",
            did_you_mean(left, known),
        )

    def same_study(self, other: "Header") -> bool:
        """Whether two headers describe the same columns and channels, whichever version wrote them."""
        return replace(self, askance="", made_up=False).to_dict() == replace(other, askance="", made_up=False).to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-able header."""
        sample = {"sample": said} if (said := self.sample.to_dict()) else {}
        made_up = {_MADE_UP: True} if self.made_up else {}
        return {
            "format": self.FORMAT,
            "version": self.VERSION,
            "askance": self.askance,
            "study": self.study,
            "title": self.title,
            "questions": {question.name: question.to_dict() for question in self.questions},
            "covariates": [covariate.to_dict() for covariate in self.covariates],
            "guarantee": self.guarantee.to_dict() | {"composition": _COMPOSITION},
            **sample,
            **made_up,
        }

    def to_metadata(self, *, sealed: bool = False) -> dict[bytes, bytes]:
        """Return the Parquet key-value metadata that holds this header, for a file that will be sealed or not."""
        said = self.to_dict() | ({_SEALED: True} if sealed else {})
        return {METADATA_KEY: json.dumps(said, allow_nan=False, ensure_ascii=False).encode()}

    @classmethod
    def from_metadata(cls, metadata: Mapping[bytes, bytes] | None, path: str) -> "Header":
        """Read the header of the file ``path`` from its Parquet metadata."""
        raw = (metadata or {}).get(METADATA_KEY)
        if raw is None:
            raise ReleaseError(
                f"{path} is a Parquet file without an askance header",
                "a release written by askance",
                "To make one from true answers: askance privatize study.toml DATA --out RELEASE.",
            )
        try:
            fields = json.loads(raw, object_pairs_hook=once_each)
            if fields["format"] != cls.FORMAT:
                raise ReleaseError(f"{path} has the format {fields['format']!r}", repr(cls.FORMAT))
            if fields["version"] != cls.VERSION:
                raise ReleaseError(
                    f"{path} has a header of version {fields['version']!r}, by askance {fields['askance']}",
                    f"version {cls.VERSION}",
                    f"Upgrade askance (this is {__version__}) to read it.",
                )
            return cls.from_dict(fields)
        except InvalidInput as error:
            raise ReleaseError(f"the header of {path} describes what cannot be: {error}") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ReleaseError(
                f"the header of {path} is damaged ({type(error).__name__}: {error})",
                remedy="Write the release again from its source.",
            ) from error

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Header":
        """Read what :meth:`to_dict` wrote, and check that the promise follows from the channels."""
        questions = []
        for name, said in fields["questions"].items():
            channel = channel_from_spec(said["channel"])
            columns = said.get("columns")
            questions.append(Question(name, channel, said["text"], said["design_column"], columns))
            _check_promise(Guarantee.from_dict(said["guarantee"]), channel.guarantee, f"question {name!r}")
        covariates = [
            Covariate(c["name"], c["type"], None if c["levels"] is None else tuple(c["levels"]), c["missing"])
            for c in fields["covariates"]
        ]
        sealed = _SEALED in fields
        about = (fields["study"], fields["title"], fields["askance"], sealed)
        sample, made_up = Sample(**fields.get("sample", {})), fields.get(_MADE_UP) is True
        header = cls(tuple(questions), tuple(covariates), *about, sample, made_up)
        _check_promise(Guarantee.from_dict(fields["guarantee"]), header.guarantee, "whole person")
        if sealed:
            check_restated(dict(fields), header.to_dict() | {_SEALED: True})
        else:
            _check_words(fields, header.to_dict())
        return header


def _check_promise(said: Guarantee, real: Guarantee, what: str) -> None:
    # A header that promises another level than its channel gives was edited or damaged. Logarithms may differ in their
    # last digits from machine to machine.
    if not (said.epsilon == real.epsilon or math.isclose(said.epsilon, real.epsilon, rel_tol=1e-9)):
        raise InvalidInput(
            f"it promises epsilon {said.epsilon:g} for the {what}", f"{real.epsilon:g}, as its channel gives"
        )


def _check_words(said: Mapping[str, Any], real: Mapping[str, Any]) -> None:
    """Check all that version 0.1.0 said about guarantees; that had no page of proofs yet."""
    pairs = [(said["guarantee"], real["guarantee"])]
    pairs += [(said["questions"][name]["guarantee"], each["guarantee"]) for name, each in real["questions"].items()]
    for stated, restated in pairs:
        check_restated(
            dict(stated), {name: value for name, value in restated.items() if name in stated or name != "proof"}
        )
