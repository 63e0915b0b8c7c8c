"""A list experiment as a design: how many of these things apply to you, with or without the sensitive one?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput


@dataclass(frozen=True)
class ListDesign:
    """Count the items that apply; one group's list has the sensitive item, the other's does not.

    Parameters
    ----------
    items : sequence of float
        The expected share of people to whom each of the harmless items applies.
    share : float
        Which share of the respondents gets the list with the sensitive item.

    Examples
    --------
    >>> import askance as ask
    >>> from askance.planning import ListDesign
    >>> ask.plan([ListDesign([0.5, 0.5, 0.5, 0.5])], 0.1, n=2000).recommended.std_errors[1] < 0.05
    True
    """

    items: Sequence[float]
    share: float = 0.5

    def __post_init__(self) -> None:
        shares = np.asarray(self.items, dtype=float)
        if shares.ndim != 1 or not shares.size or not ((shares >= 0) & (shares <= 1)).all():
            raise InvalidInput(
                f"items={self.items!r}", "the share to whom each harmless item applies, such as [.5, .3]"
            )
        if not 0 < self.share < 1:
            raise InvalidInput(f"share={self.share!r}", "a share above 0 and below 1, such as 0.5")
        object.__setattr__(self, "items", tuple(shares.tolist()))

    @property
    def short_name(self) -> str:
        """How tables call it."""
        return f"ListDesign({len(self.items)} items)"

    @property
    def guarantee(self) -> Guarantee:
        """None: whoever counts all items, or none, has told."""
        return Guarantee(np.inf, protects="one answer", neighbours="any two answers")

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {"design": "list", "items": list(self.items), "share": self.share}

    @property
    def _count_variance(self) -> float:
        shares = np.array(self.items)
        return float((shares * (1 - shares)).sum())

    def variance(self, prevalence: float) -> float:
        """The variance of the difference in means, times n, if items apply independently of each other."""
        with_item = self._count_variance + prevalence * (1 - prevalence)
        return with_item / self.share + self._count_variance / (1 - self.share)

    def simulate(self, prevalence: float, n: int, rng: np.random.Generator) -> tuple[float, float]:
        """Draw one study: the difference in means and its estimated variance."""
        treated = max(round(n * self.share), 2)
        control = max(n - treated, 2)
        counts = (rng.random((treated + control, len(self.items))) < np.array(self.items)).sum(axis=1).astype(float)
        counts[:treated] += rng.random(treated) < prevalence
        first, second = counts[:treated], counts[treated:]
        variance = first.var(ddof=1) / treated + second.var(ddof=1) / control
        return float(first.mean() - second.mean()), float(variance)
