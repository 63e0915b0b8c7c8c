"""What random intercepts take for granted: that they have nothing to do with covariates, and that effects are the same.

Both are asked by the scores of a larger model at the fit of this one, which costs one look at the likelihood. Group
means of covariates as further covariates (Mundlak 1978) have effects where intercepts go with covariates: estimates
are then biased. Coefficients that vary between groups make the squared scores of groups larger than their curvature,
which are equal on average otherwise (White 1982, Chesher 1984): standard errors are then too small.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import gammaincc

from askance.arrays import Flags, Floats
from askance.learning.surveys.answer_likelihood import GroupedAnswers
from askance.learning.surveys.survey_sample import sums_by_number

# P-values below are noted. That of slopes is too large if anything: on 360 honest sets none was below .01.
_OF_INTERCEPTS, _OF_SLOPES = 0.005, 0.01
_CONSTANT = 1e-9  # share of a variance, or of a square, below which there is none
_FEWEST_GROUPS = 10  # with fewer, neither a slope on group means nor a variance between groups is known
_GROUPS_EACH = 3  # for each parameter: scores of fewer groups follow any direction


def notes_on_groups(grouped: GroupedAnswers, theta: Floats, names: Sequence[str], *, alike: bool) -> list[str]:
    """Say what groups have that random intercepts do not allow for.

    Parameters
    ----------
    grouped : GroupedAnswers
        The likelihood, with its nodes about the fit.
    theta : array
        The fit: coefficients, log s, cuts.
    names : sequence of str
        Of the covariates.
    alike : bool
        Whether s is at its border, where it is no parameter.
    """
    notes = [_on_intercepts(grouped, theta, alike)]
    if grouped.sample is None:  # errors between clusters allow for it
        notes.append(_on_slopes(grouped, theta, names))
    return [note for note in notes if note]


def _on_intercepts(grouped: GroupedAnswers, theta: Floats, alike: bool) -> str:
    """Whether the groups' intercepts go with their covariates."""
    means, within = _group_means(grouped)
    slopes = grouped.rows.design.shape[1]
    varying = within & (means.var(axis=0) > _CONSTANT * grouped.rows.design.var(axis=0))
    added = int(varying.sum())
    if not added or _too_few(grouped, len(theta) + added):
        return ""
    wide = replace(grouped.rows, design=np.column_stack([grouped.rows.design, means[grouped.group][:, varying]]))
    scores = replace(grouped, rows=wide).scores(np.insert(theta, [slopes] * added, 0.0))
    new, old = scores[:, slopes : slopes + added], np.delete(scores, np.s_[slopes : slopes + added], axis=1)
    old = np.delete(old, slopes, axis=1) if alike else old
    # What the fit has settled is no evidence: the part that its own scores do not foretell is.
    rest = new - old @ np.linalg.lstsq(old, new, rcond=None)[0]
    rest = rest[:, (rest**2).sum(axis=0) > _CONSTANT * (new**2).sum(axis=0)]
    if not rest.shape[1]:
        return ""
    # Scores of few groups follow any direction: as many groups as there are parameters tell nothing.
    told = 1 - scores.shape[1] / len(scores)
    statistic = told * float(np.linalg.lstsq(rest, np.ones(len(rest)), rcond=None)[0] @ rest.sum(axis=0))
    p = float(gammaincc(rest.shape[1] / 2, statistic / 2))
    if p >= _OF_INTERCEPTS:
        return ""
    return (
        "The groups' intercepts go with their covariates, where random intercepts are taken to have nothing to do with "
        f"them (Mundlak's test, p = {p:.1g}): coefficients mix what differs between groups with what differs within "
        "them. Add the group means of the covariates as further covariates: the others are then effects within groups."
    )


def _on_slopes(grouped: GroupedAnswers, theta: Floats, names: Sequence[str]) -> str:
    """Whether a coefficient differs between groups."""
    _, within = _group_means(grouped)
    found = []
    for column in np.flatnonzero(within) if not _too_few(grouped, len(theta)) else ():
        covariate = grouped.rows.design[:, column]
        squares, curvature = grouped.of_own_slopes(theta, covariate - covariate.mean())
        expected, spread = float(curvature.sum()), float((np.maximum(curvature, 0.0) ** 2).sum())
        if expected > 0 and spread > 0:
            # Scores of a group are nearly normal: squares are chi-squared, times the curvature.
            tail = float(gammaincc(expected**2 / spread / 2, float(squares.sum()) * expected / spread / 2))
            found.append((tail, names[int(column)]))
    least, name = min(found, default=(1.0, ""))
    p = least * len(found)
    if not found or p >= _OF_SLOPES:
        return ""
    return (
        f"The coefficient of {name!r} differs between groups, where random intercepts have it the same in all "
        f"(score test, p = {p:.1g}): standard errors are too small. Give cluster= the groups as well: errors are then "
        "those between groups, and the coefficient is an average."
    )


def _too_few(grouped: GroupedAnswers, parameters: int) -> bool:
    return len(grouped.nodes) < max(_FEWEST_GROUPS, _GROUPS_EACH * parameters)


def _group_means(grouped: GroupedAnswers) -> tuple[Floats, Flags]:
    """Means of covariates by group, and which covariates are not the same for all of a group."""
    design = grouped.rows.design
    sizes = np.bincount(grouped.group)
    means = sums_by_number(grouped.group, len(sizes), design) / sizes[:, None]
    within = (design - means[grouped.group]).var(axis=0)
    return means, within > _CONSTANT * design.var(axis=0)
