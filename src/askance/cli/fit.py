"""``askance fit``: from reports to proportions, means and regressions."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from askance.engines.base import Engine
    from askance.releases.header import Question
    from askance.releases.release import Release
    from askance.workflows.answer_analysis import Analysis
    from askance.workflows.number_analysis import NumberAnalysis

_FOR_CHOICES = ("method", "covariance")  # options that hidden numbers have no use for


def fit(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="A release: Parquet, by path or address (s3://...); a mean operator (JSON), with --features; or "
            "counted regions (JSON lines or Parquet). Or a CSV or Parquet file of reports, with --study."
        ),
    ],
    study: Annotated[Path | None, typer.Option(help="The study file, if DATA is not a release.")] = None,
    formula: Annotated[str | None, typer.Option(help='A regression, such as "cheated ~ age + C(school)".')] = None,
    question: Annotated[str | None, typer.Option(help="Which question, if there are several and no formula.")] = None,
    label: Annotated[
        str | None, typer.Option(metavar="QUESTION", help="For hidden features: the question about their label.")
    ] = None,
    method: Annotated[
        Literal["marginal", "moments", "hybrid"],
        typer.Option(
            help="Maximum likelihood, or unbiased moments. For regions also one after the other: hybrid, their default."
        ),
    ] = "marginal",
    ridge: Annotated[str, typer.Option(help="Penalty on the coefficients: a number, or auto.")] = "auto",
    covariance: Annotated[
        Literal["auto", "information", "sandwich"], typer.Option(help="Where standard errors come from.")
    ] = "auto",
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    weight: Annotated[str | None, typer.Option(metavar="COLUMN", help="A column of sample weights.")] = None,
    features: Annotated[
        Path | None, typer.Option(help="For a mean operator: the features that belong to it, CSV or Parquet.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The column of identifiers among the features.")
    ] = None,
    loss: Annotated[
        Literal["logistic", "square", "matsushita", "unhinged", "rho"],
        typer.Option(help="For a mean operator: the loss."),
    ] = "logistic",
    sentences: Annotated[
        Path | None, typer.Option(help="For regions without their sentences: these, as .conllu, .jsonl or .txt.")
    ] = None,
    structure: Annotated[
        Literal["node", "chain"],
        typer.Option(help="For regions: tags by the word alone, or also by words and tags around it."),
    ] = "node",
    passes: Annotated[
        int | None, typer.Option(min=1, help="For regions: how often the last stage goes over them.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For regions: the same seed gives the same tagger.")] = None,
    engine: Annotated[
        str, typer.Option(help="Where it runs: local, dask, spark, or dask:ADDRESS, spark:MASTER.")
    ] = "local",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write a report (one HTML file).")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the fitted model (JSON).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier files.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress and no remarks.")] = False,
) -> None:
    """Estimate the truth from reports: how many there are of each answer and who they are, or what explains a number.

    A question with choices, without a formula: the proportions of the true answers. With one: also a logistic (or
    softmax) regression of the true answer. Beside both stands the naive analysis, which takes reports for the truth and
    is wrong.

    A question that hides numbers: a linear regression. The formula names columns of the hidden row, such as "value ~
    income + age", or a hidden number and public covariates. Without one, a row's outcome is explained by its other
    columns, and a number by all covariates that are numbers; if there are none, its mean is estimated.

    A question that hides features (images, say): a linear classifier of clean records, learned from the reports on
    them and on their label, another question.

    A mean operator (see askance release): a linear classifier of the features, once these are known to be those that
    the labels were added up with.

    Counted regions: a tagger that is learned from how often tags occur in windows of sentences.
    """
    from askance.cli.fit_features import fit_features, refuse_label
    from askance.cli.fit_options import check_options, kind_of, was_given
    from askance.cli.fit_tagger import fit_tagger
    from askance.cli.fit_totals import fit_totals
    from askance.cli.output import print_json, say
    from askance.engines.base import running
    from askance.engines.local.engine import LocalEngine
    from askance.errors import InvalidInput
    from askance.files.targets import check_target
    from askance.releases.study import Study
    from askance.reports.text import report_text
    from askance.workflows.collected_reports import Wanted, open_reports

    penalty = _ridge(ridge)
    _check_level(level)
    inputs = [Path(path) for path in (data, study, sentences) if path is not None]
    for target in (report, save):
        if target is not None:
            check_target(target, overwrite=overwrite, inputs=tuple(inputs))
            inputs.append(target)
    kind = kind_of(data)
    check_options(context, kind)
    if kind == "regions":
        fit_tagger(
            data, sentences=sentences, method=method if was_given(context, "method") else "hybrid", structure=structure,
            passes=passes, seed=seed, as_json=as_json, save=save, quiet=quiet,
        )  # fmt: skip
        return
    if method == "hybrid":
        raise InvalidInput("--method hybrid", "marginal or moments; hybrid is for counted regions")
    if kind == "totals":
        fit_totals(
            data, features=features, id_column=id_column, loss=loss, ridge=penalty, level=level, as_json=as_json,
            save=save, quiet=quiet,
        )  # fmt: skip
        return
    plan = None if study is None else Study.read(study)
    wanted = Wanted(question, formula, weight)
    release, whole_person = open_reports(data, plan, wanted)
    asked = wanted.asked(release.header)
    if asked.hides_features:
        fit_features(
            context, release, asked, label=label, ridge=penalty, level=level, as_json=as_json, save=save, quiet=quiet
        )
        return
    refuse_label(label, asked)
    options: dict[str, Any] = {
        "question": asked.name,
        "formula": formula,
        "ridge": penalty,
        "level": level,
        "weight": weight,
        "whole_person": whole_person,
        "command": _command(
            data, study=study, formula=formula, question=question, method=method, ridge=ridge, covariance=covariance,
            level=level, weight=weight, engine=engine, report=report,
        ),
    }  # fmt: skip
    if asked.hides_numbers:
        _refuse_options_for_choices(context, asked)
    else:
        options |= {"method": method, "covariance": covariance}
    with running(LocalEngine(progress=not quiet) if engine == "local" else engine) as where:
        done = _analyse(release, asked, where, options)
    written = _write(done, report, save)
    if as_json:
        print_json(done.report.to_dict() | {"parameters": _parameters(done), "written": [*map(str, written)]})
    else:
        typer.echo(report_text(done.report))
    if quiet:
        return
    for path in written:
        say(f"wrote {path}")
    if formula is None and not as_json:
        say(_how_to_add_a_formula(asked, release.header.covariates))


def _analyse(
    release: "Release", asked: "Question", engine: "Engine", options: dict[str, Any]
) -> "Analysis | NumberAnalysis":
    from askance.workflows.answer_analysis import analyse
    from askance.workflows.number_analysis import analyse_numbers

    if asked.hides_numbers:
        return analyse_numbers(release, engine=engine, **options)
    return analyse(release, engine=engine, **options)


def _refuse_options_for_choices(context: typer.Context, asked: "Question") -> None:
    from askance.errors import InvalidInput

    for name in _FOR_CHOICES:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidInput(
                f"--{name} for the question {asked.name!r}, which hides numbers",
                f"no --{name}: a line through hidden numbers is fitted in one way only",
            )


def _write(done: "Analysis | NumberAnalysis", report: Path | None, save: Path | None) -> list[Path]:
    from askance.files.targets import write_text
    from askance.reports.html import write_report

    if report is not None:
        write_report(report, done.report, overwrite=True)  # whether it may be replaced was checked before
    if save is not None:
        write_text(save, done.model.to_json())
    return [path for path in (report, save) if path is not None]


def _parameters(done: "Analysis | NumberAnalysis") -> dict[str, Any] | None:
    """The regression's parameters with their whole covariance, for programs."""
    model = done.model
    if done.report.regression is None:
        return None
    return {
        "names": list(model.parameter_names_),
        "estimates": model.parameters_.tolist(),
        "covariance": model.covariance_.tolist(),
    }


def _ridge(ridge: str) -> str | float:
    from askance.errors import InvalidInput

    if ridge == "auto":
        return ridge
    try:
        return float(ridge)
    except ValueError:
        raise InvalidInput(f"--ridge {ridge}", "auto, 0 or a positive number") from None


def _check_level(level: float) -> None:
    from askance.errors import InvalidInput

    if not 0 < level < 1:
        percent = f"For {level:g} per cent write {level / 100:g}." if 1 < level < 100 else ""
        raise InvalidInput(f"--level {level:g}", "a confidence level between 0 and 1, such as 0.95", percent)


def _command(data: str, **options: Any) -> str:
    """The command that makes the report again: what differs from the defaults."""
    default = {"method": "marginal", "ridge": "auto", "covariance": "auto", "level": 0.95, "engine": "local"}
    words = ["askance", "fit", data]
    for name, value in options.items():
        if value is not None and value != default.get(name):
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def _how_to_add_a_formula(asked: "Question", covariates: Any) -> str:
    from askance.learning.face.formula import in_formula

    names = [in_formula(c.name) if c.type == "number" else f"C({in_formula(c.name)})" for c in covariates]
    if len(asked.sources) > 1:
        *features, outcome = map(in_formula, asked.sources)
        return f'Another model? Name hidden columns: --formula "{outcome} ~ {" + ".join(features[:4])}"'
    if not names:
        kind = "This is the mean" if asked.hides_numbers else "These are proportions"
        return f"{kind} only. With covariates in the study, --formula adds a regression."
    wanted = "Another model?" if asked.hides_numbers else "Who are they? Add a regression:"
    return f'{wanted} --formula "{in_formula(asked.name)} ~ {" + ".join(names[:4])}"'
