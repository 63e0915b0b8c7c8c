"""Several reports of one person about the same answer, each drawn afresh.

P(o_1, ..., o_M | k) is the product of the single probabilities: their logarithms add up, unbiased estimates are
averaged, and levels add up ([RR] (3)). One report at M times the level says more than M reports at the level each.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.alphabet import Label, listed
from askance.channels.base import Spec
from askance.channels.channel import refuse_design
from askance.channels.guarantee import Guarantee
from askance.channels.labels.finite import FiniteLaw
from askance.entropy.bits import BitSource
from askance.entropy.draws import code_type
from askance.entropy.thresholds import exact_counts, exact_epsilon
from askance.errors import InvalidInput

_MOST = 1 << 16  # outcomes that are listed: of 20 classes a table of ten megabytes
_BETWEEN = " | "  # the reports of one person as one text, in a file


@dataclass(frozen=True, eq=False, repr=False)
class Repeated(FiniteLaw):
    """Report so many times about one answer, with fresh chance each time.

    The reports of a person are one text, such as "yes | no | yes"; a table of them, n x times, is read as well.

    Parameters
    ----------
    device : finite channel
        How each report is drawn.
    times : int
        How many reports each person gives.

    Examples
    --------
    >>> from askance import Repeated, Warner
    >>> channel = Repeated(Warner(0.8), times=3)
    >>> print(channel.guarantee)
    epsilon 4.159, protects one answer, reported 3 times (any two answers of one person)
    >>> channel.likelihood([["yes", "yes", "no"]]).round(3)
    array([[0.032, 0.128]])
    """

    device: FiniteLaw
    times: int

    kind: ClassVar[str] = "repeated"

    def __post_init__(self) -> None:
        if not isinstance(self.device, FiniteLaw):
            raise InvalidInput(f"device={self.device!r}", "a finite channel, such as Warner(0.8)")
        if isinstance(self.times, bool) or not isinstance(self.times, int | np.integer) or self.times < 1:
            raise InvalidInput(f"times={self.times!r}", "how many reports a person gives: a whole number of at least 1")
        labels = len(self.device.report_labels)
        # Before it is computed: a short number of reports can be a power that no memory holds.
        outcomes = labels ** min(int(self.times), 64) if labels > 1 else 1
        if outcomes > _MOST:
            raise InvalidInput(
                f"{self.times!r:.40} reports out of {labels}: {outcomes:,} outcomes{' or more' * (self.times > 64)}",
                f"at most {_MOST:,}",
                "Ask less often: one report at the level of all of them says more.",
            )
        vars(self).update(times=int(self.times))

    @property
    def classes(self) -> tuple[Label, ...]:  # type: ignore[override]
        return self.device.classes

    @cached_property
    def report_labels(self) -> tuple[Label, ...]:
        each = product(map(str, self.device.report_labels), repeat=self.times)
        labels = tuple(_BETWEEN.join(reports) for reports in each)
        if len(set(labels)) < len(labels):
            raise InvalidInput(f"reports that read alike: {listed(self.device.report_labels)}", "other names for them")
        return labels

    @property
    def _weights(self) -> NDArray[np.int64]:
        """What a report counts for in the code of all: the first is the leading digit."""
        return len(self.device.report_labels) ** np.arange(self.times)[::-1]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The product of the single probabilities, rounded once; what is drawn is one report after the other."""
        table = np.ones((1, len(self.classes)))
        for _ in range(self.times):
            table = (table[:, None, :] * self.device.matrix[None, :, :]).reshape(-1, len(self.classes))
        return exact_counts(table)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The level of all reports together, exactly: the report that tells most can come up every time."""
        together = self.device.guarantee.repeated(self.times)
        # Whoever draws from the rounded table draws from another one: the larger level holds for both.
        return replace(together, epsilon=max(together.epsilon, exact_epsilon(self.counts)), proof=self.proof)

    # -- the respondent's side -----------------------------------------------------------------------

    def _report(self, truth: Any, bits: BitSource) -> NDArray[Any]:
        return self.decode_reports(self.draw(self.prepare(truth).values, bits))

    def draw(self, values: Codes, bits: BitSource) -> Codes:
        """Draw the reports one after the other; a code names all of them."""
        codes = np.zeros(len(values), dtype=np.int64)
        for weight in self._weights.tolist():
            codes += weight * self.device.draw(values, bits).astype(np.int64)
        return codes.astype(code_type(len(self.device.report_labels) ** self.times))

    # -- the learner's side --------------------------------------------------------------------------

    def encode_reports(self, reports: Any, design: Any = None) -> Codes:
        """Turn reports, n x times (or the texts of a file), into row numbers of :attr:`matrix`."""
        refuse_design(design)
        table = reports if hasattr(reports, "dtype") else None
        if table is None and not hasattr(reports, "combine_chunks") and not hasattr(reports, "buffers"):
            table = np.asarray(reports, dtype=object)
        if table is None or np.ndim(table) != 2:
            if self.times == 1 and table is not None and np.ndim(table) == 1:
                return self.device.encode_reports(reports)
            return self.report_alphabet.encode(reports)
        if table.shape[1] != self.times:
            raise InvalidInput(f"reports of shape {table.shape}", f"one row a person, {self.times} reports each")
        codes = self.device.encode_waves(table).astype(np.int64) @ self._weights
        return codes.astype(code_type(len(self.device.report_labels) ** self.times))

    def parameters(self) -> dict[str, Any]:
        return {"device": self.device, "times": self.times}

    def design(self, *elsewhere: str) -> Spec:
        return super().design(*elsewhere) | {"device": self.device.design(*elsewhere)}

    @property
    def short_name(self) -> str:
        return f"Repeated({self.device.short_name}, {self.times})"

    def describe(self) -> str:
        inner = self.device.describe()
        return f"Each person reports {self.times} times, with fresh chance each time: {inner[0].lower()}{inner[1:]}"
