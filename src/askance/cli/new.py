"""``askance new``: a study file, from a few questions about the study."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askance.cli.options import Json, between_commas

if TYPE_CHECKING:
    from askance.workflows.new_study import NewQuestion

_RATHER = "Options that are given are not asked for, and --yes takes what is proposed for all others."


def new(
    path: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file to write (TOML).")] = Path("study.toml"),
    title: Annotated[str | None, typer.Option(help="The title of the study.")] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[=WORDING]",
            help='A question: its column, and how it is asked, such as cheated="Have you cheated?". Once for each.',
        ),
    ] = None,
    choices: Annotated[
        str | None, typer.Option(help="The choices of every question, with commas between; the last one is sensitive.")
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(help="How answers are hidden: randomized-response, crosswise, warner or forced-response."),
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Of the design, such as epsilon=0.5 or p_no=1/6,p_yes=1/6."),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[=LEVELS]",
            help="A covariate: a number, or a category with levels between commas (school=north,south; any for any "
            "text). Once for each.",
        ),
    ] = None,
    purpose: Annotated[str | None, typer.Option(help="What the answers are used for; for the dossier.")] = None,
    retention: Annotated[str | None, typer.Option(help="How long they are kept; for the dossier.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: take what is proposed for what is not given.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a study file with comments: asks what it needs to know, or takes it from options.

    A file that is there already is never replaced. What is written can be edited; askance audit, dossier and simulate
    read it right away.
    """
    from askance.cli.output import ask_for, print_json, show
    from askance.errors import InvalidInput
    from askance.files.kinds import STUDY
    from askance.files.targets import check_target, write_text
    from askance.printing import shell_command
    from askance.releases.study import Study
    from askance.workflows.new_study import NewStudy

    if path.exists():
        raise InvalidInput(f"{path} exists already", "a new name: a study file is never replaced")
    check_target(path, STUDY, overwrite=False)

    def wanted(given: str | None, words: str, proposed: str) -> str:
        return given if given is not None else proposed if yes else ask_for(words, proposed, _RATHER)

    named = wanted(title, "Title of the study", "A study")
    questions = _questions(question, choices, design, parameters, yes)
    if covariate is None and not yes:
        covariate = _asked_covariates()
    about = {
        "purpose": wanted(purpose, "Purpose, for the dossier (may be empty)", ""),
        "retention": wanted(retention, "How long answers are kept (may be empty)", ""),
    }
    made = NewStudy(named, questions, tuple(map(_covariate, covariate or ())), **about)
    text = made.to_toml()
    write_text(path, text, STUDY)
    study = Study.parse(text)
    if as_json:
        print_json({"study": str(path), "guarantee": study.guarantee.to_dict(), "header": study.header().to_dict()})
        return
    show(f"wrote {path}", style="bold")
    show(f"Each person: {study.guarantee}. {study.guarantee.in_words()}")
    show(f"Try it: {shell_command('askance', 'simulate', path, '--out', 'made-up.csv')}")
    show(f"Sign it: {shell_command('askance', 'dossier', path)}")


def _questions(
    given: list[str] | None, choices: str | None, design: str | None, parameters: str | None, yes: bool
) -> "tuple[NewQuestion, ...]":
    from askance.cli.output import ask_for, show
    from askance.workflows.new_study import DESIGNS, OF_TWO, NewQuestion, offered

    def wanted(said: str | None, words: str, proposed: str) -> str:
        return said if said is not None else proposed if yes else ask_for(words, proposed, _RATHER)

    made = []
    pairs = [_pair(each) for each in given or ()]
    while True:
        if given is None:
            name = wanted(None, "Column of the question", "answer")
            pairs = [(name, wanted(None, "How it is asked", "Is the sensitive statement true of you?"))]
        labels = tuple(between_commas(wanted(choices, "Choices, the sensitive one last", "no, yes"), "--choices"))
        if design is None and not yes:
            for name, (_, words) in DESIGNS.items():
                if len(labels) == 2 or name not in OF_TWO:
                    show(f"  {name}: {words}")
        how = wanted(design, "How answers are hidden", "randomized-response")
        defaults, _ = offered(how)
        proposed = ",".join(f"{name}={default.strip(chr(34))}" for name, default in defaults.items())
        numbers = _numbers(wanted(parameters, "Its numbers", proposed))
        made += [NewQuestion(name, text, labels, how, numbers) for name, text in pairs]
        if (
            given is not None
            or yes
            or ask_for("Another question? (yes or no)", "no", _RATHER).strip().lower()[:1] != "y"
        ):
            return tuple(made)


def _asked_covariates() -> list[str]:
    from askance.cli.output import ask_for

    found: list[str] = []
    while name := ask_for("A covariate, published as it is (empty for no more)", "", _RATHER).strip():
        levels = ask_for(f"Levels of {name}, with commas between (empty for a number)", "", _RATHER).strip()
        found.append(f"{name}={levels}" if levels else name)
    return found


def _pair(text: str) -> tuple[str, str]:
    from askance.errors import InvalidInput

    name, _, words = text.partition("=")
    if not name.strip():
        raise InvalidInput(f"--question {text!r}", 'a column and how it is asked, such as cheated="Have you cheated?"')
    return name.strip(), words.strip()


def _covariate(text: str) -> tuple[str, tuple[str, ...]]:
    from askance.errors import InvalidInput

    name, _, levels = text.partition("=")
    if not name.strip():
        raise InvalidInput(f"--covariate {text!r}", "a column, such as age or school=north,south")
    return name.strip(), tuple(between_commas(levels, "--covariate")) if levels.strip() else ()


def _numbers(text: str) -> tuple[tuple[str, str], ...]:
    import re

    from askance.errors import InvalidInput

    pairs = []
    for each in between_commas(text, "--parameters"):
        name, _, value = (part.strip() for part in each.partition("="))
        fraction = re.fullmatch(r"[0-9]{1,9}/[0-9]{1,9}", value)
        if not name or not (fraction or re.fullmatch(r"[0-9]*\.?[0-9]+", value)):
            raise InvalidInput(f"--parameters {text!r}", "names and numbers, such as epsilon=0.5 or p_no=1/6,p_yes=1/6")
        pairs.append((name, f'"{value}"' if fraction else f"0{value}" if value.startswith(".") else value))
    return tuple(pairs)
