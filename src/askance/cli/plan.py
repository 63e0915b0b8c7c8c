"""``askance plan``: how many people, how precise, how private, before anybody is asked."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from askance.cli.options import Json, Level, Overwrite, Quiet, Seed, listed_numbers, plot_option
from askance.cli.plan_values import (
    asked_answers,
    laws_of_covariates,
    lower_and_upper,
    named_values,
    pilot_columns,
    planned_designs,
)

if TYPE_CHECKING:
    from askance.planning.quantities.base import Quantity

plan = typer.Typer(
    name="plan",
    help="Plan a study: n for a precision or power, precision for n, or the smallest epsilon that works.",
    no_args_is_help=True,
    add_completion=False,
)


@plan.callback()
def _group() -> None:
    """Plan a study: n for a precision or power, precision for n, or the smallest epsilon that works."""


_DESIGNS, _WISH = "Designs to compare", "What is wanted"
Design = Annotated[
    list[str] | None,
    typer.Option(
        "--design",
        help="A design, as in: warner p=0.25; forced-response p_no=1/6 p_yes=1/6; list items=.5,.3,.4. Several are "
        "compared.",
        rich_help_panel=_DESIGNS,
    ),
]
StudyFile = Annotated[
    Path | None,
    typer.Option("--study", help="Take the designs of a study file's questions.", rich_help_panel=_DESIGNS),
]
Assumed = Annotated[
    list[str] | None,
    typer.Option(
        "--unknown",
        help="What a number that nobody knows is assumed to be, as in: cheaters=0.1. Several may be. For a study "
        "whose questions have several designs.",
        rich_help_panel=_DESIGNS,
    ),
]
Asked = Annotated[
    list[str] | None,
    typer.Option(
        "--asked",
        help="Which share of respondents is asked under a design of such a question, as in: direct=0.2. All or "
        "none; equal shares if not given.",
        rich_help_panel=_DESIGNS,
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        help="The privacy budget. Without designs: all that there are, each at exactly this level.",
        rich_help_panel=_DESIGNS,
    ),
]
Respondents = Annotated[
    int | None,
    typer.Option(
        "--respondents",
        "-n",
        help="How many will be asked. With --margin or --power, and no design: the smallest epsilon.",
        rich_help_panel=_WISH,
    ),
]
Margin = Annotated[
    float | None, typer.Option("--margin", help="The half-width of the interval.", rich_help_panel=_WISH)
]
Power = Annotated[
    float | None, typer.Option("--power", help="The chance that the test finds the effect.", rich_help_panel=_WISH)
]
Check = Annotated[int, typer.Option("--check", help="Simulate so many studies, and compare.", rich_help_panel=_WISH)]
Text = Annotated[bool, typer.Option("--text", help="Also print paragraphs for an ethics board or a grant.")]
Plot = Annotated[Path | None, plot_option("Draw the margin against the number of respondents.")]
Answers = Annotated[
    str | None,
    typer.Option("--answers", help="The answers, the sensitive one last, between commas; no,yes if not given."),
]
Share = Annotated[float, typer.Option("--prevalence", help="The expected share of the second answer.")]
Pilot = Annotated[Path | None, typer.Option("--pilot", help="Rows as they are expected: a CSV or Parquet file.")]
Law = Annotated[
    list[str] | None,
    typer.Option("--covariate", help="How a covariate is distributed, as in: age=normal(40,12); female=binary(0.5)."),
]
Effect = Annotated[
    list[str], typer.Option("--effect", help="An expected coefficient, as in: age=0.03. Several may be.")
]
Of = Annotated[str | None, typer.Option("--of", help="The coefficient to plan for; all if not given.")]


def _run(
    quantity: "Quantity",
    design: Design = None,
    study: StudyFile = None,
    unknown: Assumed = None,
    asked: Asked = None,
    epsilon: Epsilon = None,
    respondents: Respondents = None,
    margin: Margin = None,
    power: Power = None,
    level: Level = 0.95,
    check: Check = 0,
    seed: Seed = 0,
    text: Text = False,
    plot: Plot = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Plan for a quantity, with the options that every plan has."""
    from askance.cli.output import console, print_json, progress_bar
    from askance.errors import InvalidInput
    from askance.files.kinds import PICTURES
    from askance.files.targets import check_target, write_figure
    from askance.planning.study_plan import plan as planned

    if plot is not None:
        check_target(plot, PICTURES[plot.suffix.lower()], overwrite=overwrite)
    if not (respondents or margin or power):
        raise InvalidInput(
            "nothing that is wanted", "--margin, such as 0.03; --power, such as 0.8; or --respondents, such as 1000"
        )
    if not (design or study or epsilon is not None) and not (respondents and (margin or power)):
        raise InvalidInput(
            "no design and no level of privacy",
            "--epsilon, such as 1, which compares all designs at that level; or --design, such as 'warner p=0.2'",
            "Or both --respondents and --margin, for the smallest epsilon that works.",
        )
    if check < 0:
        raise InvalidInput(f"--check {check}", "0, or a number of studies such as 200")
    with progress_bar("simulating", quiet=quiet or not check) as progress:
        found = planned(
            planned_designs(quantity, design, study, unknown, asked),
            quantity,
            n=respondents,
            margin=margin,
            power=power,
            level=level,
            epsilon=epsilon,
            check=check,
            seed=seed,
            progress=progress,
        )
    if plot is not None:
        write_figure(plot, found.plot().figure)
    if as_json:
        print_json(found.to_dict())
        return
    show = console().print
    show(str(found), markup=False)
    if text:
        show(f"\n{found.text()}", markup=False)


def _command(quantity: "Callable[..., Quantity]") -> None:
    """Register a command that makes a quantity from its own options, and plans for it with those that all share."""
    own = inspect.signature(quantity).parameters
    shared = dict(list(inspect.signature(_run).parameters.items())[1:])

    def run(**given: Any) -> None:
        asked = {name: given[name] for name in own}
        _run(quantity(**asked), **{name: given[name] for name in shared})

    hints = get_type_hints(_run, include_extras=True, localns={"Quantity": object})
    hints |= get_type_hints(quantity, include_extras=True, localns={"Quantity": object})
    everything = [*own.values(), *(parameter for name, parameter in shared.items() if name not in own)]
    required = [one for one in everything if one.default is inspect.Parameter.empty]
    optional = [one for one in everything if one.default is not inspect.Parameter.empty]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*required, *optional)]
    )
    run.__annotations__ = {one.name: hints[one.name] for one in everything}
    run.__doc__ = quantity.__doc__
    plan.command(quantity.__name__)(run)


@_command
def prevalence(
    share: Annotated[
        str, typer.Option("--prevalence", help="The expected share of the second answer, or a share for each.")
    ],
    answers: Answers = None,
    study: StudyFile = None,
) -> "Quantity":
    """Plan to estimate how many carry each answer."""
    from askance.errors import InvalidInput
    from askance.planning.quantities.proportions import Proportions

    if re.fullmatch("0,[0-9]+", share.strip()):  # as shares of two answers it would be that of nobody and of everybody
        raise InvalidInput(
            f"--prevalence {share}", f"a decimal point, as in {share.replace(',', '.')}", "Commas separate shares."
        )
    shares = listed_numbers(share, "--prevalence")
    return Proportions(shares if len(shares) > 1 else shares[0], asked_answers(answers, study))


@_command
def difference(
    between: Annotated[str, typer.Option("--between", help="The expected shares of the two groups, as in: 0.1,0.15.")],
    group_share: Annotated[
        float, typer.Option("--group-share", help="Which share of respondents is in the first group.")
    ] = 0.5,
    answers: Answers = None,
    study: StudyFile = None,
) -> "Quantity":
    """Plan to find a difference between two groups."""
    from askance.errors import InvalidInput
    from askance.planning.quantities.proportions import Difference

    shares = listed_numbers(between, "--between")
    if len(shares) != 2:
        raise InvalidInput(f"--between {between}", "two shares, such as 0.1,0.15")
    return Difference(shares[0], shares[1], group_share, asked_answers(answers, study))


@_command
def regression(
    effect: Effect,
    share: Share,
    of: Of = None,
    covariate: Law = None,
    pilot: Pilot = None,
    totals: Annotated[
        bool, typer.Option("--totals", help="The labels are released as a mean operator, not answer by answer.")
    ] = False,
    answers: Answers = None,
    study: StudyFile = None,
) -> "Quantity":
    """Plan to estimate coefficients of a regression of the hidden answer."""
    from askance.planning.quantities.coefficients import Coefficients
    from askance.planning.quantities.totals import TotalsCoefficients

    effects = {name: listed_numbers(value, "--effect")[0] for name, value in named_values(effect, "--effect").items()}
    kind = TotalsCoefficients if totals else Coefficients
    return kind(effects, share, laws_of_covariates(list(effects), covariate, pilot), of, asked_answers(answers, study))


@_command
def predictor(
    effect: Annotated[float, typer.Option("--effect", help="The expected effect on the outcome.")],
    share: Share,
    outcome: Annotated[
        Literal["linear", "logistic", "poisson"],
        typer.Option(help="The outcome's model; effects are deviations, log odds or log rates."),
    ] = "linear",
    base: Annotated[
        float | None, typer.Option("--base", help="Share or rate of the outcome for those who do not carry it.")
    ] = None,
    answers: Answers = None,
    study: StudyFile = None,
) -> "Quantity":
    """Plan to find the effect of a hidden answer on an open outcome."""
    from askance.planning.quantities.predictor import PredictorEffect

    return PredictorEffect(effect, share, outcome, base, asked_answers(answers, study))


@_command
def mean(
    expected: Annotated[float, typer.Option("--mean", help="The expected mean.")],
    deviation: Annotated[float, typer.Option("--deviation", help="The expected standard deviation.")],
    bounds: Annotated[str, typer.Option("--bounds", help="Public bounds of the number, as in: 0,100.")],
) -> "Quantity":
    """Plan to estimate the mean of a hidden number."""
    from askance.planning.quantities.numbers import Mean

    return Mean(expected, deviation, *lower_and_upper(bounds, "--bounds"))


@_command
def rows(
    pilot: Annotated[Path, typer.Option("--pilot", help="Rows as they are expected: a CSV or Parquet file.")],
    column: Annotated[list[str], typer.Option("--column", help="A column and its bounds, as in: age=0,100. Several.")],
    outcome: Annotated[str, typer.Option("--outcome", help="The column to predict.")],
    of: Of = None,
) -> "Quantity":
    """Plan a linear regression from rows of numbers that are hidden whole."""
    from askance.planning.quantities.numbers import RowCoefficients

    columns = {name: lower_and_upper(value, "--column") for name, value in named_values(column, "--column").items()}
    return RowCoefficients(pilot_columns(pilot, list(columns)), columns, outcome, of)


@_command
def ratios(
    bag: Annotated[list[str], typer.Option("--bag", help="The proportions of a bag, as in: 0.8,0.2. Several.")],
    separation: Annotated[float, typer.Option("--separation", help="Deviations between any two classes.")] = 2.0,
    new_rows: Annotated[int, typer.Option("--new-rows", help="The size of a new group.")] = 1000,
) -> "Quantity":
    """Plan to learn class ratios from bags whose counts are released; the margin is the expected L1 error."""
    from askance.planning.quantities.totals import ClassRatios

    return ClassRatios([listed_numbers(one, "--bag") for one in bag], separation, new_rows)
