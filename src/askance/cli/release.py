"""``askance release``: totals of private labels, for who holds the features."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askance.cli.options import (
    Anyway,
    Columns,
    CountMechanism,
    Epsilon,
    FeatureShape,
    Intercept,
    Json,
    LedgerFile,
    Overwrite,
    SignKey,
    SumMechanism,
    between_commas,
    check_targets,
    out_option,
)

if TYPE_CHECKING:
    from askance.channels.alphabet import Label
    from askance.mechanisms.ledger import Ledger
    from askance.mechanisms.ledger_entries import LedgerEntry
    from askance.releases.counts_release import CountsRelease
    from askance.releases.mean_operator_release import MeanOperatorRelease

release = typer.Typer(
    name="release", help="Release totals of private labels, under a budget.", no_args_is_help=True, add_completion=False
)


@release.callback()
def _group() -> None:
    """Release totals of private labels, under a budget."""


@release.command("mean-operator")
def mean_operator(
    labels: Annotated[Path, typer.Argument(help="Private labels: a CSV or Parquet file with identifiers.")],
    features: Annotated[Path, typer.Option(help="Public features of the same people: CSV or Parquet.")],
    id_column: Annotated[str, typer.Option("--id", metavar="COLUMN", help="The column of identifiers, in both files.")],
    label: Annotated[str, typer.Option(metavar="COLUMN", help="The column of labels.")],
    epsilon: Epsilon,
    ledger: LedgerFile,
    out: Annotated[Path, out_option("The release to write (JSON).")],
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="For Gaussian noise: the chance of failing.")] = "0",
    mechanism: SumMechanism = "auto",
    classes: Annotated[str, typer.Option(help="The labels that there may be, in order, between commas.")] = "-1,1",
    columns: Columns = None,
    public_columns: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Features that may be known although they tell nearly every label."),
    ] = None,
    intercept: Intercept = True,
    shape: FeatureShape = "auto",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what the release would be worth; spend and write nothing.")
    ] = False,
    anyway: Anyway = False,
    sign: SignKey = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release a noisy total of features by label, from which the holder of the features can train a classifier.

    One person's label is protected; features and identifiers are taken to be known to both sides. Features may be in
    any units: what is done to them first follows from them alone, and the release says it. The budget is spent before
    any noise is drawn. Whatever is refused spends nothing, and so does a release that would be near guessing; --dry-run
    tells the accuracy to expect, from the features and without a label.
    """
    from askance.cli.output import print_json, show, show_lines
    from askance.errors import InvalidInput
    from askance.files.kinds import FileKind
    from askance.mechanisms.ledger import Ledger
    from askance.releases.mean_operator_preview import preview_mean_operator
    from askance.releases.mean_operator_release import MeanOperatorRelease, release_mean_operator
    from askance.releases.paid_release import spent_all_the_same
    from askance.releases.signatures import sign_release, signing_key
    from askance.tables.people import PeopleFeatures, read_labels

    kind = FileKind.of_format(MeanOperatorRelease.FORMAT)
    check_targets([(out, kind)], overwrite=overwrite, inputs=[labels, features, ledger])
    key = None if sign is None else signing_key(sign, out)
    book = Ledger(ledger)
    declared = _classes(classes)
    public = PeopleFeatures.read(features, id_column, between_commas(columns, "--columns"), private=label)
    preview = preview_mean_operator(
        public.values, epsilon, delta, mechanism, classes=declared, fit_intercept=intercept, shape=shape
    )
    if dry_run:
        if as_json:
            print_json(preview.to_dict())
        else:
            show_lines(str(preview))
            show(f"Nothing was spent: {book!r}")
        return
    if preview.is_near_guessing and not anyway:
        raise InvalidInput(preview.warning.rstrip("."), "a release that is worth its budget", "Or say --anyway.")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A model from this release would be near guessing")  # --anyway was said
        done = release_mean_operator(
            public.values,
            read_labels(labels, id_column, label, declared, public.ids),
            epsilon,
            delta if preview.shape is None or preview.mechanism == "gaussian" else 0,
            mechanism if preview.shape is None else preview.mechanism,
            ledger=book,
            classes=declared,
            fit_intercept=intercept,
            shape=preview.shape or "none",
            columns=public.columns,
            ids=public.ids,
            public_columns=between_commas(public_columns, "--public-columns") or (),
        )
    with spent_all_the_same(out, _entry(book, done).number):
        done.write(out, overwrite=overwrite)
        if key is not None:
            sign_release(out, key, done.digest)
    _print(done, "squared error, all values together", book, out, as_json)


@release.command("counts")
def counts(
    data: Annotated[Path, typer.Argument(help="Private labels by bag: a CSV or Parquet file, or a folder of them.")],
    classes: Annotated[str, typer.Option(help="The labels that there may be, in order, between commas.")],
    epsilon: Epsilon,
    ledger: LedgerFile,
    out: Annotated[Path, out_option("The release to write (JSON).")],
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of labels.")] = None,
    bag: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of bags; all people are one bag if not given.")
    ] = None,
    counted: Annotated[
        bool, typer.Option("--counts", help="DATA has a row for each bag and a column of counts for each class.")
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns of larger groups that the bags are in, from small to large: released too, and consistent.",
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Identifiers: nobody may be in two rows.")
    ] = None,
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="The chance of failing, where it helps.")] = "0",
    mechanism: CountMechanism = "auto",
    public_bags: Annotated[
        bool, typer.Option("--public-bags", help="Everybody may know the bags, although they tell nearly every label.")
    ] = False,
    overlapping: Annotated[
        bool, typer.Option("--overlapping", help="People may be in several bags: the levels of all bags add up.")
    ] = False,
    sign: SignKey = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release how many people of each class are in each bag, with noise that hides every single label.

    DATA has a row for each person, with a label and a bag; or, with --counts, a row for each bag. Who is in which bag
    is taken to be known, and so is how many. The budget is spent before any noise is drawn. Whatever is refused spends
    nothing.
    """
    from askance.errors import InvalidInput
    from askance.files.kinds import FileKind
    from askance.mechanisms.ledger import Ledger
    from askance.releases.counts_release import CountsRelease, release_counts
    from askance.releases.labels_told import refuse_telling_bags
    from askance.releases.paid_release import spent_all_the_same
    from askance.releases.signatures import sign_release, signing_key
    from askance.tables.counted_people import CountedPeople, count_people, groups_of_bags, read_count_table

    if counted == (label is not None) or (counted and id_column is not None):
        raise InvalidInput(
            "--label and --counts together, or neither" if id_column is None else "--id with --counts",
            "--label COLUMN (and --id COLUMN) for a row for each person, or --counts for a row for each bag",
        )
    kind = FileKind.of_format(CountsRelease.FORMAT)
    check_targets([(out, kind)], overwrite=overwrite, inputs=[data, ledger])
    key = None if sign is None else signing_key(sign, out)
    book = Ledger(ledger)
    declared = _classes(classes)
    if label is None:
        found = CountedPeople(read_count_table(data, bag, declared), None)
    else:
        found = count_people(data, label, bag, declared, id_column, overlapping=overlapping)
        if not public_bags:
            refuse_telling_bags(found.table.counts, bag or "")
    levels = between_commas(within, "--within")
    if levels is not None and bag is None:
        raise InvalidInput("--within without --bag", "the column of bags, which are in the larger groups")
    if levels is not None and label in levels:
        raise InvalidInput(f"the column {label!r} for labels and for larger groups", "different columns")
    groups = None if levels is None or bag is None else groups_of_bags(data, bag, levels, found.table.bags)
    done = release_counts(
        found.table.counts,
        epsilon,
        delta,
        mechanism,
        ledger=book,
        classes=declared,
        bags=found.table.bags,
        within=groups,
        disjoint=not overlapping,
        people=found.people,
    )
    with spent_all_the_same(out, _entry(book, done).number):
        done.write(out, overwrite=overwrite)
        if key is not None:
            sign_release(out, key, done.digest)
    _print(done, "distortion: absolute errors of the proportions, all classes together", book, out, as_json)


def _print(
    done: "CountsRelease | MeanOperatorRelease", expected: str, book: "Ledger", out: Path, as_json: bool
) -> None:
    """Print what was released, and the error that was expected of every mechanism."""
    from askance.cli.output import show, show_release, warn

    show_release(done, out, as_json)
    if as_json:
        return
    show()
    show(f"expected {expected}", style="bold")
    width = max(map(len, done.predicted), default=0)
    for name, error in sorted(done.predicted.items(), key=lambda item: item[1]):
        show(f"  {name:<{width}} {error:.3g}{'  (taken)' * (name == done.mechanism)}")
    show()
    show(repr(book))
    if _entry(book, done).remark:
        warn(_entry(book, done).remark)


def _entry(book: "Ledger", done: "CountsRelease | MeanOperatorRelease") -> "LedgerEntry":
    """Return the entry that paid for a release."""
    return next(entry for entry in book.entries if entry.release == done.digest)


def _classes(text: str) -> "tuple[Label, ...]":
    """Read labels: whole numbers if all of them are, else text."""
    from askance.channels.alphabet import as_labels

    words = between_commas(text, "--classes")
    try:
        return as_labels([int(word) for word in words], "classes")
    except ValueError:
        return as_labels(words, "classes")
