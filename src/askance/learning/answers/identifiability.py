"""Do the designs of a survey determine what is unknown about them? Refused by name where they do not.

Asked of the model without covariates: with them a likelihood can look as if it had one maximum where nothing but the
shape of the model, a logistic curve, tells one number from another.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.errors import Unidentifiable

# Smallest eigenvalue of the information, scaled to correlations. Rounding leaves 1e-15 where nothing is known; designs
# in use have .15 and more; at 1e-8 a hundred million respondents would know as little as one.
_UNDETERMINED = 1e-8
# Where the information is looked at: prevalence of the last class, and unknown numbers. Three places, because one may
# happen to be where two effects cancel.
_PLACES = ((0.3, 0.2), (0.15, 0.35), (0.6, 0.55))
_APART = 0.07  # by how much unknown numbers differ from each other there, for the same reason
_NO_SLOPE = 1e-9  # of a root of information of one report: slopes of probabilities in use are a hundredth and more
_SAME = 1e-6  # relative: coefficients of a relation that are equal


def refuse_unidentified(channel: Any, weights: Floats) -> None:
    """Refuse a channel whose unknown numbers, with the prevalence, the designs that were used do not determine.

    Parameters
    ----------
    channel : channel with ``unknowns``
    weights : array, report codes
        How often each report came; a design without any was not used.
    """
    designs: Mapping[str, Any] = channel.designs
    ends = np.cumsum([0, *(len(design.report_labels) for design in designs.values())])
    totals = [float(weights[a:b].sum()) for a, b in pairwise(ends)]
    share = np.concatenate([np.full(b - a, t) for a, b, t in zip(ends[:-1], ends[1:], totals, strict=True)])
    looked = [_information(channel, share / share.max(), *place) for place in _PLACES]
    if max(smallest for smallest, _ in looked) >= _UNDETERMINED:
        return
    jacobian = looked[0][1]
    used = [name for name, total in zip(designs, totals, strict=True) if total > 0]
    absent = [name for name in designs if name not in used]
    names = list(channel.unknowns)
    raise Unidentifiable(
        f"{_said(channel, used)} cannot tell {', '.join(names)} from the shares of {listed(channel.classes)}: "
        f"{_reason(channel, used, jacobian[share > 0])}",
        "designs that differ in what the unknown does to their reports",
        f"No row was asked under {listed(absent)}." if absent else _remedy(names),
    )


def _information(channel: Any, share: Floats, prevalence: float, psi: float) -> tuple[float, Floats]:
    """The smallest eigenvalue of the scaled information, and the derivative of the report law by all parameters."""
    classes, names = len(channel.classes), list(channel.unknowns)
    values = {name: psi + _APART * number for number, name in enumerate(names)}
    law = np.full(classes, (1 - prevalence) / (classes - 1))
    law[-1] = prevalence
    matrix = channel.matrix_at(values)
    by_share = matrix[:, 1:] - matrix[:, :1]
    by_psi = [channel.matrix_derivative(values, name) @ law for name in names]
    jacobian = np.column_stack([by_share, *by_psi])
    expected = matrix @ law
    seen = (expected > 0) & (share > 0)
    rows = jacobian[seen] * np.sqrt(share[seen] / expected[seen])[:, None]
    information = rows.T @ rows
    scale = np.sqrt(np.diag(information))
    if not scale.min() > _NO_SLOPE:  # effects that cancel here, but for rounding, must not pass for a direction
        return 0.0, jacobian
    return float(np.linalg.eigvalsh(information / np.outer(scale, scale))[0]), jacobian


def _said(channel: Any, used: Sequence[str]) -> str:
    designs = [channel.designs[name] for name in used]
    return f"{'the designs' if len(designs) > 1 else 'the design'} {', '.join(map(repr, designs))}"


def _reason(channel: Any, used: Sequence[str], jacobian: Floats) -> str:
    reports = [len(channel.designs[name].report_labels) for name in used]
    free_shares, wanted = sum(reports) - len(reports), jacobian.shape[1]
    if free_shares < wanted:
        shares = "one share of reports is" if free_shares == 1 else f"{free_shares} shares of reports are"
        return f"{shares} observed, and {wanted} numbers are unknown"
    if reports == [2, 2]:
        rows = jacobian[[1, 3]]
        relation = np.linalg.svd(rows.T)[2][-1]
        if abs(relation[0] - relation[1]) < _SAME:
            yes = channel.designs[used[0]].report_labels[1]
            psi = dict.fromkeys(channel.unknowns, 0.5)
            sums = sum(channel.designs[name].matrix_at(psi)[1, 0] for name in used)
            return f"whatever their values, the shares of {yes!r} under {used[0]!r} and {used[1]!r} add up to {sums:g}"
    return "other values of all of them give reports of the very same law"


def _remedy(names: Sequence[str]) -> str:
    if "random_answers" in names:
        return "An anchor question, asked of everybody (Anchor), or a directly asked group identifies random answers."
    return "Add a group with another probability, an anchor question (Anchor) or a directly asked group (Identity)."
