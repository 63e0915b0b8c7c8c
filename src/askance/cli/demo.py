"""``askance demo``: a whole private study on bundled data, from the plan to the report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askance.cli.options import Json, Quiet, out_option
from askance.printing import one_line, shell_command

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
    from askance.cli.output import print_json, show_lines
    from askance.workflows.demonstration import DemoStudy

    def show(text: str, style: str = "") -> None:
        if not (as_json or quiet):
            show_lines(text, style)

    def step(number: int, title: str) -> None:
        show(f"\n{number}. {title}", "bold")

    study = DemoStudy(out, respondents)
    study.make_folder()
    show("A private study, from the plan to the report", "bold")
    show(
        f"{respondents:,} simulated respondents, each like one of the 569 real patients of scikit-learn's breast-cancer"
        " data.\nWas the tumour malignant? Everybody answers through randomised response."
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
        show_lines(str(result))
        for problem in problems:
            show_lines(f"FAILED: {problem}", "bold red")
    step(6, "Look at it, and go on")
    show(_next_steps(study))
    raise typer.Exit(1 if problems else 0)


def _next_steps(study: "DemoStudy") -> str:
    toml, release = study.study_file, study.release_file
    return "\n".join(
        [
            f"Open      {one_line(str(study.report_file))}",
            f"Fit       {shell_command('askance', 'fit', release, '--formula', study.FORMULA)}",
            f"Audit     {shell_command('askance', 'audit', toml)}",
            f"Hide more: lower epsilon in {one_line(str(toml))}, then",
            f"          {shell_command('askance', 'privatize', toml, study.answers, '--out', release, '--overwrite')}",
            "Your own  write a study.toml like this one; askance fit also takes a CSV of collected reports (--study)",
        ]
    )
