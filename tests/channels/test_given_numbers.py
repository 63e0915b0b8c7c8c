"""Numbers at the border: whatever is written where a number belongs is used as it is meant, or refused at once."""

import time
from decimal import Decimal
from fractions import Fraction

import pytest

import askance as ask
from askance.releases.declarations import Covariate, check_names

MAKERS = {
    "ledger": lambda value, folder: ask.Ledger.create(folder / "l", value, data_set="d"),
    "delta of a ledger": lambda value, folder: ask.Ledger.create(folder / "l", 1, value, data_set="d"),
    "counts": lambda value, _: ask.release_counts([3, 7], value),
    "mean operator": lambda value, _: ask.release_mean_operator([[1.0], [2.0]], [1, -1], value, classes=(-1, 1)),
    "randomised response": lambda value, _: ask.RandomizedResponse(["a", "b"], epsilon=value),
    "a number": lambda value, _: ask.PrivateNumber(0, 1, epsilon=value),
    "bounds": lambda value, _: ask.PrivateNumber(0, value, epsilon=1.0),
    "windows": lambda value, _: ask.WindowRelease(3, epsilon=value),
    "coordinates": lambda value, _: ask.CoordinateRelease(3, epsilon=value),
    "unit": lambda value, _: ask.PrivUnit(3, epsilon=value),
    "noise": lambda value, _: ask.GaussianNoise(sigma=value, dim=2, bounds=(0, 1)).guarantee,
    "Warner": lambda value, _: ask.Warner(value),
    "shuffling": lambda value, _: ask.shuffled(ask.Warner(0.7), 100, value),
    "how many": lambda value, _: ask.WindowRelease(value, epsilon=1.0),
    "states": lambda value, _: ask.StateFlip(value, 0.1),
}
NEVER = [
    "1e999999999", "1e-999999999", "1e-400", "nan", "inf", "-1", "0x10", "\u0661", "\uff11", "1_0", "9" * 5000, "",
    b"1", None, [1], True, float("nan"), float("inf"), -1, 10**400, -(10**5000), Decimal("1e999999999"), Decimal("NaN"),
    Fraction(1, 10**400),
]  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_no_number_of_use_is_refused_at_once(maker, tmp_path):
    for value in NEVER:
        began = time.process_time()
        with pytest.raises(ask.AskanceError):
            MAKERS[maker](value, tmp_path)
        assert time.process_time() - began < 2  # seconds; a hang would take hours
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("maker", sorted(set(MAKERS) - {"bounds"}))
def test_levels_that_doubles_hold_without_precision_are_refused(maker, tmp_path):
    for value in (1e-320, 1e-301, "1e-320"):
        with pytest.raises(ask.AskanceError):
            MAKERS[maker](value, tmp_path)
    with pytest.raises(ask.AskanceError):
        ask.GaussianNoise(sigma=1.0, bounds=(0, 1), delta=1e-320)


@pytest.mark.parametrize("option", ["--epsilon", "--delta"])
def test_at_the_command_line(run, tmp_path, option):
    needed = {"--epsilon": "1", "--data-set": "d"}
    for value in (text for text in NEVER if isinstance(text, str)):
        words = [word for pair in (needed | {option: value}).items() for word in pair]
        code, _, err = run("ledger", "create", tmp_path / "x.ledger", *words)
        assert code == 2, err
    assert not list(tmp_path.iterdir())


def test_sizes_are_refused_before_memory_is_taken():
    for width in ("1000000000", "9" * 4000):
        with pytest.raises(ask.InvalidInput, match="1,000,000"):
            ask.Study.parse(
                f'[questions.q]\nwidth = {width}\nchannel = {{ design = "state-flip", states = 2, flip = 0.1 }}\n'
            )
    with pytest.raises(ask.InvalidInput, match="1,000,000"):
        ask.StateFlip(2, 0.1, dim=10**9)
    with pytest.raises(ask.InvalidInput, match="200,000 classes"):
        _ = ask.RandomizedResponse([f"c{n}" for n in range(200_000)], epsilon=1.0).matrix


def test_many_names_are_checked_in_time_that_grows_as_their_number():
    began = time.process_time()
    check_names([], [Covariate(f"c{n}", "number") for n in range(50_000)])
    assert time.process_time() - began < 10  # the quadratic check took minutes


@pytest.mark.parametrize("times", [30, 30_000, 10**9, 10**30])
def test_more_reports_of_a_person_than_memory_holds_are_refused_at_once(times):
    with pytest.raises(ask.InvalidInput, match="Ask less often"):
        ask.Repeated(ask.Warner(0.8), times)
