"""Tables of people by identifier: each file is opened once, its identifiers are sorted once."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import askance as ask
from askance.tables import FeatureDigest, Identifiers, PeopleFeatures, data_files, read_labels


@pytest.fixture
def files(tmp_path):
    order = np.random.default_rng(0).permutation(30)
    csv.write_csv(pa.table({"id": np.arange(30), "age": np.arange(30) / 10, "bmi": np.ones(30)}), tmp_path / "x.csv")
    csv.write_csv(pa.table({"who": order, "ill": [("no", "yes")[i % 2] for i in order]}), tmp_path / "y.csv")
    return tmp_path / "x.csv", tmp_path / "y.csv"


def counted(monkeypatch, owner, name):
    calls, whole = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given: calls.append(given) or whole(*given))
    return calls


def test_both_sides_agree_on_the_order_of_the_people(files):
    public = PeopleFeatures.read(files[0], "id")
    labels = read_labels(files[1], "who", "ill", ("no", "yes"), public.ids)
    assert public.ids.texts.to_pylist() == sorted(map(str, range(30)))
    np.testing.assert_array_equal(np.array(public.ids.texts.to_pylist(), int) % 2 == 1, labels == "yes")
    assert public.columns == ("age", "bmi")


def test_identifiers_are_sorted_once_for_each_file(files, monkeypatch):
    sorts = counted(monkeypatch, Identifiers, "sorted")
    opened = counted(monkeypatch, data_files, "_open_file")
    public = PeopleFeatures.read(files[0], "id")
    labels = read_labels(files[1], "who", "ill", ("no", "yes"), public.ids)
    release = ask.release_mean_operator(
        public.values, labels, 1.0, classes=("no", "yes"), columns=public.columns, ids=public.ids
    )
    assert (len(sorts), len(opened)) == (2, 2)  # the owner: features, and labels
    learner = PeopleFeatures.read(files[0], "id", release.columns)
    release.check_features(learner.ids, learner.columns, learner.values)
    assert (len(sorts), len(opened)) == (3, 3)


def test_a_digest_does_not_depend_on_who_sorted():
    ids, values = [17, 4, 100], np.array([[1.0], [2.0], [3.0]])
    people, order = Identifiers.sorted(ids)
    digest = FeatureDigest.of(people, ["a"], values[order])
    assert digest == digest.again(ids, ["a"], values)
    with pytest.raises(ask.InvalidInput, match="3 identifiers for 2 rows"):
        FeatureDigest.of(people, ["a"], values[:2])


def test_a_digest_tells_nothing_to_who_does_not_hold_the_identifiers():
    """50 of 50 labels among the features were told by unsalted hashes: whoever guesses a column must not see it."""
    values = np.tile([[0.0], [1.0]], (25, 1))
    digest = FeatureDigest.of([f"p{i}" for i in range(50)], ["y"], values)
    assert digest.is_keyed
    said = {digest.ids, *dict(digest.columns).values()}
    guesses = [
        digest.again([f"q{i}" for i in range(50)], ["y"], values),
        FeatureDigest.of(range(50), ["y"], values, ""),
    ]
    for guess in guesses:
        assert said.isdisjoint({guess.ids, *dict(guess.columns).values()})
    assert hashlib.sha256(values.ravel().astype("<f8").tobytes()).hexdigest() not in said
    again = FeatureDigest.of([f"p{i}" for i in range(50)], ["y"], values)
    assert dict(again.columns)["y"] not in said  # nor do two releases tell that their features are the same


def test_an_identifier_occurs_once():
    with pytest.raises(ask.InvalidInput, match="'4' occurs more than once"):
        Identifiers.sorted(["4", "17", "4"])


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_what_separates_columns_is_seen_from_the_header(mark, tmp_path):
    (tmp_path / "t.csv").write_text(mark.join(["\ufeffa", "b"]) + "\n" + mark.join("12") + "\n", encoding="utf-8")
    data = data_files.open_data(tmp_path / "t.csv")
    assert data.columns == ("a", "b")
    assert data.read(["b"]).column("b").to_pylist() == ["2"]
