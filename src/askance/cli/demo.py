"""``askance demo``: a whole private study on bundled data, from the plan to the report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askance.cli.options import Json, Quiet, out_option

if TYPE_CHECKING:
    from askance.workflows.demonstration import DemoStudy


def demo(
    respondents: Annotated[int, typer.Option(min=2000, help="How many people to simulate.")] = 5000,
    out: Annotated[Path, out_option("Folder for the study, the release and the report.")] = Path("askance-demo"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a whole private study on bundled data: plan, privatise, release, audit, fit, report.

    Ends with 0 only if it worked: the audit passed, the fits converged, and every estimate is within six standard
    errors of the truth, which is known here.
    """
    from askance.cli.output import console, print_json
    from askance.workflows.demonstration import DemoStudy

    print_text = console().print

    def show(text: str, **style: Any) -> None:
        if not (as_json or quiet):
            print_text(text, markup=False, **style)

    def step(number: int, title: str) -> None:
        show(f"\n{number}. {title}", style="bold")

    study = DemoStudy(out, respondents)
    study.make_folder()
    show("A private study, from the plan to the report", style="bold")
    show(
        f"{respondents:,} simulated respondents, each a row drawn with replacement from scikit-learn's breast-cancer "
        "data\n(569 real patients). Was the tumour malignant? Everybody answers through randomised response."
    )
    step(1, "Plan: how precise will it be, and at which price in privacy?")
    show(study.plan())
    step(2, "Study: what is asked, and how the answers are hidden")
    show(study.write_study().strip())
    step(3, "Privatise: every answer is randomised with the operating system's entropy")
    show(study.privatize())
    step(4, "Audit: is the promised privacy the privacy that is given?")
    audited = study.audit()
    show(str(audited))
    step(5, "Fit: what the reports say about the truth")
    result = study.fit()
    problems = result.problems(audited.passed)
    if as_json:
        written = [study.study_file, study.answers, study.release_file, study.report_file]
        print_json(
            {
                "respondents": respondents,
                "epsilon": study.EPSILON,
                "audit_passed": audited.passed,
                "estimates": result.account(),
                "problems": problems,
                "written": [*map(str, written)],
            }
        )
    else:
        print_text(str(result), markup=False)
        for problem in problems:
            print_text(f"FAILED: {problem}", style="bold red", markup=False)
    step(6, "Look at it, and go on")
    show(_next_steps(study))
    raise typer.Exit(1 if problems else 0)


def _next_steps(study: "DemoStudy") -> str:
    return "\n".join(
        [
            f"Open      {study.report_file}",
            f'Fit       askance fit {study.release_file} --formula "{study.FORMULA}"',
            f"Audit     askance audit {study.study_file}",
            f"Hide more: lower epsilon in {study.study_file}, then",
            f"          askance privatize {study.study_file} {study.answers} --out {study.release_file} --overwrite",
            "Your own  write a study.toml like this one; askance fit also takes a CSV of collected reports (--study)",
        ]
    )
