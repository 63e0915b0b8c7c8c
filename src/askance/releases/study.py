"""The study: the contract that collecting, privatising, fitting and auditing share.

A privacy parameter is written once, in ``study.toml``, and travels from there.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput
from askance.releases.data_protection import NOTHING_SAID, DataProtection
from askance.releases.declarations import SIMPLE_SAMPLE, Covariate, Question, Sample
from askance.releases.header import Header
from askance.releases.study_file import parse_study

_TEMPLATE = """\
# What is asked, how the answers are hidden, and what else is known about a person.
[study]
name = "exam-cheating"
title = "Cheating in exams"

[questions.cheated]
text = "Have you ever cheated in an exam?"
choices = ["no", "yes"]                          # the last of two is the sensitive one
channel = { design = "warner", p = 0.8 }

[questions.drugs]
text = "How often did you take drugs to study?"
choices = ["never", "once", "often"]
channel = { design = "randomized-response", epsilon = 1.0 }

[questions.tax]                                  # several designs: a column says which one a row had
choices = ["no", "yes"]
design_column = "group"
designs.cards = { design = "warner", p = 0.7 }
designs.dice = { design = "forced-response", p_no = 0.15, p_yes = 0.15 }

# Covariates are published as they are. What is not declared is not published.
[covariates.age]
type = "number"

[covariates.school]
type = "category"
levels = ["north", "south"]                      # optional
missing = true                                   # rows may lack it; refused otherwise
"""


@dataclass(frozen=True)
class Study:
    """Questions with their channels, and covariates.

    Parameters
    ----------
    questions : tuple of Question
    covariates : tuple of Covariate
    name, title : str
    sample : Sample
        How people came into the sample.
    page : mapping
        How the page that asks the questions looks and what it says; checked by who serves it.
    privacy : DataProtection
        Why people are asked, who answers for it, and for how long anything is kept: for dossiers.

    Examples
    --------
    >>> from askance import Study
    >>> study = Study.parse('''
    ... [questions.cheated]
    ... choices = ["no", "yes"]
    ... channel = { design = "warner", p = 0.8 }
    ... ''')
    >>> study.channels["cheated"]
    Warner(p=0.8, classes=('no', 'yes'))
    >>> print(study.guarantee)
    epsilon 1.386, protects one answer (any two answers of one person)
    """

    questions: tuple[Question, ...]
    covariates: tuple[Covariate, ...] = ()
    name: str = ""
    title: str = ""
    sample: Sample = SIMPLE_SAMPLE
    page: Mapping[str, Any] = field(default_factory=dict, hash=False)
    privacy: DataProtection = NOTHING_SAID

    def __post_init__(self) -> None:
        self.header()  # refuses a study without questions, or with a column declared twice

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Study":
        """Read a study file."""
        place = Path(path)
        try:
            text = place.read_text(encoding="utf-8-sig")  # Windows editors begin with a mark
        except UnicodeDecodeError:
            raise InvalidInput(f"{place} is not text in UTF-8", "a study file (TOML)") from None
        except FileNotFoundError:
            raise InvalidInput(f"there is no study file {place}", "a study.toml") from None
        except OSError as error:
            raise InvalidInput(f"{place} cannot be read ({error.strerror})", "a study file (TOML)") from None
        return cls.parse(text, str(place))

    @classmethod
    def parse(cls, text: str, source: str = "the study") -> "Study":
        """Read the text of a study file; ``source`` is what messages call it."""
        return cls(**parse_study(text, source))

    @staticmethod
    def template() -> str:
        """Return the text of an example study file, to begin from."""
        return _TEMPLATE

    @property
    def channels(self) -> Mapping[str, Any]:
        """The channel of each question."""
        return {question.name: question.channel for question in self.questions}

    @property
    def guarantee(self) -> Guarantee:
        """The privacy of a person who answers every question: the levels of the questions add up."""
        return self.header().guarantee

    def header(self) -> Header:
        """Return the header of a release of this study."""
        return self._header

    @cached_property
    def _header(self) -> Header:
        return Header(self.questions, self.covariates, self.name, self.title, sample=self.sample)

    def to_toml(self) -> str:
        """Return the text of a study file that reads back as this study."""
        lines = ["[study]", f"name = {_toml(self.name)}", f"title = {_toml(self.title)}"]
        marks = {question.decimal for question in self.questions} | {known.decimal for known in self.covariates}
        lines += ['decimal = ","'] if "," in marks else []
        for question in self.questions:
            lines += ["", f"[questions.{_key(question.name)}]", *_lines(question.declaration())]
        for covariate in self.covariates:
            lines += ["", f"[covariates.{_key(covariate.name)}]", f"type = {_toml(covariate.type)}"]
            lines += [f"levels = {_toml(covariate.levels)}"] if covariate.levels is not None else []
            lines += ["missing = true"] if covariate.missing else []
            lines += [f"recode = {_toml(dict(covariate.recode))}"] if covariate.recode else []
        if self.sample.to_dict():
            lines += ["", "[sample]", *_lines(self.sample.to_dict())]
        if self.page:
            lines += ["", "[page]", *(f"{_key(name)} = {_toml(value)}" for name, value in self.page.items())]
        said = self.privacy.to_dict()
        lines += ["", "[privacy]", *(f"{name} = {_toml(text)}" for name, text in said.items())] if said else []
        return "\n".join(lines) + "\n"


def _lines(declared: Mapping[str, Any]) -> list[str]:
    """The lines of a table: one for each key, design and channel."""
    lines = []
    for key, value in declared.items():
        if key == "designs":
            lines += [f"designs.{_key(name)} = {_toml(design)}" for name, design in value.items()]
        elif key == "channels":
            lines += ["channels = [", *(f"    {_toml(design)}," for design in value), "]"]
        else:
            lines.append(f"{key} = {_toml(value)}")
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_toml(entry)}" for name, entry in value.items()) + " }"
    # Text, numbers and truth values are written alike in JSON and TOML, but for one control character.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)
