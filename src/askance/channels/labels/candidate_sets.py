"""Partial labels: a report is a set of candidates, of which the truth is one.

How the others come into the set decides what it says. Known: ``size`` - all sets of that size with the truth in them
are equally likely; ``inclusion`` - every other class j joins by itself with a known probability, which may depend on
the truth. Assumed: neither is given, and all sets with the truth in them are taken to be equally likely. The likelihood
of a set o is then the same for all truths in it and 0 for others, which is right for every selection that does not look
at which of the candidates is the truth.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Flags, Floats
from askance.channels.alphabet import Label, Labels, as_labels, listed
from askance.channels.channel import refuse_design
from askance.channels.guarantee import Guarantee
from askance.channels.labels.channel_matrix import unbiasing_matrix, wanted_features
from askance.channels.labels.finite import FiniteLaw
from askance.entropy.draws import code_type
from askance.entropy.thresholds import exact_counts
from askance.errors import InvalidInput, Unidentifiable

_MOST = 1 << 16  # sets that are listed: of 16 classes all, in a table of eight megabytes
_BETWEEN = "|"  # the candidates of a set as one text, in a file


@dataclass(frozen=True, eq=False, repr=False)
class CandidateSets(FiniteLaw):
    """Report a set of candidates with the truth among them.

    Sets are reported as texts such as "cat|dog"; lists of labels, and tables of zeros and ones, n x classes, are read
    as well.

    Parameters
    ----------
    classes : sequence of labels
    size : int, optional
        Known selection: the set has so many candidates, and all such sets with the truth in them are equally likely.
    inclusion : number or array, classes x classes, optional
        Known selection: ``inclusion[j, k]`` is the probability that class j joins the set when the truth is k; each
        joins by itself. A number is the same for all.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import CandidateSets
    >>> channel = CandidateSets(["cat", "dog", "owl", "hen"], size=2)
    >>> channel.simulate(["cat", "owl"], np.random.default_rng(0)).tolist()
    ['cat|hen', 'owl|hen']
    >>> channel.unbias([("cat", "dog")]).round(2)
    array([[ 1. ,  1. , -0.5, -0.5]])
    """

    classes: tuple[Label, ...]
    size: int | None = None
    inclusion: Any = None

    kind: ClassVar[str] = "candidate-sets"

    if TYPE_CHECKING:  # any sequence of labels will do; what is kept is a tuple

        def __init__(self, classes: Labels, size: int | None = None, inclusion: Any = None) -> None: ...

    def __post_init__(self) -> None:
        classes = as_labels(self.classes, "classes")
        vars(self).update(classes=classes)
        if self.size is not None and self.inclusion is not None:
            raise InvalidInput("both size and inclusion", "one of them, or neither")
        if self.size is not None:
            whole = isinstance(self.size, int | np.integer) and not isinstance(self.size, bool)
            if not whole or not 1 <= self.size < len(classes):
                raise InvalidInput(
                    f"size={self.size!r}", f"from 1 to {len(classes) - 1}: a set of all classes would say nothing"
                )
            vars(self).update(size=int(self.size))
        if self.inclusion is not None:
            vars(self).update(inclusion=_checked_inclusion(self.inclusion, len(classes)))

    # -- the law -------------------------------------------------------------------------------------

    @cached_property
    def _joins(self) -> Floats:
        """P(class j is in the set | truth k), where each joins by itself."""
        given = np.array(self.inclusion, dtype=float)
        joins = np.full((len(self.classes),) * 2, given) if given.ndim == 0 else given.copy()
        np.fill_diagonal(joins, 1.0)
        return joins

    @property
    def _how_many(self) -> int:
        count = len(self.classes)
        # Where the selection is assumed, the set of all is none: it says nothing, and rows with it can be left out.
        return math.comb(count, self.size) if self.size else 2**count - 1 - (self.inclusion is None)

    @property
    def is_listed(self) -> bool:
        """Whether the possible sets are few enough for a table of all of them."""
        return self._how_many <= _MOST and len(self.classes) <= 62  # a set is then a number of 62 bits, too

    @cached_property
    def _sets(self) -> Flags:
        """Every possible set, sets x classes."""
        count, many = len(self.classes), self._how_many
        if not self.is_listed:
            raise InvalidInput(
                f"{many:,} possible sets of {count} classes, all of which are asked for",
                f"at most {_MOST:,}, such as those of 16 classes",
                "Models learn from more (IndirectModel.fit): such sets are read, but neither drawn nor put into files.",
            )
        if self.size:
            chosen = np.zeros((many, count), dtype=bool)
            for row, members in enumerate(combinations(range(count), self.size)):
                chosen[row, list(members)] = True
            return chosen[np.argsort(self._masks(chosen))]
        return (np.arange(1, many + 1)[:, None] >> np.arange(count) & 1).astype(bool)

    def _masks(self, sets: Flags) -> NDArray[np.int64]:
        masks: NDArray[np.int64] = sets @ (1 << np.arange(len(self.classes), dtype=np.int64))
        return masks

    def _log_law(self, sets: Flags) -> Floats:
        """log P(set | truth), sets x classes."""
        count = len(self.classes)
        with np.errstate(divide="ignore"):
            inside = np.where(sets, 0.0, -np.inf)
            if self.size is not None:
                return np.asarray(inside - math.log(math.comb(count - 1, self.size - 1)))
            if self.inclusion is None:
                most = -math.log(2.0 ** (count - 1) - 1) if count < 1000 else -(count - 1) * math.log(2)
                return np.asarray(most + inside)
            joins = self._joins
            # 0 * log(0) does not count: log(0) becomes a number that is as good as minus infinity.
            yes, no = np.maximum(np.log(joins), -1e300), np.maximum(np.log1p(-joins), -1e300)
            np.fill_diagonal(no, 0.0)
            logs = sets @ yes + ~sets @ no + inside
            return np.where(logs < -1e290, -np.inf, logs)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        law = np.exp(self._log_law(self._sets))
        return exact_counts(law / law.sum(axis=0))

    @cached_property
    def guarantee(self) -> Guarantee:
        """None: a set without a class says that this is not the truth."""
        return Guarantee(math.inf, proof=self.proof)

    @cached_property
    def report_labels(self) -> tuple[Label, ...]:
        names = [str(label) for label in self.classes]
        if len(set(names)) < len(names) or any(_BETWEEN in name for name in names):
            raise InvalidInput(
                f"the classes {listed(self.classes)}", f"classes that differ as texts, without {_BETWEEN!r}"
            )
        return tuple(_BETWEEN.join(names[k] for k in np.flatnonzero(members)) for members in self._sets)

    # -- reports -------------------------------------------------------------------------------------

    def as_sets(self, reports: Any) -> Flags:
        """Check sets, however they come, and return them as n x classes truth values."""
        count = len(self.classes)
        if isinstance(reports, np.ndarray) and reports.ndim == 2 and reports.dtype.kind in "biuf":
            if reports.shape[1] != count or not np.isin(reports, (0, 1)).all():
                raise InvalidInput(f"a table of sets of shape {reports.shape}", f"zeros and ones of shape (n, {count})")
            sets = reports.astype(bool)
        else:
            sets = self._read(reports)
        if not sets.any(axis=1).all():
            raise InvalidInput(f"an empty set in row {int(np.argmin(sets.any(axis=1))) + 1}", "at least one candidate")
        if not self._selection_is_known and sets.all(axis=1).any():
            row = int(np.argmax(sets.all(axis=1)))
            raise InvalidInput(
                f"a set of all classes in row {row + 1}", "sets that leave out some class", "Leave such rows out."
            )
        if self.size is not None and (sets.sum(axis=1) != self.size).any():
            row = int(np.argmax(sets.sum(axis=1) != self.size))
            raise InvalidInput(
                f"a set of {int(sets[row].sum())} candidates in row {row + 1}",
                f"sets of {self.size}",
                "Leave size out: sets of any size are then read.",
            )
        return sets

    def _read(self, reports: Any) -> Flags:
        place = {label: number for number, label in enumerate(self.classes)}
        by_text = {str(label): number for label, number in place.items()}
        known: dict[Any, Flags] = {}
        rows = reports.to_pylist() if hasattr(reports, "to_pylist") else reports
        if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
            raise InvalidInput(f"{reports!r} in place of sets", "a list of sets, such as [('cat', 'dog'), ('owl',)]")
        found = []
        for number, members in enumerate(rows):
            key = members if isinstance(members, str | tuple) else None
            if key is None or key not in known:
                known[key] = self._one_set(members, place, by_text, number)
            found.append(known[key])
        return np.array(found, dtype=bool).reshape(-1, len(self.classes))

    def _one_set(self, members: Any, place: dict[Any, int], by_text: dict[str, int], row: int) -> Flags:
        if isinstance(members, str):
            lookup: dict[Any, int] = by_text
            names: list[Any] = [members] if members in by_text else members.split(_BETWEEN)
        else:
            lookup, names = place, list(members) if isinstance(members, Iterable) else [members]
        inside = np.zeros(len(self.classes), dtype=bool)
        for name in names:
            plain = name.item() if isinstance(name, np.generic) else name
            if not isinstance(plain, str | int | float | bool) or plain not in lookup:
                raise InvalidInput(f"the candidate {plain!r} in row {row + 1}", f"some of {listed(self.classes)}")
            inside[lookup[plain]] = True
        return inside

    def encode_reports(self, reports: Any, design: Any = None) -> Codes:
        """Turn sets into row numbers of :attr:`matrix`."""
        refuse_design(design)
        try:
            if not _are_texts(reports):
                return self._set_codes(self.as_sets(reports))
            return self.report_alphabet.encode(reports)
        except InvalidInput as problem:
            if not _are_texts(reports):
                raise
            try:  # the same candidates, in another order
                return self._set_codes(self.as_sets(reports))
            except InvalidInput:
                raise problem from None

    def _set_codes(self, sets: Flags) -> Codes:
        masks = self._masks(self._sets)
        return np.searchsorted(masks, self._masks(sets)).astype(code_type(len(masks)))

    def likelihood(self, reports: Any) -> NDArray[np.float64]:
        """Return P(set_i | truth k), n x classes; for any number of classes."""
        return super().likelihood(reports) if self.is_listed else np.exp(self._log_law(self.as_sets(reports)))

    def unbias(self, reports: Any, report_law: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return b, n x classes, with E[b_i | truth_i] = the indicator of truth_i; for any number of classes."""
        if self.is_listed and self._selection_is_known:
            return super().unbias(reports, report_law)
        return self._unbiased(self.as_sets(reports))

    @property
    def is_assumed(self) -> bool:
        """Whether the law is assumed as far as it matters to a fit: reports that it does not allow prove nothing."""
        return not self._selection_is_known

    @property
    def _selection_is_known(self) -> bool:
        return self.size is not None or self.inclusion is not None

    def _unbiased(self, sets: Flags) -> Floats:
        if self.inclusion is not None:
            joins = self._joins
            if np.linalg.matrix_rank(joins) < len(joins):
                raise Unidentifiable(
                    "classes that join sets in the same way whatever the truth",
                    "an inclusion matrix with independent columns",
                    "Fit by method='marginal'.",
                )
            return np.asarray(np.linalg.solve(joins, sets.T.astype(float)).T)
        others = (sets.sum(axis=1, keepdims=True) - 1) / (len(self.classes) - 1)
        return np.asarray((sets - others) / (1 - others))

    def unbiasing_matrix(
        self, report_law: NDArray[np.float64] | None = None, features: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return R, classes x sets, with R S = I.

        Where the selection is assumed, R looks at each set's own size, so that sizes may have any law.
        """
        if not self._selection_is_known:
            return np.asarray(wanted_features(features, self.classes) @ self._unbiased(self._sets).T)
        return unbiasing_matrix(self.matrix, self.classes, report_law, features)

    def parameters(self) -> dict[str, Any]:
        return {"classes": self.classes, "size": self.size, "inclusion": self.inclusion}

    def describe(self) -> str:
        if self.size is not None:
            how = f"the set has {self.size} candidates, and all such sets are equally likely."
        elif self.inclusion is not None:
            how = "every other class joins the set by itself, with a known probability."
        else:
            how = "which others are in the set is assumed to have nothing to do with which of them is the truth."
        return f"A set of candidates is reported, of which the true answer is one; {how}"


def _are_texts(reports: Any) -> bool:
    """Whether reports are a column of texts, some of which may be missing."""
    if hasattr(reports, "to_pylist"):
        return True
    if isinstance(reports, np.ndarray):
        return reports.ndim == 1 and (reports.dtype.kind == "U" or all(_is_text(one) for one in reports))
    return isinstance(reports, list | tuple) and all(_is_text(one) for one in reports)


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _checked_inclusion(inclusion: Any, classes: int) -> Any:
    try:
        given = np.array(inclusion, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"inclusion={inclusion!r}", "a probability, or one for each pair of classes") from None
    if given.shape not in ((), (classes, classes)):
        raise InvalidInput(
            f"inclusion of shape {given.shape}", f"a number, or shape ({classes}, {classes}): joining class x truth"
        )
    off = given if given.ndim == 0 else given[~np.eye(classes, dtype=bool)]
    if not np.all((off >= 0) & (off <= 1)) or np.all(off == 1):
        raise InvalidInput(
            "inclusion with numbers outside [0, 1], or 1 everywhere", "probabilities, some of them below 1"
        )
    return float(given) if given.ndim == 0 else tuple(tuple(row) for row in given.tolist())
