"""The mean operator of private labels, released with noise: what a label holder hands to who holds the features."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

import askance
from askance.arrays import Codes
from askance.channels.alphabet import Alphabet, Label, as_labels
from askance.channels.guarantee import Guarantee, proof_page
from askance.entropy.bits import BitSource, GeneratorBits
from askance.errors import AskanceWarning, InvalidInput
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.budget import Budget, Number
from askance.mechanisms.ledger import Ledger
from askance.mechanisms.sums.label_sums import LabelSums, sum_by_label
from askance.mechanisms.sums.mean_operator_mechanisms import SumMechanism, choose_sum_mechanism
from askance.releases.counts_facts import read_exact_level
from askance.releases.json_release import JsonRelease
from askance.releases.labels_told import refuse_named_label, refuse_telling_columns, refuse_telling_identifiers
from askance.releases.mean_operator import MeanOperator
from askance.releases.mean_operator_facts import (
    check_on_grid,
    norms_of,
    read_covariance,
    read_sums,
    told_sums,
)
from askance.releases.paid_release import paid_release
from askance.tables.digest import FeatureDigest
from askance.tables.identifiers import Identifiers

UNKEYED = (
    "this release was written by askance 0.1.0, and holds a plain SHA-256 of every feature column: whoever gets it can "
    "test guesses about the features, without the identifiers. Keep it between those who hold the features, or make it "
    "anew."
)
NEIGHBOURS = "data sets that differ in one label; features and the number of people are public"

Mechanism = Literal["auto", "laplace", "knorm", "gaussian", "response"]


@dataclass(frozen=True, eq=False)
class MeanOperatorRelease(JsonRelease):
    """A mean operator that may be handed on, and all that is known about it.

    Parameters
    ----------
    operator : MeanOperator
        Its values, with the variance of their noise. The first is that of the intercept, if there is one.
    guarantee : Guarantee
    mechanism : str
    how_known : str
        Why the guarantee holds.
    intercept : bool
    columns : tuple of str
        The names of the features, without the intercept.
    step : float
        The features were rounded to multiples of this public number.
    norms : mapping
        The largest 1-norm and 2-norm of a row, the intercept's one included.
    predicted : mapping
        The total squared error of each mechanism that was looked at, from public numbers only.
    features : FeatureDigest, optional
        Which features it belongs to.
    public : mapping, optional
        The level that was asked for, and exact numbers about the sums, from which a reader recomputes the rest. Askance
        0.1.0 did not write them down.
    askance : str
        The version that made it.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> X, y = np.linspace(-1, 1, 100)[:, None], np.repeat([-1, 1], 50)
    >>> release = ask.release_mean_operator(X, y, epsilon=1.0, columns=["age"])
    >>> release.columns, release.operator.rows, release.guarantee.epsilon
    (('age',), 100, 1.0)
    """

    FORMAT = "askance-mean-operator"
    VERSION = 2
    WHAT = "the release of a mean operator"
    FOR = "A mean operator is for MeanOperatorClassifier."

    operator: MeanOperator
    guarantee: Guarantee
    mechanism: str
    how_known: str
    intercept: bool
    columns: tuple[str, ...]
    step: float
    norms: Mapping[str, float]
    predicted: Mapping[str, float]
    features: FeatureDigest | None = None
    public: Mapping[str, Any] | None = None
    askance: str = askance.__version__

    def __post_init__(self) -> None:
        if self.mechanism in get_args(Mechanism):  # derived, also of what an earlier version wrote: no file says it
            proof = proof_page(f"mean-operator-{self.mechanism}")
            vars(self).update(guarantee=replace(self.guarantee, proof=proof))

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels that people may have."""
        return self.operator.classes

    def check_features(self, ids: Any, columns: Sequence[str], features: NDArray[Any]) -> None:
        """Refuse features that are not those the labels were added up with."""
        if self.features is None:
            raise InvalidInput(
                "a release without a digest of its features", "one that was made with row identifiers (ids=...)"
            )
        difference = self.features.difference(self.features.again(ids, columns, features))
        if difference:
            raise InvalidInput(
                f"these are not the features that the labels were added up with: {difference}",
                "the same people, columns and values on both sides",
            )

    def restated(self) -> dict[str, Any]:
        """Return all that there is to say, JSON-able, but the digest of it."""
        covariance = self.operator.noise_covariance
        return {
            "format": self.FORMAT,
            "version": 1 if self.public is None else self.VERSION,
            "askance": self.askance,
            "values": self.operator.values.tolist(),
            "noise_variance": self.operator.noise_variance.tolist(),
            "noise_covariance": None if _is_diagonal(covariance) else covariance.tolist(),
            "classes": list(self.operator.classes),
            "rows": self.operator.rows,
            "intercept": self.intercept,
            "columns": list(self.columns),
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "how_known": self.how_known,
            "step": self.step,
            "norms": dict(self.norms),
            "predicted": dict(self.predicted),
            "features": None if self.features is None else self.features.to_dict(),
            **(self.public or {}),
        }

    @classmethod
    def from_facts(cls, fields: Mapping[str, Any]) -> Self:
        """Read what :meth:`restated` returned; noise, norms, expected errors and the guarantee are recomputed."""
        checked = read_sums(fields)
        operator = MeanOperator(
            fields["values"],
            as_labels(fields["classes"], "classes"),
            checked.sums.rows,
            noise_covariance=read_covariance(fields, checked),
        )
        columns = tuple(map(str, fields["columns"]))
        if operator.width != len(columns) + fields["intercept"]:
            raise InvalidInput(f"{operator.width} values for {len(columns)} columns", "as many, and the intercept's")
        earlier = fields["version"] == 1
        if not earlier:
            check_on_grid(operator.values, checked)
        features = None if fields["features"] is None else FeatureDigest.from_dict(fields["features"])
        if features is not None and not features.is_keyed:
            if not earlier:
                raise InvalidInput("a digest of features without a key", "one that is keyed by the row identifiers")
            warnings.warn(UNKEYED, AskanceWarning, stacklevel=2)
        if features is not None and not features.is_of(checked.sums.rows, columns):
            raise InvalidInput("a digest of other features", "one of the rows and columns of the release")
        return cls(
            operator=operator,
            guarantee=_guarantee(checked.mechanism),
            mechanism=checked.mechanism.name,
            how_known=checked.mechanism.how_known,
            intercept=fields["intercept"],
            columns=columns,
            step=checked.sums.step,
            norms=norms_of(checked.sums),
            predicted=checked.predicted,
            features=features,
            public=None if earlier else told_sums(checked.sums, read_exact_level(fields["asked"])),
            askance=str(fields["askance"]),
        )

    def __str__(self) -> str:
        return (
            f"mean operator of {self.operator.rows:,} labels, {len(self.columns)} features"
            f"{' and an intercept' * self.intercept}\n{self.mechanism}: {self.guarantee}\n{self.how_known}"
        )


def release_mean_operator(
    X: Any,
    y: Any,
    epsilon: Number,
    delta: Number = 0,
    mechanism: Mechanism = "auto",
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    classes: Sequence[Any] | None = None,
    fit_intercept: bool = True,
    columns: Sequence[str] | None = None,
    ids: Any = None,
    public_columns: Sequence[str] = (),
) -> MeanOperatorRelease:
    """Release (1/m) sum y_i x_i with noise, so that nobody's label can be told from it.

    Two data sets are neighbours if they differ in one label; the features X and the number of people are public. One
    label moves the sum by 2 x_i at most, so the noise is calibrated to the largest norm of a row. Noise is drawn from
    the operating system's entropy; there is no seed.

    Parameters
    ----------
    X : array, m x d
        Public features. Their scale matters: noise is the same for all of them. Bring them to a common scale first, by
        public numbers.
    y : array, m
        Private labels.
    epsilon, delta : number
        The level of privacy. A positive delta is for Gaussian noise.
    mechanism : {"auto", "laplace", "knorm", "gaussian", "response"}
        Laplace noise for the 1-norm, noise of uniform direction for the 2-norm, Gaussian noise for the 2-norm, or
        randomised response of every label. "auto" takes the one of least total squared error, which follows from public
        numbers; see ``predicted`` of the release.
    ledger : Ledger or path, optional
        The budget to spend from. It is spent before any noise is drawn, and stays spent whatever happens afterwards.
        With ``ids`` it is spent by these people, else by everybody.
    classes : sequence of labels, optional
        The labels that people may have, in order; (-1, 1) if not given. Never taken from the data, which are private.
    fit_intercept : bool
        Whether to release the mean label too, as if the first feature were 1 for everybody.
    columns : sequence of str, optional
        The names of the features.
    ids : array, m, optional
        Who the rows are: whole numbers or text. The release then holds a digest of ids and features,
        keyed by the ids.
    public_columns : sequence of str, optional
        Features that everybody may know although they tell nearly every label. Others that do are refused: as a rule
        these are the labels themselves, under another name.

    Returns
    -------
    MeanOperatorRelease

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> X = np.linspace(-1, 1, 1000)[:, None]
    >>> y = np.where(X[:, 0] > 0, 1, -1)
    >>> release = ask.release_mean_operator(X, y, epsilon=1.0)
    >>> bool(abs(release.operator.values[1] - 0.5) < 0.2)
    True
    >>> print(release.guarantee)  # doctest: +ELLIPSIS
    epsilon 1, protects one person's label (data sets that differ in one label; ...)

    References
    ----------
    Patrini, Nielsen & Nock, [MO], algorithm 2 and theorem 9 (for the 1-norm); Hardt & Talwar (2010) for the 2-norm.
    """
    task = _Task.checked(X, y, epsilon, delta, mechanism, classes, fit_intercept, columns, ids, public_columns)
    return paid_release(task, ledger)


def simulate_mean_operator_release(
    X: Any,
    y: Any,
    epsilon: Number,
    delta: Number = 0,
    mechanism: Mechanism = "auto",
    *,
    rng: np.random.Generator,
    **options: Any,
) -> MeanOperatorRelease:
    """Do as :func:`release_mean_operator` does, reproducibly: for planning and tests, never for real labels.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.ones((4, 1)), [1, 1, -1, 1]
    >>> simulate_mean_operator_release(X, y, 1.0, mechanism="laplace", rng=np.random.default_rng(0)).mechanism
    'laplace'
    """
    defaults = {"classes": None, "fit_intercept": True, "columns": None, "ids": None, "public_columns": ()}
    return _Task.checked(X, y, epsilon, delta, mechanism, **(defaults | options)).release(GeneratorBits(rng))


@dataclass(frozen=True, eq=False)
class _Task:
    """A release that is fully checked and decided, and not yet drawn."""

    features: NDArray[Any]
    codes: Codes
    classes: tuple[Label, ...]
    sums: LabelSums
    asked: Budget
    mechanism: SumMechanism
    predicted: dict[str, float]
    intercept: bool
    columns: tuple[str, ...]
    digest: FeatureDigest | None
    people: Any

    @classmethod
    def checked(
        cls, X: Any, y: Any, epsilon: Number, delta: Number, mechanism: str,
        classes: Any, fit_intercept: bool, columns: Any, ids: Any, public_columns: Sequence[str],
    ) -> Self:  # fmt: skip
        budget = Budget.of(epsilon, delta)
        if mechanism not in get_args(Mechanism):
            raise InvalidInput(f"mechanism={mechanism!r}", f"one of {', '.join(get_args(Mechanism))}")
        labels = (-1, 1) if classes is None else as_labels(classes, "classes")
        features, names = _table(X, columns)
        codes = _codes(y, labels)
        if len(codes) != len(features):
            raise InvalidInput(f"{len(codes)} labels for {len(features)} rows of features", "one label a row")
        refuse_named_label(y, names)
        refuse_telling_columns(features, codes, names, public_columns)
        if ids is not None:
            refuse_telling_identifiers(ids, codes)
        people = ids.texts if isinstance(ids, Identifiers) else ids
        digest = None if ids is None else FeatureDigest.of(ids, names, features)
        sums = sum_by_label(features, codes, len(labels), fit_intercept)
        if sums.one_norm == 0:
            raise InvalidInput("features that are all zero", "features that say something")
        chosen, predicted = choose_sum_mechanism(mechanism, sums, budget, labels)
        return cls(features, codes, labels, sums, budget, chosen, predicted, fit_intercept, names, digest, people)

    @property
    def cost(self) -> Budget:
        return self.mechanism.cost

    @property
    def losses(self) -> tuple[PrivacyLoss, ...]:
        return (self.mechanism.loss(self.sums),)

    def describe(self) -> str:
        return f"the mean operator of {self.sums.rows:,} labels ({self.mechanism.name})"

    def release(self, source: BitSource) -> MeanOperatorRelease:
        values, covariance = self.mechanism.draw(self.sums, self.features, self.codes, source)
        return MeanOperatorRelease(
            operator=MeanOperator(values, self.classes, self.sums.rows, noise_covariance=covariance),
            guarantee=_guarantee(self.mechanism),
            mechanism=self.mechanism.name,
            how_known=self.mechanism.how_known,
            intercept=self.intercept,
            columns=self.columns,
            step=self.sums.step,
            norms=norms_of(self.sums),
            predicted=self.predicted,
            features=self.digest,
            public=told_sums(self.sums, self.asked),
        )


def _guarantee(mechanism: SumMechanism) -> Guarantee:
    return Guarantee(
        mechanism.epsilon, float(mechanism.cost.delta), protects="one person's label", neighbours=NEIGHBOURS
    )


def _codes(y: Any, labels: tuple[Label, ...]) -> Codes:
    """Return which label each person has; two numbers are compared at the speed of memory."""
    numbers = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuf"
    if numbers and len(labels) == 2 and not any(isinstance(label, str) for label in labels):
        second: NDArray[np.bool_] = y == labels[1]
        if (second | (y == labels[0])).all():
            return second.view(np.uint8)
    return Alphabet(labels, "label").encode(y)  # which also says what is wrong


def _table(X: Any, columns: Any) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return features as a table of numbers without a copy where possible, and their names."""
    if columns is None and hasattr(X, "columns"):
        columns = [str(name) for name in X.columns]
    features = np.asarray(X)
    if features.ndim != 2 or 0 in features.shape or features.dtype.kind not in "fiub":
        raise InvalidInput(f"features of shape {features.shape} and type {features.dtype}", "a table of numbers, m x d")
    names = tuple(map(str, columns)) if columns is not None else tuple(f"x{j}" for j in range(features.shape[1]))
    if len(names) != features.shape[1] or len(set(names)) < len(names):
        raise InvalidInput(f"{len(names)} column names for {features.shape[1]} features", "a name of its own for each")
    return features, names


def _is_diagonal(matrix: NDArray[np.float64]) -> bool:
    return bool(np.count_nonzero(matrix) == np.count_nonzero(np.diag(matrix)))
