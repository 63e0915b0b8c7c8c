"""A study file with comments, from a few answers about the study."""

import json
from dataclasses import dataclass

from askance.errors import InvalidInput, did_you_mean
from askance.releases.study import Study

# The designs that are offered, each with what it needs, what that should be unless somebody says otherwise, and what
# it means to who fills the form in. Others are for those who read the page on channels.
DESIGNS: dict[str, tuple[dict[str, str], str]] = {
    "randomized-response": (
        {"epsilon": "1.0"},
        "a device draws: true with the probability that epsilon allows, otherwise any choice",
    ),
    "crosswise": (
        {"p": '"1/4"'},
        "paper: 'both or neither' of the question and a harmless one, true with probability p (a birthday)",
    ),
    "warner": ({"p": "0.8"}, "paper: with probability p about the question, otherwise about its negation"),
    "forced-response": (
        {"p_no": '"1/6"', "p_yes": '"1/6"'},
        "paper: a die that forces no, forces yes, or asks for the truth",
    ),
}
OF_TWO = ("crosswise", "warner", "forced-response")  # designs between two choices


def offered(design: str) -> tuple[dict[str, str], str]:
    """Return the numbers that a design needs, as they are proposed, and what it is; refuse one that is not offered."""
    if design not in DESIGNS:
        raise InvalidInput(
            f"the design {design!r}",
            f"one of {', '.join(DESIGNS)}",
            did_you_mean(design, DESIGNS) or "Others can be written into the file: see the page on channels.",
        )
    return DESIGNS[design]


@dataclass(frozen=True)
class NewQuestion:
    """A question to be: its column, wording, choices, and how answers are hidden."""

    name: str
    text: str = ""
    choices: tuple[str, ...] = ("no", "yes")
    design: str = "randomized-response"
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class NewStudy:
    """What somebody said about a study that is to be written down.

    Parameters
    ----------
    title : str
    questions : tuple of NewQuestion
    covariates : tuple of (name, levels)
        A number where there are no levels; the word "any" alone stands for any text.
    purpose, retention : str
        For the dossier; may be empty.

    Examples
    --------
    >>> print(NewStudy("Exams", (NewQuestion("cheated"),), (("age", ()),)).to_toml().split("[covariates.")[1])
    age]
    type = "number"
    <BLANKLINE>
    """

    title: str
    questions: tuple[NewQuestion, ...]
    covariates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    purpose: str = ""
    retention: str = ""

    def to_toml(self) -> str:
        """Return the study file; it has been read once, so that it is known to be one."""
        lines = ["# What is asked, how the answers are hidden, and what else is known about a person.", "[study]"]
        lines += [f"title = {_quoted(self.title)}"]
        for question in self.questions:
            lines += ["", *_question(question)]
        if self.covariates:
            lines += [
                "",
                "# Covariates are published as they are: nothing protects them. What is not declared stays behind.",
            ]
        for name, levels in self.covariates:
            lines += [f"[covariates.{_key(name)}]", f'type = "{"category" if levels else "number"}"']
            lines += [f"levels = {_listed(levels)}"] if levels and levels != ("any",) else []
            lines += [""]
        if self.purpose or self.retention:
            lines += ["" if lines[-1] else "# For the dossier on privacy: askance dossier.", "[privacy]"]
            lines += [f"purpose = {_quoted(self.purpose)}"] if self.purpose else []
            lines += [f"retention = {_quoted(self.retention)}"] if self.retention else []
        text = "\n".join(lines).rstrip() + "\n"
        Study.parse(text, "the new study")
        return text


def _question(question: NewQuestion) -> list[str]:
    defaults, words = offered(question.design)
    if question.design in OF_TWO and len(question.choices) != 2:
        raise InvalidInput(
            f"{len(question.choices)} choices and the design {question.design!r}",
            "two choices, or the design randomized-response",
        )
    given = dict(question.parameters)
    if strangers := [name for name in given if name not in defaults]:
        raise InvalidInput(f"{strangers[0]} for the design {question.design!r}", f"{', '.join(defaults)}")
    numbers = ", ".join(f"{name} = {given.get(name, default)}" for name, default in defaults.items())
    return [
        f"[questions.{_key(question.name)}]",
        *([f"text = {_quoted(question.text)}"] if question.text else []),
        f"choices = {_listed(question.choices)}  # the last of two is the sensitive one",
        f"# {words}",
        f'channel = {{ design = "{question.design}", {numbers} }}',
    ]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _listed(words: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_quoted, words))}]"


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else _quoted(name)
