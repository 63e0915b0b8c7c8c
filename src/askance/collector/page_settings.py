"""What a study file says about its page: who may answer, in which languages, on paper or not, and what is shown."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from askance.errors import InvalidInput
from askance.releases.study import Study

_KEYS = (
    "access", "languages", "paper", "assign", "formulas", "precision", "threshold", "duration", "check", "texts",
)  # fmt: skip
THRESHOLD = 20  # responses; an interval of so few is as wide as the scale, and one more answer shows in the estimate
_MOST_FORMULAS = 20  # each is fitted anew for the dashboard after new responses: .05 s with 20,000, so a second for all
# Nothing that is known needs the limit: designs are drawn with 62 bits, which would hold a thousand times larger odds.
_LARGEST_ODDS = 1000


@dataclass(frozen=True)
class Duration:
    """How long an answer took, as a class that is published: the borders are in seconds."""

    column: str
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Check:
    """A question about the page itself: which choice is right, and the column that says whether it was chosen."""

    column: str
    right: int


@dataclass(frozen=True)
class PageSettings:
    """The table ``[page]`` of a study file, checked.

    Parameters
    ----------
    access : "invited" or "open"
    languages : tuple of str
        The first is shown to whoever asks for none of them.
    paper : tuple of str
        Questions whose answers people hide themselves, with a die or cards: the page draws nothing.
    assign : mapping from design column to mapping from design to odds
    formulas : tuple of str
        Regressions that the dashboard shows.
    precision : float, optional
        The half-width of the intervals that the study was planned for.
    threshold : int
        With fewer responses nothing is estimated.
    duration, check : optional
    texts : mapping from language to texts

    Examples
    --------
    >>> study = Study.parse('''
    ... [page]
    ... access = "open"
    ... [questions.cheated]
    ... choices = ["no", "yes"]
    ... channel = { design = "warner", p = 0.8 }
    ... ''')
    >>> PageSettings.of(study).access
    'open'
    """

    access: str = "invited"
    languages: tuple[str, ...] = ("en",)
    paper: tuple[str, ...] = ()
    assign: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    formulas: tuple[str, ...] = ()
    precision: float | None = None
    threshold: int = THRESHOLD
    duration: Duration | None = None
    check: Check | None = None
    texts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, study: Study) -> "PageSettings":
        """Check what a study says about its page."""
        page = study.page
        only(page, _KEYS, "[page]")
        access = page.get("access", "invited")
        if access not in ("invited", "open"):
            raise InvalidInput(f"[page] has access = {access!r}", '"invited" or "open"')
        texts = table(page, "texts", "[page]")
        languages = strings(page.get("languages", list(texts) or ["en"]), "[page] languages")
        for language in languages:
            if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", language):
                raise InvalidInput(f"[page] has the language {language!r}", 'a code such as "en" or "pt-BR"')
        for language in texts:
            if language not in languages:
                raise InvalidInput(f"[page.texts.{language}]", f"one of the languages {', '.join(languages)}")
        paper = strings(page.get("paper", []), "[page] paper", empty=True)
        known = [question.name for question in study.questions]
        for name in paper:
            if name not in known:
                raise InvalidInput(f"[page] has paper = {name!r}", f"names of questions: {', '.join(known)}")
        formulas = strings(page.get("formulas", []), "[page] formulas", empty=True)
        if len(formulas) > _MOST_FORMULAS:
            raise InvalidInput(f"[page] has {len(formulas)} formulas", f"at most {_MOST_FORMULAS}")
        return cls(
            access,
            languages,
            paper,
            _assigned(study),
            formulas,
            _number(page, "precision", None),
            int(_number(page, "threshold", THRESHOLD) or THRESHOLD),
            _duration(study),
            _check(study),
            {language: table(texts, language, "[page.texts]") for language in texts},
        )


def only(values: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Refuse a key that is none of those known."""
    for key in values:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            meant = f"Did you mean {close[0]!r}?" if close else ""
            raise InvalidInput(f"{where} has an unknown key {key!r}", f"some of {', '.join(known)}", meant)


def table(values: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    """Return a table within a table; an empty one where there is none."""
    inner = values.get(key, {})
    if not isinstance(inner, Mapping):
        raise InvalidInput(f"{where} has {key} = {inner!r}", "a table")
    return inner


def strings(values: Any, where: str, *, empty: bool = False, length: int | None = None) -> tuple[str, ...]:
    """Return a list of texts, of a given length if that is given."""
    right = isinstance(values, list | tuple) and all(isinstance(one, str) and one for one in values)
    if not right or (not values and not empty) or (length is not None and len(values) != length):
        many = "texts" if length is None else f"{length} texts"
        raise InvalidInput(f"{where} = {values!r}", f"a list of {many} in quotes, none of them empty")
    if len(set(values)) < len(values):
        raise InvalidInput(f"{where} = {values!r}", "texts that differ")
    return tuple(values)


def _number(page: Mapping[str, Any], key: str, default: float | None) -> float | None:
    value = page.get(key, default)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise InvalidInput(f"[page] has {key} = {value!r}", "a number above 0")
    return float(value)


def _assigned(study: Study) -> dict[str, dict[str, int]]:
    """The odds of the designs of each design column; equal where the study says nothing."""
    columns: dict[str, list[str]] = {}
    for question in study.questions:
        if question.design_column:
            designs = list(question.designs)
            if columns.setdefault(question.design_column, designs) != designs:
                raise InvalidInput(
                    f"questions that share the design column {question.design_column!r} have other designs",
                    "the same names of designs in the same order",
                )
    said = table(study.page, "assign", "[page]")
    only(said, list(columns), "[page.assign]")
    odds = {}
    for column, designs in columns.items():
        given = table(said, column, "[page.assign]") or dict.fromkeys(designs, 1)
        only(given, designs, f"[page.assign.{column}]")
        numbers = {design: given.get(design, 0) for design in designs}
        for design, number in numbers.items():
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _LARGEST_ODDS:
                where = f"[page.assign.{column}] has {design} = {number!r}"
                raise InvalidInput(where, f"odds: whole numbers from 0 to {_LARGEST_ODDS}")
        if not any(numbers.values()):
            raise InvalidInput(f"[page.assign.{column}] gives every design the odds 0", "one above 0")
        odds[column] = numbers
    return odds


def _category(study: Study, column: Any, where: str, levels: int) -> str:
    fitting = [one for one in study.covariates if one.name == column and one.levels and len(one.levels) == levels]
    if not fitting:
        raise InvalidInput(
            f"{where} has column = {column!r}",
            f"a covariate with {levels} levels",
            f'Declare it, because it is published: [covariates.NAME] with type = "category" and {levels} levels.',
        )
    return fitting[0].name


def _duration(study: Study) -> Duration | None:
    said = table(study.page, "duration", "[page]")
    if not said:
        return None
    only(said, ("column", "seconds"), "[page.duration]")
    seconds = said.get("seconds")
    numbers = isinstance(seconds, list) and all(
        isinstance(one, int | float) and not isinstance(one, bool) and one > 0 for one in seconds
    )
    if not numbers or not seconds or sorted(set(seconds)) != seconds or len(seconds) > 4:
        raise InvalidInput(
            f"[page.duration] has seconds = {seconds!r}", "one to four borders, rising: classes, never times"
        )
    column = _category(study, said.get("column"), "[page.duration]", len(seconds) + 1)
    return Duration(column, tuple(map(float, seconds)))


def _check(study: Study) -> Check | None:
    said = table(study.page, "check", "[page]")
    if not said:
        return None
    only(said, ("column", "right"), "[page.check]")
    right = said.get("right")
    if isinstance(right, bool) or not isinstance(right, int) or not 1 <= right <= 20:
        raise InvalidInput(f"[page.check] has right = {right!r}", "which of the choices is right: 1 is the first")
    return Check(_category(study, said.get("column"), "[page.check]", 2), right - 1)
