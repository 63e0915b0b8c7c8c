"""Several designs in one study, each for a share of the respondents; unknown numbers have an assumed value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.channels.guarantee import Guarantee
from askance.channels.labels.design_per_row import DesignPerRow
from askance.errors import InvalidInput, Unidentifiable

_ROUNDING = 1e-24  # of the largest information; units of covariates may differ by a factor of 1e12
_SINGULAR = 1e-8  # smallest eigenvalue of an information on the scale of its diagonal, as the estimators refuse it


@dataclass(frozen=True, eq=False)
class GroupedDesign:
    """Groups of respondents who are asked under different designs.

    Parameters
    ----------
    designs : mapping from names to finite channels, or DesignPerRow
        With :class:`~askance.Unknown` in place of numbers that nobody knows.
    psi : mapping from names to numbers
        What the unknown numbers are assumed to be.
    shares : mapping from names to numbers, optional
        Which share of the respondents is asked under each design; equal shares if not given. An anchor question that
        everybody answers is a second answer: count answers, not people.

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import GroupedDesign
    >>> pair = {"few": ask.Cheaters(ask.ForcedResponse(0.1, 0.2)), "many": ask.Cheaters(ask.ForcedResponse(0.1, 0.6))}
    >>> plan = ask.plan(GroupedDesign(pair, psi={"cheaters": 0.1}), 0.2, n=3000)
    >>> round(plan.recommended.std_errors[1], 3)
    0.028
    """

    designs: Any
    psi: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        # The public door: designs are given by name, or together as a channel.
        channel = self.designs if isinstance(self.designs, DesignPerRow) else DesignPerRow(self.designs)
        values = channel.checked_values(dict(self.psi), every=True)
        names = list(channel.designs)
        shares = dict.fromkeys(names, 1 / len(names)) if self.shares is None else dict(self.shares)
        if set(shares) != set(names):
            raise InvalidInput(f"shares of {', '.join(map(str, shares))}", f"one for each of {', '.join(names)}")
        parts = np.array([float(shares[name]) for name in names])
        if not (np.isfinite(parts).all() and (parts > 0).all()):
            raise InvalidInput(f"shares={shares!r}", "positive numbers")
        vars(self).update(designs=channel, psi=values, shares=dict(zip(names, parts / parts.sum(), strict=True)))

    @property
    def classes(self) -> tuple[Label, ...]:
        """The possible answers."""
        return tuple(self.designs.classes)

    @property
    def guarantee(self) -> Guarantee:
        """The weakest guarantee that any respondent gets."""
        guarantee: Guarantee = self.designs.guarantee
        return guarantee

    @property
    def short_name(self) -> str:
        """How tables call it."""
        return f"GroupedDesign({', '.join(self.designs.designs)})"

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        shares = dict(self.shares or {})
        return {"design": "grouped", "designs": self.designs.to_spec(), "psi": dict(self.psi), "shares": shares}

    @cached_property
    def _weights(self) -> Floats:
        """The share of each row of the stacked matrix."""
        shares = dict(self.shares or {})
        return np.repeat(list(shares.values()), [len(one.report_labels) for one in self.designs.designs.values()])

    @cached_property
    def matrix(self) -> Floats:
        """The probability of design and report by truth."""
        weighted: Floats = self._weights[:, None] * self.designs.matrix_at(self.psi)
        return weighted

    @cached_property
    def derivatives(self) -> list[Floats]:
        """How that moves with each unknown number."""
        return [self._weights[:, None] * self.designs.matrix_derivative(self.psi, name) for name in self.psi]

    def draw_groups(self, n: int, rng: np.random.Generator) -> Any:
        """Assign respondents to the designs, at random."""
        shares = dict(self.shares or {})
        return rng.choice(list(shares), size=n, p=list(shares.values()))

    def simulate(self, truth: Any, rng: np.random.Generator, groups: Any) -> Any:
        """Draw reports of respondents with known truths."""
        return self.designs.simulate(truth, rng, groups, psi=dict(self.psi))


def joint_covariance(information: Floats, what: str) -> Floats:
    """Invert the information about what is planned and what is unknown beside it, or say that it tells nothing."""
    diagonal = np.diag(information)
    scale = np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
    # Squared slopes of probabilities that rounding alone left are 1e-32, and would pass for a direction of their own.
    nothing = diagonal.min() <= _ROUNDING * diagonal.max()
    if nothing or np.linalg.eigvalsh(information / np.outer(scale, scale))[0] < _SINGULAR:
        raise Unidentifiable(
            f"{what} that the reports of this design do not determine",
            "covariates that vary independently, and groups that differ in what an unknown does to their reports",
        )
    covariance: Floats = np.asarray(np.linalg.inv(information), dtype=float)
    return covariance
