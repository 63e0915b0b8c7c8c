"""Labels and codes: the same codes from every kind of column, and strangers are named."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askance.channels.alphabet import Alphabet, as_labels, listed
from askance.errors import InvalidInput

WORDS = Alphabet(("no", "yes", "maybe"))
NUMBERS = Alphabet((0, 1, 2))
SHIFTED = Alphabet((-1, 0, 1, 2))
SPARSE = Alphabet((10, 3, 700))
FLOATS = Alphabet((0.5, 1.0, -2.25))
TRUTHS = Alphabet((False, True))
MIXED = Alphabet(("no", 1, 2.5))

TEXT_COLUMNS = {
    "list": list,
    "tuple": tuple,
    "unicode": lambda v: np.array(v),
    "objects": lambda v: np.array(v, dtype=object),
    "one column": lambda v: np.array(v)[:, None],
    "nested list": lambda v: [[label] for label in v],
    "pandas": pd.Series,
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "pandas unused category": lambda v: pd.Series(pd.Categorical(v, categories=["maybe", "never", "yes", "no"])),
    "pandas index": pd.Index,
    "pandas frame": lambda v: pd.DataFrame({"answer": v}),
    "pandas filtered": lambda v: pd.Series([*v, "never"])[:-1],
    "polars": pl.Series,
    "polars categorical": lambda v: pl.Series(v, dtype=pl.Categorical),
    "polars enum": lambda v: pl.Series(v, dtype=pl.Enum(["maybe", "never", "yes", "no"])),
    "polars frame": lambda v: pl.DataFrame({"answer": v}),
    "arrow": pa.array,
    "arrow large": lambda v: pa.array(v, type=pa.large_string()),
    "arrow view": lambda v: pa.array(v, type=pa.string_view()),
    "arrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow chunked dictionary": lambda v: pa.chunked_array([v[:1], v[1:]]).dictionary_encode(),
    "arrow slice": lambda v: pa.array(["never", *v])[1:],
}
NUMBER_COLUMNS = {
    **{t: (lambda v, t=t: np.array(v, dtype=t)) for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")},
    "big endian": lambda v: np.array(v, dtype=">i4"),
    "strided": lambda v: np.repeat(np.array(v), 3)[::3],
    "read-only": lambda v: np.frombuffer(np.array(v).tobytes(), dtype=np.int64),
    "objects": lambda v: np.array(v, dtype=object),
    "list": list,
    "numpy scalars": lambda v: [np.int16(label) for label in v],
    "floats in a list": lambda v: [float(label) for label in v],
    "pandas": pd.Series,
    "pandas nullable": lambda v: pd.Series(v, dtype="Int64"),
    "pandas floats": lambda v: pd.Series(v, dtype=float),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "polars": pl.Series,
    "polars small": lambda v: pl.Series(v, dtype=pl.Int8),
    "arrow": pa.array,
    "arrow small": lambda v: pa.array(v, type=pa.uint8()),
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow chunked": lambda v: pa.chunked_array([v[:2], v[2:]]),
}


@pytest.mark.parametrize("kind", TEXT_COLUMNS)
def test_text_from_any_column(kind):
    column = TEXT_COLUMNS[kind](["yes", "no", "no", "maybe", "yes"])
    assert WORDS.encode(column).tolist() == [1, 0, 0, 2, 1]


@pytest.mark.parametrize("kind", NUMBER_COLUMNS)
@pytest.mark.parametrize("alphabet", [NUMBERS, SHIFTED, Alphabet((0.0, 1.0, 2.0, 0.5)), Alphabet((2, 0, 1))])
def test_numbers_from_any_column(kind, alphabet):
    values = [1, 0, 0, 2, 1]
    codes = alphabet.encode(NUMBER_COLUMNS[kind](values))
    assert codes.tolist() == [alphabet.labels.index(value) for value in values]


@pytest.mark.parametrize(
    "column",
    [
        [True, False],
        np.array([True, False]),
        np.array([True, True, False, False])[::2],
        pd.Series([True, False]),
        pd.Series([True, False], dtype="boolean"),
        pl.Series([True, False]),
        pa.array([True, False]),
        [1, 0],
        [1.0, 0.0],
        np.array([1, 0], dtype=np.uint64),
        np.array([True, False], dtype=object),
    ],
    ids=lambda column: f"{type(column).__module__}.{getattr(column, 'dtype', type(column).__name__)}",
)
@pytest.mark.parametrize("alphabet", [TRUTHS, Alphabet((0, 1)), Alphabet((0.0, 1.0))], ids=repr)
def test_truth_values_are_zero_and_one(column, alphabet):
    assert alphabet.encode(column).tolist() == [1, 0]


def test_labels_of_several_types_are_kept_apart():
    assert MIXED.encode(["no", 1, 2.5, "no"]).tolist() == [0, 1, 2, 0]
    assert MIXED.encode(np.array([1, 2.5])).tolist() == [1, 2]
    with pytest.raises(InvalidInput, match="'1'"):
        MIXED.encode(["no", "1"])


@pytest.mark.parametrize("empty", [[], (), np.array([]), np.array([], dtype="<U3"), pd.Series([], dtype=object)])
def test_nothing_is_nothing(empty):
    assert WORDS.encode(empty).shape == (0,)
    assert NUMBERS.encode(empty).shape == (0,)


@pytest.mark.parametrize(
    "empty",
    [pl.Series([], dtype=pl.String), pa.array([], type=pa.string()), pa.array(["x"]).dictionary_encode()[:0]],
)
def test_nothing_from_arrow_is_nothing(empty):
    assert WORDS.encode(empty).shape == (0,)


# -- refusals ----------------------------------------------------------------------------------------

STRANGERS = [
    (WORDS, ["no", "never"], "1 of 2 answers are not among the labels: 'never' .first in row 1"),
    (WORDS, np.array(["no", "No", "YES"]), "2 of 3 .*'No', 'YES' .first in row 1.*among 'no', 'yes', 'maybe'"),
    (WORDS, [0, 1], "2 of 2 .*: 0, 1 "),
    (WORDS, [True, False], "True, False"),
    (WORDS, pd.Series(["no", "never"], dtype="category"), "'never' .first in row 1"),
    (WORDS, pa.array(["no", "no", "never"]).dictionary_encode(), "1 of 3 .*'never' .first in row 2"),
    (WORDS, pl.Series(["never"]), "'never'"),
    (WORDS, ["no", b"no"], "b'no'"),
    (WORDS, ["no", ["yes"]], "answer"),
    (WORDS, ["no", {"a": 1}], "answer"),
    (NUMBERS, [0, 3], "1 of 2 .*: 3 .first in row 1"),
    (NUMBERS, np.array([0, -1]), ": -1 .first in row 1"),
    (NUMBERS, np.array([0, 256, 0], dtype=np.int64), ": 256 .first in row 1"),
    (NUMBERS, np.array([1, 0.5]), ": 0.5 .first in row 1"),
    (NUMBERS, [0, np.inf], "inf"),
    (NUMBERS, ["0", "1"], "'0', '1'"),
    (NUMBERS, np.array([2**64 - 1], dtype=np.uint64), "18446744073709551615"),
    (NUMBERS, np.array([-(2**63)]), "-9223372036854775808"),
    (NUMBERS, [0, 2**70], "1180591620717411303424"),
    (SHIFTED, np.array([0, 2**64 - 1], dtype=np.uint64), "18446744073709551615 .first in row 1"),
    (SPARSE, np.array([3, 188], dtype=np.uint8), "188"),  # 700 modulo 256
    (SPARSE, [10, 4], ": 4 "),
    (TRUTHS, [0, 2], ": 2 .first in row 1"),
    (TRUTHS, [0.0, 0.5], ": 0.5"),
    (TRUTHS, ["True"], "'True'"),
    (Alphabet(("01", "1")), [1, 1], ": 1 "),
    (Alphabet((2**53 + 1, 0)), np.array([2.0**53]), "9007199254740992"),
]


@pytest.mark.parametrize(("alphabet", "column", "message"), STRANGERS, ids=lambda p: repr(p)[:40])
def test_strangers_are_named(alphabet, column, message):
    with pytest.raises(InvalidInput, match=message):
        alphabet.encode(column)


@pytest.mark.parametrize(
    "column",
    [
        ["no", None, "yes"],
        ["no", float("nan"), "yes"],
        np.array(["no", None, "yes"], dtype=object),
        np.array(["no", np.nan, "yes"], dtype=object),
        pd.Series(["no", None, "yes"]),
        pd.Series(["no", None, "yes"], dtype="string"),
        pd.Series(["no", None, "yes"], dtype="category"),
        pd.Series(["no", pd.NA, "yes"], dtype=object),
        pl.Series(["no", None, "yes"]),
        pl.Series(["no", None, "yes"], dtype=pl.Categorical),
        pa.array(["no", None, "yes"]),
        pa.array(["no", None, "yes"]).dictionary_encode(),
        pa.chunked_array([["no"], [None, "yes"]]),
        ["never", None, "yes"],
    ],
    ids=lambda c: type(c).__name__ + str(getattr(c, "dtype", getattr(c, "type", ""))),
)
def test_missing_text_is_refused(column):
    with pytest.raises(InvalidInput, match=r"1 of 3 answers are missing .first in row 1.*Drop these rows"):
        WORDS.encode(column)


@pytest.mark.parametrize(
    "column",
    [
        [0, None, 1],
        [0, float("nan"), 1],
        np.array([0, np.nan, 1]),
        pd.Series([0, None, 1]),
        pd.Series([0, None, 1], dtype="Int64"),
        pl.Series([0, None, 1]),
        pl.Series([0.0, float("nan"), 1.0]),
        pa.array([0, None, 1]),
        pa.array([0.0, float("nan"), 1.0]),
    ],
    ids=lambda c: type(c).__name__ + str(getattr(c, "dtype", getattr(c, "type", ""))),
)
def test_missing_numbers_are_refused(column):
    with pytest.raises(InvalidInput, match=r"1 of 3 answers are missing .first in row 1"):
        NUMBERS.encode(column)


def test_all_missing_is_refused():
    with pytest.raises(InvalidInput, match="2 of 2 answers are missing"):
        WORDS.encode([None, None])
    with pytest.raises(InvalidInput, match="1 of 1 answers are missing"):
        WORDS.encode(pa.array([None], type=pa.dictionary(pa.int8(), pa.string())))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("yes", r"the single value 'yes'; expected one answer a row"),
        (np.array([["no", "yes"]]), r"shape \(1, 2\).*one answer a row"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (pd.DataFrame({"a": ["no"], "b": ["yes"]}), r"shape \(1, 2\)"),
        ([["no"], ["no", "yes"]], "one answer a row"),
        (None, r"the single value None"),
    ],
    ids=["scalar", "two columns", "cube", "frame", "ragged", "None"],
)
def test_wrong_shapes_are_refused(column, message):
    with pytest.raises(InvalidInput, match=message):
        WORDS.encode(column)


# -- the labels themselves ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("yes", "a list of labels"),
        (3, "a list of labels"),
        (None, "a list of labels"),
        ([], "at least two"),
        (["yes"], "1 classes.*at least two"),
        (["a", "b", "a"], "'a' more than once"),
        ([1, True], "more than once"),
        (["a", None], "None"),
        (["a", float("nan")], "nan"),
        ([0.0, float("inf")], "inf"),
        ([("a",), "b"], r"\('a',\)"),
        ({"no", "yes"}, "no order"),
    ],
    ids=lambda value: f"{type(value).__name__} {sorted(value)}" if isinstance(value, set) else repr(value),
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(InvalidInput, match=message):
        as_labels(labels, "classes")


def test_labels_become_plain_python_values():
    assert [type(label) for label in as_labels(np.array([0, 1]), "classes")] == [int, int]
    assert [type(label) for label in as_labels(np.array(["a", "b"]), "classes")] == [str, str]
    assert as_labels(pd.Series(["a", "b"]), "classes") == ("a", "b")
    assert as_labels((c for c in "ab"), "classes") == ("a", "b")


def test_long_lists_are_shortened():
    assert listed(range(3)) == "0, 1, 2"
    assert listed(range(100), 2) == "0, 1, ... (100 in all)"


LABELS = st.one_of(
    st.lists(st.text(max_size=5), min_size=2, max_size=300, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=30, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30, unique=True),
)


@given(LABELS, st.data())
def test_decode_undoes_encode(labels, data):
    alphabet = Alphabet(as_labels(labels, "classes"))
    chosen = data.draw(st.lists(st.integers(0, len(labels) - 1), max_size=20))
    values = [labels[i] for i in chosen]
    codes = alphabet.encode(values)
    assert codes.tolist() == chosen
    assert alphabet.decode(codes).tolist() == values


def test_a_zero_at_the_end_of_a_label_is_not_lost():
    alphabet = Alphabet(("\0", "", "a\0", "a"))
    for values in (["\0", "", "a\0", "a"], np.array(["\0", "", "a\0", "a"], dtype=object)):
        assert alphabet.encode(values).tolist() == [0, 1, 2, 3]
    assert alphabet.encode(np.array(["", "a"])).tolist() == [1, 3]
    assert alphabet.decode(np.arange(4)).tolist() == ["\0", "", "a\0", "a"]


@pytest.mark.parametrize("alphabet", [WORDS, NUMBERS, SHIFTED, SPARSE, FLOATS, TRUTHS, MIXED], ids=repr)
def test_decoded_labels_are_the_labels(alphabet):
    codes = np.arange(len(alphabet), dtype=np.uint8)
    assert alphabet.decode(codes).tolist() == list(alphabet.labels)
    assert alphabet.encode(alphabet.decode(codes)).tolist() == codes.tolist()
