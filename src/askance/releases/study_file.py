"""Reading ``study.toml``: every mistake is answered with the place and with what to write instead."""

import re
import tomllib
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from typing import Any

from askance.channels.alphabet import Label, as_labels
from askance.channels.attributes.per_coordinate import PerCoordinate, as_feature_channel
from askance.channels.attributes.row_channel import checked_columns
from askance.channels.given_numbers import MOST_NUMBERS, shown
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.per_token import PerToken
from askance.channels.labels.unknown import Unknown
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.channels.specs import FEATURE_CHANNELS, FINITE_CHANNELS, channel_from_spec
from askance.channels.value import ChannelValue
from askance.errors import InvalidInput, did_you_mean
from askance.releases.data_protection import KEYS, DataProtection
from askance.releases.declarations import COVARIATE_TYPES, Covariate, Question, Sample, check_names

_DESIGNS = {channel.kind: channel for channel in FINITE_CHANNELS}
_OF_ATTRIBUTES: tuple[type[ChannelValue], ...] = (*FEATURE_CHANNELS, *FINITE_CHANNELS)
_FEATURE_DESIGNS = {channel.kind: channel for channel in _OF_ATTRIBUTES if channel is not PerCoordinate}
_EVERY_DESIGN = {*_DESIGNS, *_FEATURE_DESIGNS, PrivateNumber.kind, PrivateRow.kind}
_ANY_LABEL = str(Label | None)  # the annotation of a parameter that is a report or a choice
_PROBABILITIES = tuple(map(str, (float, float | Unknown)))  # annotations of parameters that may be unknown
_FRACTION = re.compile(r"\s*[0-9]{1,9}\s*/\s*[0-9]{1,9}\s*")
_REQUIRED: Any = object()
_ODD_NAME = ("key part", "end of a table declaration")  # what tomllib says of [questions.größe]
_KINDS = {str: "text in quotes", bool: "true or false", list: "a list in [ ]", dict: "a table"}


def parse_study(text: str, source: str) -> dict[str, Any]:
    """Return name, title, questions and covariates of a study file."""
    try:
        tables = tomllib.loads(text)
    except (RecursionError, ValueError) as error:
        if not isinstance(error, tomllib.TOMLDecodeError):  # numbers of thousands of digits, brackets in brackets
            raise InvalidInput(f"{source} cannot be read: {type(error).__name__}", "a study file (TOML)") from None
        remedy = "" if source.endswith(".toml") else "The study file comes first, then the data."
        if any(words in str(error) for words in _ODD_NAME):
            remedy = 'Names with more than A-Z, a-z, 0-9, _ and - stand in quotes: [questions."größe"].'
        raise InvalidInput(f"{source} is not valid TOML: {error}", "a study file (TOML)", remedy) from None
    top = _Place(tables, source)
    top.only("study", "questions", "covariates", "sample", "page", "privacy")
    about = top.table("study", {})
    about.only("name", "title", "decimal")
    decimal = about.get("decimal", str, ".")
    if decimal not in (".", ","):
        raise InvalidInput(f"{about} has decimal = {decimal!r}", 'decimal = "." or decimal = ","')
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
        "page": dict(top.table("page", {}).values),  # texts of the page that asks: who serves it looks at them
    }
    privacy = top.table("privacy", {})
    privacy.only(*KEYS)
    with _at(privacy):
        parsed["privacy"] = DataProtection.from_table(privacy.values)
    sample = top.table("sample", {})
    sample.only(*(field.name for field in fields(Sample)))
    words = ("weight", "strata", "cluster", "fpc", "missing", "replicate_method")
    with _at(sample):
        said = {key: sample.get(key, str) if key in words else value for key, value in sample.values.items()}
        parsed["sample"] = Sample(**said)
    # A hundred columns of weights need not be declared one by one: what they are is said by their use.
    declared = {one.name for one in parsed["covariates"]}
    more = [name for name in parsed["sample"].replicate_weights or () if name not in declared]
    parsed["covariates"] += tuple(Covariate(name) for name in more)
    for part in ("questions", "covariates"):
        parsed[part] = tuple(replace(one, decimal=decimal) for one in parsed[part])
    with _at(source):
        check_names(parsed["questions"], parsed["covariates"])
    with _at(sample):
        parsed["sample"].check(parsed["covariates"])
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
                    f"{self} has an unknown key {key!r}", f"some of {', '.join(known)}", did_you_mean(key, known)
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


def _question(name: str, place: _Place) -> Question:
    place.only(
        "text",
        "choices",
        "bounds",
        "columns",
        "width",
        "channel",
        "channels",
        "design_column",
        "designs",
        "sequence",
        "recode",
    )
    text = place.get("text", str, "")
    kinds = [key for key in ("choices", "bounds", "columns", "width") if key in place.values]
    if len(kinds) != 1:
        raise InvalidInput(
            f"{place} has {' and '.join(kinds)}" if kinds else f"{place} has no 'choices'",
            'one of: choices = ["no", "yes"] for an answer out of a list; bounds = [0, 100] for a number; '
            "columns = { age = [0, 100], income = [0, 500] } for several numbers that are hidden together; "
            'width = 784, or columns = ["age", "smoker"], for attributes that are hidden one by one',
        )
    if "recode" in place.values and kinds != ["choices"]:
        raise InvalidInput(f"{place} has recode and {kinds[0]}", "recode for a question with choices")
    if place.get("sequence", bool, False) and kinds != ["choices"]:
        raise InvalidInput(f"{place} has sequence = true and {kinds[0]}", 'choices = ["noun", "verb"]: its labels')
    if "width" in kinds or isinstance(place.values.get("columns"), list):
        return _hidden_features(name, place, text)
    if "channels" in place.values:
        raise InvalidInput(f"{place} has channels", "channel = { ... }", "Only attributes have a channel each.")
    if kinds != ["choices"]:
        return _hidden_numbers(name, place, text)
    listed = place.get("choices", list)
    with _at(place):
        choices = as_labels(listed, "choices")
    column = place.get("design_column", str, None)
    if ("channel" in place.values) == ("designs" in place.values):
        raise InvalidInput(
            f"{place} has {'both' if 'channel' in place.values else 'neither'} of channel and designs",
            'channel = { design = "warner", p = 0.8 }, or several designs and a design_column',
        )
    if "channel" in place.values:
        channel = _channel(place.table("channel"), _DESIGNS, {"classes": list(choices)})
    else:
        classes = {"classes": list(choices)}
        designs = {name: _channel(where, _DESIGNS, classes) for name, where in place.table("designs").tables()}
        with _at(place):
            channel = DesignPerRow(designs)
    with _at(place):
        sequence = place.get("sequence", bool, False)
        recode = tuple(place.get("recode", dict, {}).items())
        return Question(name, PerToken(channel) if sequence else channel, text, column, recode=recode)


def _hidden_numbers(name: str, place: _Place, text: str) -> Question:
    """A number with public bounds, or several that are hidden together."""
    for key in ("design_column", "designs"):
        if key in place.values:
            raise InvalidInput(f"{place} has {key}", "one channel: numbers are hidden by one design only")
    if "bounds" in place.values:
        bounds = place.get("bounds", list)
        if len(bounds) != 2:
            raise InvalidInput(f"{place} has bounds = {bounds!r}", "two numbers: bounds = [lower, upper]")
        given = dict(zip(("lower", "upper"), bounds, strict=True))
        channel = _channel(place.table("channel"), {PrivateNumber.kind: PrivateNumber}, given)
    else:
        columns = dict(place.get("columns", dict))
        channel = _channel(place.table("channel"), {PrivateRow.kind: PrivateRow}, {"columns": columns})
    with _at(place):
        return Question(name, channel, text)


def _hidden_features(name: str, place: _Place, text: str) -> Question:
    """Attributes that are hidden one by one: an array of so many numbers, or so many columns."""
    for key in ("design_column", "designs"):
        if key in place.values:
            raise InvalidInput(f"{place} has {key}", "one channel: attributes are hidden by one design only")
    if ("channel" in place.values) == ("channels" in place.values):
        raise InvalidInput(
            f"{place} has {'both' if 'channel' in place.values else 'neither'} of channel and channels",
            'channel = { design = "state-flip", states = 2, flip = 0.2 }, or channels = [ ... ] with one for each '
            "attribute",
        )
    columns = None
    if "columns" in place.values:
        with _at(place):
            columns = checked_columns(place.get("columns", list))
    width = len(columns) if columns else place.values["width"]
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= MOST_NUMBERS:
        raise InvalidInput(
            f"{place} has width = {shown(width)}",
            f"how many attributes there are, such as width = 784, and at most {MOST_NUMBERS:,}",
        )
    if "channel" in place.values:
        channel = _attribute_channel(place.table("channel"))
    else:
        each = place.get("channels", list)
        if not all(isinstance(one, dict) for one in each):
            raise InvalidInput(f"{place} has channels = {each!r}", 'a list of { design = "...", ... }')
        places = [_Place(one, place.source, f"{place.name}.channels[{n}]") for n, one in enumerate(each)]
        channels = [_attribute_channel(where) for where in places]
        with _at(place):
            channel = PerCoordinate(channels)
    with _at(place):
        return Question(name, as_feature_channel(channel).for_width(width), text, None, columns)


def _attribute_channel(place: _Place) -> Any:
    return _channel(place, _FEATURE_DESIGNS, {"dim": None})


def _channel(place: _Place, designs: Mapping[str, type[ChannelValue]], known: Mapping[str, Any]) -> Any:
    """Make a channel of the parameters in the file and of what is known from around it."""
    kind = place.get("design", str)
    if kind not in designs:
        raise InvalidInput(
            f"{place} has the {'unknown ' if kind not in _EVERY_DESIGN else ''}design {kind!r}",
            f"one of {', '.join(designs)}",
            did_you_mean(kind, designs),
        )
    parameters = _parameters(designs[kind], known)
    place.only("design", *parameters)
    given = {key: value for key, value in place.values.items() if key != "design"}
    absent = [key for key, parameter in parameters.items() if parameter.default is Parameter.empty and key not in given]
    if absent:
        example = ", ".join(f"{key} = ..." for key in absent)
        raise InvalidInput(f"{place} has no {', '.join(absent)}", f'{{ design = "{kind}", {example} }}')
    if "device" in parameters:  # a design around another one, which has the choices
        given["device"], known = _channel(place.table("device"), designs, known).to_spec(), {}
    for key, value in given.items():
        annotation = str(parameters[key].annotation)
        if annotation.startswith("collections.abc.Mapping"):
            if not isinstance(value, dict):
                raise InvalidInput(f"{place} has {key} = {value!r}", "a table, such as { noun = ['NOUN', 'PROPN'] }")
            continue
        if key == "device" or annotation == _ANY_LABEL or (annotation in _PROBABILITIES and _is_unknown(value)):
            continue
        # Python would take true for 1 and "0.8" for 0.8; whoever wrote that meant something else.
        if annotation in _PROBABILITIES and isinstance(value, str) and _FRACTION.fullmatch(value):
            given[key] = _fraction(value, place, key)  # a die has six sides
            continue
        labels = annotation.startswith("tuple")  # of any kind
        text = ("str" in annotation and not labels) or "Literal" in annotation  # every choice there is one of words
        if isinstance(value, bool) or not isinstance(value, str if text else int | float | list):
            raise InvalidInput(
                f"{place} has {key} = {value!r}",
                _KINDS[str] if text else "a number, without quotes, or a fraction such as '1/6'",
            )
    with _at(place):
        return channel_from_spec({"channel": kind, **given, **{k: v for k, v in known.items() if v is not None}})


def _fraction(text: str, place: _Place, key: str) -> float:
    above, below = map(int, text.split("/"))
    if not below:
        raise InvalidInput(f"{place} has {key} = {text!r}", "a fraction, such as '1/6'")
    return above / below


def _is_unknown(value: Any) -> bool:
    """Whether a value is the word, or the table, for a number that nobody knows."""
    return value == "unknown" or (isinstance(value, dict) and "unknown" in value)


def _parameters(design: type[ChannelValue], known: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a design that must be, or may be, given beside what is known already."""
    return {name: parameter for name, parameter in signature(design).parameters.items() if name not in known}


def _covariate(name: str, place: _Place) -> Covariate:
    place.only("type", "levels", "missing", "recode")
    kind = place.get("type", str)
    if kind not in COVARIATE_TYPES:
        wanted = " or ".join(f'"{known}"' for known in COVARIATE_TYPES)
        raise InvalidInput(f"{place} has type = {kind!r}", f"type = {wanted}", did_you_mean(kind, COVARIATE_TYPES))
    levels, missing = place.get("levels", list, None), place.get("missing", bool, False)
    with _at(place):
        return Covariate(name, kind, levels, missing, tuple(place.get("recode", dict, {}).items()))
