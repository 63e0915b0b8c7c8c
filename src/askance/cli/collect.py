"""``askance serve``, ``invite`` and ``export``: a study asked on the respondents' own devices."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askance.cli.options import Json, Overwrite, out_option

if TYPE_CHECKING:
    from askance.collector.serving import Collection

_StudyFile = Annotated[Path, typer.Argument(help="The study file (TOML): questions, channels, covariates, page.")]
_StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE|URL",
        help="Where responses are kept: an SQLite file (beside the study file, if not given), or "
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
_MOST_INVITATIONS = 1_000_000


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
    """

    from askance.cli.output import print_json, say, warn
    from askance.errors import InvalidInput

    try:
        import starlette  # noqa: F401 - says what to install before anything is opened
        import uvicorn  # noqa: F401
    except ImportError:
        raise InvalidInput(
            "askance serve without starlette and uvicorn", "both", "pip install 'askance[collector]'"
        ) from None
    collection = _collection(study, store, keys)
    if host not in _LOOPBACK:
        warn("Anybody on the way can read and change what an http page sends: put a proxy with TLS in front.")

    def ready(address: str) -> None:
        link = f"{address}#INVITATION" if collection.asked.settings.access == "invited" else address
        if as_json:  # once, before the first request: for whoever starts servers
            print_json({"address": address, "dashboard": f"{address}dashboard", "keys": str(collection.keys_path)})
        say(f"Respondents: {link}")
        say(f"Dashboard: {address}dashboard (its key is in {collection.keys_path})")
        say(f"Responses: {collection.place.rpartition('@')[2]}")

    try:
        collection.serve(host, port, a_minute=rate, batch=batch, ready=ready)
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
    invitation is the part after #, which browsers do not send when they load the page.
    """
    from askance.cli.output import print_json, write_data

    day = None if expires is None else _day(expires)
    page = _address(address)
    links = [f"{page}#{token}" for token in _collection(study, store, keys).invite(count, day)]
    if as_json:
        print_json({"links": links, "expires": expires})
    else:
        write_data("".join(f"{link}\n" for link in links))


def export(
    study: _StudyFile,
    out: Annotated[Path, out_option("The release to write (Parquet).")],
    close: Annotated[
        bool, typer.Option("--close", help="Close the study first: it takes no more responses, and cannot be reopened.")
    ] = False,
    store: _StoreOption = None,
    keys: _KeysOption = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write the reports of a closed study as a release, which askance fit reads.

    Closing writes the reports anew in random order: from then on nothing in the store links them to invitations.
    """
    from askance.cli.output import print_json, show
    from askance.collector.export import export_release

    collection = _collection(study, store, keys, there=True)
    responses = collection.open_store()
    try:
        if close:
            responses.close_study()
        release = export_release(collection.asked, responses, out, overwrite=overwrite)
    finally:
        responses.disconnect()
    if as_json:
        print_json({"release": str(out), "rows": release.num_rows, "header": release.header.to_dict()})
    else:
        show(f"{out}: {release.num_rows:,} reports; {release.guarantee}")


def _collection(study: Path, store: str | None, keys: Path | None, *, there: bool = False) -> "Collection":
    from askance.cli.output import say
    from askance.collector.serving import Collection
    from askance.errors import InvalidInput

    collection = Collection.of(study, store, keys)
    if there and "://" not in collection.place and not Path(collection.place).exists():
        raise InvalidInput(f"there are no responses at {collection.place}", "the store of askance serve: --store")
    if collection.new_keys:
        say(f"New keys in {collection.keys_path}: keep the file secret, and keep it as long as the study runs.")
    return collection


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
