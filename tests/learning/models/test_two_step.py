"""Two steps: any law that fits the reports, then the family's member; the connection to moments and to EM."""

import numpy as np
import pytest

import askance as ask

CLASSES = ["none", "one", "many"]
FAMILY = ask.States([[0], [1], [2]])


def test_by_squares_it_is_the_moment_estimate():
    rng = np.random.default_rng(6)
    channel = ask.RandomizedResponse(CLASSES, epsilon=1.5)
    reports = channel.simulate(rng.choice(CLASSES, 3000, p=[0.5, 0.3, 0.2]), rng)
    found = ask.two_step(channel, reports, FAMILY, "squares")
    moments = ask.IndirectModel(FAMILY, channel, "moments", ridge=0.0).fit(None, reports)
    assert found.parameters == pytest.approx(moments.parameters_, abs=1e-6)
    assert found.law @ [0, 1, 2] == pytest.approx(found.relaxed @ [0, 1, 2], abs=1e-7)


def test_of_deterministic_reports_it_is_one_step_of_em():
    groups = ask.Coarsening({"few": ["none", "one"], "many": ["many"]})
    found = ask.two_step(groups, ["few"] * 70 + ["many"] * 30, FAMILY, "squares")
    posterior = groups.matrix / groups.matrix.sum(axis=1, keepdims=True)  # of the truth, from the uniform law
    assert found.relaxed == pytest.approx(np.array([0.7, 0.3]) @ posterior, abs=1e-12)


def test_by_likelihood_the_first_step_is_a_law():
    channel = ask.RandomizedResponse(CLASSES, epsilon=0.5)
    reports = ["none"] * 45 + ["one"] * 30 + ["many"] * 25
    assert ask.two_step(channel, reports, FAMILY).relaxed.min() >= 0
    with pytest.raises(ask.Unidentifiable, match="no member of the family"):
        ask.two_step(channel, reports, FAMILY, "squares")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((ask.PerValueFlip(3, 1.0), ["none"], FAMILY), "finite channel"),
        ((ask.Identity(CLASSES), ["none"], ask.States()), "a row of features"),
        ((ask.Identity(CLASSES), [], FAMILY), "at least one"),
        ((ask.Identity(CLASSES), ["none"], FAMILY, "distance"), "'likelihood' or 'squares'"),
        ((ask.Identity(CLASSES), CLASSES, ask.States([[0, 0], [1, 2], [2, 4]])), "linearly independent"),
    ],
)
def test_what_cannot_be_is_refused(arguments, said):
    with pytest.raises(ask.AskanceError, match=said):
        ask.two_step(*arguments)
