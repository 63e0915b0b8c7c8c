"""The respondent's page as HTML: every step is in it, and a script shows them one after the other."""

from html import escape
from typing import Any

from askance.collector.odds import odds
from askance.collector.questionnaire import LONGEST_TEXT, Questionnaire
from askance.collector.static_files import page_json, static_version
from askance.collector.texts import QuestionTexts, Texts
from askance.entropy.thresholds import RESOLUTION
from askance.releases.declarations import Covariate, Question

_FEW_LEVELS = 6  # so many are seen at a glance; more go into a list


class RespondentPage:
    """Makes the page of a study in one of its languages.

    Parameters
    ----------
    asked : Questionnaire
    texts : mapping from language to Texts
    """

    def __init__(self, asked: Questionnaire, texts: dict[str, Texts]) -> None:
        self.asked = asked
        self.texts = texts

    @classmethod
    def of(cls, asked: Questionnaire) -> "RespondentPage":
        """Put a page together in every language; refuse one in which something would stay unsaid."""
        return cls(asked, {language: Texts.of(asked, language) for language in asked.settings.languages})

    def html(self, language: str) -> str:
        """Return the page in a language."""
        texts = self.texts[language]
        words = texts.words
        draws = any(self._draws(question) for question in self.asked.study.questions)
        send = words["send"] if draws else words["send_plain"]
        data = self.asked.definition | {"digest": self.asked.digest, "texts": self._shown(texts)}
        return "".join(
            [
                f'<!doctype html>\n<html lang="{escape(language)}" dir="{texts.direction}">\n<head>\n',
                '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n',
                '<meta name="robots" content="noindex">\n',
                f"<title>{escape(texts.title)}</title>\n",
                f'<link rel="icon" href="static/{static_version()}/icon.svg" type="image/svg+xml">\n',
                f'<link rel="stylesheet" href="static/{static_version()}/collector.css">\n</head>\n<body>\n<main>\n',
                self._languages(texts),
                f"<h1>{escape(texts.title)}</h1>\n",
                _paragraphs(texts.introduction),
                f'<noscript><p class="notice">{escape(words["no_script"])}</p></noscript>\n',
                '<div id="app" hidden>\n',
                '<section id="notice" hidden><h2 tabindex="-1" class="notice" id="notice-text"></h2></section>\n',
                self._how(texts, send if draws else ""),
                _try(words),
                self._form(texts, send),
                _sent(words),
                "</div>\n</main>\n",
                f'<script id="definition" type="application/json">{page_json(data)}</script>\n',
                f'<script id="words" type="application/json">{page_json(dict(words))}</script>\n',
                f'<script type="module" src="static/{static_version()}/respondent.mjs"></script>\n</body>\n</html>\n',
            ]
        )

    # -- pieces --------------------------------------------------------------------------------------

    def _languages(self, texts: Texts) -> str:
        if len(self.texts) == 1:
            return ""
        items = "".join(
            f'<li><a href="?lang={escape(code)}" lang="{escape(code)}" hreflang="{escape(code)}"'
            f"{' aria-current=' + chr(34) + 'true' + chr(34) if code == texts.language else ''}>"
            f"{escape(other.words['name'])}</a></li>"
            for code, other in self.texts.items()
        )
        return f'<nav aria-label="{escape(texts.words["language"])}"><ul>{items}</ul></nav>\n'

    def _draws(self, question: Question) -> bool:
        said = next(one for one in self.asked.definition["questions"] if one["name"] == question.name)
        return any(design["law"] is not None and not design["direct"] for design in said["designs"].values())

    def _how(self, texts: Texts, send: str) -> str:
        words = texts.words
        several = len(self.asked.study.questions) > 1
        parts = []
        for question, said in zip(self.asked.study.questions, self.asked.definition["questions"], strict=True):
            own = texts.questions[question.name]
            for name, design in said["designs"].items():
                asked = f'<p class="label">{escape(own.asked.get(name) or own.text)}</p>' if several else ""
                inside = asked + _design_words(design, own, name, words)
                parts.append(f'<div class="panel"{_of_design(question, name)}>{inside}</div>\n')
        chance = f"<p>{escape(words['nobody_knows'])}</p>\n" if send else ""
        once = f"<p>{escape(words['once'].format(send=send))}</p>\n" if send else ""
        return (
            f'<section id="how" hidden>\n<h2 tabindex="-1">{escape(words["heading_how"])}</h2>\n'
            + "".join(parts)
            + f"{chance}{once}<p>{escape(words['leaves'])}</p>\n{_paragraphs(texts.consent)}"
            + f'<button id="agree" type="button">{escape(words["agree"])}</button>\n</section>\n'
        )

    def _form(self, texts: Texts, send: str) -> str:
        words = texts.words
        study = self.asked.study
        blocks = []
        if self.asked.settings.check is not None:
            blocks.append(_choices("check", "0", texts.check, "", "", texts.check_choices, "c"))
        for number, (question, said) in enumerate(
            zip(study.questions, self.asked.definition["questions"], strict=True)
        ):
            own = texts.questions[question.name]
            for place, (name, design) in enumerate(said["designs"].items()):
                paper = design["law"] is None
                kind = "paper_mark" if paper else "direct_mark" if design["direct"] else "hidden_mark"
                mark = _mark(words[kind], hidden=not design["direct"])
                instructions = own.instructions.get(name, "")
                mark += f"<p>{escape(instructions)}</p>" if instructions else ""
                labels = own.reports[name] if paper else own.choices
                text = own.asked.get(name) or own.text
                block = _choices("question", str(number), text, mark, _of_design(question, name), labels, f"q{place}")
                blocks.append(block)
        for number, covariate in enumerate(self.asked.asked_covariates):
            blocks.append(_covariate(number, covariate, *texts.covariates[covariate.name], words))
        return (
            f'<section id="questions" hidden>\n<h2 tabindex="-1">{escape(words["heading_questions"])}</h2>\n'
            '<form id="answers" autocomplete="off" novalidate>\n'
            + "".join(blocks)
            + f'<button id="send" type="submit">{escape(send)}</button>\n</form>\n</section>\n'
        )

    def _shown(self, texts: Texts) -> dict[str, Any]:
        """What the script says about what was sent."""
        questions = []
        for question in self.asked.study.questions:
            own = texts.questions[question.name]
            names = list(question.designs)
            questions.append(
                {
                    "asked": {name: own.asked.get(name) or own.text for name in names},
                    "reports": {name: list(own.reports[name]) for name in names},
                    "same": {name: own.reports[name] == own.choices for name in names},
                }
            )
        covariates = [
            {"text": text, "levels": list(levels)}
            for text, levels in (texts.covariates[one.name] for one in self.asked.asked_covariates)
        ]
        own_columns = {one.name: [str(level) for level in one.levels or ()] for one in self.asked.study.covariates}
        found = (self.asked.settings.check, self.asked.settings.duration)
        columns = {one.column: own_columns[one.column] for one in found if one is not None}
        return {"questions": questions, "covariates": covariates, "found": columns}


def _design_words(design: dict[str, Any], own: QuestionTexts, name: str, words: Any) -> str:
    """What a design does to an answer, led by its odds."""
    if design["direct"]:
        return f'<p class="odds">{escape(words["direct"])}</p>'
    instructions = f"<p>{escape(own.instructions[name])}</p>" if own.instructions.get(name) else ""
    if design["law"] is None:
        return f'<p class="odds">{escape(words["paper"])}</p>{instructions}'
    law = [[int(count) for count in column] for column in design["law"]]
    truths = range(len(law))
    same = own.reports[name] == own.choices
    if same and all(law[k][k] == law[0][0] for k in truths):
        true = law[0][0] / RESOLUTION
        many, whole, exact = odds(true)
        rest, _, _ = odds(1 - true) if exact else (str(int(whole.replace(",", "")) - int(many.replace(",", ""))), "", 0)
        first = words["odds_same"].format(many=many if exact else words["about"].format(many=many), all=whole)
        first = first[:1].upper() + first[1:]
        return f'<p class="odds">{escape(first)}</p><p>{escape(words["odds_other"].format(rest=rest, all=whole))}</p>'
    parts = []
    for k in truths:
        items = ""
        for o, count in enumerate(law[k]):
            if count:
                many, whole, exact = odds(count / RESOLUTION)
                said = many if exact else words["about"].format(many=many)
                line = words["odds_report"].format(report=own.reports[name][o], many=said, all=whole)
                items += f"<li>{escape(line)}</li>"
        parts.append(f'<p class="odds">{escape(words["odds_truth"].format(truth=own.choices[k]))}</p><ul>{items}</ul>')
    return "".join(parts)


def _of_design(question: Question, name: str) -> str:
    if question.design_column is None:
        return ""
    return f' data-column="{escape(question.design_column)}" data-design="{escape(name)}"'


def _mark(text: str, *, hidden: bool) -> str:
    return f'<p class="mark {"hidden-answer" if hidden else "public-answer"}">{escape(text)}</p>'


def _error(name: str) -> str:
    return f'<p class="error" id="{name}-error" role="alert" hidden></p>'


def _choices(kind: str, number: str, text: str, mark: str, of_design: str, labels: tuple[str, ...], prefix: str) -> str:
    name = f"{prefix}-{kind}-{number}"
    rows = "".join(
        f'<label class="choice"><input type="radio" name="{name}" value="{code}">{escape(label)}</label>'
        for code, label in enumerate(labels)
    )
    return (
        f'<fieldset data-kind="{kind}" data-number="{number}"{of_design} aria-describedby="{name}-error">'
        f"<legend>{escape(text)}</legend>{mark}{rows}{_error(name)}</fieldset>\n"
    )


def _covariate(number: int, covariate: Covariate, text: str, levels: tuple[str, ...], words: Any) -> str:
    mark = _mark(words["public_mark"], hidden=False)
    if covariate.missing:
        text = f"{text} ({words['optional']})"
    if levels and len(levels) <= _FEW_LEVELS and not covariate.missing:
        return _choices("covariate", str(number), text, mark, "", levels, "v")
    name = f"v-covariate-{number}"
    if levels:
        options = "".join(f'<option value="{code}">{escape(level)}</option>' for code, level in enumerate(levels))
        field = f'<select id="{name}"><option value="">{escape(words["choose_level"])}</option>{options}</select>'
    else:
        mode = ' inputmode="decimal"' if covariate.type == "number" else f' maxlength="{LONGEST_TEXT}"'
        field = f'<input type="text" id="{name}"{mode} aria-describedby="{name}-error">'
    return (
        f'<fieldset data-kind="covariate" data-number="{number}"><legend><label for="{name}">{escape(text)}</label>'
        f"</legend>{mark}{field}{_error(name)}</fieldset>\n"
    )


def _try(words: Any) -> str:
    return (
        f'<section id="try" hidden>\n<h2 tabindex="-1">{escape(words["heading_try"])}</h2>\n'
        f"<p>{escape(words['try_text'])}</p>\n"
        '<fieldset><legend id="try-question"></legend><div id="try-choices"></div></fieldset>\n'
        f'<button id="try-draw" class="second" type="button">{escape(words["try_draw"])}</button>\n'
        '<ul id="try-draws" class="draws" aria-live="polite"></ul>\n'
        f'<button id="go-on" type="button">{escape(words["go_on"])}</button>\n</section>\n'
    )


def _sent(words: Any) -> str:
    return (
        f'<section id="sent" hidden>\n<h2 tabindex="-1">{escape(words["heading_sent"])}</h2>\n'
        '<p id="sent-state" class="notice" role="status"></p>\n'
        f'<p id="sent-was" hidden>{escape(words["sent_was"])}</p>\n<dl id="sent-list"></dl>\n'
        f'<button id="retry" type="button" hidden>{escape(words["retry"])}</button>\n</section>\n'
    )


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(part.strip())}</p>\n" for part in text.split("\n\n") if part.strip())
