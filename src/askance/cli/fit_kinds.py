"""What ``askance fit`` can learn from, and which of its options each kind takes: said here, and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from askance.cli.options import given_options
from askance.errors import InvalidInput

if TYPE_CHECKING:
    from askance.releases.declarations import Question


@dataclass(frozen=True)
class Kind:
    """Something to learn from.

    Parameters
    ----------
    what : str
        What it is called in messages.
    options : tuple of str
        The options of ``askance fit`` that it takes, by their parameters' names, besides those that all kinds take.
    methods : tuple of str
        What --method may be, the default first; empty if there is only one way.
    use : str
        How a saved ``{model}`` is used.
    """

    what: str
    options: tuple[str, ...]
    methods: tuple[str, ...] = ()
    use: str = ""

    def method(self, wanted: str | None) -> str:
        """Return the method that is meant."""
        if wanted is None:
            return self.methods[0]
        if wanted not in self.methods:
            others = [kind.what for kind in KINDS if wanted in kind.methods]
            raise InvalidInput(
                f"--method {wanted} for {self.what}",
                _listed(self.methods),
                f"{wanted} is for {_listed(others)}." if others else "",
            )
        return wanted


FOR_ALL = ("as_json", "report", "save", "overwrite", "quiet")

ANSWERS = Kind(
    "a question with choices",
    (
        *("study", "question", "formula", "unknown", "method", "ridge", "penalty", "intervals", "covariance", "level"),
        "per",
        *("weight", "strata", "cluster", "fpc", "missing", "engine"),
        *("replicate_weights", "replicate_method", "rho", "rscales"),
    ),
    ("marginal", "moments"),
)
NUMBERS = Kind(
    "a question that hides numbers", ("study", "question", "formula", "ridge", "level", "weight", "missing", "engine")
)
_TAG = "Tag text with: askance tag {model} TEXT"
SEQUENCES = Kind(
    "a question about sequences",
    ("study", "question", "formula", "method", "ridge", "level", "engine"),
    ("marginal", "moments"),
    _TAG,
)
_CLASSIFY = "Classify rows with: askance predict {model} ROWS"
RECORDS = Kind("a question that hides features", ("study", "question", "label", "ridge", "level"), use=_CLASSIFY)
TOTALS = Kind("a mean operator", ("features", "id_column", "loss", "ridge", "level"), use=_CLASSIFY)
REGIONS = Kind(
    "counted regions",
    ("sentences", "structure", "passes", "tolerance", "invalid", "seed", "method"),
    ("hybrid", "marginal", "moments"),
    _TAG,
)
BAGS = Kind(
    "rows in bags (--proportions)",
    ("proportions", "bag", "columns", "method", "loss", "ridge", "level", "seed"),
    (
        *("auto", "bag-likelihood", "mean-map", "laplacian", "alternating", "linear-committee"),
        *("bag-classifier", "relabel", "committee", "overall-mix"),
    ),
    _CLASSIFY,
)
_SURVEY = ("study", "level", "weight", "strata", "cluster", "missing")
PREDICTOR = Kind("a formula with hidden(...)", (*_SURVEY, "formula", "family"))
JOINT = Kind("a joint table (--joint)", (*_SURVEY, "joint"))
LIST = Kind("a list experiment (--treatment)", (*_SURVEY, "question", "formula", "treatment", "direct"))
GROUPS = Kind("a regression with --link or --groups", (*_SURVEY, "question", "formula", "link", "groups"))
SURVEYS = (PREDICTOR, JOINT, LIST, GROUPS)
REPORTS = (ANSWERS, NUMBERS, RECORDS, SEQUENCES)  # their question says which of them it is
KINDS = (*REPORTS, *SURVEYS, TOTALS, REGIONS, BAGS)


def survey_kind(
    formula: str | None, joint: str | None, treatment: str | None, link_or_groups: str | None
) -> Kind | None:
    """Return the survey model that options ask for; none if they ask for a single question or something else."""
    from askance.learning.surveys.hidden_formula import names_hidden

    if treatment is not None:
        return LIST
    if joint is not None:
        return JOINT
    if formula is not None and names_hidden(formula):
        return PREDICTOR
    return None if link_or_groups is None else GROUPS


def kinds_of(data: str, proportions: Path | None) -> tuple[Kind, ...]:
    """Return what the data may be, as far as can be seen before they are opened."""
    from askance.releases.region_release import is_region_release
    from askance.workflows.report_files import check_there

    check_there(data)
    if proportions is not None:
        return (BAGS,)
    if is_region_release(data):
        return (REGIONS,)
    return (TOTALS,) if Path(data).suffix.lower() == ".json" else REPORTS


def kind_of_question(asked: "Question") -> Kind:
    """Return what a question of a release is about."""
    if asked.hides_sequences:
        return SEQUENCES
    return RECORDS if asked.hides_features else NUMBERS if asked.hides_numbers else ANSWERS


def check_options(context: typer.Context, kinds: Sequence[Kind], question: str = "") -> None:
    """Refuse options that were given and would be passed over.

    Parameters
    ----------
    context : typer.Context
        Of ``askance fit``.
    kinds : sequence of Kind
        What the data may be.
    question : str
        The question's name, once it is known.
    """
    given = given_options(context)
    taken = dict.fromkeys(option for kind in kinds for option in kind.options)
    useless = [name for name in given if name not in taken and name not in FOR_ALL]
    if not useless:
        return
    spelled = {str(parameter.name): parameter.opts[0] for parameter in context.command.params}
    what = kinds[0].what if len(kinds) == 1 else "reports"
    owners = [kind.what for kind in KINDS if useless[0] in kind.options]
    raise InvalidInput(
        f"{', '.join(given[name] for name in useless)} for {f'{question!r}, ' if question else ''}{what}",
        f"{given[useless[0]]} with {_listed(owners)} only",
        f"Here may stand {_listed([spelled[name] for name in taken])}.",
    )


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
