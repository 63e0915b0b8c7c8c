"""What a page says, in each of its languages: our words, and the study's own."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from askance.channels.alphabet import Label
from askance.collector.page_settings import PageSettings, only, strings, table
from askance.collector.questionnaire import Questionnaire
from askance.errors import InvalidInput
from askance.releases.declarations import Covariate, Question

_OWN = ("title", "introduction", "consent", "check", "check_choices", "questions", "covariates", "words", "direction")
_OF_QUESTION = ("text", "choices", "reports", "instructions", "asked")
_OF_COVARIATE = ("text", "levels")
_DIRECTIONS = ("ltr", "rtl")


@cache
def known_words(page: str) -> dict[str, dict[str, str]]:
    """Return the words of a page in the languages that come with askance."""
    folder, first = files("askance.collector").joinpath("words"), f"{page}."
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.startswith(first))
    read = {name.split(".")[1]: folder.joinpath(name).read_text(encoding="utf-8") for name in names}
    return {language: tomllib.loads(text) for language, text in read.items()}


@dataclass(frozen=True)
class QuestionTexts:
    """A question in one language; instructions and other wordings by design."""

    text: str
    choices: tuple[str, ...]
    reports: Mapping[str, tuple[str, ...]]
    instructions: Mapping[str, str]
    asked: Mapping[str, str]


@dataclass(frozen=True)
class Texts:
    """Everything that a page says in one language."""

    language: str
    direction: str
    words: Mapping[str, str]
    title: str
    introduction: str
    consent: str
    check: str
    check_choices: tuple[str, ...]
    questions: Mapping[str, QuestionTexts]
    covariates: Mapping[str, tuple[str, tuple[str, ...]]]

    @classmethod
    def of(cls, asked: Questionnaire, language: str) -> "Texts":
        """Put together what a study says in a language; refuse to leave something unsaid."""
        settings = asked.settings
        said = settings.texts.get(language, {})
        where = f"[page.texts.{language}]"
        only(said, _OWN, where)
        words = page_words(said, language, where, "respondent")
        direction = said.get("direction", words.get("direction", "ltr"))
        if direction not in _DIRECTIONS:
            raise InvalidInput(f"{where} has direction = {direction!r}", '"ltr" or "rtl"')
        first = language == settings.languages[0]
        study = asked.study
        questions, covariates = table(said, "questions", where), table(said, "covariates", where)
        only(questions, [question.name for question in study.questions], f"{where}, questions")
        only(covariates, [covariate.name for covariate in asked.asked_covariates], f"{where}, covariates")
        return cls(
            language,
            direction,
            words,
            text_of(said, "title", where) or study.title or study.name or words["heading_questions"],
            text_of(said, "introduction", where),
            text_of(said, "consent", where),
            *_check_texts(said, settings, where),
            {q.name: _question(q, table(questions, q.name, where), where, first) for q in study.questions},
            {
                covariate.name: _covariate(covariate, table(covariates, covariate.name, where), where, first)
                for covariate in asked.asked_covariates
            },
        )


def text_of(said: Mapping[str, Any], key: str, where: str) -> str:
    """Return a text; an empty one where there is none."""
    value = said.get(key, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{where} has {key} = {value!r}", "text in quotes")
    return value


def page_words(said: Mapping[str, Any], language: str, where: str, page: str) -> dict[str, str]:
    """Return the words of a page in a language: ours, and those that ``words`` has in place of them."""
    known = known_words(page)
    needed = known["en"]
    own = table(said, "words", where)
    only(own, list(needed), f"{where}, words")
    words = known.get(language, known.get(language.partition("-")[0], {})) | {k: text_of(own, k, where) for k in own}
    absent = [key for key in needed if key not in words and key != "direction"]
    if absent:
        raise InvalidInput(
            f"{where} lacks the words {', '.join(absent)}",
            f"all words of a language that does not come with askance (those are {', '.join(known)})",
            f"Write them under {where[:-1]}.words]; the English ones are in docs/collector.md.",
        )
    for key, word in words.items():
        try:
            said_with = word.format(**dict.fromkeys(_places(needed[key]), "")) if key in needed else word
        except (KeyError, IndexError, ValueError):
            said_with = ""
        if not said_with.strip():
            places = ", ".join(f"{{{place}}}" for place in _places(needed.get(key, "")))
            raise InvalidInput(f"{where}, words has {key} = {word!r}", f"a text{f' with {places}' if places else ''}")
    return words


def _places(word: str) -> list[str]:
    return [part.partition("}")[0] for part in word.split("{")[1:]]


def _labels(given: Any, labels: tuple[Label, ...], where: str, first: bool) -> tuple[str, ...]:
    """The study's own labels in its first language; texts for each of them in the others."""
    if given is None:
        if not first and any(isinstance(label, str) for label in labels):
            raise InvalidInput(f"{where} is not translated", f"{len(labels)} texts, for {', '.join(map(str, labels))}")
        return tuple(str(label) for label in labels)
    return strings(given, where, length=len(labels))


def _question(question: Question, said: Mapping[str, Any], where: str, first: bool) -> QuestionTexts:
    where = f"{where}, questions.{question.name}"
    only(said, _OF_QUESTION, where)
    text = text_of(said, "text", where) or (question.text if first else "")
    if not text:
        raise InvalidInput(
            f"the question {question.name!r} has no text{'' if first else f' in {where}'}", "what people are asked"
        )
    classes = question.label_channel.classes if not question.hides_numbers else ()
    choices = _labels(said.get("choices"), classes, f"{where}, choices", first)
    reports = {}
    for name, design in question.designs.items():
        # What is sent has the words of the choices where the labels are theirs.
        labels = design.report_labels
        same = labels == classes and "reports" not in said
        reports[name] = choices if same else _labels(said.get("reports"), labels, f"{where}, reports", first)
    return QuestionTexts(
        text,
        choices,
        reports,
        _by_design(said, "instructions", question, where),
        _by_design(said, "asked", question, where),
    )


def _by_design(said: Mapping[str, Any], key: str, question: Question, where: str) -> dict[str, str]:
    """A text for all designs, or a table of texts by design."""
    if isinstance(said.get(key), str):
        return dict.fromkeys(question.designs, said[key])
    given = table(said, key, where)
    only(given, list(question.designs), f"{where}, {key}")
    return {name: text_of(given, name, f"{where}, {key}") for name in given}


def _covariate(covariate: Covariate, said: Mapping[str, Any], where: str, first: bool) -> tuple[str, tuple[str, ...]]:
    where = f"{where}, covariates.{covariate.name}"
    only(said, _OF_COVARIATE, where)
    text = text_of(said, "text", where) or (covariate.name if first else "")
    if not text:
        raise InvalidInput(f"{where} has no text", "what people are asked")
    return text, _labels(said.get("levels"), covariate.levels or (), f"{where}, levels", first)


def _check_texts(said: Mapping[str, Any], settings: PageSettings, where: str) -> tuple[str, tuple[str, ...]]:
    if settings.check is None:
        return "", ()
    text = text_of(said, "check", where)
    if not text:
        raise InvalidInput(f"{where} has no check, and [page.check] asks one", "the question, and check_choices")
    choices = strings(said.get("check_choices"), f"{where} check_choices")
    if settings.check.right >= len(choices):
        raise InvalidInput(f"[page.check] has right = {settings.check.right + 1}", f"one of {len(choices)} choices")
    return text, choices
