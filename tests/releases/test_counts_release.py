"""Releases of counts: honest errors and intervals, tables and files, nothing spent on what is refused.

Run this module (``PYTHONPATH=tests python tests/releases/test_counts_release.py``) to write the golden file of
the current version anew.
"""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

import askance as ask
from askance.entropy.bits import GeneratorBits
from askance.errors import InvalidInput, ReleaseError
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.count_mechanisms import SOUND, best_noise, calibrated, choose_count_mechanisms
from askance.releases import paid_release as paying
from askance.releases.counts_release import CountsRelease, simulate_counts_release
from askance.releases.restated import content_digest
from askance.solvers.simplex import project_to_simplex
from askance.tables.count_tables import count_labels, read_counts
from count_cases import NEEDS_DELTA, PAPER

GOLDEN = Path(__file__).parents[1] / "golden" / "counts-v1.json"


# -- what the user is promised ---------------------------------------------------------------------------------------


# Means of 500 releases, of standard errors of 2 per cent at most; .00753, .01576 and .02828 are predicted.
@pytest.mark.parametrize(
    ("epsilon", "delta", "most", "taken"),
    [
        (1, "1e-6", 0.0095, "discrete-laplace"),
        ("0.5", "1e-6", 0.019, "discrete-laplace"),
        ("0.05", "0.05", 0.029, "discrete-gaussian"),
    ],
)
def test_distortion_of_five_classes(epsilon, delta, most, taken):
    rng = np.random.default_rng(12)
    truth = np.array(PAPER) / 1000
    plan, predicted = choose_count_mechanisms("auto", [1000], 5, Budget.of(epsilon, delta))
    assert plan[0].name == taken
    assert predicted[taken] <= min(most, 1.001 * min(predicted.values()))
    found = [
        np.abs(project_to_simplex(plan[0].draw(PAPER, source) / 1000) - truth).sum()
        for source in [GeneratorBits(rng)]
        for _ in range(500)
    ]
    assert np.mean(found) < most
    assert np.mean(found) == pytest.approx(predicted[taken], rel=0.08)


def test_auto_looks_at_public_numbers_only():
    for first, second in (((1, 999, 0), (333, 333, 334)), ((0, 0, 1000), (500, 250, 250))):
        one, other = (ask.release_counts(counts, 0.3, "1e-4") for counts in (first, second))
        assert (one.mechanism, one.parameters, one.predicted) == (other.mechanism, other.parameters, other.predicted)


def test_auto_takes_the_least_distortion_and_spends_no_delta_for_little(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 3, "0.5", data_set="d")
    small = ask.release_counts([30, 70], 1, "1e-6", ledger=ledger)
    assert small.mechanism == "discrete-laplace"
    assert small.guarantee.delta == 0
    few = ask.release_counts([30, 70], 0.05, 0.05, ledger=ledger)
    assert few.mechanism == "truncated-laplace"
    many = ask.release_counts([10] * 10, 0.05, 0.05, ledger=ledger)
    assert many.mechanism == "discrete-gaussian"
    assert [entry.delta for entry in ledger.entries] == ["0", "0.05", "0.05"]
    assert set(ask.release_counts([30, 70], 1).predicted) == {"discrete-laplace", "laplace", "laplace-prior"}


@pytest.mark.parametrize(
    ("classes", "total", "epsilon", "delta"),
    [(2, 10, "0.001", "1e-6"), (3, 1000, "0.001", "1e-6"), (5, 1000, "0.05", "0.05"), (5, 10**5, 1, "1e-6")],
)
def test_no_dirichlet_law_is_better_than_noise(classes, total, epsilon, delta):
    budget = Budget.of(epsilon, delta)
    assert calibrated("dirichlet", total, classes, budget).distortion > best_noise(classes, budget).distortion


def test_a_level_that_some_mechanism_cannot_give_is_left_to_others():
    with pytest.raises(InvalidInput, match="truncated-laplace"):
        ask.release_counts([30, 70], "1e-5", "1e-9", "truncated-laplace")
    assert ask.release_counts([30, 70], "1e-5", "1e-9").mechanism == "discrete-laplace"
    assert best_noise(2, Budget.of("1e-5", "1e-9")).name == "discrete-laplace"


def test_noise_of_sum_zero_is_better_than_independent_noise():
    for classes in (2, 3, 5, 10):
        for epsilon in ("0.1", "1", "3"):
            ours, plain = (
                calibrated(name, 100, classes, Budget.of(epsilon)).distortion
                for name in ("discrete-laplace", "laplace")
            )
            assert ours < plain


def test_the_projection_is_the_nearest_point():
    rng = np.random.default_rng(2)
    release = simulate_counts_release(rng.multinomial(40, [0.02] * 5 + [0.9], 6), 0.2, rng=rng)
    assert (release.raw < 0).any()
    for raw, counts, total in zip(release.raw, release.counts, release.totals, strict=True):
        assert counts.min() >= 0
        assert counts.sum() == pytest.approx(total)
        solved = optimize.minimize(
            lambda x, raw=raw: ((x - raw) ** 2).sum(), np.full(6, total / 6), jac=lambda x, raw=raw: 2 * (x - raw),
            bounds=[(0, None)] * 6, constraints={"type": "eq", "fun": lambda x, total=total: x.sum() - total},
            method="SLSQP", options={"ftol": 1e-12},
        )  # fmt: skip
        np.testing.assert_allclose(counts, solved.x, atol=1e-4)


def test_the_projection_of_large_numbers():
    for size in (1e9, 1e17, 1e300):
        np.testing.assert_array_equal(project_to_simplex(np.array([size, -size])), [1.0, 0.0])
    np.testing.assert_allclose(project_to_simplex(np.array([1e9 + 0.25, 1e9])), [0.625, 0.375])


def test_the_projection_lessens_the_distortion():
    rng = np.random.default_rng(6)
    truth = np.array([1, 2, 3, 94])
    for _ in range(200):
        release = simulate_counts_release(truth, 0.3, mechanism="discrete-laplace", rng=rng)
        assert np.abs(release.counts - truth).sum() <= np.abs(release.raw - truth).sum() + 1e-9


# 500 intervals for five counts each: their share has a standard error of about .005, and is .95 to .96.
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta"),
    [
        ("discrete-laplace", 1, 0),
        ("discrete-laplace", "0.5", 0),
        ("discrete-gaussian", "0.05", "0.05"),
        ("truncated-laplace", "0.1", "0.05"),
        ("laplace", "0.5", 0),
        ("gaussian", "0.5", "1e-3"),
    ],
)
def test_intervals_cover(mechanism, epsilon, delta):
    truth = np.array([PAPER] * 500)
    release = simulate_counts_release(truth, epsilon, delta, mechanism, rng=np.random.default_rng(9))
    low, high = release.interval(0.95)
    covered = ((low <= truth / 1000) & (truth / 1000 <= high)).mean()
    assert 0.93 < covered < 0.97


def test_the_normal_interval_of_the_stated_covariance_covers():
    truth = np.array([[150, 200, 150, 200, 300]] * 400)
    for mechanism, delta in (("discrete-gaussian", "1e-3"), ("discrete-laplace", 0), ("laplace-prior", 0)):
        release = simulate_counts_release(truth, 0.5, delta, mechanism, rng=np.random.default_rng(3))
        error = np.sqrt(np.diagonal(release.noise, axis1=1, axis2=2))
        covered = (np.abs(release.raw_proportions - truth / 1000) <= 1.96 * error).mean()
        assert 0.93 < covered < 0.97


# -- tables ----------------------------------------------------------------------------------------------------------


def test_counts_come_in_many_shapes():
    rows = {"north": {"no": 5, "yes": 2}, "south": {"yes": 1, "no": 3}}
    frame = pd.DataFrame([[5, 2], [3, 1]], index=["north", "south"], columns=["no", "yes"])
    for counts, options in (
        (rows, {}),
        (frame, {}),
        (frame.astype(float), {}),
        (frame[["yes", "no"]], {"classes": ["no", "yes"]}),
        ({"north": [5, 2], "south": [3, 1]}, {"classes": ["no", "yes"]}),
        ([[5, 2], [3, 1]], {"classes": ["no", "yes"], "bags": ["north", "south"]}),
    ):
        table = read_counts(counts, **options)
        assert table.counts.tolist() == [[5, 2], [3, 1]]
        assert table.classes == ("no", "yes")
        assert table.bags == ("north", "south")
    for counts in ({"no": 5, "yes": 2}, pd.Series({"no": 5, "yes": 2}), [5, 2], np.array([5.0, 2.0])):
        table = read_counts(counts)
        assert table.counts.tolist() == [[5, 2]]
        assert table.bags == ("all",)
    told = count_labels(["no", "yes", "no", "no"], [2, 1, 2, 1], ["no", "yes"])
    assert (told.bags, told.counts.tolist()) == ((1, 2), [[1, 1], [2, 0]])


def test_bags_that_share_no_person_cost_as_much_as_one(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 5, "0.5", data_set="d")
    table = [[5, 2], [3, 1], [8, 8]]
    apart = ask.release_counts(table, "0.3", "0.1", "gaussian", ledger=ledger)
    shared = ask.release_counts(table, "0.3", "0.1", "gaussian", disjoint=False, ledger=ledger)
    assert [(entry.epsilon, entry.delta) for entry in ledger.entries] == [("0.3", "0.1"), ("0.9", "0.3")]
    assert (apart.guarantee.epsilon, apart.guarantee.delta) == (0.3, 0.1)
    assert (shared.guarantee.epsilon, shared.guarantee.delta) == (0.9, 0.3)


def test_proportions_go_to_a_learner_by_bag():
    release = ask.release_counts({"b": [10, 30], "a": [30, 10]}, 2.0, classes=["no", "yes"])
    x = np.repeat([0.0, 1.0], 40)[:, None] + np.random.default_rng(0).normal(size=(80, 1))
    told, noise = (release.by_bag(values) for values in (release.raw_proportions, release.noise))
    learner = ask.ProportionClassifier(classes=release.classes).fit(x, np.repeat(["a", "b"], 40), told, noise)
    assert tuple(learner.classes_) == ("no", "yes")


# -- files and the ledger --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [*SOUND, "scaled-dirichlet-paper"])
def test_a_release_comes_back_from_its_file(mechanism, tmp_path):
    path = tmp_path / "counts.json"
    delta = "0.05" if mechanism in (*NEEDS_DELTA, "scaled-dirichlet-paper") else 0
    release = ask.release_counts({"a": PAPER, 7: [200] * 5}, "0.05", delta, mechanism)
    release.write(path)
    again = CountsRelease.read(path)
    assert again.to_dict() == release.to_dict()
    assert again.digest == release.digest
    assert again.bags == ("a", 7)
    for mine, other in zip(again.interval(0.9), release.interval(0.9), strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(again.noise, release.noise)
    assert json.loads(path.read_text())["format"] == "askance-counts"
    with pytest.raises(ReleaseError, match="exists already"):
        release.write(path)


def test_the_golden_file_of_version_1_is_read_for_ever():
    golden = ask.read_release(GOLDEN)
    assert golden.to_dict() == json.loads(GOLDEN.read_text()) | {"digest": golden.digest}
    assert golden.bags == ("north", "south")
    assert golden.parameters == ({"scale": "4"}, {"scale": "4"})
    low, high = golden.interval(0.95)
    np.testing.assert_allclose(high - low, 15 / 1000)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "askance-mean-operator"}, "is not a release of counts"),
        ({"version": 3}, "format version 3"),
        ({"counts": [[1.0]]}, "damaged"),
        ({"raw": None}, "damaged"),
        ({"totals": [10, 0]}, "damaged"),
        ({"totals": [10]}, "damaged"),
        ({"parameters": [{"scale": "x"}] * 2}, "damaged"),
        ({"parameters": [{}, {}]}, "damaged"),
        ({"mechanism": "magic"}, "damaged"),
        ({"guarantee": {}}, "damaged"),
        ({"classes": ["a"]}, "damaged"),
        ({"parameters": [{"scale": "0"}] * 2}, "damaged"),
        ({"parameters": [{"scale": "1/0"}] * 2}, "damaged"),
        ({"parameters": [{"scale": "-2"}] * 2}, "damaged"),
        ({"parameters": [{"scale": "1e999999999"}] * 2}, "damaged"),  # a number of a gigabyte
        ({"parameters": [{"scale": "1" + "0" * 400}] * 2}, "damaged"),
        ({"parameters": [[2], [2]]}, "damaged"),
        ({"totals": [10**400, 10]}, "damaged"),
        ({"counts": [[-1, 11], [5, 5]]}, "damaged"),
        ({"raw": [[30, 7], [5, 5]]}, "damaged"),
        ({"bags": ["a", "a"]}, "damaged"),
        ({"bags": [["a"], ["b"]]}, "damaged"),
        ({"predicted": {"laplace": math.nan}}, "damaged"),
        ({"guarantee": {"epsilon": -1, "delta": 0, "protects": "a", "neighbours": "b"}}, "damaged"),
    ],
)
def test_damaged_files_are_refused(change, says, tmp_path):
    path = tmp_path / "counts.json"
    content = ask.release_counts([[3, 7], [5, 5]], 1).to_dict() | change
    digest = "" if "predicted" in change else content_digest(content)  # which has no NaN
    path.write_text(json.dumps(content | {"digest": digest}))
    with pytest.raises(ReleaseError, match=says):
        CountsRelease.read(path)


def test_a_file_of_nothing_but_brackets(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text("[" * 100_000)
    with pytest.raises(ReleaseError, match="not a JSON file"):
        CountsRelease.read(path)


def test_the_ledger_knows_the_release(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 1, data_set="d")
    release = ask.release_counts([3, 7], "0.25", ledger=tmp_path / "l")
    (entry,) = ledger.entries
    assert (entry.epsilon, entry.release) == ("0.25", release.digest)
    assert "counts of 10 labels in 1 bag (discrete-laplace)" in entry.what
    with pytest.raises(ask.BudgetSpent, match="for everybody"):
        ask.release_counts([3, 8], "0.8", ledger=ledger)
    with pytest.raises(InvalidInput, match="3 identifiers for 10 people"):
        ask.release_counts([3, 7], "0.25", ledger=ledger, people=["a", "b", "c"])
    assert len(ledger.entries) == 1


def test_the_budget_is_spent_before_noise_is_drawn(tmp_path, monkeypatch):
    ledger = ask.Ledger.create(tmp_path / "l", 1, data_set="d")

    def no_entropy():
        assert [entry.epsilon for entry in ledger.entries] == ["0.5"]
        raise KeyboardInterrupt  # the process ends here

    monkeypatch.setattr(paying, "system_bits", no_entropy)
    with pytest.raises(KeyboardInterrupt):
        ask.release_counts([3, 7], "0.5", ledger=ledger)
    (entry,) = ledger.entries
    assert (entry.epsilon, entry.release) == ("0.5", None)  # spent all the same


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (([3, -1], 1), {}, "negative counts"),
        (([3, 1.5], 1), {}, "not whole numbers"),
        (([3, math.nan], 1), {}, "missing or infinite"),
        (([3, math.inf], 1), {}, "missing or infinite"),
        (([3, None], 1), {}, "counts"),
        ((["3", "1"], 1), {}, "counts of type"),
        (([True, False], 1), {}, "counts of type"),
        (([[3, 1], [2]], 1), {}, "different lengths"),
        (([5], 1), {}, "at least two classes"),
        (([], 1), {}, "shape"),
        (({}, 1), {}, "no counts"),
        ((np.zeros((2, 2, 2)), 1), {}, "shape"),
        (([0, 0], 1), {}, "nobody in bag 'all'"),
        (([[1, 2], [0, 0]], 1), {}, "nobody in bag 1"),
        (([2**53, 1], 1), {}, "2\\^53"),
        (({"a": {"x": 1, "y": 2}, "b": {"x": 1, "z": 2}}, 1), {}, "other classes in other bags"),
        (([3, 1], 1), {"classes": ["a"]}, "at least two classes"),
        (([3, 1], 1), {"classes": ["a", "b", "c"]}, "2 counts for the classes"),
        (({"a": 3, "b": 1}, 1), {"classes": ["a", "c"]}, "the classes 'a', 'c'"),
        (([[3, 1], [1, 3]], 1), {"bags": ["a", "a"]}, "the same name"),
        (([[3, 1], [1, 3]], 1), {"bags": ["a"]}, "1 names for 2 bags"),
        (([[3, 1], [1, 3]], 1), {"bags": ["a", None]}, "without a name"),
        (([3, 1], 0), {}, "epsilon=0"),
        (([3, 1], -1), {}, "epsilon=-1"),
        (([3, 1], math.nan), {}, "epsilon"),
        (([3, 1], 1, 1), {}, "delta=1"),
        (([3, 1], 1, 0, "gaussian"), {}, "delta=0"),
        (([3, 1], 1, 0, "discrete-gaussian"), {}, "delta=0"),
        (([3, 1], 1, 0, "truncated-laplace"), {}, "delta=0"),
        (([3, 1], 1, 0, "dirichlet"), {}, "delta=0"),
        (([3, 1], 1, 0, "magic"), {}, "mechanism='magic'"),
        (([3, 1], "1e-7"), {}, "a level from 1e-06 to 500"),
        (([3, 1], "1e400"), {}, "a finite number"),
        (([3, 1], 1, "1e-101", "gaussian"), {}, "delta=1E-101"),
        (([3, 1], 1, "0.99999999999999999999"), {}, "less than 1"),
        ((np.ma.array([3, 1], mask=[True, False]), 1), {}, "missing"),
        (([[3, 1], [1, 3]], 1), {"bags": [math.inf, 1]}, "without a name"),
        (([[3, 1], [1, 3]], 1), {"bags": ["\ud800", "b"]}, "cannot be written"),
        (([[3, 1], [1, 3]], 1), {"bags": [10**5000, 1]}, "cannot be written"),
        (([3, 1], 1), {"classes": ["\ud800", "b"]}, "cannot be written"),
        (([[3, 1], [1, 3]], 1), {"disjoint": "no"}, "disjoint='no'"),
        (([[3, 1]] * 30, 1, "0.05", "gaussian"), {"disjoint": False}, "delta="),
        (([3, 1], 1, 0, "auto"), {"search": "guess"}, "search='guess'"),
        (([3, 1], 1, "0.1", "scaled-dirichlet-paper"), {}, "finds no sigma"),
    ],
)
def test_what_is_refused_spends_nothing(arguments, options, says, tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 10, "0.1", data_set="d")
    with pytest.raises(InvalidInput, match=says):
        ask.release_counts(*arguments, ledger=ledger, **options)
    assert ledger.entries == ()


def test_bad_levels_of_intervals():
    with pytest.raises(InvalidInput, match="level=1"):
        ask.release_counts([3, 7], 1).interval(1)


def test_noise_is_never_seeded():
    first, second = (ask.release_counts(PAPER, 0.001).raw for _ in range(2))
    assert not np.array_equal(first, second)
    one, other = (simulate_counts_release(PAPER, 0.01, rng=np.random.default_rng(0)).raw for _ in range(2))
    np.testing.assert_array_equal(one, other)


if __name__ == "__main__":  # read the difference before keeping it
    made = simulate_counts_release(
        {"north": [50, 150, 800], "south": [300, 300, 400]}, "0.5", mechanism="discrete-laplace",
        classes=["ill", "at risk", "well"], rng=np.random.default_rng(0),
    )  # fmt: skip
    made.write(GOLDEN, overwrite=True)
