"""Reports that were collected elsewhere: a table of them and a study make a release in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput
from askance.files.location import Location, StrPath
from askance.learning.face.formula import Formula
from askance.releases.header import Header, Question
from askance.releases.reading import open_release
from askance.releases.release import Release
from askance.releases.study import Study
from askance.tables.columns import check_present
from askance.tables.data_files import DataFile, open_data


@dataclass(frozen=True)
class Wanted:
    """What a fit needs from the data: a question, and what the formula and the weights are made of."""

    question: str | None = None
    formula: str | None = None
    weight: str | None = None

    def asked(self, header: Header) -> Question:
        """Return the question that is named, here or left of the formula's ~."""
        return header.question_about(self.question, None if self.formula is None else Formula(self.formula).left)

    def covariates(self) -> list[str]:
        """Return the columns besides the question."""
        right = [] if self.formula is None else Formula(self.formula).columns
        return list(dict.fromkeys([*right, *([self.weight] if self.weight else [])]))


def open_reports(data: StrPath, study: Study | None, wanted: Wanted) -> tuple[Release, Guarantee]:
    """Open a release, or make one of collected reports; also return the privacy of a whole person.

    Of a table that is no release only the columns that are wanted are read: what is missing or odd in the
    others does not matter.
    """
    if Location.of(data).is_address:
        return _checked(open_release(data, Release), study)
    place = Path(data)
    if not place.exists():
        raise InvalidInput(
            f"there is nothing at {place}",
            "a release (Parquet file or folder), or a CSV or Parquet file of reports together with --study",
        )
    files = open_data(place)
    if any(file.is_release for file in files):
        return _checked(open_release(place, Release), study)
    if study is None:
        raise InvalidInput(
            f"{place} is not a release, so it does not say how its reports came about",
            "--study study.toml, the file that says so",
            "If it holds true answers, hide them first: askance privatize study.toml DATA --out RELEASE.",
        )
    return _release_of(files, place, study, wanted), study.guarantee


def _checked(release: Release, study: Study | None) -> tuple[Release, Guarantee]:
    if study is not None and not study.header().same_study(release.header):
        raise InvalidInput(
            f"the study differs from what {release.path} says about itself",
            "the study that the release was made with",
            "Leave --study out: a release knows its own questions and channels.",
        )
    return release, release.header.guarantee


def _release_of(files: Sequence[DataFile], place: Path, study: Study, wanted: Wanted) -> Release:
    _refuse_packed(wanted.asked(study.header()), place)
    header = _narrowed(study.header(), wanted, [name for file in files for name in file.columns])
    names = header.schema.names
    tables = []
    for file in files:
        check_present(names, file.columns, str(file.path))
        tables += [chunk.table for chunk in file.chunks(names)]
    if not sum(table.num_rows for table in tables):
        raise InvalidInput(f"{place} has no rows", "at least one")
    return Release.from_table(pa.concat_tables(tables, promote_options="permissive"), header)


def _refuse_packed(asked: Question, place: Path) -> None:
    # True numbers of the right type would pass for codes: only a release says that it holds reports.
    if asked.hides_numbers:
        raise InvalidInput(
            f"{place} is not a release, and {asked.name!r} hides numbers",
            "a release: reports about numbers are packed, and only a release holds them",
            "If it holds true numbers, hide them first: askance privatize study.toml DATA --out RELEASE.",
        )


def _narrowed(header: Header, wanted: Wanted, found: Sequence[str]) -> Header:
    """Keep of a header what the fit needs."""
    question = wanted.asked(header)
    declared = {covariate.name: covariate for covariate in header.covariates}
    own = {question.name, question.design_column} - declared.keys()  # they are there anyway
    needed = [name for name in wanted.covariates() if name not in own]
    for name in needed:
        if name not in declared:
            known = f"covariates among {', '.join(declared)}" if declared else "no covariates: there are none"
            raise InvalidInput(
                f"the study declares no covariate {name!r}",
                known,
                f'Add [covariates.{name}] with type = "number" or "category" to the study file.'
                if name in found
                else "",
            )
    return replace(header, questions=(question,), covariates=tuple(declared[name] for name in needed))
