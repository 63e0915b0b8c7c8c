"""Whether reports can have come from the design at all: an exact test that needs no second design.

Whatever the truth is, a report's share lies between its smallest and its largest probability over the classes. Where it
is seen outside, a binomial tail at the nearest of the two says how unlikely that is: exact, and never smaller than the
true chance. Weighted reports count as their effective number. Shares of raw answers are often possible; that these
follow the features more closely than any hidden answer can is asked by :mod:`askance.learning.face.feature_compliance`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import RecordSource, concatenate, thinned
from askance.errors import Unidentifiable
from askance.learning.answers.report_law import ReportLaw
from askance.learning.face.feature_compliance import Design, FeatureEvidence, feature_evidence, records_wanted
from askance.learning.face.named_designs import designs_of, is_assumed
from askance.learning.face.report_weights import least_variance_weights
from askance.reports.summary import Summary
from askance.statistics.frequencies import ReportCounts

IMPOSSIBLE = 0.01  # below it the design is said not to have been followed: once in a hundred honest studies
_REMEDY = "Trust no estimate below: check the probabilities, and whether the instructions were followed."
_NEVER = 0.001  # the same given the features: what is asked besides must not add to the false alarms
_LONGEST = 690.0  # of logarithms: smaller chances are no doubles
_CERTAIN = 0.005  # a share of people below it is not worth a sentence


@dataclass(frozen=True)
class DesignTest:
    """What the reports say about the design.

    Parameters
    ----------
    p_value : float
        Of the report shares under what the channel can give; 1 where they are possible.
    sentence : str
        The result in words.
    alert : str
        What must be said before anything else; empty where the reports are possible.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> counts = ReportCounts(1000, np.array([920.0, 80.0]), np.array([920.0, 80.0]))
    >>> DesignTest.of(ask.ForcedResponse(1 / 6, 1 / 6), counts).p_value < 1e-15
    True
    """

    p_value: float
    sentence: str
    alert: str = ""

    @classmethod
    def of(cls, channel: ReportLaw, counts: ReportCounts, design_effect: float = 1.0) -> "DesignTest":
        """Test counts of reports, each block of one design by itself; clusters make them worth fewer reports."""
        known = [block for block in designs_of(channel) if not getattr(block[1], "is_assumed", False)]
        blocks = [_Block(*block, counts, design_effect) for block in known]
        used = [block for block in blocks if block.size > 0]
        if not used:
            return cls(float("nan"), "not tested: the law of the reports is assumed")
        tests = max(sum(len(block.shares) - 1 for block in used), 1)
        worst = min(used, key=lambda block: block.p_value)
        p_value = min(1.0, tests * worst.p_value)
        if p_value >= IMPOSSIBLE:
            found = [f"exact p = {p_value:.3g}"] if p_value < 1 else []
            said = "; ".join([*found, *(used[0].unseen() if len(used) == 1 else [])])
            return cls(p_value, f"the reports can have come from {_named(used)}{f' ({said})' if said else ''}")
        alert = " ".join([worst.alert(p_value), *_unbiased(channel, counts), _REMEDY])
        return cls(p_value, f"the reports can NOT have come from it (exact p = {p_value:.1g})", alert)

    def given_features(self, channel: ReportLaw, found: FeatureEvidence) -> "DesignTest":
        """Add what the features say; a finding of the shares stays the one that is told."""
        if self.alert or found.log_evidence < -math.log(_NEVER) or found.excess is None:
            return self
        code, rows, share, bound = found.excess
        name, design, codes = next(block for block in designs_of(channel) if block[2].start <= code < block[2].stop)
        label = getattr(design, "report_labels", range(len(design.matrix)))[code - codes.start]
        word, verb = ("at most", "can") if share > bound else ("at least", "must")
        where = f" under {name!r}" if name else ""
        chance = math.exp(-min(found.log_evidence, _LONGEST))
        alert = (
            f"The reports follow the features more closely than the design lets any answer do (p below {chance:.1g}): "
            f"of {rows:,} rows whose features point there, {share:.1%} of reports{where} are {label!r}, where {word} "
            f"{bound:.1%} {verb} be, whatever the truth is. Are they answers that nobody hid, or was the channel "
            "another one? Trust no estimate below: check where the reports come from, and the probabilities."
        )
        sentence = f"the reports can NOT have come from it, given the features (p below {chance:.1g})"
        return DesignTest(chance, sentence, alert)

    def to_dict(self) -> dict[str, Any]:
        """Return what a saved model keeps."""
        return vars(self).copy()

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "DesignTest":
        """Return what :meth:`to_dict` was of."""
        return cls(**content)


NOT_TESTED = DesignTest(float("nan"), "not tested: the model was saved by an earlier version")


def design_lines(summary: Summary, test: DesignTest) -> dict[str, Any]:
    """Return the facts and alerts of a summary with what the test of the design found."""
    facts = (*summary.facts, ("fit of the design", test.sentence))
    return {"facts": facts, "alerts": (*summary.alerts, *([test.alert] if test.alert else []))}


def evidence_of_features(channel: ReportLaw, source: RecordSource, columns: int, engine: Engine) -> FeatureEvidence:
    """Ask records whether their features contradict the channel; those of a cluster are not brought here."""
    rows, designs = records_wanted(columns, *channel.matrix.shape), designs_of(channel)
    if not rows or is_assumed(channel) or not isinstance(engine, LocalEngine):
        return FeatureEvidence(0.0)
    records = concatenate([part.load() for part in thinned(source, rows).parts])
    return feature_evidence(records, [Design(design.matrix, codes) for _, design, codes in designs])


def _unbiased(channel: ReportLaw, counts: ReportCounts) -> list[str]:
    """The estimate that no border holds back, of the class for which it is the least possible."""
    try:
        shares = least_variance_weights(channel, counts) @ (counts.weight / counts.weight.sum())
    except Unidentifiable:
        return []
    lowest = int(np.argmin(shares))
    # Of two classes the second is what the study is about.
    shown = 1 if len(shares) == 2 else lowest
    return [f"The unbiased estimate of {channel.classes[shown]!r} is {shares[shown]:.1%}."]


def _named(used: "list[_Block]") -> str:
    return "the design" if len(used) == 1 else "their designs, each by itself"


class _Block:
    """The reports under one design."""

    def __init__(self, name: str, design: Any, rows: slice, counts: ReportCounts, design_effect: float) -> None:
        self.name, self.design = name, design
        weight, squared = counts.weight[rows], counts.squared_weight[rows]
        total = float(weight.sum())
        self.size = total**2 / float(squared.sum()) / max(design_effect, 1.0) if total > 0 else 0.0
        self.shares: Floats = weight / max(total, np.finfo(float).tiny)
        self.least, self.most = design.matrix.min(axis=1), design.matrix.max(axis=1)
        tails = self._tails()
        self.worst = int(np.argmin(tails))
        self.p_value = float(tails[self.worst])

    def _tails(self) -> Floats:
        """The exact probability of a share at least as far out, of each report; 1 where it is possible."""
        from scipy.special import betainc

        n, k = self.size, self.size * self.shares
        below, above = self.shares < self.least, self.shares > self.most
        tails = np.ones(len(k))
        # Binomial tails as incomplete beta functions, which also know effective numbers that are not whole.
        tails[below] = betainc(n - k[below], k[below] + 1, 1 - self.least[below])
        tails[above] = betainc(k[above], n - k[above] + 1, self.most[above])
        return np.where(above & (self.most == 0), 0.0, tails)

    def unseen(self) -> list[str]:
        """What reports that are possible leave open: whether the design had the probabilities that are stated."""
        least, most = self.least[-1], self.most[-1]
        if len(self.shares) != len(self.design.matrix.T) or np.isin(self.design.matrix, (0, 1)).all():
            return []  # more kinds of reports than truths are tested together; what hides nothing has no probabilities
        if len(self.shares) > 2:
            return ["other probabilities in it need not show"]
        label = getattr(self.design, "report_labels", range(2))[-1]
        return [f"so can any with {100 * least:.3g}% to {100 * most:.3g}% {label!r}: other probabilities need not show"]

    def alert(self, p_value: float) -> str:
        labels = getattr(self.design, "report_labels", range(len(self.shares)))
        # Of two reports the one that is too rare is what people notice.
        rare = int(np.argmax(self.least - self.shares)) if np.any(self.shares < self.least) else self.worst
        share, few = self.shares[rare], self.shares[rare] < self.least[rare]
        bound, word = (self.least[rare], "at least") if few else (self.most[rare], "at most")
        where = f" under {self.name!r}" if self.name else ""
        text = (
            f"The design was not followed, or is not the one stated: {share:.1%} of reports{where} "
            f"are {labels[rare]!r}, where {word} {bound:.1%} must be, whatever the truth is (exact p = {p_value:.1g}, "
            f"{self.size:,.0f} reports)."
        )
        return " ".join([text, *self._regardless(few, rare)])

    def _regardless(self, few: bool, rare: int) -> list[str]:
        """Where one answer is safe, at least so many gave it whatever the device said."""
        if not few or not getattr(self.design, "has_safe_answer", False) or rare == 0:
            return []
        share = 1 - float(self.shares[rare] / self.least[rare])
        return [f"At least {share:.0%} said {self.design.classes[0]!r} regardless."] if share > _CERTAIN else []
