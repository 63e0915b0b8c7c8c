"""Finite channels: a column-stochastic matrix S with S[o, k] = P(report o | truth k).

What follows from the matrix alone is here: exact draws, exact privacy, likelihood. Whether it is one, and what makes
reports unbiased, is in ``channel_matrix``. Mechanisms (``randomized_response``, ``surveys``) only say what theirs is.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.alphabet import Alphabet, Label, Labels, as_labels, listed
from askance.channels.channel import Prepared, Truth, refuse_design
from askance.channels.guarantee import Guarantee
from askance.channels.labels.channel_matrix import SAME_LAW, checked_matrix, refuse_indistinguishable, unbiasing_matrix
from askance.channels.labels.unknown import HasUnknowns
from askance.channels.question_channel import QuestionChannel
from askance.channels.report_columns import ReportColumn, label_reports
from askance.entropy.bits import BitSource
from askance.entropy.draws import AliasSampler, BinarySampler, Sampler
from askance.entropy.thresholds import RESOLUTION, exact_counts, exact_epsilon
from askance.errors import InvalidInput


class FiniteLaw(QuestionChannel, HasUnknowns, ABC):
    """Behaviour shared by all finite channels; a subclass is a frozen dataclass of its parameters."""

    hides: ClassVar[Truth] = "labels"
    classes: tuple[Label, ...]

    # -- what a mechanism must say -------------------------------------------------------------------

    @cached_property
    @abstractmethod
    def counts(self) -> NDArray[np.int64]:
        """P(report | truth) in units of 2^-62, reports x classes: what is really drawn from."""

    @property
    def report_labels(self) -> tuple[Label, ...]:
        """The possible reports; the same as the classes unless the mechanism says otherwise."""
        return self.classes

    @property
    def is_listed(self) -> bool:
        """Whether the possible reports are few enough for a table of all of them."""
        return True

    # -- the law -------------------------------------------------------------------------------------

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """P(report | truth), reports x classes, as realised by the integer thresholds."""
        matrix: NDArray[np.float64] = self.counts / RESOLUTION
        matrix.setflags(write=False)
        return matrix

    @cached_property
    def guarantee(self) -> Guarantee:
        """Exact privacy, computed from the thresholds that are drawn from."""
        return Guarantee(epsilon=exact_epsilon(self.counts), proof=self.proof)

    @cached_property
    def _answers(self) -> Alphabet:
        return Alphabet(self.classes, "answer")

    @cached_property
    def report_alphabet(self) -> Alphabet:
        """The possible reports, for turning codes into labels and back."""
        return Alphabet(self.report_labels, "report")

    @property
    def designs(self) -> Mapping[str, "FiniteLaw"]:
        """The designs by name; the only one, which is the channel itself, has none."""
        return {"": self}

    @property
    def short_name(self) -> str:
        """The kind of channel and its numbers, without the classes."""
        name, given = type(self).__name__, self.parameters()
        numbers = {key: value for key, value in given.items() if isinstance(value, int | float)}
        if not numbers:
            return repr(self) if "matrix" in given else name
        return f"{name}({', '.join(f'{key}={value:.4g}' for key, value in numbers.items())})"

    # -- numbers that nobody knows -------------------------------------------------------------------

    def matrix_at(self, psi: Mapping[str, float]) -> Floats:
        return self.matrix

    def with_values(self, psi: Mapping[str, float]) -> Any:
        self.checked_values(psi, every=False)
        return self

    @property
    def as_asked(self) -> "FiniteLaw":
        """The channel that people are asked to follow, which :meth:`privatize` draws from: whatever else they do, they
        do themselves."""
        return self

    # -- the respondent's side -----------------------------------------------------------------------

    def simulate(self, truth: Any, rng: np.random.Generator, psi: Mapping[str, float] | None = None) -> Any:
        """Draw reports reproducibly, for planning and tests; never for real answers.

        Parameters
        ----------
        truth : true answers
        rng : numpy.random.Generator
        psi : mapping from name to number, optional
            The values of the channel's unknown numbers, if it has some.
        """
        values = self.checked_values(psi, every=True)
        return self.with_values(values).simulate(truth, rng) if values else super().simulate(truth, rng)

    def prepare(self, truth: Any) -> Prepared:
        """Return the codes of true answers; refuse what is none."""
        return Prepared(self._answers.encode(truth))

    def draw(self, values: Codes, bits: BitSource) -> Codes:
        """Draw report codes for the codes of true answers."""
        return self.sampler.draw(values, bits)

    def decode_reports(self, codes: Codes) -> NDArray[Any]:
        """Return the labels of report codes."""
        return self.report_alphabet.decode(codes)

    def _report(self, truth: Any, bits: BitSource) -> NDArray[Any]:
        answers: Codes = self.prepare(truth).values
        reports = np.empty(answers.shape[0], dtype=self.report_alphabet.array.dtype)
        for rows, codes in self.sampler.draw_blocks(answers, bits):  # labels are made while codes are in the cache
            self.report_alphabet.decode_into(reports[rows], codes)
        return reports

    @cached_property
    def sampler(self) -> Sampler:
        """Draws report codes for truth codes."""
        counts = self.as_asked.counts
        if len(self.report_labels) == 2:
            return BinarySampler(np.ascontiguousarray(counts[1]))
        return AliasSampler.from_counts(counts, reports=len(self.report_labels))

    # -- studies and releases ------------------------------------------------------------------------

    @property
    def arrow_type(self) -> pa.DataType:
        return self.report_alphabet.arrow_type

    def store(self, codes: Codes) -> pa.Array:
        return self.report_alphabet.to_arrow(codes)

    def declaration(self) -> dict[str, Any]:
        return {"choices": self.classes, "channel": self.design("classes")}

    # -- the learner's side --------------------------------------------------------------------------

    def encode_reports(self, reports: Any, design: Any = None) -> Codes:
        """Turn reports into row numbers of :attr:`matrix`."""
        refuse_design(design)
        return self.report_alphabet.encode(reports)

    def report_columns(self, reports: Any) -> list[ReportColumn]:
        """Return :attr:`matrix` and the row of it that each report is, for whoever enumerates the truth."""
        return [label_reports(self.matrix, self.encode_reports(reports))]

    def likelihood(self, reports: Any) -> NDArray[np.float64]:
        """Return P(report_i | truth k), n x classes."""
        likelihood: NDArray[np.float64] = self.matrix[self.encode_reports(reports)]
        return likelihood

    # -- several reports of one person ---------------------------------------------------------------

    def guarantee_of_waves(self, waves: int) -> Guarantee:
        """Return what so many reports about one answer give away together, each drawn afresh."""
        return self.guarantee.repeated(waves)

    def encode_waves(self, reports: Any) -> Codes:
        """Turn reports, n x waves (or n of a single wave), into row numbers of :attr:`matrix`."""
        table = np.asarray(reports, dtype=None if hasattr(reports, "dtype") else object)
        if table.ndim not in (1, 2) or not table.size:
            raise InvalidInput(f"reports of shape {table.shape}", "one row a person, one column a wave")
        codes = self.encode_reports(table.ravel())
        return codes.reshape(len(table), -1)

    def likelihood_of_waves(self, reports: Any) -> NDArray[np.float64]:
        """Return P(all reports of person i | truth k), n x classes, of reports n x waves about one answer."""
        return np.asarray(np.exp(self._log_likelihood_of_waves(self.encode_waves(reports))))

    def _log_likelihood_of_waves(self, codes: Codes) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.matrix)[codes].sum(axis=1))

    def posterior(self, reports: Any, prior: Any = None) -> NDArray[np.float64]:
        """Return P(truth k | all reports of person i), n x classes.

        Parameters
        ----------
        reports : array, n x waves, or n
            What each person reported: once, or in several waves.
        prior : array, optional
            The probability of each class before; all the same if not given.

        Examples
        --------
        >>> from askance import Warner
        >>> Warner(0.75).posterior([["yes"] * 3, ["yes", "no", "yes"]]).round(3)
        array([[0.036, 0.964],
               [0.25 , 0.75 ]])

        References
        ----------
        [RR] (3): it concentrates exponentially fast in the number of reports that are drawn afresh.
        """
        classes = len(self.classes)
        law = np.full(classes, 1 / classes) if prior is None else np.asarray(prior, dtype=float)
        if law.shape != (classes,) or not (np.isfinite(law).all() and law.min() >= 0 and law.sum() > 0):
            raise InvalidInput(f"prior={prior!r}", f"{classes} probabilities, one for each class")
        with np.errstate(divide="ignore"):
            logs = self._log_likelihood_of_waves(self.encode_waves(reports)) + np.log(law)
        largest = logs.max(axis=1, keepdims=True)
        if np.isinf(largest).any():
            row = int(np.flatnonzero(np.isinf(largest))[0])
            raise InvalidInput(f"reports in row {row} that no truth of the prior can give", "reports of this channel")
        joint = np.exp(logs - largest)
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def unbias(self, reports: Any, report_law: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return b, n x classes, with E[b_i | truth_i] = the indicator of truth_i."""
        unbiased: NDArray[np.float64] = self.unbiasing_matrix(report_law).T[self.encode_reports(reports)]
        return unbiased

    def unbiasing_matrix(
        self, report_law: NDArray[np.float64] | None = None, features: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return R, classes x reports, with R S = I.

        Parameters
        ----------
        report_law : array, optional
            Probability of each report; R then has the least variance of all that unbias:
            R = (S' D^-1 S)^-1 S' D^-1 with D = diag(report_law). The pseudo-inverse otherwise.
        features : array, r x classes, optional
            Ask for R S = features instead, which is possible for some channels that do not determine
            the truth itself.
        """
        return unbiasing_matrix(self.matrix, self.classes, report_law, features)


def refuse_other_classes(designs: Mapping[str, FiniteLaw]) -> None:
    """Refuse designs of which some have other classes than the first."""
    first = next(iter(designs.values()))
    for name, channel in designs.items():
        if channel.classes != first.classes:
            raise InvalidInput(
                f"the design {name!r} has the classes {listed(channel.classes)}",
                f"the same classes in every design, here {listed(first.classes)}",
            )


class FiniteChannel(FiniteLaw):
    """Any channel between finite sets, given by its matrix.

    Two truths may lead to reports of the same law, as under a deterministic map: whether something can be learned about
    each is for the model to say, and one that cannot refuses.

    Parameters
    ----------
    matrix : array, reports x classes
        ``matrix[o, k]`` = P(report o | truth k); every column sums to one.
    classes : sequence of labels
        The possible truths.
    reports : sequence of labels, optional
        The possible reports; the classes if not given.

    Examples
    --------
    >>> from askance import FiniteChannel
    >>> channel = FiniteChannel([[0.8, 0.3], [0.2, 0.7]], classes=["healthy", "ill"])
    >>> channel.unbias(["ill"]).round(2)
    array([[-0.6,  1.6]])
    """

    kind: ClassVar[str] = "finite"
    reports: tuple[Label, ...]
    _given: NDArray[np.float64]  # as it came, so that what is saved makes exactly this channel again

    def __init__(self, matrix: Any, classes: Iterable[Any], reports: Iterable[Any] | None = None) -> None:
        truths = as_labels(classes, "classes")
        possible = truths if reports is None else as_labels(reports, "reports")
        given = checked_matrix(matrix, len(truths), len(possible))
        if np.abs(given - given[:, :1]).max() < SAME_LAW:
            refuse_indistinguishable(given, truths)
        vars(self).update(classes=truths, reports=possible, _given=given)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        return exact_counts(self._given / self._given.sum(axis=0))

    @property
    def report_labels(self) -> tuple[Label, ...]:
        return self.reports

    def parameters(self) -> dict[str, Any]:
        reports = None if self.reports == self.classes else self.reports
        return {"matrix": self._given.tolist(), "classes": self.classes, "reports": reports}

    def __repr__(self) -> str:
        labels = f"classes=({listed(self.classes)})"
        if self.reports != self.classes:
            labels += f", reports=({listed(self.reports)})"
        if self.matrix.size <= 16:
            return f"FiniteChannel({self._given.tolist()}, {labels})"
        return f"FiniteChannel(<{self.matrix.shape[0]} x {self.matrix.shape[1]} matrix>, {labels})"

    def describe(self) -> str:
        return (
            f"Each of {len(self.classes)} true answers leads to one of {len(self.report_labels)} reports "
            "with the probabilities of a published table."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Identity(FiniteLaw):
    """The truth as it is: a directly asked question. It gives no privacy, and says so.

    Examples
    --------
    >>> from askance import Identity
    >>> Identity(["no", "yes"]).guarantee.epsilon
    inf
    """

    classes: tuple[Label, ...] = ("no", "yes")

    kind: ClassVar[str] = "identity"

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, classes: Labels = ("no", "yes")) -> None: ...

    def __post_init__(self) -> None:
        vars(self).update(classes=as_labels(self.classes, "classes"))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        return exact_counts(np.eye(len(self.classes)))

    def describe(self) -> str:
        return "The true answer is reported as it is."
