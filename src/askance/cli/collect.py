"""``askance serve``, ``invite`` and ``export``: studies, tasks for annotators, and labels that learners ask for."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askance.cli.options import Json, Overwrite, check_targets, out_option
from askance.printing import shell_command

if TYPE_CHECKING:
    from askance.collector.annotation_serving import Annotation
    from askance.collector.label_serving import LabelService
    from askance.collector.serving import Collection

_StudyFile = Annotated[
    Path,
    typer.Argument(
        help="The study file (TOML): questions, channels, covariates, page. Or a task for annotators (table "
        "annotation), or what a label holder answers learners about (table labels)."
    ),
]
_StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE|URL",
        help="Where responses are kept: an SQLite file (beside the study file, if not given), or, of a study, "
        "postgresql://USER@HOST/DATABASE for several servers at a time.",
    ),
]
_KeysOption = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        help="The file of keys, made if it is not there (beside the study file, if not given). Keep it secret.",
    ),
]
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_MOST_INVITATIONS = 1_000_000  # their links and digests take 3 s and 190 MB, ten times more ten times that
_MOST_SHOWN = 10  # disputed windows on a terminal


def serve(
    study: _StudyFile,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port to listen at; 0 is any free one.")
    ] = 8000,
    store: _StoreOption = None,
    keys: _KeysOption = None,
    rate: Annotated[
        int,
        typer.Option(
            "--rate", min=0, help="In an open study: responses that one address may send in a minute; 0 for any number."
        ),
    ] = 60,
    batch: Annotated[
        int, typer.Option("--batch", min=1, max=10_000, help="The most responses that are written together.")
    ] = 512,
    as_json: Json = False,
) -> None:
    """Ask a study's questions on a web page that hides each answer on the respondent's own device.

    The page draws the report with the study's own probabilities and sends nothing else. A report is acknowledged once
    it is on disk; an invitation counts once. Nothing about the respondent is logged or kept. The dashboard opens at
    /dashboard with the key in the file of keys. Stop with Ctrl-C or SIGTERM: what is on its way is written first.

    Of a task for annotators, it shows windows of sentences, and keeps how often each tag was counted in them. Of
    labels, it answers signed requests for a mean operator or for counts with a release, once the ledger has paid: see
    askance request. What must not be told to learners is said here, on standard error.
    """

    from askance.cli.output import print_json, say, warn
    from askance.collector.annotation_serving import Annotation
    from askance.collector.label_serving import LabelService
    from askance.errors import InvalidInput

    try:
        import starlette  # noqa: F401 - says what to install before anything is opened
        import uvicorn  # noqa: F401
    except ImportError:
        raise InvalidInput(
            "askance serve without starlette and uvicorn", "both", "pip install 'askance[collector]'"
        ) from None
    opened = _opened(study, store, keys)
    if host not in _LOOPBACK:
        warn("Anybody on the way can read and change what http sends: put a proxy with TLS in front.")

    def ready(address: str) -> None:
        said = {"address": address, "keys": str(opened.keys_path)}
        if isinstance(opened, LabelService):
            lines = [f"Learners: {address}#KEY (askance invite makes keys)", f"Requests: {opened.place}"]
        elif isinstance(opened, Annotation):
            lines = [f"Annotators: {address}#LINK (askance invite makes links)", f"Counts: {opened.place}"]
        else:
            said |= {"dashboard": f"{address}dashboard"}
            link = f"{address}#INVITATION" if opened.asked.settings.access == "invited" else address
            lines = [
                f"Respondents: {link}",
                f"Dashboard: {address}dashboard (its key is in {opened.keys_path})",
                f"Responses: {opened.place.rpartition('@')[2]}",
            ]
        if as_json:  # once, before the first request: for whoever starts servers
            print_json(said)
        for line in lines:
            say(line)

    try:
        if isinstance(opened, LabelService):
            opened.serve(host, port, ready, say)
        elif isinstance(opened, Annotation):
            opened.serve(host, port, ready)
        else:
            opened.serve(host, port, ready, a_minute=rate, batch=batch)
    except KeyboardInterrupt:
        say("Stopped.")


def invite(
    study: _StudyFile,
    count: Annotated[int, typer.Option("--count", min=1, max=_MOST_INVITATIONS, help="How many invitations to make.")],
    address: Annotated[
        str, typer.Option("--address", metavar="URL", help="Where the respondents' page will be.")
    ] = "http://127.0.0.1:8000/",
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DAY", help="The last day they are valid, such as 2027-01-31.")
    ] = None,
    store: _StoreOption = None,
    keys: _KeysOption = None,
    as_json: Json = False,
) -> None:
    """Make invitations: links that each let one person answer once.

    One link a line is printed, and kept nowhere: the store holds only digests that nobody can turn back into links. The
    invitation is the part after #, which browsers do not send when they load the page. For annotators a link is good
    for the whole task, and for learners it holds the key with which their requests are signed.
    """
    from askance.cli.output import print_json, write_data
    from askance.collector.serving import Collection
    from askance.errors import InvalidInput

    day = None if expires is None else _day(expires)
    page = _address(address)
    opened = _opened(study, store, keys)
    if isinstance(opened, Collection):
        tokens = opened.invite(count, day)
    elif day is not None:
        raise InvalidInput("--expires for annotators or learners", "links without a last day")
    else:
        tokens = opened.invite(count)
    links = [f"{page}#{token}" for token in tokens]
    if as_json:
        print_json({"links": links, "expires": expires})
    else:
        write_data("".join(f"{link}\n" for link in links))


def export(
    study: _StudyFile,
    out: Annotated[Path, out_option("The release to write: Parquet; of annotators, JSON lines or Parquet.")],
    close: Annotated[
        bool, typer.Option("--close", help="Close the study first: it takes no more responses, and cannot be reopened.")
    ] = False,
    all_counts: Annotated[
        bool,
        typer.Option(
            "--all-counts", help="Of annotators: write all counts of a window, also those that contradict each other."
        ),
    ] = False,
    store: _StoreOption = None,
    keys: _KeysOption = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write the reports of a closed study as a release, which askance fit reads, and the dossier on its privacy.

    The dossier stands beside the release: release.dossier.html beside release.parquet (see askance dossier). Closing
    writes the reports anew in random order: from then on nothing in the store links them to invitations.

    Of a task for annotators, whether or not it is finished, write the regions that were counted so far. A window that
    several counted is written once, with what more than half of them said, and left out if there is no such majority.
    """
    from askance.cli.output import print_json, show
    from askance.collector.annotation_serving import Annotation
    from askance.collector.export import export_release
    from askance.collector.label_serving import LabelService
    from askance.errors import InvalidInput
    from askance.files.kinds import REPORTS
    from askance.reports.dossier_file import dossier_kind, write_dossier
    from askance.workflows.dossier import make_dossier

    opened = _opened(study, store, keys, there=True)
    if isinstance(opened, LabelService):
        raise InvalidInput("an export of labels", "a study, or a task for annotators", "Learners ask: askance request.")
    if isinstance(opened, Annotation):
        if close:
            raise InvalidInput("--close of a task for annotators", "no --close", "Counts may be exported at any time.")
        _export_regions(opened, out, overwrite, all_counts, as_json)
        return
    if all_counts:
        raise InvalidInput("--all-counts of a study", "a task for annotators")
    beside = out.with_name(f"{out.stem}.dossier.html")
    check_targets([(out, REPORTS), (beside, dossier_kind(beside))], overwrite=overwrite, inputs=[study])
    responses = opened.open_store()
    try:
        standing = responses.standing()
        if close and not (standing.reports or standing.closed):  # a slip would end a study before it began
            raise InvalidInput(
                f"{responses} holds no reports", "at least one", "The study was not closed; the dashboard closes any."
            )
        if close:
            responses.close_study()
        release = export_release(opened.asked, responses, out, overwrite=overwrite)
    finally:
        responses.disconnect()
    on_device = not opened.asked.is_asked_directly
    command = ["askance", "dossier", study, out, *(["--on-device"] if on_device else [])]
    made = make_dossier(study, out, on_device=on_device, command=shell_command(*command))
    write_dossier(beside, made, overwrite=overwrite)
    if as_json:
        files = {"release": str(out), "dossier": str(beside)}
        print_json(files | {"rows": release.num_rows, "header": release.header.to_dict()})
    else:
        show(f"{out}: {release.num_rows:,} reports; {release.guarantee}")
        show(f"{beside}: what its privacy rests on, to be signed")


def _export_regions(task: "Annotation", out: Path, overwrite: bool, everything: bool, as_json: bool) -> None:
    from askance.cli.output import print_json, show

    done = task.export(out, overwrite=overwrite, everything=everything)
    if as_json:
        about = {"release": str(out), "regions": len(done.release.regions), "disputed": list(done.disputed)}
        print_json(about | {"agreement": done.agreement.to_dict()})
        return
    show(f"{out}: {done.release!r}")
    show(str(done.agreement))
    if done.disputed:
        show(f"{len(done.disputed):,} windows were left out, on which annotators disagree:")
        for line in done.disputed[:_MOST_SHOWN]:
            show(f"  {line}")
        if len(done.disputed) > _MOST_SHOWN:
            show(f"  and {len(done.disputed) - _MOST_SHOWN:,} more (--json names all)")


def _opened(
    path: Path, store: str | None, keys: Path | None, *, there: bool = False
) -> "Collection | Annotation | LabelService":
    """Open a study or a task file; what is in it says which."""
    from askance.cli.output import say
    from askance.collector.annotation_serving import Annotation
    from askance.collector.annotation_task import toml_tables
    from askance.collector.label_serving import LabelService
    from askance.collector.serving import Collection
    from askance.errors import InvalidInput

    tables = toml_tables(path)
    kind = Annotation if "annotation" in tables else LabelService if "labels" in tables else Collection
    opened: Collection | Annotation | LabelService = kind.of(path, store, keys)
    if there and "://" not in str(opened.place) and not Path(opened.place).exists():
        raise InvalidInput(f"there are no responses at {opened.place}", "the store of askance serve: --store")
    if opened.new_keys:
        say(f"New keys in {opened.keys_path}: keep the file secret, and keep it as long as the study runs.")
    return opened


def _day(text: str) -> int:
    from datetime import date

    from askance.errors import InvalidInput

    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"--expires {text!r}", "a day such as 2027-01-31") from None
    return (day - date(1970, 1, 1)).days


def _address(text: str) -> str:
    from urllib.parse import urlsplit

    from askance.errors import InvalidInput

    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise InvalidInput(f"--address {text!r}", "such as https://study.example.org/")
    return text if text.endswith("/") else f"{text}/"
