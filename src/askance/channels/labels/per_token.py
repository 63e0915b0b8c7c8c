"""Sequences that are hidden token by token: every label of a sentence becomes a report of its own.

Tokens are hidden independently, so the likelihood of a sentence is a product over tokens, and products of unbiased
estimates of two different tokens are unbiased for the pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.channels.channel import Prepared, Truth, refuse_design
from askance.channels.guarantee import ONE_TOKEN, Guarantee, each_alone
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteLaw
from askance.channels.question_channel import QuestionChannel
from askance.channels.sequences import Sequences
from askance.entropy.bits import BitSource, GeneratorBits, system_bits
from askance.errors import InvalidInput
from askance.frames import like, refuse_other_rows


@dataclass(frozen=True, eq=False, repr=False)
class PerToken(QuestionChannel):
    """Hide the labels of a sequence one by one.

    Its level is that of one token. A sentence of m tokens loses m times as much: :meth:`guarantee_of` says how much,
    and so does every model that is fitted to sentences.

    Parameters
    ----------
    device : finite channel or DesignPerRow
        How each label becomes a report. With several designs, a sentence has one for all its tokens.

    Examples
    --------
    >>> from askance import PerToken, RandomizedResponse
    >>> channel = PerToken(RandomizedResponse(["noun", "verb", "other"], epsilon=2.0))
    >>> print(channel.guarantee)
    epsilon 2, protects the label of one token (two sentences whose labels differ in one token)
    >>> print(channel.guarantee_of(12))
    epsilon 24, protects all labels of a sentence of 12 tokens, each alone 2 (any two labellings of one sentence)
    >>> [len(reports) for reports in channel.privatize([["noun", "verb"], ["other"]])]
    [2, 1]
    """

    device: Any

    hides: ClassVar[Truth] = "sequences"
    kind: ClassVar[str] = "per-token"

    def __post_init__(self) -> None:
        if not isinstance(self.device, FiniteLaw | DesignPerRow):
            raise InvalidInput(
                f"device={self.device!r}", "a finite channel, such as RandomizedResponse(tags, epsilon=2.0)"
            )
        vars(self).update(needs_design=self.device.needs_design)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The possible labels of a token."""
        labels: tuple[Label, ...] = self.device.classes
        return labels

    @property
    def report_labels(self) -> tuple[Label, ...]:
        """The possible reports about a token."""
        labels: tuple[Label, ...] = self.device.report_labels
        return labels

    # -- privacy -------------------------------------------------------------------------------------

    @cached_property
    def guarantee(self) -> Guarantee:
        """What a single token gives away."""
        protects, neighbours = "the label of one token", f"two sentences whose labels {ONE_TOKEN}"
        of_one: Guarantee = self.device.guarantee
        return replace(of_one, protects=protects, neighbours=neighbours, proof=self.proof)

    def guarantee_of(self, attributes: int) -> Guarantee:
        """Return what a whole sentence of so many tokens gives away: their levels add up."""
        if isinstance(attributes, bool) or not isinstance(attributes, int | np.integer) or attributes < 1:
            raise InvalidInput(f"a sentence of {attributes!r} tokens", "a whole number of at least 1")
        level, tokens = self.device.guarantee.epsilon, int(attributes)
        alone = each_alone((level,)) if tokens > 1 else ""
        return Guarantee(
            epsilon=tokens * level,
            delta=min(1.0, tokens * self.device.guarantee.delta),
            protects=f"all labels of a sentence of {tokens} token{'s' * (tokens > 1)}{alone}",
            neighbours="any two labellings of one sentence",
            proof=self.proof,
        )

    # -- the respondent's side -----------------------------------------------------------------------

    def prepare(self, truth: Any, design: Any = None) -> Prepared:
        """Return the codes of true labels; refuse what is none."""
        refuse_other_rows(truth=truth, design=design)
        rows = Sequences.of(truth, "labels")
        if self.needs_design:
            return Prepared(rows.with_flat(self.device.prepare(rows.flat, self._of_tokens(rows, design)).values))
        refuse_design(design)
        return Prepared(rows.with_flat(self.device.prepare(rows.flat).values))

    def draw(self, values: Sequences, bits: BitSource) -> Sequences:
        """Draw a report code for each token."""
        return values.with_flat(self.device.draw(values.flat, bits))

    def decode_reports(self, codes: Sequences) -> NDArray[np.object_]:
        """Return the labels of report codes: an array with a list for each sentence."""
        shown = np.empty(len(codes), dtype=object)
        shown[:] = codes.with_flat(self.device.decode_reports(codes.flat)).lists()
        return shown

    def privatize(self, truth: Any, design: Any = None) -> Any:
        """Draw reports for the labels of each sentence, with the operating system's entropy. There is no seed."""
        return like(truth, self.decode_reports(self.draw(self.prepare(truth, design).values, system_bits())))

    def simulate(self, truth: Any, rng: np.random.Generator, design: Any = None) -> Any:
        """Draw reports reproducibly, for planning and tests; never for real labels."""
        bits = GeneratorBits(rng)
        return like(truth, self.decode_reports(self.draw(self.prepare(truth, design).values, bits)))

    # -- the learner's side --------------------------------------------------------------------------

    def encode_reports(self, reports: Any, design: Any = None) -> Sequences:
        """Turn lists of reports (and the design of each sentence) into codes of the device's reports."""
        refuse_other_rows(reports=reports, design=design)
        rows = Sequences.of(reports, "reports")
        if self.needs_design:
            return rows.with_flat(self.device.encode_reports(rows.flat, self._of_tokens(rows, design)))
        refuse_design(design)
        return rows.with_flat(self.device.encode_reports(rows.flat))

    def likelihood(self, reports: Any, design: Any = None) -> Floats:
        """Return P(report of token t | label k) of all tokens, one sentence after the other: tokens x classes."""
        likelihood: Floats = self.device.matrix[self.encode_reports(reports, design).flat]
        return likelihood

    def unbias(self, reports: Any, design: Any = None) -> Floats:
        """Return b, tokens x classes, with E[b_t | label of t] = the indicator of that label."""
        unbiased: Floats = self.device.unbiasing_matrix().T[self.encode_reports(reports, design).flat]
        return unbiased

    def _of_tokens(self, rows: Sequences, design: Any) -> Any:
        return None if design is None else rows.repeated(design)

    # -- studies and releases ------------------------------------------------------------------------

    @property
    def designs(self) -> Any:
        """The designs by name."""
        return self.device.designs

    @property
    def arrow_type(self) -> pa.DataType:
        kind = self.device.arrow_type
        return pa.list_(kind.value_type if pa.types.is_dictionary(kind) else kind)

    def store(self, codes: Sequences) -> pa.Array:
        kept = self.device.store(codes.flat)
        plain = kept.dictionary_decode() if pa.types.is_dictionary(kept.type) else kept
        return pa.ListArray.from_arrays(pa.array(codes.starts, pa.int32()), plain)

    def declaration(self) -> dict[str, Any]:
        declared: dict[str, Any] = self.device.declaration()
        return {"sequence": True} | declared

    def for_columns(self, columns: Sequence[str]) -> Any:
        raise InvalidInput(f"the columns {', '.join(map(repr, columns))}", "one column with a list of labels a row")

    def describe(self) -> str:
        inner = self.device.describe()
        return f"The labels of a sequence are hidden one by one: {inner[0].lower()}{inner[1:]}"
