"""A study as a page asks it: laws in integers, what may be sent back, and the cell that a response is counted in."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from askance.channels.alphabet import Label
from askance.channels.labels.finite import Identity
from askance.collector.law import device_law
from askance.collector.page_settings import PageSettings
from askance.entropy.thresholds import exact_counts
from askance.errors import InvalidInput
from askance.releases.declarations import Covariate, Question
from askance.releases.study import Study

LONGEST_TEXT = 200  # letters of a covariate without levels
LONGEST_TOKEN = 64  # letters; ours have 22: what is longer is not worth hashing


class RefusedResponse(InvalidInput):
    """A response that this study cannot have got from its page. Says what is wrong, and never what was sent."""


@dataclass(frozen=True)
class Questionnaire:
    """What is asked, how it is drawn, and what a response looks like.

    Examples
    --------
    >>> from askance import Study
    >>> asked = Questionnaire(Study.parse('''
    ... [questions.cheated]
    ... text = "Have you ever cheated?"
    ... choices = ["no", "yes"]
    ... channel = { design = "warner", p = 0.75 }
    ... [covariates.age]
    ... type = "number"
    ... '''))
    >>> body = {"study": asked.digest, "token": "x" * 22, "designs": {}, "reports": {"cheated": 1},
    ...         "covariates": {"age": 31}}
    >>> asked.cell(body)
    '[1,31.0]'
    >>> asked.row('[1,31.0]')
    {'cheated': 'yes', 'age': 31.0}
    """

    study: Study

    def __post_init__(self) -> None:
        self.definition  # noqa: B018 - refuses what a page cannot ask

    @cached_property
    def settings(self) -> PageSettings:
        """What the study file says about the page."""
        return PageSettings.of(self.study)

    @property
    def asked_covariates(self) -> tuple[Covariate, ...]:
        """The covariates that people are asked for: not those that the page finds out itself."""
        found = (self.settings.duration, self.settings.check)
        own = {one.column for one in found if one is not None}
        return tuple(covariate for covariate in self.study.covariates if covariate.name not in own)

    @cached_property
    def definition(self) -> dict[str, Any]:
        """What the page must know to draw and to send, without any text; JSON-able."""
        self._refuse_what_nobody_knows()
        settings = self.settings
        assign = {
            column: {"designs": list(odds), "counts": _decimal(_shares(list(odds.values())))}
            for column, odds in settings.assign.items()
        }
        duration = settings.duration and {"column": settings.duration.column, "seconds": settings.duration.seconds}
        check = settings.check and {"column": settings.check.column, "right": settings.check.right}
        return {
            "access": settings.access,
            "questions": [self._question(question) for question in self.study.questions],
            "assign": assign,
            "covariates": [_covariate(covariate) for covariate in self.asked_covariates],
            "duration": duration,
            "check": check,
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of laws and columns: a page of another study, or of another law, is told so."""
        said = json.dumps([self.study.header().to_dict()["questions"], self.definition, self._columns], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    @property
    def _columns(self) -> list[Any]:
        return [covariate.to_dict() for covariate in self.study.covariates]

    def _question(self, question: Question) -> dict[str, Any]:
        paper = question.name in self.settings.paper
        designs: dict[str, Any] = {}
        for name, design in question.designs.items():
            direct = isinstance(design, Identity)  # asked directly: a page says so before anything else
            law = None if paper and not direct else [_decimal(column) for column in device_law(question, design)]
            designs[name] = {"reports": len(design.report_labels), "direct": direct, "law": law}
        return {"name": question.name, "design_column": question.design_column, "designs": designs}

    def _refuse_what_nobody_knows(self) -> None:
        sample = self.study.sample
        for use, column in (("weight", sample.weight), ("fpc", sample.fpc)):
            if column is not None:
                raise InvalidInput(
                    f"the study has [sample] {use} = {column!r}, and a page that asks for it",
                    "what people can say about themselves",
                    "Leave it out while collecting, and join it to what askance export writes.",
                )
        if sample.replicate_weights:
            raise InvalidInput("the study has replicate weights, which no respondent knows", "none while collecting")
        for covariate in self.study.covariates:
            if covariate.type == "words":
                raise InvalidInput(f"the covariate {covariate.name!r} is a list of words", "a number or a category")

    @property
    def is_asked_directly(self) -> bool:
        """Whether some people are asked a question directly: their answers are sent as they are."""
        questions = self.definition["questions"]
        return any(design["direct"] for question in questions for design in question["designs"].values())

    # -- responses -----------------------------------------------------------------------------------

    def cell(self, body: Any) -> str:
        """Check a response and return the cell that it is counted in; the token is somebody else's business."""
        body = _mapping(body, ("study", "token", "designs", "reports", "covariates"), "the response")
        if body["study"] != self.digest:
            raise RefusedResponse("the response belongs to another study", "a response of this one", "Load the page.")
        designs = _mapping(body["designs"], self.settings.assign, "designs")
        chosen = {name: _code(designs[name], len(odds), "a design") for name, odds in self.settings.assign.items()}
        reports = _mapping(body["reports"], [question.name for question in self.study.questions], "reports")
        codes = []
        for question in self.study.questions:
            number = chosen[question.design_column] if question.design_column else 0
            design = list(question.designs.values())[number]
            codes.append(_code(reports[question.name], len(design.report_labels), "a report"))
        names = [covariate.name for covariate in self.study.covariates]
        values = _mapping(body["covariates"], names, "covariates")
        said = [_checked(values[covariate.name], covariate) for covariate in self.study.covariates]
        return json.dumps([*chosen.values(), *codes, *said], separators=(",", ":"), allow_nan=False)

    def row(self, cell: str) -> dict[str, Any]:
        """Return the columns of a release that a cell stands for."""
        return self._row(json.loads(cell))

    def _row(self, codes: list[Any]) -> dict[str, Any]:
        assign = self.settings.assign
        chosen = dict(zip(assign, codes, strict=False))
        row: dict[str, Any] = {column: list(assign[column])[number] for column, number in chosen.items()}
        rest = codes[len(assign) :]
        for question, code in zip(self.study.questions, rest, strict=False):
            number = chosen[question.design_column] if question.design_column else 0
            row[question.name] = list(question.designs.values())[number].report_labels[code]
        for covariate, value in zip(self.study.covariates, rest[len(self.study.questions) :], strict=True):
            row[covariate.name] = covariate.levels[value] if covariate.levels and value is not None else value
        return row

    def columns(self, cells: list[str]) -> pa.Table:
        """Return cells as columns of a release."""
        rows = [self.row(cell) for cell in cells]
        names = self.study.header().schema.names
        return pa.table({name: pa.array([row[name] for row in rows]) if rows else [] for name in names})


def _shares(odds: list[int]) -> list[int]:
    column = np.array(odds, dtype=float)[:, None] / sum(odds)
    return [int(count) for count in exact_counts(column)[:, 0]]


def _decimal(counts: list[int]) -> list[str]:
    """Numbers of 62 bits as text: JavaScript would round them."""
    return [str(count) for count in counts]


def _covariate(covariate: Covariate) -> dict[str, Any]:
    levels: tuple[Label, ...] | None = covariate.levels
    return {
        "name": covariate.name,
        "type": covariate.type,
        "levels": None if levels is None else len(levels),
        "missing": covariate.missing,
    }


def _mapping(value: Any, names: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise RefusedResponse(f"{what} with other entries than the study has", "those that the page sends")
    return value


def _code(value: Any, codes: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < codes:
        raise RefusedResponse(f"{what} that the study does not have", f"a whole number from 0 to {codes - 1}")
    return value


def _checked(value: Any, covariate: Covariate) -> float | int | str | None:
    if value is None:
        if not covariate.missing:
            raise RefusedResponse(f"no {covariate.name!r}", "a value")
        return None
    if covariate.levels is not None:
        return _code(value, len(covariate.levels), f"a level of {covariate.name!r}")
    if covariate.type == "number":
        number = not isinstance(value, bool) and isinstance(value, int | float) and abs(value) < 1e15
        if not number or not math.isfinite(value):
            raise RefusedResponse(f"a value of {covariate.name!r} that is no number", "a number")
        return float(value) + 0.0  # minus zero is zero
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not value.isprintable():
        raise RefusedResponse(f"a value of {covariate.name!r}", f"a text of 1 to {LONGEST_TEXT} printable letters")
    return value
