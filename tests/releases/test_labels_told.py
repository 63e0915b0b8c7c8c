"""Labels that stand among public columns or in identifiers are refused; features that predict well are not."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn import datasets

import askance as ask
from askance.errors import InvalidInput
from askance.releases.labels_told import refuse_telling_columns, refuse_telling_identifiers

N = 1000


def labels(share=0.5, n=N, seed=0):
    return (np.random.default_rng(seed).random(n) < share).astype(np.int64)


def changed(y, share, seed=1):
    """The labels, but for a share of all people."""
    rows = np.random.default_rng(seed).choice(len(y), round(share * len(y)), replace=False)
    other = y.copy()
    other[rows] = 1 - other[rows]
    return other


def is_refused(column, y):
    table = np.column_stack([np.random.default_rng(2).normal(size=len(y)), column])
    try:
        refuse_telling_columns(table, y, ["a", "b"])
    except InvalidInput as error:
        return "the feature 'b' tells nearly every label" in str(error)
    return False


@pytest.mark.parametrize("share", [0.5, 0.2, 0.05])
@pytest.mark.parametrize(
    "disguise",
    [
        lambda y, rng: y,
        lambda y, rng: 1 - y,
        lambda y, rng: 7.5 - 2 * y,
        lambda y, rng: y.astype(bool),
        lambda y, rng: 1e308 * (2.0 * y - 1),
        lambda y, rng: changed(y, 0.01),
        lambda y, rng: changed(y, 0.05),
        lambda y, rng: np.where(rng.random(len(y)) < 0.03, rng.normal(size=len(y)), y),
        lambda y, rng: y + 1e-6 * rng.normal(size=len(y)),
        lambda y, rng: changed(y, 0.05) + 0.05 * rng.normal(size=len(y)),
        lambda y, rng: y + 2 * rng.integers(0, 3, len(y)),
        lambda y, rng: np.where(y, -1.0, rng.normal(50, 20, len(y))),
        lambda y, rng: np.where(y, rng.normal(50, 20, len(y)), -1.0),
    ],
    ids=[
        "as-is",
        "swapped",
        "numbers",
        "bools",
        "huge",
        "1%",
        "5%",
        "elsewhere",
        "jitter",
        "5%-and-jitter",
        "odd-and-even",
        "mark",
        "unmarked",
    ],
)
def test_disguises_are_refused(disguise, share):
    y = labels(share)
    assert is_refused(disguise(y, np.random.default_rng(3)), y)


@pytest.mark.parametrize("share", [0.5, 0.2, 0.05])
@pytest.mark.parametrize(
    "feature",
    [
        lambda y, rng: changed(y, 0.12),
        lambda y, rng: y + 0.5 * rng.normal(size=len(y)),
        lambda y, rng: np.where(y, 1, -1) * rng.random(len(y)),
        lambda y, rng: rng.random(len(y)) < 0.01,
        lambda y, rng: np.zeros(len(y)),
        lambda y, rng: y & (rng.random(len(y)) < 0.5),
        lambda y, rng: np.clip(np.rint(5 + 3 * (y - 0.5) + rng.normal(size=len(y))), 0, 9),
    ],
    ids=["right-for-88%", "normal", "separated", "rare", "constant", "half-of-one-class", "ten-values"],
)
def test_features_that_predict_well_are_not(feature, share):
    y = labels(share)
    assert not is_refused(feature(y, np.random.default_rng(3)), y)


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_sums_of_columns_are_refused(share):
    y, rng = labels(share), np.random.default_rng(3)
    costs = rng.gamma(2.0, 100.0, (N, 3))
    table = np.column_stack([costs, costs.sum(axis=1) + 0.01 * y, rng.normal(size=N)])
    with pytest.raises(InvalidInput, match="the features 'a', 'b', 'c', 'total' tell every label: by a sum of them"):
        refuse_telling_columns(table, y, ["a", "b", "c", "total", "z"])
    refuse_telling_columns(table, y, ["a", "b", "c", "total", "z"], public=["total"])
    refuse_telling_columns(table[:, [0, 1, 3, 4]], y, ["a", "b", "total", "z"])
    refuse_telling_columns(table[:8], np.arange(8) % 2, ["a", "b", "c", "total", "z"])  # five columns for eight people


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_measured_features_are_not_refused(name):
    features, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    names = [f"x{j}" for j in range(features.shape[1])]
    for y in (classes, *(classes == k for k in range(classes.max() + 1))):
        refuse_telling_columns(features, y.astype(np.int64), names)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05])
def test_of_several_classes(share):
    rng = np.random.default_rng(4)
    y = rng.choice(4, N, p=[0.4, 0.3, 0.2, 0.1])
    told = np.where(rng.random(N) < share, rng.integers(0, 4, N), y)
    assert is_refused(np.array([5.0, 1.0, 9.0, 2.0])[told], y)
    assert is_refused(np.isin(told, [1, 3]), y)
    for k in range(4):
        assert is_refused(told == k, y)
    assert not is_refused(rng.integers(0, 4, N), y)


def test_few_people_agree_by_chance():
    """Of random bits for 6 to 40 people, at most one table in a thousand is refused; here none of 700 is expected."""
    rng = np.random.default_rng(5)
    for n in (6, 8, 10, 12, 15, 20, 40):
        for _ in range(100):
            y = rng.integers(0, 2, n)
            refuse_telling_columns(rng.integers(0, 2, (n, 5)), y, list("abcde"))
    assert not is_refused(labels(n=6), labels(n=6))
    assert is_refused(labels(n=30), labels(n=30))
    one = np.arange(N) == 7
    assert not is_refused(one, one.astype(np.int64))  # a single person is told by any column of something rare
    assert not is_refused(np.arange(N), np.zeros(N, dtype=np.int64))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05])
@pytest.mark.parametrize(
    "name",
    [
        lambda i, y: f"{i}{y}",
        lambda i, y: f"p{i}{('no', 'yes')[y]}",
        lambda i, y: f"{'NY'[y]}{i}",
        lambda i, y: f"2026-{('ill', 'ok')[y]}-{i}",
    ],
    ids=["digit", "end", "beginning", "word"],
)
def test_identifiers_that_tell(name, share):
    y = labels(0.3)
    ids = [name(i, told) for i, told in enumerate(changed(y, share).tolist())]
    with pytest.raises(InvalidInput, match="identifiers that tell nearly every label"):
        refuse_telling_identifiers(ids, y)


def test_identifiers_that_say_nothing():
    y = labels(0.3)
    for ids in (np.arange(N), [f"P{i:05d}" for i in range(N)], pa.array([f"a-{i % 7}-{i}" for i in range(N)])):
        refuse_telling_identifiers(ids, y)
    refuse_telling_identifiers(np.arange(N), np.arange(N) % 2)
    refuse_telling_identifiers(["0", "1", "10", "11"], np.array([0, 1, 0, 1]))  # too few to tell


class TestReleases:
    """Nothing is spent, and the owner can say that a column is public."""

    def test_only_the_word_helps(self, tmp_path):
        y = labels(n=100)
        X = np.column_stack([np.random.default_rng(0).normal(size=100), 3.0 - y])
        ledger = ask.Ledger.create(tmp_path / "l.ledger", epsilon=1, data_set="d")
        options = {"classes": (0, 1), "columns": ["a", "b"], "ledger": ledger}
        with pytest.raises(InvalidInput, match="'b' tells nearly every label"):
            ask.release_mean_operator(X, y, 0.5, **options)
        with pytest.raises(InvalidInput, match="'b' tells nearly every label"):
            ask.release_mean_operator(X, y, 0.5, public_columns=["a"], **options)
        with pytest.raises(InvalidInput, match="public_columns with 'c'"):
            ask.release_mean_operator(X, y, 0.5, public_columns=["c"], **options)
        with pytest.raises(InvalidInput, match="identifiers that tell"):
            ask.release_mean_operator(X[:, :1], y, 0.5, classes=(0, 1), ids=[f"{i}{k}" for i, k in enumerate(y)])
        assert ledger.entries == ()
        assert ask.release_mean_operator(X, y, 0.5, public_columns=["b"], **options).columns == ("a", "b")

    def test_by_name_however_few_they_are(self):
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame({"x": [1.0, 2.0, 0.5], "y": [1, -1, 1]})
        with pytest.raises(InvalidInput, match="the private column 'y' among the public features"):
            ask.release_mean_operator(table, table["y"], 1.0)
        assert ask.release_mean_operator(table[["x"]], table["y"], 1.0).columns == ("x",)

    def test_at_the_command_line_under_another_name(self, tmp_path, run):
        told = labels(n=60)
        (tmp_path / "y.csv").write_text("id,y\n" + "".join(f"{i * 7},{k}\n" for i, k in enumerate(told)))
        (tmp_path / "x.csv").write_text("id,x,z\n" + "".join(f"{i * 7},{i % 5},{8 - k}\n" for i, k in enumerate(told)))
        run("ledger", "create", tmp_path / "l.ledger", "--epsilon", "1", "--data-set", "d")
        words = ["release", "mean-operator", tmp_path / "y.csv", "--features", tmp_path / "x.csv", "--id", "id"]
        words += ["--label", "y", "--classes", "0,1", "--epsilon", "0.5", "--ledger", tmp_path / "l.ledger"]
        words += ["--out", tmp_path / "mu.json"]
        code, _, err = run(*words)
        assert code == 2
        assert "--public-columns" in err
        assert ask.Ledger(tmp_path / "l.ledger").entries == ()
        assert run(*words, "--public-columns", "z")[0] == 0

    def test_at_the_command_line_by_name(self, tmp_path, run):
        rows = "\n".join(f"{i},{i % 7},{1 if i % 3 else -1}" for i in range(50))
        (tmp_path / "xy.csv").write_text(f"id,x,y\n{rows}\n")
        run("ledger", "create", tmp_path / "l.ledger", "--epsilon", "1", "--data-set", "d")
        words = ["release", "mean-operator", tmp_path / "xy.csv", "--features", tmp_path / "xy.csv", "--id", "id"]
        words += ["--label", "y", "--epsilon", "0.5", "--ledger", tmp_path / "l.ledger", "--out", tmp_path / "mu.json"]
        for more in ([], ["--columns", "x,y"]):
            code, _, err = run(*words, *more)
            assert code == 2
            assert "the private column 'y' among the public features" in err
        assert not (tmp_path / "mu.json").exists()
        assert ask.Ledger(tmp_path / "l.ledger").entries == ()
        code, _, err = run(*words, "--columns", "x,id")
        assert code == 2
        assert "the column of identifiers, 'id', among the chosen features" in err
        assert run(*words, "--columns", "x")[0] == 0
