"""Two-step estimation ([LM] section 6): first any law of the truth that fits the reports, then the family's member.

    r = argmin over all laws of D(q, S p),   p = argmin over the family of KL(r || p)

The second step is convex: it matches E[phi]. With squares as distance the first is the pseudo-inverse of S, and the
whole is the moment estimate. With the likelihood as distance r is a law, and so never outside of what the family can
match. Where reports are a deterministic function of the truth, the step by squares is one step of EM from the uniform
law.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.finite import FiniteLaw
from askance.errors import InvalidInput, Unidentifiable
from askance.learning.models.families import States
from askance.solvers.damped_newton import climb
from askance.solvers.newton import Local
from askance.solvers.simplex import mixture_proportions

_STEPS = 200  # of Newton: a dozen do where there is a finite answer
_RUNAWAY = 30.0  # odds of e^30 are beyond any data: there the law that is to be matched is at the family's border


class TwoStep(NamedTuple):
    """What the two steps lead to.

    Parameters
    ----------
    relaxed : K
        r: the law that fits the reports best, of all laws (likelihood) or of all vectors (squares).
    parameters : d
    law : K
        p: the member of the family with the expected features of r.

    Examples
    --------
    >>> import askance as ask
    >>> family = ask.States([[0], [1], [2]])
    >>> found = ask.two_step(ask.Identity([0, 1, 2]), [0, 0, 0, 1, 2], family)
    >>> found.relaxed, (found.law @ family.table).round(3)
    (array([0.6, 0.2, 0.2]), array([0.6]))
    """

    relaxed: Floats
    parameters: Floats
    law: Floats


def two_step(channel: FiniteLaw, reports: Sequence[Any], family: States, distance: str = "likelihood") -> TwoStep:
    """Estimate a family of laws of the truth alone by two steps.

    Parameters
    ----------
    channel : finite channel
    reports : n reports
    family : States
        With a table of features.
    distance : {"likelihood", "squares"}
        D of the first step.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> channel = ask.RandomizedResponse(["none", "one", "many"], epsilon=1.0)
    >>> truth = np.repeat(["none", "one", "many"], [6000, 3000, 1000])
    >>> reports = channel.simulate(truth, np.random.default_rng(0))
    >>> found = ask.two_step(channel, reports, ask.States([[0], [1], [2]]))
    >>> found.relaxed.round(2), found.law.round(2)
    (array([0.6 , 0.29, 0.11]), array([0.61, 0.27, 0.12]))

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), section 6, equation (17).
    """
    if not isinstance(channel, FiniteLaw):
        raise InvalidInput(f"channel={channel!r}", "a finite channel")
    if not isinstance(family, States) or family.table is None or len(family.table) != len(channel.classes):
        wanted = f"States with a row of features for each of {len(channel.classes)} classes"
        raise InvalidInput(f"family={family!r}", wanted)
    codes = channel.encode_reports(reports)
    if not len(codes):
        raise InvalidInput("no reports", "at least one")
    counts = np.bincount(codes, minlength=len(channel.matrix)).astype(float)
    if distance == "likelihood":
        relaxed = mixture_proportions(channel.matrix, counts)
    elif distance == "squares":
        relaxed = np.linalg.pinv(channel.matrix) @ (counts / counts.sum())
    else:
        raise InvalidInput(f"distance={distance!r}", "'likelihood' or 'squares'")
    theta, law = _matched(family.table, family.table.T @ relaxed)
    return TwoStep(np.asarray(relaxed), theta, law)


def _matched(table: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """The member of the family with these expected features."""
    centred = table - table.mean(axis=0)
    if np.linalg.matrix_rank(centred) < table.shape[1]:
        raise Unidentifiable("features of which some say nothing new", "features that are linearly independent")

    def law_at(theta: Floats) -> Floats:
        scores = centred @ theta
        power = np.exp(scores - scores.max())
        return np.asarray(power / power.sum())

    def local(theta: Floats) -> Local:
        law, scores = law_at(theta), centred @ theta
        if np.abs(scores).max() > _RUNAWAY:
            raise Unidentifiable(
                "reports whose expected features no member of the family has",
                "more reports, or distance='likelihood', whose first step is a law",
                "A ridge in IndirectModel keeps such estimates finite.",
            )
        mean = law @ table
        away = table - mean
        top = scores.max()
        value = theta @ (wanted - table.mean(axis=0)) - top - np.log(np.exp(scores - top).sum())
        return Local(float(value), wanted - mean, away.T @ (law[:, None] * away))

    found = climb(local, np.zeros(table.shape[1]), max_iterations=_STEPS)
    return np.asarray(found.theta), law_at(found.theta)
