"""What a file holds, seen by its content: nothing but a file of the same kind is ever written over."""

import re
from dataclasses import dataclass
from pathlib import Path

# Bytes that are looked at: a sentence, or comments before the questions of a study, may be long; a page's last words.
_HEAD, _TAIL = 1 << 16, 512


@dataclass(frozen=True)
class FileKind:
    """A kind of file that askance writes, and how it is recognised.

    Parameters
    ----------
    words : str
        What messages call it.
    begins : bytes
        A regular expression that the beginning of such a file matches.
    ends : bytes
        A regular expression that is found in its last bytes.
    parquet_key : bytes
        The key under which the footer of a Parquet file of this kind keeps a header of ours.
    endings : tuple of str
        With which names of such files end; none where any will do.

    Examples
    --------
    >>> FileKind.of_format("askance-model").words
    'a saved model'
    """

    words: str
    begins: bytes = b""
    ends: bytes = b""
    parquet_key: bytes = b""
    endings: tuple[str, ...] = ()

    @classmethod
    def of_format(cls, name: str) -> "FileKind":
        """Return the kind of JSON files that open with a format's name; regions may be Parquet, too."""
        opening = rb'(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"' + re.escape(name.encode()) + b'"'
        key = name.encode() if name == "askance-regions" else b""
        endings = () if key else (".json",)
        return cls(_FORMATS.get(name, f"a file of the format {name}"), opening, parquet_key=key, endings=endings)

    @classmethod
    def of_table(cls, columns: list[str]) -> "FileKind":
        """Return the kind of CSV files that have just these columns."""
        return cls("a table of these columns", re.escape(",".join(columns).encode()) + rb"\r?\n")

    def misnamed(self, path: Path) -> bool:
        """Whether the name of a file ends as those of another format do: programs choose by it how to read it.

        Examples
        --------
        >>> REPORT.misnamed(Path("report.pdf")), REPORT.misnamed(Path("report.html")), REPORT.misnamed(Path("report"))
        (True, False, False)
        """
        ending = path.suffix.lower()
        return bool(self.endings) and ending in _ENDINGS and ending not in self.endings

    def holds(self, path: Path) -> bool:
        """Whether the file at a path is of this kind."""
        if not path.is_file():  # to read a pipe would wait for who writes to it
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(max(0, path.stat().st_size - _TAIL))
            tail = file.read(_TAIL)
        if head.startswith(b"PAR1"):
            return bool(self.parquet_key) and self.parquet_key in _parquet_keys(path)
        return bool(self.begins and re.match(self.begins, head) and re.search(self.ends, tail))


# Of formats that people open by a click: a page called .pdf, or a release called .csv, opens nowhere.
_ENDINGS = frozenset({
    ".csv", ".tsv", ".xls", ".xlsx", ".ods", ".doc", ".docx", ".odt", ".pdf", ".htm", ".html", ".md", ".json", ".jsonl",
    ".parquet", ".toml", ".png", ".svg", ".npz", ".zip",
})  # fmt: skip
_CSV = (".csv",)
_FORMATS = {
    "askance-model": "a saved model",
    "askance-counts": "a release of counts",
    "askance-mean-operator": "a release of a mean operator",
    "askance-regions": "a release of counted regions",
    "askance-ledger-receipt": "a receipt of a ledger",
    "askance-manifest": "a manifest of part files",
    "askance-signature": "a signature of a release",
}
REPORTS = FileKind("a release of reports", parquet_key=b"askance", endings=(".parquet",))
MODEL = FileKind.of_format("askance-model")
RECEIPT = FileKind.of_format("askance-ledger-receipt")
REPORT = FileKind("a report of askance", rb"<!doctype html>", rb"<footer>Made by askance ", endings=(".html", ".htm"))
DOSSIER = FileKind("a dossier of askance", rb"# Privacy dossier: ", rb"Made by askance ", endings=(".md",))
MADE_UP = FileKind(
    "made-up answers of askance", rb"[^\n]*,made_up\r?\n", rb",simulated (?:answer|report)\r?\n\Z", endings=_CSV
)
STUDY = FileKind("a study file", rb"(?s)(?:.*?\n)?[ \t]*\[questions\b", endings=(".toml",))
PNG = FileKind("a picture (PNG)", rb"\x89PNG\r\n")
SVG = FileKind("a picture (SVG)", rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg\b")
PDF = FileKind("a document (PDF)", rb"%PDF-")
PICTURES = {".png": PNG, ".svg": SVG, ".pdf": PDF}
PREDICTIONS = FileKind("predictions of askance", rb"(?:id,)?predicted(?:,\"?probability of [^\n]*)?\r?\n", endings=_CSV)
CROSSTAB = FileKind("a cross-table of askance", rb"row,column,people,share,low,high\r?\n", endings=_CSV)
UNIT_TABLES = FileKind("cross-tables of units of askance", rb"unit,row,column,people,std_error\r?\n", endings=_CSV)
RATIOS = FileKind("class ratios of askance", rb"group,rows,class,ratio,low,high,shift_p\r?\n", endings=_CSV)
TAGGED = {
    "conllu": FileKind("tagged sentences (CoNLL-U)", rb"1\t[^\t\n]+\t_\t_\t[^\t\n]+(?:\t_){5}\r?\n"),
    "jsonl": FileKind("tagged sentences (JSON lines)", rb'\{"words": \[[^\n]*\], "tags": \['),
}
# Files that no command writes over: they are known here so that messages can name them. A ledger is an SQLite database
# whose application number, at byte 68, is ASKL.
_LEDGER = FileKind("a ledger: a budget of privacy, which nothing replaces", rb"(?s)SQLite format 3\0.{52}ASKL")
_OTHERS = (
    _LEDGER,
    FileKind("an SQLite database", rb"SQLite format 3\0"),
    REPORTS,
    STUDY,
)
_KNOWN = (
    *map(FileKind.of_format, _FORMATS), REPORT, DOSSIER, MADE_UP, PNG, SVG, PDF, PREDICTIONS, RATIOS,
    *TAGGED.values(), *_OTHERS,
)  # fmt: skip
_UNKNOWN = "something that askance did not write"


def described(path: Path) -> str:
    """Return in words what a file holds.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
    >>> _ = path.write_text("cheated\\nyes\\n")
    >>> described(path)
    'something that askance did not write'
    """
    return next((kind.words for kind in _KNOWN if kind.holds(path)), _UNKNOWN)


def _parquet_keys(path: Path) -> frozenset[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return frozenset(pq.read_metadata(path).metadata or {})
    except (pa.ArrowException, OSError):
        return frozenset()
