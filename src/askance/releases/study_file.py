"""Reading ``study.toml``: every mistake is answered with the place and with what to write instead."""

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

from askance.channels.alphabet import Label, as_labels
from askance.channels.design_per_row import DesignPerRow
from askance.channels.finite import FiniteLaw
from askance.channels.specs import FINITE_CHANNELS, channel_from_spec
from askance.errors import InvalidInput
from askance.releases.declarations import COVARIATE_TYPES, Covariate, Question, check_names

_DESIGNS = {channel.kind: channel for channel in FINITE_CHANNELS}
_REQUIRED: Any = object()
_KINDS = {str: "text in quotes", bool: "true or false", list: "a list in [ ]", dict: "a table"}


def parse_study(text: str, source: str) -> dict[str, Any]:
    """Return name, title, questions and covariates of a study file."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{source} is not valid TOML: {error}") from None
    top = _Place(tables, source)
    top.only("study", "questions", "covariates")
    about = top.table("study", {})
    about.only("name", "title")
    questions = top.table("questions", {}).tables()
    if not questions:
        raise InvalidInput(
            f"{source} has no questions",
            'at least one, such as [questions.cheated] with choices = ["no", "yes"] and a channel',
        )
    parsed = {
        "name": about.get("name", str, ""),
        "title": about.get("title", str, ""),
        "questions": tuple(_question(name, place) for name, place in questions),
        "covariates": tuple(_covariate(name, place) for name, place in top.table("covariates", {}).tables()),
    }
    with _at(source):
        check_names(parsed["questions"], parsed["covariates"])
    return parsed


@dataclass(frozen=True)
class _Place:
    """A table of the file, and where it is."""

    values: Mapping[str, Any]
    source: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.source}, [{self.name}]" if self.name else self.source

    def only(self, *known: str) -> None:
        for key in self.values:
            if key not in known:
                raise InvalidInput(
                    f"{self} has an unknown key {key!r}", f"some of {', '.join(known)}", _meant(key, known)
                )

    def get(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        value = self.values.get(key, default)
        if value is _REQUIRED:
            raise InvalidInput(f"{self} has no {key!r}", f"{key} = {_KINDS[kind]}")
        if value is not default and not isinstance(value, kind):
            raise InvalidInput(f"{self} has {key} = {value!r}", _KINDS[kind])
        return value

    def table(self, key: str, default: Any = _REQUIRED) -> "_Place":
        return _Place(self.get(key, dict, default), self.source, f"{self.name}.{key}".lstrip("."))

    def tables(self) -> list[tuple[str, "_Place"]]:
        return [(key, self.table(key)) for key in self.values]


@contextmanager
def _at(place: object) -> Any:
    """Say where in the file an error arose."""
    try:
        yield
    except InvalidInput as error:
        raise type(error)(f"{place}: {error}") from None


def _meant(word: object, known: Iterable[str]) -> str:
    close = get_close_matches(str(word), list(known), n=1)
    return f"Did you mean {close[0]!r}?" if close else ""


def _question(name: str, place: _Place) -> Question:
    place.only("text", "choices", "channel", "design_column", "designs")
    listed = place.get("choices", list)
    with _at(place):
        choices = as_labels(listed, "choices")
    text = place.get("text", str, "")
    column = place.get("design_column", str, None)
    if ("channel" in place.values) == ("designs" in place.values):
        raise InvalidInput(
            f"{place} has {'both' if 'channel' in place.values else 'neither'} of channel and designs",
            'channel = { design = "warner", p = 0.8 }, or several designs and a design_column',
        )
    if "channel" in place.values:
        channel = _channel(place.table("channel"), choices)
    else:
        designs = {name: _channel(where, choices) for name, where in place.table("designs").tables()}
        with _at(place):
            channel = DesignPerRow(designs)
    with _at(place):
        return Question(name, channel, text, column)


def _channel(place: _Place, choices: tuple[Label, ...]) -> Any:
    kind = place.get("design", str)
    if kind not in _DESIGNS:
        raise InvalidInput(
            f"{place} has the unknown design {kind!r}",
            f"one of {', '.join(_DESIGNS)}",
            _meant(kind, _DESIGNS),
        )
    parameters = _parameters(_DESIGNS[kind])
    place.only("design", *parameters)
    given = {key: value for key, value in place.values.items() if key != "design"}
    absent = [key for key, needed in parameters.items() if needed and key not in given]
    if absent:
        example = ", ".join(f"{key} = ..." for key in absent)
        raise InvalidInput(f"{place} has no {', '.join(absent)}", f'{{ design = "{kind}", {example} }}')
    for key, value in given.items():
        # Python would take true for 1 and "0.8" for 0.8; whoever wrote that meant something else.
        if isinstance(value, bool) or not isinstance(value, int | float | list):
            raise InvalidInput(f"{place} has {key} = {value!r}", "a number, without quotes")
    with _at(place):
        return channel_from_spec({"channel": kind, **given, "classes": list(choices)})


def _parameters(design: type[FiniteLaw]) -> dict[str, bool]:
    """Return a design's parameters, and whether each must be given; choices stand for the classes."""
    known = signature(design).parameters.items()
    return {name: parameter.default is Parameter.empty for name, parameter in known if name != "classes"}


def _covariate(name: str, place: _Place) -> Covariate:
    place.only("type", "levels", "missing")
    kind = place.get("type", str)
    if kind not in COVARIATE_TYPES:
        wanted = " or ".join(f'"{known}"' for known in COVARIATE_TYPES)
        raise InvalidInput(f"{place} has type = {kind!r}", f"type = {wanted}", _meant(kind, COVARIATE_TYPES))
    levels, missing = place.get("levels", list, None), place.get("missing", bool, False)
    with _at(place):
        return Covariate(name, kind, levels, missing)
