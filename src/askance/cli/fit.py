"""``askance fit``: from reports, totals, counts and proportions to a model of the truth."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from askance.cli.options import (
    Bag,
    BagColumns,
    Engine,
    Json,
    Level,
    OptionalSeed,
    Overwrite,
    Proportions,
    Quiet,
    Report,
    Save,
    between_commas,
    check_targets,
    listed_numbers,
    repeated_command,
)
from askance.cli.standard_input import as_written
from askance.printing import shell_command

_REPORTS = "Reports: answers, numbers, records"
_SURVEYS = "Surveys with more than one hidden thing"
_TOTALS = "Mean operator"
_REGIONS = "Counted regions"


def fit(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            help="A release of reports (Parquet, by path or address such as s3://...), of a mean operator (JSON, with "
            "--features) or of counted regions (JSON lines or Parquet). Or a CSV or Parquet file: of reports, with "
            "--study; of rows in bags, with --proportions."
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="Choices and sequences: marginal (maximum likelihood, the default) or moments (unbiased). Regions: "
            "hybrid (the default: moments, then marginal), marginal or moments. Bags: auto (the default), "
            "bag-likelihood, mean-map, laplacian, alternating, linear-committee, bag-classifier, relabel, "
            "committee or overall-mix.",
        ),
    ] = None,
    ridge: Annotated[
        str, typer.Option(help="Ridge on the coefficients: a number, or auto. 0 is maximum likelihood, or a refusal.")
    ] = "auto",
    level: Level = 0.95,
    loss: Annotated[
        Literal["logistic", "square", "matsushita", "unhinged", "rho"],
        typer.Option(help="For a mean operator and for mean maps of bags: the loss."),
    ] = "logistic",
    seed: OptionalSeed = None,
    study: Annotated[
        Path | None, typer.Option(help="The study file, if DATA is not a release.", rich_help_panel=_REPORTS)
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(help="Which question, if there are several and no formula.", rich_help_panel=_REPORTS),
    ] = None,
    formula: Annotated[
        str | None,
        typer.Option(help='A regression, such as "cheated ~ age + C(school)".', rich_help_panel=_REPORTS),
    ] = None,
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMULA",
            help='What an unknown number of the designs depends on, such as "cheaters ~ age"; once for each of them.',
            rich_help_panel=_REPORTS,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTION",
            help="For hidden features: the question about their label, if there are several.",
            rich_help_panel=_REPORTS,
        ),
    ] = None,
    penalty: Annotated[
        Literal["auto", "log-f"],
        typer.Option(
            help="For choices: log-f keeps coefficients finite; auto does so where carriers are rare, and where no "
            "finite estimate exists.",
            rich_help_panel=_REPORTS,
        ),
    ] = "auto",
    intervals: Annotated[
        Literal["auto", "profile", "wald"],
        typer.Option(
            help="For choices: profile likelihood ratios, Wald intervals, or (auto) profiles where Wald's would be "
            "wrong.",
            rich_help_panel=_REPORTS,
        ),
    ] = "auto",
    covariance: Annotated[
        Literal["auto", "information", "sandwich"],
        typer.Option(help="For choices: where standard errors come from.", rich_help_panel=_REPORTS),
    ] = "auto",
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column of sample weights.", rich_help_panel=_REPORTS)
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="For choices: the column of strata.", rich_help_panel=_REPORTS),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="For choices: the column of primary sampling units.", rich_help_panel=_REPORTS
        ),
    ] = None,
    fpc: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="For choices: the column with the population of each stratum (in clusters, or in people without "
            "clusters), or the share of it that is in the sample.",
            rich_help_panel=_REPORTS,
        ),
    ] = None,
    missing: Annotated[
        Literal["refuse", "drop"] | None,
        typer.Option(
            help="Rows that lack a value that the fit needs: refuse them (the default), or leave them out and say how "
            "many. The sample's columns and this are as the study says, if not given.",
            rich_help_panel=_REPORTS,
        ),
    ] = None,
    replicate_weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="For choices: columns of replicate weights, with commas between, or a range such as rw1..rw80; "
            "instead of strata and clusters.",
            rich_help_panel=_REPORTS,
        ),
    ] = None,
    replicate_method: Annotated[
        Literal["jk1", "jkn", "brr", "fay", "bootstrap"] | None,
        typer.Option(
            help="How replicate weights were made: jk1 if not given; fay with --rho, jkn with --rscales.",
            rich_help_panel=_REPORTS,
        ),
    ] = None,
    rho: Annotated[
        float | None, typer.Option(help="Of fay: what the other half weighs.", rich_help_panel=_REPORTS)
    ] = None,
    rscales: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Of jkn: (n_h - 1) / n_h for each replicate, with commas between.",
            rich_help_panel=_REPORTS,
        ),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(
            metavar="UNITS",
            help="With a formula: how much of a feature its coefficient is told for beside the raw one, such as "
            "age=10,income=1000; a standard deviation for all others.",
            rich_help_panel=_REPORTS,
        ),
    ] = None,
    engine: Engine = "local",
    family: Annotated[
        Literal["linear", "logistic", "poisson", "ordered"],
        typer.Option(
            help='The outcome of a formula with a hidden predictor, such as "grade ~ age + hidden(cheated)".',
            rich_help_panel=_SURVEYS,
        ),
    ] = "linear",
    joint: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTIONS", help="A joint table of questions, with commas between.", rich_help_panel=_SURVEYS
        ),
    ] = None,
    treatment: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="A list experiment: whose list had the sensitive item. The counts are the question.",
            rich_help_panel=_SURVEYS,
        ),
    ] = None,
    direct: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="For a list experiment: answers to the direct question.", rich_help_panel=_SURVEYS
        ),
    ] = None,
    link: Annotated[
        Literal["logit", "probit", "cloglog"] | None,
        typer.Option(help="Another link than the logistic one, or ordered classes.", rich_help_panel=_SURVEYS),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Random intercepts by group: interviewers, schools.", rich_help_panel=_SURVEYS
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="The features that belong to it, CSV or Parquet.", rich_help_panel=_TOTALS),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="The column of identifiers among the features.", rich_help_panel=_TOTALS
        ),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(
            help="The sentences, if the regions come without: .conllu, .jsonl or .txt.", rich_help_panel=_REGIONS
        ),
    ] = None,
    structure: Annotated[
        Literal["auto", "node", "chain"],
        typer.Option(
            help="Tags by the word alone (node), also by words and tags around it (chain), or whichever foresees "
            "counts better (auto).",
            rich_help_panel=_REGIONS,
        ),
    ] = "auto",
    tolerance: Annotated[
        Literal["model"] | None,
        typer.Option(
            help="model: a share of the windows was miscounted by one; find them, and learn without.",
            rich_help_panel=_REGIONS,
        ),
    ] = None,
    invalid: Annotated[
        Literal["refuse", "list", "drop"],
        typer.Option(
            help="Windows that cannot be, or contradict each other: refuse and name the first, list all, or go on "
            "without them (drop).",
            rich_help_panel=_REGIONS,
        ),
    ] = "refuse",
    passes: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="How often the last stage goes over them.", rich_help_panel=_REGIONS),
    ] = None,
    proportions: Proportions = None,
    bag: Bag = "bag",
    columns: BagColumns = None,
    report: Report = None,
    save: Save = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Estimate the truth from what is known about it: reports, noisy totals, counts in regions, proportions of bags.

    A question with choices, without a formula: the proportions of the true answers. With one: also a logistic (or
    softmax) regression of the true answer. Beside both stands the naive analysis, which takes reports for the truth and
    is wrong.

    A question about sequences, such as tags that were hidden token by token: a tagger, learned from the words beside
    them. Both the level of one token and that of the longest sentence are printed.

    A question that hides numbers: a linear regression. The formula names columns of the hidden row, such as "value ~
    income + age", or a hidden number and public covariates. Without one, a row's outcome is explained by its other
    columns, and a number by all covariates that are numbers; if there are none, its mean is estimated.

    A question that hides features (images, say): a linear classifier of clean records, learned from the reports on
    them and on their label, another question.

    A mean operator (see askance release): a linear classifier of the features, once these are known to be those that
    the labels were added up with.

    Counted regions: a tagger that is learned from how often tags occur in windows of sentences.

    Several hidden answers, lists of items, hidden predictors, links and groups: --joint, --treatment, a formula with
    hidden(question), --link and --groups.

    Rows in bags, of which only the proportions of the classes are known: a classifier of single rows. (askance ratios
    estimates the proportions of new groups.)
    """
    # Each kind of data has its workflow imported where it is fitted: nobody waits for what the others need.
    from askance.cli.fit_kinds import ANSWERS, BAGS, REGIONS, TOTALS, check_options, kinds_of, survey_kind
    from askance.cli.fit_values import replicate_columns, ridge_strength, units_of_features
    from askance.cli.output import print_json, progress_bar, say, show_lines
    from askance.files.kinds import MODEL, REPORT

    strength = ridge_strength(ridge)
    check_targets(
        [(report, REPORT), (save, MODEL)],
        overwrite=overwrite,
        inputs=[Path(data), study, features, sentences, proportions],
    )
    survey = survey_kind(formula, joint, treatment, link or groups)
    kinds = kinds_of(data, proportions)
    kinds = kinds if survey is None else (survey,)
    check_options(context, kinds)
    command = repeated_command(context)
    hint = kinds[0].use.format(model=shell_command(save)) if save and len(kinds) == 1 else ""
    if proportions is not None:
        from askance.workflows.bags import fit_bags

        done = fit_bags(
            data, proportions, bag, between_commas(columns, "--columns"), method=BAGS.method(method), loss=loss,
            ridge=strength, level=level, seed=seed, command=command,
        )  # fmt: skip
    elif survey is not None:
        from askance.workflows.surveys import SurveyRequest, analyse_survey

        request_of_survey = SurveyRequest(
            formula=formula, family=family, joint=tuple(between_commas(joint, "--joint") or ()), treatment=treatment,
            direct=direct, question=question, link=link, groups=groups, weight=weight, strata=strata, cluster=cluster,
            missing=missing, level=level,
        )  # fmt: skip
        done = analyse_survey(data, study, request_of_survey, command)
    elif kinds == (REGIONS,):
        from askance.workflows.regions import fit_regions

        with progress_bar("learning from counts", quiet=quiet) as progress:
            done = fit_regions(
                data, sentences, method=REGIONS.method(method), structure=structure, passes=passes,
                tolerance=tolerance, invalid=invalid, seed=seed, command=command, progress=progress,
            )  # fmt: skip
    elif kinds == (TOTALS,):
        from askance.workflows.mean_operator import fit_mean_operator

        done = fit_mean_operator(data, features, id_column, loss=loss, ridge=strength, level=level, command=command)
    else:
        from askance.cli.fit_reports import fit_reports
        from askance.workflows.fit_request import FitRequest

        request = FitRequest.of(
            question=question, formula=formula, unknowns=unknown or (), label=label, weight=weight,
            strata=strata, cluster=cluster, fpc=fpc, missing=missing,
            replicate_weights=None if replicate_weights is None else replicate_columns(replicate_weights),
            replicate_method=replicate_method, rho=rho, rscales=listed_numbers(rscales, "--rscales"),
            method=ANSWERS.method(method), ridge=strength, penalty=penalty, intervals=intervals,
            covariance=covariance, level=level, per=units_of_features(per),
        )  # fmt: skip
        done, hint = fit_reports(context, data, study, request, engine, command, quiet)
    if report is not None:
        read = (each for each in (data, features, sentences, proportions) if each is not None)
        done = done.of_inputs([(as_written(each), each) for each in read], study)
    written = done.write(report, save)
    if as_json:
        print_json(done.account | {"written": [*map(str, written)]})
    else:
        show_lines(done.text)
    if quiet:
        return
    for remark in [*done.remarks, *(f"wrote {path}" for path in written)]:
        say(remark)
    if hint and not as_json:
        say(hint)
