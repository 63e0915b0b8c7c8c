"""``askance request``: a learner asks a label holder, who runs ``askance serve``, for a release."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askance.cli import options

if TYPE_CHECKING:
    from askance.releases.counts_release import CountsRelease
    from askance.releases.mean_operator_release import MeanOperatorRelease

request = typer.Typer(
    name="request", help="Ask a label holder for a release.", no_args_is_help=True, add_completion=False
)
_Link = Annotated[
    Path, typer.Argument(help="A file with the link that the label holder gave out (askance invite). Keep it secret.")
]
_Identifier = Annotated[str, typer.Option("--id", metavar="COLUMN", help="The column of identifiers.")]
_Delta = Annotated[str, typer.Option(metavar="NUMBER", help="The chance of failing, where it helps.")]
_Again = Annotated[
    bool, typer.Option("--again", help="Draw anew, and pay again, what was asked for before with the same words.")
]


@request.callback()
def _group() -> None:
    """Ask a label holder for a release."""


@request.command("mean-operator")
def mean_operator(
    link: _Link,
    features: Annotated[Path, typer.Option(help="Public features of the people: CSV or Parquet.")],
    id_column: _Identifier,
    epsilon: options.Epsilon,
    out: Annotated[Path, options.out_option("The release to write (JSON).")],
    delta: _Delta = "0",
    mechanism: options.SumMechanism = "auto",
    columns: options.Columns = None,
    intercept: options.Intercept = True,
    shape: options.FeatureShape = "auto",
    anyway: options.Anyway = False,
    again: _Again = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Ask for a noisy total of features by label, which askance fit learns from.

    Identifiers and features are sent: the label holder learns them, and must have labels of exactly these people. The
    request is signed and so is the answer. The same request is the same release, however often it is sent, and is paid
    for once.
    """
    from askance.collector.label_client import LabelProvider
    from askance.files.kinds import FileKind
    from askance.releases.mean_operator_release import MeanOperatorRelease
    from askance.tables.people import PeopleFeatures

    kind = FileKind.of_format(MeanOperatorRelease.FORMAT)
    options.check_targets([(out, kind)], overwrite=overwrite, inputs=[link, features])
    provider = LabelProvider.read(link)
    people = PeopleFeatures.read(features, id_column, options.between_commas(columns, "--columns"))
    asked = {
        "ids": people.ids.texts.to_pylist(), "columns": list(people.columns), "features": people.values.T.tolist(),
        "epsilon": epsilon, "delta": delta, "mechanism": mechanism, "intercept": intercept, "shape": shape,
        "anyway": anyway,
    }  # fmt: skip
    done = _received(provider.ask("mean-operator", asked, again=again), MeanOperatorRelease)
    done.check_features(people.ids, people.columns, people.values)
    _write(done, out, overwrite, as_json)


@request.command("counts")
def counts(
    link: _Link,
    data: Annotated[Path, typer.Option(help="The people, and the bag of each: CSV or Parquet.")],
    id_column: _Identifier,
    epsilon: options.Epsilon,
    out: Annotated[Path, options.out_option("The release to write (JSON).")],
    bag: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of bags; all people are one bag if not given.")
    ] = None,
    delta: _Delta = "0",
    mechanism: options.CountMechanism = "auto",
    again: _Again = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Ask how many people of each class are in each bag, with noise that hides every single label.

    Identifiers and bags are sent: the label holder learns them, and must have labels of exactly these people.
    """
    from askance.collector.label_client import LabelProvider
    from askance.files.kinds import FileKind
    from askance.mechanisms.person_keys import id_texts
    from askance.releases.counts_release import CountsRelease
    from askance.tables.data_files import open_data
    from askance.tables.people import read_columns

    options.check_targets([(out, FileKind.of_format(CountsRelease.FORMAT))], overwrite=overwrite, inputs=[link, data])
    provider = LabelProvider.read(link)
    table, _ = read_columns(open_data(data), [], id_column, *([] if bag is None else [bag]))
    asked = {
        "ids": id_texts(table.column(id_column)).to_pylist(),
        "bags": None if bag is None else id_texts(table.column(bag)).to_pylist(),
        "epsilon": epsilon, "delta": delta, "mechanism": mechanism,
    }  # fmt: skip
    _write(_received(provider.ask("counts", asked, again=again), CountsRelease), out, overwrite, as_json)


def _received(said: dict[str, Any], kind: Any) -> Any:
    """Read a release that was sent: it must follow from itself, as one in a file must."""
    from askance.errors import AskanceError, ReleaseError

    try:
        return kind.from_dict(said)
    except (AskanceError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise ReleaseError(f"what was sent is not {kind.WHAT} ({type(error).__name__})") from error


def _write(done: "MeanOperatorRelease | CountsRelease", out: Path, overwrite: bool, as_json: bool) -> None:
    from askance.cli.output import show_release

    done.write(out, overwrite=overwrite)
    show_release(done, out, as_json)
