"""Files of reports: a release is opened; a table of reports and a study make a release in memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from askance import __version__
from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput, did_you_mean
from askance.files.location import Location, StrPath
from askance.printing import as_options
from askance.releases.complete_rows import MissingValues, complete_release, complete_table
from askance.releases.declarations import Covariate, Sample
from askance.releases.header import Header, Question
from askance.releases.reading import open_release
from askance.releases.release import Release
from askance.releases.study import Study
from askance.tables.data_files import Data, open_data
from askance.tables.made_up_mark import holds_made_up_reports, refuse_answers
from askance.workflows.fit_request import FitRequest

MADE_UP = "All of these reports are made up by askance simulate: nobody said any of it."


@dataclass(frozen=True, eq=False)
class OpenReports:
    """A release that is open, and what is to be learned from it.

    Parameters
    ----------
    request : FitRequest
    release : Release
    asked : Question
        The question that the request is about.
    missing : MissingValues, optional
        What rows that were left out had lacked.
    whole_person : Guarantee
        The privacy of all answers of one person, also of those that the release does not hold.
    unprotected : tuple of str
        Columns of the study that are published as they are.
    taken : str
        Of a table that is no release: that it is made up, or what it is taken for where nothing in it can tell.
    """

    request: FitRequest
    release: Release
    asked: Question
    whole_person: Guarantee
    missing: MissingValues | None = None
    unprotected: tuple[str, ...] = ()
    taken: str = ""

    @classmethod
    def of(cls, release: Release, request: FitRequest, whole_person: Guarantee | None = None) -> "OpenReports":
        """Find the question of a release that a request is about."""
        request = request.of_sample(release.header.sample)
        asked = request.asked(release.header)
        missing = None
        promised, unprotected = whole_person or release.whole_person, release.header.unprotected
        if request.missing == "drop":
            release, missing = complete_release(release, request.needed(asked))
        return cls(request, release, asked, promised, missing, unprotected, MADE_UP if release.header.made_up else "")

    def about(self, notes: Iterable[str], command: str) -> dict[str, Any]:
        """Return what every report about the question says."""
        header, asked, request = self.release.header, self.asked, self.request
        first = [said for said in (self.missing.sentence() if self.missing else "", self.taken) if said]
        drawn = request.strata or request.cluster or request.fpc or request.replicate_weights
        if drawn and (asked.hides_numbers or asked.hides_features):
            first.append(
                "Strata, clusters, fpc and replicate weights are for answers out of a list: standard errors here "
                "ignore them."
            )
        return {
            "study": header.study,
            "title": header.title,
            "question": asked.name,
            "text": asked.text,
            "guarantee": asked.guarantee,
            "whole_person": self.whole_person,
            "unprotected": self.unprotected,
            "notes": (*first, *(map(as_options, notes) if command else notes)),
            "command": command,
            "version": __version__,
        }


def open_reports(data: StrPath, study: Study | None, request: FitRequest) -> OpenReports:
    """Open a release, or make one of reports that were collected elsewhere, and find the question that is meant.

    Of a table that is no release only the columns that are wanted are read: what is missing or odd in the
    others does not matter.
    """
    check_there(data)
    if Location.of(data).is_address:
        return OpenReports.of(_of_study(open_release(data, Release), study), request)
    place = Path(data)
    opened = open_data(place)
    if opened.is_release:
        return OpenReports.of(_of_study(open_release(place, Release), study), request)
    if study is None:
        raise InvalidInput(
            f"{place} is not a release, so it does not say how its reports came about",
            "--study study.toml, the file that says so",
            "If it holds true answers, hide them first: askance privatize study.toml DATA --out RELEASE. If it holds "
            "rows in bags, give what is known of the bags: --proportions FILE.",
        )
    return _collected(opened, study.header(), request)


def open_columns(
    data: StrPath, study: Study | None, wanted: Callable[[Header], tuple[Sequence[str], bool]]
) -> tuple[Release, MissingValues | None]:
    """Open a release; of a table of reports that a study describes, make one with some of the columns it declares.

    Parameters
    ----------
    data : path or address
    study : Study, optional
    wanted : function of a header
        Which columns, and whether rows that lack one of them are left out. They are then counted.
    """
    check_there(data)
    if Location.of(data).is_address or open_data(Path(data)).is_release:
        release = _of_study(open_release(data, Release), study)
        columns, drop = wanted(release.header)
        return complete_release(release, columns) if drop else (release, None)
    if study is None:
        raise InvalidInput(
            f"{data} is not a release, so it does not say how its reports came about",
            "--study study.toml, the file that says so",
        )
    header = study.header()
    columns, drop = wanted(header)
    questions = tuple(question for question in header.questions if question.name in columns)
    covariates = tuple(covariate for covariate in header.covariates if covariate.name in columns)
    opened = open_data(Path(data))
    made_up = holds_made_up_reports(opened)
    header = replace(header, questions=questions, covariates=covariates, sample=Sample(), made_up=made_up)
    table, missing = _reports_in(opened, header.schema.names), None
    if drop:
        labels = {one.name: one.report_labels for one in questions if not one.hides_numbers}
        labels |= {one.name: one.levels or () for one in covariates}
        table, missing = complete_table(table, columns, labels)
    return Release.from_table(table, header), missing


def check_there(data: StrPath) -> None:
    """Refuse a path without anything there, or with a study; what an address leads to is seen when it is opened."""
    if Location.of(data).is_address:
        return
    expected = "a release, or a CSV or Parquet file: of reports with --study, or of rows in bags with --proportions"
    if not Path(data).exists():
        raise InvalidInput(f"there is nothing at {data}", expected)
    if Path(data).suffix.lower() == ".toml":
        raise InvalidInput(f"{data} is a study file, and holds no data", expected)


def _of_study(release: Release, study: Study | None) -> Release:
    if study is not None and not study.header().same_study(release.header):
        raise InvalidInput(
            f"the study differs from what {release.path} says about itself",
            "the study that the release was made with",
            "Leave --study out: a release knows its own questions and channels.",
        )
    return release


def _collected(data: Data, study: Header, request: FitRequest) -> OpenReports:
    request = request.of_sample(study.sample)
    asked = request.asked(study)
    _refuse_packed(asked, data.path)
    header = _narrowed(study, asked, request, [name for file in data.files for name in file.columns])
    table, missing = _reports_in(data, header.schema.names), None
    if request.missing == "drop":
        labels = {asked.name: asked.report_labels} | {one.name: one.levels or () for one in header.covariates}
        table, missing = complete_table(table, request.needed(asked), labels)
        if not table.num_rows:
            raise InvalidInput(f"no row of {data.path} has everything: {missing.sentence()}", "complete rows")
    release = Release.from_table(table, header)
    taken = MADE_UP if holds_made_up_reports(data) else _taken_for(asked)
    promised = study.guarantee_of(release.longest)
    return OpenReports(request, release, asked, promised, missing, study.unprotected, taken)


def _taken_for(question: Question) -> str:
    """Say what cannot be seen where reports have the words of answers: the truth would be taken for reports."""
    if question.hides_features or set(question.report_labels) != set(question.label_channel.classes):
        return ""
    return (
        f"The column {question.name!r} is taken for reports, as the study hides answers: true answers have the same "
        "words, and nothing in a table tells them apart."
    )


def _reports_in(data: Data, names: Sequence[str]) -> pa.Table:
    refuse_answers(data, str(data.path))
    return data.read(names)


def _refuse_packed(asked: Question, place: Path) -> None:
    # True numbers of the right type would pass for codes: only a release says that it holds reports.
    if asked.hides_numbers:
        raise InvalidInput(
            f"{place} is not a release, and {asked.name!r} hides numbers",
            "a release: reports about numbers are packed, and only a release holds them",
            "If it holds true numbers, hide them first: askance privatize study.toml DATA --out RELEASE.",
        )


def _narrowed(header: Header, question: Question, request: FitRequest, found: Sequence[str]) -> Header:
    """Keep of a header what the fit needs; ``found`` are the columns that the data have."""
    declared = {covariate.name: covariate for covariate in header.covariates}
    own = {question.name, question.design_column} - declared.keys()  # they are there anyway
    needed = [name for name in request.columns if name not in own]
    for name in needed:
        if name not in declared and name in found and name in (request.replicate_weights or ()):
            declared[name] = Covariate(name)  # its use says what it is
        if name not in declared:
            known = f"covariates among {', '.join(declared)}" if declared else "no covariates: there are none"
            raise InvalidInput(
                f"the study declares no covariate {name!r}",
                known,
                f'Add [covariates.{name}] with type = "number", "category" or "words" to the study file.'
                if name in found
                else did_you_mean(name, declared),
            )
    kept = tuple(declared[name] for name in needed)
    return replace(header, questions=(question,), covariates=kept, sample=Sample())
