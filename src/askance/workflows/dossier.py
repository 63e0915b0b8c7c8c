"""From a study, and a release of it, to the dossier on privacy that somebody signs."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from askance import __version__
from askance.errors import InvalidInput
from askance.files.location import Location, StrPath
from askance.mechanisms.ledger import Ledger
from askance.planning.auditing.audit_report import AuditReport
from askance.planning.auditing.channel_audit import audit as audit_channel
from askance.releases.reading import read_release
from askance.releases.release import Release
from askance.releases.study import Study
from askance.releases.verification import verify_release
from askance.reports.dossier import Dossier
from askance.workflows.dossier_sections import Facts, dossier_of
from askance.workflows.program import program_digest
from askance.workflows.singled_out import singled_out

_ERROR_RATE = 0.001  # of an audit, as at the command line: honest channels fail once in a thousand dossiers


@dataclass(frozen=True)
class _Read:
    """A study and where it came from."""

    study: Study
    path: Path | None
    digest: str | None


def make_dossier(
    study: Study | StrPath,
    release: StrPath | None = None,
    *,
    ledger: StrPath | None = None,
    key: StrPath | None = None,
    audit: bool = False,
    draws: int | None = None,
    on_device: bool = False,
    today: date | None = None,
    command: str = "",
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Dossier:
    """Put together everything about the privacy of a study: what a data-protection impact assessment can quote.

    Parameters
    ----------
    study : Study, or path of a study file
    release : path, optional
        The release of the study; every byte of it is checked. It must be of this study.
    ledger : path, optional
        The ledger that should have paid for the release.
    key : path, optional
        The public key (PEM) of who should have signed it.
    audit : bool
        Draw reports from every channel and check what they give away; see :func:`askance.audit`.
    draws : int, optional
        Of the audit: reports to draw for each question.
    on_device : bool
        Answers were hidden on the respondents' own devices, as by ``askance serve``: nobody else ever had them.
    today : date, optional
        The day of the dossier; the current one, in universal time, if not given.
    command : str
        What makes the dossier again.
    progress : function of (done, total)
        Called before every question of an audit.

    Returns
    -------
    Dossier
        Prints as text; has ``to_markdown()``, ``to_dict()``, and is shown as HTML in a notebook. :func:`write_dossier`
        writes it.

    Examples
    --------
    >>> import askance as ask
    >>> study = ask.Study.parse('''
    ... [questions.cheated]
    ... choices = ["no", "yes"]
    ... channel = { design = "warner", p = 0.8 }
    ... [covariates.age]
    ... type = "number"
    ... ''')
    >>> dossier = ask.make_dossier(study)
    >>> print(dossier.guarantee, dossier.unprotected)
    epsilon 1.386, protects one answer (any two answers of one person) ('age',)
    """
    read = _read_study(study)
    day = datetime.now(UTC).date() if today is None else today
    opened = None if release is None else _opened(release, read.study)
    if opened is None and (ledger is not None or key is not None):
        raise InvalidInput(
            f"a {'ledger' if ledger is not None else 'key'} without a release",
            "the release that it paid for or signed",
        )
    checked = None if release is None else verify_release(release, ledger=ledger, key=key)
    facts = Facts(
        study=read.study,
        study_path=read.path,
        study_digest=read.digest,
        study_changed=_changed(read.path),
        release=opened,
        release_changed=None if release is None else _changed(release),
        verification=checked,
        alone=None if opened is None else singled_out(opened),
        audits=_audits(read.study, draws, progress) if audit else None,
        ledger=None if ledger is None else str(ledger),
        budget=None if ledger is None else repr(Ledger(ledger)),
        on_device=on_device,
        day=day,
        program=f"askance {__version__}, sha256 {program_digest()}",
        command=command,
    )
    return dossier_of(facts)


def _read_study(study: Study | StrPath) -> _Read:
    if isinstance(study, Study):
        return _Read(study, None, None)
    import hashlib

    read = Study.read(study)
    return _Read(read, Path(study), hashlib.sha256(Path(study).read_bytes()).hexdigest())


def _opened(path: StrPath, study: Study) -> Release:
    if not os.path.lexists(path) and not Location.of(path).is_address:
        raise InvalidInput(f"there is no release at {path}", "a release of the study (Parquet)")
    release = read_release(path)
    if not isinstance(release, Release):
        raise InvalidInput(
            f"{path} is {release.WHAT}",
            "a release of reports, which a study file describes",
            "askance verify says what protects totals, who paid for them and who signed them.",
        )
    if not study.header().same_study(release.header):
        raise InvalidInput(
            f"{path} is not a release of this study: its questions, channels or covariates differ",
            "the study file that it was made with",
            "A dossier about the wrong study would promise what nobody keeps.",
        )
    return release


def _changed(path: StrPath | None) -> str | None:
    """When a file, or the newest file of a folder, was written last; None where nobody can say."""
    if path is None or Location.of(path).is_address:
        return None
    place = Path(path)
    files = [each for each in place.rglob("*") if each.is_file()] if place.is_dir() else [place]
    newest = max(each.stat().st_mtime for each in files)
    return datetime.fromtimestamp(newest, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _audits(study: Study, draws: int | None, progress: Any) -> dict[str, AuditReport]:
    audits = {}
    for done, question in enumerate(study.questions):
        progress(done, len(study.questions))
        audits[question.name] = audit_channel(question.channel, draws, _ERROR_RATE / len(study.questions))
    return audits
