"""What is written behind options of ``askance plan``: designs, answers, numbers, laws, and tables of a pilot."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from askance.cli.options import between_commas, listed_numbers
from askance.errors import InvalidInput

if TYPE_CHECKING:
    from askance.planning.quantities.base import Quantity


def planned_designs(
    quantity: "Quantity",
    design: list[str] | None,
    study: Path | None,
    unknown: list[str] | None,
    asked: list[str] | None,
) -> Any:
    from askance.planning.quantities.designs import design_from_text

    if study is not None and design:
        raise InvalidInput("--study and --design", "one of the two")
    if study is None and (unknown or asked):
        raise InvalidInput(
            f"{'--unknown' if unknown else '--asked'} without a study",
            "--study with a question that has several designs",
            "The page about designs with something unknown shows such a file.",
        )
    if study is not None:
        from askance.releases.study import Study

        classes = getattr(quantity, "classes", None)
        named = {name: channel for name, channel in Study.read(study).channels.items() if hasattr(channel, "classes")}
        fitting = {name: channel for name, channel in named.items() if channel.classes == classes}
        if not fitting:
            raise InvalidInput(
                f"{study} has no question with the answers {classes}", "--answers of one of its questions"
            )
        return _grouped(fitting, study, _shares(unknown, "--unknown"), _shares(asked, "--asked"))
    if not design:
        return None
    return {text: design_from_text(text, getattr(quantity, "classes", ("no", "yes"))) for text in design}


def _grouped(channels: dict[str, Any], study: Path, unknown: dict[str, float], asked: dict[str, float]) -> Any:
    """Questions with several designs become designs by group; each takes the unknown numbers and shares it knows."""
    from askance.channels.labels.design_per_row import DesignPerRow
    from askance.planning.quantities.grouped_design import GroupedDesign

    found: dict[str, Any] = {}
    used: set[str] = set()
    for name, channel in channels.items():
        if not isinstance(channel, DesignPerRow):  # what is planned by group is a set of designs, and nothing else is
            found[name] = channel
            continue
        lacking = [one for one in channel.unknowns if one not in unknown]
        if lacking:
            raise InvalidInput(
                f"{study}, whose question {name!r} leaves {', '.join(lacking)} unknown",
                "what is assumed about each",
                " ".join(
                    f"Add --unknown {one!r}=0.1." if " " in one else f"Add --unknown {one}=0.1." for one in lacking
                ),
            )
        shares = {one: share for one, share in asked.items() if one in channel.designs}
        values = {one: unknown[one] for one in channel.unknowns}
        found[name] = GroupedDesign(channel, values, shares or None)
        used |= {*shares, *values}
    strangers = [one for one in (*unknown, *asked) if one not in used]
    if strangers:
        raise InvalidInput(
            f"{', '.join(strangers)}, which no question of {study} has", "unknown numbers and designs of its questions"
        )
    return found


def _shares(given: list[str] | None, option: str) -> dict[str, float]:
    return {name: listed_numbers(value, option)[0] for name, value in named_values(given or [], option).items()}


def asked_answers(answers: str | None, study: Path | None) -> Any:
    """The answers that somebody named, or those of a study's first question."""
    if answers is not None:
        return tuple(between_commas(answers, "--answers"))
    if study is not None:
        from askance.releases.study import Study

        listed = [channel.classes for channel in Study.read(study).channels.values() if hasattr(channel, "classes")]
        if listed:
            return listed[0]
    return ("no", "yes")


def lower_and_upper(text: str, option: str) -> tuple[float, float]:
    numbers = listed_numbers(text, option)
    if len(numbers) != 2:
        raise InvalidInput(f"{option} {text}", "a lower and an upper bound, such as 0,100")
    return numbers[0], numbers[1]


def named_values(given: list[str], option: str) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, found, value = text.partition("=")
        if not found or not name.strip() or name.strip() in pairs:
            raise InvalidInput(f"{option} {text}", "a name and a value, each name once, such as age=0.03")
        pairs[name.strip()] = value
    return pairs


def laws_of_covariates(names: list[str], laws: list[str] | None, pilot: Path | None) -> Any:
    if pilot is not None and laws:
        raise InvalidInput("--pilot and --covariate", "one of the two")
    if pilot is not None:
        return pilot_columns(pilot, names)
    return named_values(laws, "--covariate") if laws else None


def pilot_columns(path: Path, columns: list[str]) -> dict[str, Any]:
    """Columns of a file, as numbers."""
    from askance.tables.column_kinds import NumberColumn
    from askance.tables.data_files import open_data
    from askance.tables.people import read_columns

    _, arrays = read_columns(open_data(path), [NumberColumn(name) for name in columns])
    return {name: array.to_numpy(zero_copy_only=False) for name, array in zip(columns, arrays, strict=True)}
