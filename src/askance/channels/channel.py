"""One person's truth becomes a report: checked and clipped once, at the door, then drawn, then shown.

    privatize, simulate  =  prepare  ->  draw  ->  decode_reports

``prepare`` looks at everything that comes from outside. What it returns is trusted: nothing is checked twice. Whoever
keeps reports rather than showing them takes what ``draw`` returns: codes, or numbers with noise.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from askance.channels.guarantee import Guarantee
from askance.channels.value import ChannelValue
from askance.entropy.bits import BitSource, GeneratorBits, system_bits
from askance.errors import AskanceWarning, InvalidInput
from askance.frames import like

Truth = Literal["labels", "numbers", "attributes", "records", "sequences"]


class Prepared(NamedTuple):
    """Truths that a channel can draw reports for.

    Parameters
    ----------
    values : what :meth:`Channel.draw` takes
        Codes of answers and states, numbers inside their public bounds.
    clipped : mapping from column to number
        How many values lay outside their public bounds; under "" where columns have no names.
    shortened : int
        How many rows were longer than a public radius.
    """

    values: Any
    clipped: Mapping[str, int] = {}
    shortened: int = 0


class Channel(ChannelValue, ABC):
    """A channel that draws a report for each truth; a subclass is a frozen dataclass of its parameters."""

    hides: ClassVar[Truth]  # what a truth is: the answer to "which kind of channel is this?"
    needs_design: ClassVar[bool] = False  # whether each row must say under which design it was asked

    # -- what a channel must say ---------------------------------------------------------------------

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The privacy that is really given."""

    @abstractmethod
    def describe(self) -> str:
        """How the truth was hidden, in a sentence."""

    @abstractmethod
    def prepare(self, truth: Any) -> Prepared:
        """Check truths and bring them inside their public bounds; refuse what cannot be hidden."""

    @abstractmethod
    def draw(self, values: Any, bits: BitSource) -> Any:
        """Draw a report for each prepared value, as :meth:`encode_reports` would return it."""

    @abstractmethod
    def encode_reports(self, reports: Any, design: Any = None) -> Any:
        """Check reports, or unpack those of a file: codes where there are finitely many, else numbers."""

    def decode_reports(self, codes: Any) -> Any:
        """Return reports as people read them; the codes themselves where these are the reports."""
        return codes

    # -- the respondent's side -----------------------------------------------------------------------

    def privatize(self, truth: Any) -> Any:
        """Draw a report for each truth, with the operating system's entropy. There is no seed.

        A column or table of pandas, polars or Arrow is answered with one, which keeps its index.
        """
        return self._like(truth, self._report(truth, system_bits()))

    def simulate(self, truth: Any, rng: np.random.Generator) -> Any:
        """Draw reports reproducibly, for planning and tests; never for real answers."""
        return self._like(truth, self._report(truth, GeneratorBits(rng)))

    def _like(self, truth: Any, reports: Any) -> Any:
        """Return reports as the truth came; here a column of reports is about the column of the truth in its place."""
        return like(truth, reports)

    def _report(self, truth: Any, bits: BitSource) -> Any:
        prepared = self.prepare(truth)
        if prepared.clipped:
            warnings.warn(self._clipped_in_words(prepared.clipped), AskanceWarning, stacklevel=3)
        return self.decode_reports(self.draw(prepared.values, bits))

    def _clipped_in_words(self, clipped: Mapping[str, int]) -> str:
        return f"{sum(clipped.values())} values outside their public bounds were clipped before they were hidden"

    # -- the learner's side --------------------------------------------------------------------------

    def guarantee_of(self, attributes: int) -> Guarantee:
        """Return the guarantee of records with so many attributes, for a channel that leaves their number open."""
        return self.guarantee


def refuse_design(design: Any) -> None:
    """Refuse designs of rows, with a channel that has one design only."""
    if design is not None:
        raise InvalidInput(
            "a design for each row, with a channel that has one design only",
            "design=None",
            "Describe all designs with DesignPerRow({'name': channel, ...}).",
        )
