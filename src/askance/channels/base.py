"""What a channel is to the rest of the library.

A *channel* is how the truth was hidden: fixed alphabets, the law by which a report is drawn, and the
privacy which that law really gives. It is a frozen value: printable, comparable, savable as JSON.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.alphabet import Label
from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput

Spec = dict[str, Any]


def refuse_class(channel: Any) -> None:
    """Refuse a class of channels in the place of a channel: it has no parameters, and so no law."""
    if isinstance(channel, type):
        raise InvalidInput(
            f"the class {channel.__name__} as channel",
            f"a channel that was made with it: {channel.__name__}(...)",
            "Its parameters say how the truth was hidden.",
        )


class ReportChannel(Protocol):
    """Any channel as whoever reads its reports sees it."""

    @property
    def guarantee(self) -> Guarantee:
        """The privacy that is really given."""

    def encode_reports(self, reports: Any, design: Any = None) -> NDArray[Any]:
        """Turn reports, as they come or as a file keeps them, into numbers: one row a report."""

    def to_spec(self) -> Spec:
        """A JSON-able description from which the channel can be made again."""

    def describe(self) -> str:
        """How the truth was hidden, in a sentence."""


@runtime_checkable
class LabelChannel(Protocol):
    """A finite channel as the learner sees it: report codes, and one table indexed by them.

    Several designs in one data set look the same from here: their report alphabets are stacked, and a
    row's code names design and report together.
    """

    @property
    def classes(self) -> tuple[Label, ...]:
        """The possible truths."""

    @property
    def matrix(self) -> NDArray[np.float64]:
        """P(report | truth), report codes x classes."""

    @property
    def guarantee(self) -> Guarantee:
        """The privacy that is really given."""

    def encode_reports(self, reports: Any, design: Any = None) -> Codes:
        """Turn reports (and the design that each row was asked under) into row numbers of ``matrix``."""

    def unbiasing_matrix(
        self, report_law: NDArray[np.float64] | None = None, features: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """R with R S = I (or R S = features), of least variance when reports follow ``report_law``."""

    def to_spec(self) -> Spec:
        """A JSON-able description from which the channel can be made again."""

    def describe(self) -> str:
        """How the truth was hidden, in a sentence."""


SpecMapping = Mapping[str, Any]
