"""``askance new``: a study file, from a few questions about the study."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askance.cli.options import Json, between_commas

if TYPE_CHECKING:
    from askance.cli.output import Answer
    from askance.workflows.new_study import NewQuestion, NewStudy

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
    from askance.cli.output import print_json, show
    from askance.errors import InvalidInput
    from askance.files.kinds import STUDY
    from askance.files.targets import check_target, write_text
    from askance.printing import shell_command
    from askance.releases.study import Study
    from askance.workflows.new_study import NewQuestion, NewStudy, offered

    if path.exists():
        raise InvalidInput(f"{path} exists already", "a new name: a study file is never replaced")
    check_target(path, STUDY, overwrite=False)
    if design is not None:  # before anybody has answered anything
        offered(design)
    wanted = _Wanted(yes)
    made = wanted(title, "Title of the study", "A study", lambda said: _tried(NewStudy(said, (NewQuestion("answer"),))))
    made = _with_questions(replace(made, questions=()), wanted, question, choices, design, parameters)
    while question is None and not yes and wanted(None, "Another question? (yes or no)", "no", _is_yes):
        made = _with_questions(made, wanted, None, choices, design, parameters)
    for each in covariate or ():
        made = _with_covariate(made, *_covariate(each))
    while covariate is None and not yes and (more := _with_asked_covariate(made, wanted)):
        made = more
    said = wanted(purpose, "Purpose, for the dossier (may be empty)", "", str)
    kept = wanted(retention, "How long answers are kept (may be empty)", "", str)
    text = replace(made, purpose=said, retention=kept).to_toml()
    write_text(path, text, STUDY)
    study = Study.parse(text)
    if as_json:
        print_json({"study": str(path), "guarantee": study.guarantee.to_dict(), "header": study.header().to_dict()})
        return
    show(f"wrote {path}", style="bold")
    show(f"Each person: {study.guarantee}. {study.guarantee.in_words()}")
    show(f"Try it: {shell_command('askance', 'simulate', path, '--out', 'made-up.csv')}")
    show(f"Sign it: {shell_command('askance', 'dossier', path)}")


@dataclass(frozen=True)
class _Wanted:
    """Where an answer comes from: an option, what is proposed, or who is asked for it."""

    nobody_is_asked: bool

    def __call__(self, given: str | None, words: str, proposed: str, read: "Callable[[str], Answer]") -> "Answer":
        from askance.cli.output import ask_for

        if given is not None or self.nobody_is_asked:
            return read(proposed if given is None else given)
        return ask_for(words, proposed, _RATHER, read)


def _tried(made: "NewStudy") -> "NewStudy":
    """A study as far as it is known, if it can be one: who is asked hears at once what cannot."""
    made.to_toml()
    return made


def _with_questions(
    made: "NewStudy",
    wanted: _Wanted,
    given: list[str] | None,
    choices: str | None,
    design: str | None,
    parameters: str | None,
) -> "NewStudy":
    """The study with all questions of the options, or with one more that is asked for."""
    from askance.cli.output import say
    from askance.workflows.new_study import DESIGNS, OF_TWO, NewQuestion

    def tried(asked: "list[NewQuestion]", **more: Any) -> "list[NewQuestion]":
        several = [replace(each, **more) for each in asked]
        _tried(replace(made, questions=(*made.questions, *several)))
        return several

    if given is None:
        named = wanted(None, "Column of the question", "answer", lambda said: tried([NewQuestion(said)]))
        proposed = "Is the sensitive statement true of you?"
        named = wanted(None, "How it is asked", proposed, lambda said: tried(named, text=said))
    else:
        named = tried([NewQuestion(*_pair(each)) for each in given])
    chosen = wanted(
        choices,
        "Choices, the sensitive one last",
        "no, yes",
        lambda said: tried(named, choices=tuple(between_commas(said, "--choices"))),
    )
    if design is None and not wanted.nobody_is_asked:
        for name, (_, words) in DESIGNS.items():
            if len(chosen[0].choices) == 2 or name not in OF_TWO:
                say(f"  {name}: {words}")
    hidden = wanted(
        design, "How answers are hidden", "randomized-response", lambda said: tried(chosen, design=said.strip())
    )
    defaults, _ = DESIGNS[hidden[0].design]
    proposed = ",".join(f"{name}={value.strip(chr(34))}" for name, value in defaults.items())
    done = wanted(
        parameters, "Its numbers", proposed, lambda said: tried(hidden, parameters=_numbers(said, [*defaults]))
    )
    return replace(made, questions=(*made.questions, *done))


def _with_covariate(made: "NewStudy", name: str, levels: tuple[str, ...]) -> "NewStudy":
    return _tried(replace(made, covariates=(*made.covariates, (name, levels))))


def _with_asked_covariate(made: "NewStudy", wanted: _Wanted) -> "NewStudy | None":
    """The study with one covariate more that is asked for; None where there is no more."""

    def named(said: str) -> str:
        return _with_covariate(made, said, ()).covariates[-1][0] if said else ""

    name = wanted(None, "A covariate, published as it is (empty for no more)", "", named)
    words = f"Levels of {name}, with commas between (empty for a number, any for any text)"
    return wanted(None, words, "", lambda said: _with_covariate(made, name, _levels(said))) if name else None


def _is_yes(text: str) -> bool:
    from askance.errors import InvalidInput

    word = text.strip().lower()
    if word not in ("y", "yes", "n", "no"):
        raise InvalidInput(repr(text), "yes or no")
    return word.startswith("y")


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
    return name.strip(), _levels(levels)


def _levels(text: str) -> tuple[str, ...]:
    return tuple(between_commas(text, "--covariate")) if text.strip() else ()


def _numbers(text: str, names: list[str]) -> tuple[tuple[str, str], ...]:
    import re

    from askance.errors import InvalidInput

    if len(names) == 1 and "=" not in text:  # what it is goes without saying
        text = f"{names[0]}={text}"
    pairs = []
    for each in between_commas(text, "--parameters"):
        name, _, value = (part.strip() for part in each.partition("="))
        fraction = re.fullmatch(r"[0-9]{1,9}/[0-9]{1,9}", value)
        if not name or not (fraction or re.fullmatch(r"[0-9]*\.?[0-9]+", value)):
            raise InvalidInput(f"--parameters {text!r}", "names and numbers, such as epsilon=0.5 or p_no=1/6,p_yes=1/6")
        pairs.append((name, f'"{value}"' if fraction else f"0{value}" if value.startswith(".") else value))
    return tuple(pairs)
