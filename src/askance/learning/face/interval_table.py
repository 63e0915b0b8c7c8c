"""The table of a fit whose parameters have intervals of different kinds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from askance.channels.alphabet import listed
from askance.reports.summary import Summary
from askance.solvers.profile_likelihood import Profile

FROZEN = 1e-6  # a variance against that of people drawn one by one: below, it is what rounding or a solver left of zero
_FEW_DEGREES = 4.0  # below, Bell and McCaffrey's own approximation is rough (Pustejovsky & Tipton 2018)
_NAMES = {"profile": "profile likelihood ratio", "wald": "Wald"}


def with_intervals(
    summary: Summary,
    kinds: Sequence[str],
    profiles: Sequence[Profile | None],
    degrees: Sequence[float] = (),
    penalised: bool = False,
) -> Summary:
    """Return a table of Wald statistics with each row's own kind of interval and p-value in their place.

    Parameters
    ----------
    summary : Summary
    kinds : sequence of {"wald", "profile", "none"}
        Of each row; none at all for a model that an earlier version saved, which has Wald's throughout.
    profiles : sequence of Profile
        Where the kind is "profile".
    degrees : sequence of float, optional
        Degrees of freedom of each row.
    penalised : bool
        Of a penalised fit Wald's intervals may be asked for; there is no z, and no p-value of one.
    """
    from scipy.special import stdtr, stdtrit

    values = summary.values.copy()
    for row, kind in enumerate(kinds):
        if kind == "wald":
            if degrees and np.isfinite(degrees[row]):
                estimate, error, z = values[row, :3]
                reach = stdtrit(degrees[row], 0.5 + summary.level / 2) * error
                values[row, 3:] = 2 * stdtr(degrees[row], -abs(z)), estimate - reach, estimate + reach
            if penalised:
                values[row, 2:4] = np.nan
            continue
        # A penalised estimate over its standard error is no z: its errors are not normal about the truth.
        values[row, 2:6] = np.nan
        profile = profiles[row]
        if kind == "profile" and profile is not None:
            df = degrees[row] if degrees else np.inf
            values[row, 3] = profile.p_value(df)
            values[row, 4:6] = profile.interval(summary.level, df)
    return replace(summary, values=values)


def sample_facts(
    sample: str, names: Sequence[str], degrees: Sequence[float], effects: Sequence[float]
) -> list[tuple[str, str]]:
    """Say what the sample is made of, and what that does to the estimates."""
    if not sample:
        return []
    facts = [("sample", sample)]
    if degrees:
        facts.append(("degrees of freedom", _each(names, degrees)))
    return [*facts, ("design effects", _each(names, effects))]


def frozen_clusters(names: Sequence[str], effects: Sequence[float]) -> list[str]:
    """Say which parameters the clusters determine, so that nothing is left to measure their errors by."""
    frozen = [name for name, effect in zip(names, effects, strict=False) if effect < FROZEN]
    if not frozen:
        return []
    return [
        f"There are not enough clusters for what differs between them: {listed(frozen, 5)} follow from the "
        "clusters' own means, with nothing left to measure their errors by. They have none."
    ]


def few_clusters(names: Sequence[str], degrees: Sequence[float]) -> list[str]:
    """Say of which parameters the errors are hardly known."""
    few = [name for name, df in zip(names, degrees, strict=False) if df < _FEW_DEGREES]
    if not few:
        return []
    return [
        f"Clusters tell little about the errors of {listed(few, 5)} (fewer than {_FEW_DEGREES:g} degrees of "
        "freedom): intervals are wide, and as good as the clusters are alike in size."
    ]


def _each(names: Sequence[str], values: Sequence[float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in zip(names, values, strict=True) if np.isfinite(value))


def interval_fact(names: Sequence[str], kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Say how the intervals were made."""
    if not kinds or set(kinds) == {"wald"}:
        return []
    if "none" in kinds and "wald" in kinds:
        return [("intervals", f"Wald; none for {kinds.count('none')} coefficients; ask for intervals='profile'")]
    if "none" in kinds:
        return [("intervals", "none for a penalised fit; ask for intervals='profile'")]
    if len(set(kinds)) == 1:
        return [("intervals", _NAMES[kinds[0]])]
    bent = [name for name, kind in zip(names, kinds, strict=True) if kind == "profile"]
    return [("intervals", f"Wald; by profile likelihood ratio where that would not be right: {', '.join(bent)}")]
