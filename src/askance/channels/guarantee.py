"""What a channel promises to the person who answers."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from askance.errors import InvalidInput
from askance.printing import html_notes

HOWEVER_FAR_APART = ", however far apart"
AS_IT_CAME = "nothing is known to hide it"
HOWEVER_OFTEN = "however often it is reported on"  # of a permanent response, which is kept
ONE_TOKEN = "differ in one token"  # of sequences, whose every token is hidden by itself
OTHER_LABEL = "data sets that differ in one label"  # of totals, whose noise is drawn by who holds the labels

_PRACTICALLY_CERTAIN = 0.999  # what an even guess becomes at epsilon 6.9: no longer a number to reassure anybody with
_ROUNDED_TO_ONE = 0.99995  # written with four digits it would be 100%
_ODDS_IN_DIGITS = 20  # beyond it odds are hundreds of millions, and are written as a power
_PROOF_PAGE = re.compile(r"docs/mechanisms/[a-z-]{1,60}\.md")


def proof_page(mechanism: str) -> str:
    """Return the page of the documentation that proves what a mechanism claims, as a path inside the project.

    Examples
    --------
    >>> proof_page("randomized-response")
    'docs/mechanisms/randomized-response.md'
    """
    return f"docs/mechanisms/{mechanism}.md"


def each_alone(levels: tuple[float, ...]) -> str:
    """Say what the parts of a record give away each, for the end of ``protects``; nothing if some have no level."""
    worst = max(levels)
    if math.isinf(worst):
        return ""
    return f", each alone {'at most ' if len(set(levels)) > 1 else ''}{worst:.4g}"


@dataclass(frozen=True)
class Guarantee:
    """An exact statement of privacy.

    Parameters
    ----------
    epsilon : float
        The largest log-ratio by which what is reported can favour one truth over another.
    delta : float
        The probability with which that bound may fail; 0 for every channel that flips coins per answer.
    protects : str
        What is hidden.
    neighbours : str
        Which two truths cannot be told apart better than epsilon allows.
    per_attribute : tuple of float, optional
        The levels of the single attributes where a whole record is protected.
    proof : str, optional
        The page of the documentation that proves it; None where nothing is claimed, or nobody said what was drawn.
        Two statements that say the same are equal wherever they are proved.

    Examples
    --------
    >>> from askance import Warner
    >>> print(Warner(0.75).guarantee)
    epsilon 1.099, protects one answer (any two answers of one person)
    >>> Warner(0.75).guarantee.proof
    'docs/mechanisms/warner.md'
    """

    epsilon: float
    delta: float = 0.0
    protects: str = "one answer"
    neighbours: str = "any two answers of one person"
    per_attribute: tuple[float, ...] | None = None
    proof: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            return f"no privacy guarantee (epsilon is infinite) for {self.protects}"
        delta = f", delta {self.delta:.3g}" if self.delta else ""
        return f"epsilon {self.epsilon:.4g}{delta}, protects {self.protects} ({self.neighbours})"

    def _repr_html_(self) -> str:
        return html_notes(str(self), [self.in_words()])

    def in_words(self) -> str:
        """Say it to somebody who has never heard of epsilon."""
        if math.isinf(self.epsilon) and HOWEVER_FAR_APART in self.neighbours:
            return (
                "Noise was added to numbers that have no public bounds: two of them can be so far apart that no noise "
                "hides which is the truth. There is no formal privacy guarantee."
            )
        if math.isinf(self.epsilon) and self.neighbours == AS_IT_CAME:
            return (
                "It was used as it came: nothing is known to hide a single person in it. "
                "There is no formal privacy guarantee."
            )
        of_totals = self.neighbours.startswith(OTHER_LABEL)
        if math.isinf(self.epsilon) and of_totals:
            return (
                "Nothing is proved of its noise: what is released may give away a single person's label. "
                "There is no formal privacy guarantee."
            )
        if math.isinf(self.epsilon):
            return (
                "Some reports rule out some truths, or all but one: who gives such a report reveals that for certain. "
                "There is no formal privacy guarantee."
            )
        certainty = 1 / (1 + math.exp(-self.epsilon))
        odds = _odds(self.epsilon, 3)
        what = "What is released" if of_totals else "A report"
        unless = f" With probability {self.delta:.3g} (delta) that may fail." if self.delta else ""
        if certainty > _PRACTICALLY_CERTAIN:
            return (
                f"{what} can change the odds between two truths by a factor of up to {odds}. "
                "That is next to no protection: an even guess can become practical certainty."
                f"{unless}{self._attribute_in_words()}{self._token_in_words()}"
            )
        if of_totals:
            secret = "whoever holds the labels shows neither them nor the noise"
            again = "Every further release about the same people adds its own level to this one."
        else:
            secret = "only the respondent knows how chance fell (the coin, the card, the harmless answer)"
            again = (
                "More reports on what was kept add nothing to it."
                if HOWEVER_OFTEN in self.protects
                else f"Asking the same person m times multiplies epsilon ({self.epsilon:.3g}) by m."
            )
        return (
            f"{what} can change the odds between two truths by a factor of at most {odds}. "
            f"Somebody who thought both equally likely can become at most {100 * certainty:.1f}% sure of the truth, "
            f"whatever is {'released' if of_totals else 'reported'} and whatever else is known, as long as {secret}."
            f"{unless} {again}{self._token_in_words()}"
        )

    def _token_in_words(self) -> str:
        if ONE_TOKEN not in self.neighbours:
            return ""
        return " Of a sequence one token is counted here: every further token adds its level to this one."

    def _attribute_in_words(self) -> str:
        worst = max(self.per_attribute or (math.inf,))
        if math.isinf(worst) or len(self.per_attribute or ()) < 2 or worst == self.epsilon:
            return ""
        certainty = 1 / (1 + math.exp(-worst))
        odds = _odds(worst, 4)
        sure = f"at most {100 * certainty:.4g}% sure" if certainty < _ROUNDED_TO_ONE else "practically certain"
        return (
            f" Of each part alone at most epsilon {worst:.4g} is given away: it changes the odds by a factor of up to "
            f"{odds}, and makes an even guess {sure}."
        )

    @classmethod
    def none(cls, protects: str) -> "Guarantee":
        """Return the statement about what was used as it came: labels, counts or totals that nothing is known to hide.

        Examples
        --------
        >>> print(Guarantee.none("one person's label"))
        no privacy guarantee (epsilon is infinite) for one person's label
        """
        return cls(math.inf, protects=protects, neighbours=AS_IT_CAME)

    def repeated(self, times: int) -> "Guarantee":
        """Return what is left after so many independent reports about the same truth: every level is multiplied.

        Examples
        --------
        >>> from askance import Warner
        >>> print(Warner(0.75).guarantee.repeated(3))
        epsilon 3.296, protects one answer, reported 3 times (any two answers of one person)
        """
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise InvalidInput(f"times={times!r}", "how many reports: a whole number of at least 1")
        if times == 1:
            return self
        each, protects = None, self.protects
        if self.per_attribute is not None:
            each = tuple(times * level for level in self.per_attribute)
            alone = each_alone(self.per_attribute)
            protects = protects.replace(alone, each_alone(each)) if alone else protects
        return replace(
            self,
            epsilon=times * self.epsilon,
            delta=min(1.0, times * self.delta),
            protects=f"{protects}, reported {times} times",
            per_attribute=each,
            proof=proof_page("composition"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; an infinite epsilon is written as the string "infinite"."""
        fields = asdict(self)
        fields["epsilon"] = _written(self.epsilon)
        fields["per_attribute"] = None if self.per_attribute is None else [*map(_written, self.per_attribute)]
        return fields if self.proof else {name: value for name, value in fields.items() if name != "proof"}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Guarantee":
        """Read what :meth:`to_dict` wrote; ``proof`` may be missing, and an address that is no such page is dropped."""
        per_attribute, proof = fields.get("per_attribute"), fields.get("proof")
        return cls(
            epsilon=_read(fields["epsilon"]),
            delta=float(fields["delta"]),
            protects=fields["protects"],
            neighbours=fields["neighbours"],
            per_attribute=None if per_attribute is None else tuple(map(_read, per_attribute)),
            proof=proof if isinstance(proof, str) and _PROOF_PAGE.fullmatch(proof) else None,
        )


def _odds(epsilon: float, digits: int) -> str:
    """A factor of odds as people write it: 13,700,000 and not 1.37e+07."""
    if epsilon >= _ODDS_IN_DIGITS:
        return f"e^{epsilon:.4g}"
    rounded = float(f"{math.exp(epsilon):.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"


def _written(epsilon: float) -> float | str:
    return "infinite" if math.isinf(epsilon) else epsilon  # JSON has no infinity


def _read(epsilon: float | str) -> float:
    return math.inf if epsilon == "infinite" else float(epsilon)
