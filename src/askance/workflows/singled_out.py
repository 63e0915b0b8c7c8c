"""How many people of a release are alone with what is published about them as it is."""

from dataclasses import dataclass

import pyarrow as pa

from askance.releases.release import Release

_FEW = 5  # people who share all open columns: below it, statistical offices do not publish a cell


@dataclass(frozen=True)
class SingledOut:
    """What the unprotected columns of a release tell apart.

    Parameters
    ----------
    columns : tuple of str
        Those that were compared.
    rows, alone, few : int
        People; those whom no other row equals in these columns; those whom fewer than four others equal.
    """

    columns: tuple[str, ...]
    rows: int
    alone: int
    few: int

    def sentence(self) -> str:
        """Say it."""
        if not self.rows:
            return "The release has no rows."
        alone, few = 100 * self.alone / self.rows, 100 * self.few / self.rows
        return (
            f"Of {self.rows:,} people {self.alone:,} ({alone:.1f}%) are alone with their combination of "
            f"{', '.join(self.columns)}, and {self.few:,} ({few:.1f}%), these included, share it with fewer than "
            f"{_FEW - 1} others. Whoever knows these facts about such a person finds their row; the level above still "
            "holds for the answers in it."
        )


def singled_out(release: Release) -> SingledOut | None:
    """Count who is alone with their unprotected columns; None where there are none to compare.

    Columns of words are left out: texts can tell who wrote them, whether or not another text is the same.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import askance as ask
    >>> from askance.releases import Covariate, Header, Question
    >>> header = Header((Question("cheated", ask.Warner(0.8)),), (Covariate("age"),))
    >>> rows = pa.table({"cheated": ["no", "yes", "no"], "age": [30.0, 30.0, 61.0]})
    >>> singled_out(ask.Release.from_table(rows, header)).alone
    1
    """
    words = [covariate.name for covariate in release.header.covariates if covariate.type == "words"]
    reports = [question.name for question in release.header.questions]
    columns = [name for name in release.header.unprotected if name not in (*words, *reports)]
    if not columns:
        return None
    pieces = [_counted(part.read(columns), columns, ([], "count_all")) for part in release.parts]
    if not pieces:
        return SingledOut(tuple(columns), 0, 0, 0)
    sizes = _counted(pa.concat_tables(pieces), columns, ("size", "sum")).column("size").to_numpy()
    return SingledOut(tuple(columns), int(sizes.sum()), int((sizes == 1).sum()), int(sizes[sizes < _FEW].sum()))


def _counted(table: pa.Table, columns: list[str], what: tuple[object, str]) -> pa.Table:
    counted = table.group_by(columns).aggregate([what])
    last = next(name for name in counted.column_names if name not in columns)
    return counted.select([*columns, last]).rename_columns([*columns, "size"])
