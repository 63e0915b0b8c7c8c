"""Made-up people for a study: something to try every command with, before anybody is asked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.releases.declarations import Covariate, Question
from askance.releases.study import Study
from askance.tables.made_up_mark import ANSWER, MARK, REPORT

_CARRIERS = 0.25  # share of the last choice, before covariates: large enough to be found in a small study
_EFFECT = 0.5  # log-odds for a standard deviation: a clear effect that no small sample shows for sure
_MIDDLE, _SPREAD = 50.0, 15.0  # of a number about which nothing is known
_LEVELS = ("a", "b", "c")  # of a category that any text may be


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Made-up answers, and the truth that was put into them.

    Parameters
    ----------
    table : pyarrow Table
        A column for each question and covariate, and one that says whether a row holds made-up answers or
        made-up reports.
    facts : tuple of (name, text)
        What was put in, to compare estimates with.
    """

    table: pa.Table
    facts: tuple[tuple[str, str], ...]


def simulate_study(study: Study, rows: int, rng: np.random.Generator, *, reports: bool = False) -> MadeUp:
    """Make up people who answer a study: covariates, and true answers that depend on them.

    Parameters
    ----------
    study : Study
    rows : int
    rng : numpy Generator
        Simulation takes one; to hide real answers is another thing, and takes none.
    reports : bool
        Reports in place of true answers, as they come back from the field; for questions with choices.

    Returns
    -------
    MadeUp

    Examples
    --------
    >>> import numpy as np
    >>> import askance as ask
    >>> from askance.workflows import simulate_study
    >>> study = ask.Study.parse(ask.Study.template())
    >>> made = simulate_study(study, 1000, np.random.default_rng(0))
    >>> made.table.column_names
    ['cheated', 'drugs', 'tax', 'group', 'age', 'school', 'made_up']
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InvalidInput(f"rows={rows!r}", "how many people: a whole number of at least 1")
    if MARK in study.header().source_columns:
        raise InvalidInput(f"a study with a column {MARK!r}", "another name: that column says what is made up")
    _refuse_lists(study)
    people = {one.name: _covariate(one, study, rows, rng) for one in study.covariates}
    scores = _scores(study, people)
    score = np.sum([*scores.values(), np.zeros(rows)], axis=0)
    columns: dict[str, Any] = {}
    facts = [("effects", _effects(study, scores))]
    for question in study.questions:
        if question.design_column and question.design_column not in columns:
            columns[question.design_column] = rng.choice(np.array(list(question.designs)), rows)
        answers, truth = _answers(question, score, rng)
        facts.append((f"truth of {question.name}", truth))
        if reports:
            answers = _reported(question, answers, columns, rng)
        columns |= answers
    designs = {name: columns.pop(name) for name in study.header().design_columns}
    word = REPORT if reports else ANSWER
    table = pa.table({**columns, **designs, **people, MARK: [word] * rows})
    return MadeUp(table, tuple(facts))


def _refuse_lists(study: Study) -> None:
    lists = [q.name for q in study.questions if q.hides_sequences or (q.hides_features and q.columns is None)]
    lists += [one.name for one in study.covariates if one.type == "words"]
    if lists:
        raise InvalidInput(
            f"the column {', '.join(map(repr, lists))}, which holds a list in every row",
            "questions and covariates with one value in a cell",
            "Make such data up in Python: channel.simulate(truth, rng).",
        )


def _covariate(one: Covariate, study: Study, rows: int, rng: np.random.Generator) -> NDArray[Any]:
    sample = study.sample
    if one.name in (sample.weight, *(sample.replicate_weights or ())):
        return np.round(rng.uniform(0.5, 2.0, rows), 3)
    if one.name == sample.fpc:
        return np.full(rows, 100 * rows)
    if one.name in (sample.strata, sample.cluster):
        groups = 4 if one.name == sample.strata else max(2, rows // 20)
        places = rng.integers(0, groups, rows)
        return places + 1 if one.type == "number" else np.array(_labels(one, groups))[places]
    if one.type == "number":
        return np.round(rng.normal(_MIDDLE, _SPREAD, rows), 1)
    return np.array(_labels(one, len(_LEVELS)))[rng.integers(0, len(_labels(one, len(_LEVELS))), rows)]


def _labels(one: Covariate, wanted: int) -> list[Any]:
    return list(one.levels) if one.levels is not None else [f"{_LEVELS[0]}{n + 1}" for n in range(wanted)]


def _scores(study: Study, people: dict[str, NDArray[Any]]) -> dict[str, Floats]:
    """How each covariate moves the log-odds: numbers by their standard deviation, levels from low to high."""
    drawn = study.sample.columns
    scores: dict[str, Floats] = {}
    for one in study.covariates:
        if one.name in drawn:
            continue
        if one.type == "number":
            scores[one.name] = _EFFECT * (people[one.name] - _MIDDLE) / _SPREAD
        else:
            levels = list(dict.fromkeys(one.levels or sorted(set(people[one.name].tolist()))))
            steps = {level: _EFFECT * step for level, step in zip(levels, np.linspace(-1, 1, len(levels)), strict=True)}
            scores[one.name] = np.array([steps[value] for value in people[one.name].tolist()])
    return scores


def _effects(study: Study, scores: dict[str, Floats]) -> str:
    if not scores:
        return "none: there are no covariates"
    effects = [
        f"{name} {_EFFECT / _SPREAD:+.4g} in log-odds for one unit"
        if next(one for one in study.covariates if one.name == name).type == "number"
        else f"{name} from {-_EFFECT:g} to {_EFFECT:+g} in log-odds over its levels"
        for name in scores
    ]
    return "; ".join(effects)


def _answers(question: Question, score: Floats, rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    rows = len(score)
    if not question.hides_numbers:
        classes = list(question.label_channel.classes)
        # The last choice is the sensitive one: it is rarer than the others, and moves with the covariates.
        base = np.full(len(classes), (1 - _CARRIERS) / (len(classes) - 1))
        base[-1] = _CARRIERS
        weights = np.tile(np.log(base), (rows, 1))
        weights[:, -1] += score
        chosen = (weights + rng.gumbel(size=weights.shape)).argmax(axis=1)
        shares = np.bincount(chosen, minlength=len(classes)) / rows
        truth = ", ".join(f"{label} {100 * share:.1f}%" for label, share in zip(classes, shares, strict=True))
        return {question.name: np.array(classes)[chosen]}, truth
    if question.hides_features:
        return _attributes(question, rows, rng)
    channel: Any = question.channel
    columns: dict[str, Any] = {}
    found: list[str] = []
    bounds, categories = channel.public_bounds(question.name), getattr(channel, "categories", {})
    for name in question.sources:
        if name in categories:
            columns[name] = rng.choice(np.array(categories[name]), rows)
            continue
        low, high = bounds[name]
        middle, reach = (low + high) / 2, (high - low) / 6
        values = middle + reach * (score + rng.normal(size=rows))
        columns[name] = np.round(np.clip(values, low, high), 6)
        found.append(f"{name} {columns[name].mean():.4g} in the mean")
    return columns, ", ".join(found)


def _attributes(question: Question, rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    columns = {name: rng.integers(0, 2, rows) for name in question.columns or ()}  # states of any law
    return columns, f"{len(columns)} attributes of zeros and ones, half of each"


def _reported(
    question: Question, answers: dict[str, Any], columns: dict[str, Any], rng: np.random.Generator
) -> dict[str, Any]:
    if question.hides_numbers:
        raise InvalidInput(
            f"reports of {question.name!r}, which hides numbers",
            "true answers: leave --reports out",
            "Reports about numbers are packed in a release: askance privatize writes one.",
        )
    channel: Any = question.channel
    if getattr(channel, "unknowns", ()):
        raise InvalidInput(
            f"reports of {question.name!r}, whose design has something unknown",
            "true answers: leave --reports out",
            "In Python, channel.simulate(truth, rng, psi={...}) takes the unknown numbers.",
        )
    design = (columns[question.design_column],) if question.design_column else ()
    return {question.name: channel.simulate(answers[question.name], rng, *design)}
