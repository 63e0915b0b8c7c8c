"""The mean operator of private labels, released with noise: what a label holder hands to who holds the features."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

import askance
from askance.channels.alphabet import Label, as_labels
from askance.channels.guarantee import Guarantee, proof_page
from askance.entropy.bits import BitSource, GeneratorBits
from askance.errors import AskanceWarning, InvalidInput
from askance.frames import refuse_other_rows
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.budget import Budget, Number
from askance.mechanisms.ledger import Ledger
from askance.mechanisms.sums.label_shape import LabelShape, ShapedRows
from askance.releases.counts_facts import read_exact_level
from askance.releases.json_release import JsonRelease
from askance.releases.label_task import LabelTask, Mechanism, Shape, feature_table, label_codes, label_guarantee
from askance.releases.labels_told import refuse_named_label, refuse_telling_columns, refuse_telling_identifiers
from askance.releases.mean_operator import MeanOperator
from askance.releases.mean_operator_facts import (
    check_on_grid,
    norms_of,
    read_covariance,
    read_shape,
    read_sums,
    told_sums,
)
from askance.releases.mean_operator_preview import preview_of
from askance.releases.paid_release import paid_release
from askance.tables.digest import FeatureDigest
from askance.tables.identifiers import Identifiers

UNKEYED = (
    "this release was written by askance 0.1.0, and holds a plain SHA-256 of every feature column: whoever gets it can "
    "test guesses about the features, without the identifiers. Keep it between those who hold the features, or make it "
    "anew."
)
_BLOCK = 1 << 14  # rows at a time


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
    shape : LabelShape, optional
        What was done to the features before labels were added up with them; as they are if not given.
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
    VERSION = 3
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
    shape: LabelShape | None = None
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
        if not difference and not self.is_as_long(features):
            difference = "by the shape that it says, their rows have another length than it says"
        if difference:
            raise InvalidInput(
                f"these are not the features that the labels were added up with: {difference}",
                "the same people, columns and values on both sides",
            )

    def is_as_long(self, features: NDArray[Any]) -> bool:
        """Whether the longest rows of these features have the norms that the release says, as the same people's have.

        It sees other units, other columns and other people, without identifiers; not an order that changes no length.
        """
        rows = features if self.shape is None else ShapedRows(features, self.shape)
        one = two = 0.0
        for start in range(0, len(rows), _BLOCK):
            sizes = np.abs(rows[start : start + _BLOCK])
            one, two = max(one, float(sizes.sum(axis=1).max())), max(two, float((sizes**2).sum(axis=1).max()))
        found = one + self.intercept, float(np.sqrt(two + self.intercept))
        rounded = self.step * (rows.shape[1] + 1)  # of every value to the grid
        return bool(np.allclose(found, (self.norms["one"], self.norms["two"]), rtol=1e-6, atol=rounded))

    def restated(self) -> dict[str, Any]:
        """Return all that there is to say, JSON-able, but the digest of it."""
        covariance = self.operator.noise_covariance
        return {
            "format": self.FORMAT,
            "version": 1 if self.public is None else 2 if self.shape is None else self.VERSION,
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
            **({} if self.shape is None else {"shape": self.shape.to_dict()}),
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
        columns, shape = tuple(map(str, fields["columns"])), read_shape(fields)
        wanted = len(columns) if shape is None else shape.width
        if operator.width != wanted + fields["intercept"]:
            raise InvalidInput(f"{operator.width} values for {wanted} features", "as many, and the intercept's")
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
            guarantee=label_guarantee(checked.mechanism),
            mechanism=checked.mechanism.name,
            how_known=checked.mechanism.how_known,
            intercept=fields["intercept"],
            columns=columns,
            step=checked.sums.step,
            norms=norms_of(checked.sums),
            predicted=checked.predicted,
            features=features,
            public=None if earlier else told_sums(checked.sums, read_exact_level(fields["asked"])),
            shape=shape,
            askance=str(fields["askance"]),
        )

    def __str__(self) -> str:
        return (
            f"mean operator of {self.operator.rows:,} labels, {len(self.columns)} features"
            f"{' and an intercept' * self.intercept}{_said_shape(self.shape)}\n{self.mechanism}: {self.guarantee}\n"
            f"{self.how_known}"
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
    shape: Shape = "auto",
) -> MeanOperatorRelease:
    """Release (1/m) sum y_i x_i with noise, so that nobody's label can be told from it.

    Two data sets are neighbours if they differ in one label; the features X and the number of people are public. One
    label moves the sum by 2 x_i at most, so the noise is calibrated to the largest norm of a row. Noise is drawn from
    the operating system's entropy; there is no seed. Where a model from the release would be near guessing, a warning
    says so before anything is spent; :func:`askance.preview_mean_operator` tells more, without labels.

    Parameters
    ----------
    X : array, m x d
        Public features, in any units.
    y : array, m
        Private labels.
    epsilon, delta : number
        The level of privacy. A positive delta is for Gaussian noise.
    mechanism : {"auto", "laplace", "knorm", "gaussian", "response"}
        Laplace noise for the 1-norm, noise of uniform direction for the 2-norm, Gaussian noise for the 2-norm, or
        randomised response of every label. "auto" takes the one of least error, which follows from public numbers.
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
    shape : {"auto", "none"} or LabelShape
        What is done to the features first. "auto" limits, scales, turns and shortens them so that the least is left of
        a linear model's error, as far as features, level and number of people tell; the release says how, and
        :class:`~askance.MeanOperatorClassifier` does the same. "none" takes them as they are: noise is then the same
        for all columns, and the largest decides. The shape of another release makes totals that can be compared.

    Returns
    -------
    MeanOperatorRelease

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> X = np.linspace(-1, 1, 1000)[:, None]
    >>> y = np.where(X[:, 0] > 0, 1, -1)
    >>> release = ask.release_mean_operator(X, y, epsilon=1.0, shape="none")
    >>> bool(abs(release.operator.values[1] - 0.5) < 0.2)
    True
    >>> print(release.guarantee)  # doctest: +ELLIPSIS
    epsilon 1, protects one person's label (data sets that differ in one label; ...)

    References
    ----------
    Patrini, Nielsen & Nock, [MO], algorithm 2 and theorem 9 (for the 1-norm); Hardt & Talwar (2010) for the 2-norm.
    """
    task = _Task.checked(X, y, epsilon, delta, mechanism, classes, fit_intercept, columns, ids, public_columns, shape)
    if said := preview_of(task.labels, task.features).warning:
        warnings.warn(said, AskanceWarning, stacklevel=2)
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
    defaults: dict[str, Any] = {"classes": None, "fit_intercept": True, "columns": None, "ids": None}
    defaults |= {"public_columns": (), "shape": "auto"}
    return _Task.checked(X, y, epsilon, delta, mechanism, **(defaults | options)).release(GeneratorBits(rng))


@dataclass(frozen=True, eq=False)
class _Task:
    """A release that is fully checked and decided, and not yet drawn."""

    labels: LabelTask
    features: NDArray[Any]
    digest: FeatureDigest | None
    people: Any

    @classmethod
    def checked(
        cls, X: Any, y: Any, epsilon: Number, delta: Number, mechanism: str, classes: Any, fit_intercept: bool,
        columns: Any, ids: Any, public_columns: Sequence[str], shape: Any,
    ) -> Self:  # fmt: skip
        refuse_other_rows(X=X, y=y, ids=ids)
        budget = Budget.of(epsilon, delta)
        features, names = feature_table(X, columns)
        labels = (-1, 1) if classes is None else as_labels(classes, "classes")
        codes = label_codes(y, labels)
        if len(codes) != len(features):
            raise InvalidInput(f"{len(codes)} labels for {len(features)} rows of features", "one label a row")
        refuse_named_label(y, names)
        refuse_telling_columns(features, codes, names, public_columns)
        if ids is not None:
            refuse_telling_identifiers(ids, codes)
        people = ids.texts if isinstance(ids, Identifiers) else ids
        digest = None if ids is None else FeatureDigest.of(ids, names, features)
        task = LabelTask.decided(features, names, codes, labels, budget, mechanism, fit_intercept, shape)
        return cls(task, features, digest, people)

    @property
    def cost(self) -> Budget:
        return self.labels.mechanism.cost

    @property
    def losses(self) -> tuple[PrivacyLoss, ...]:
        return (self.labels.mechanism.loss(self.labels.sums),)

    def describe(self) -> str:
        return f"the mean operator of {self.labels.sums.rows:,} labels ({self.labels.mechanism.name})"

    def release(self, source: BitSource) -> MeanOperatorRelease:
        labels = self.labels
        values, covariance = labels.draw(source)
        return MeanOperatorRelease(
            operator=MeanOperator(values, labels.classes, labels.sums.rows, noise_covariance=covariance),
            guarantee=label_guarantee(labels.mechanism),
            mechanism=labels.mechanism.name,
            how_known=labels.mechanism.how_known,
            intercept=labels.intercept,
            columns=labels.columns,
            step=labels.sums.step,
            norms=norms_of(labels.sums),
            predicted=labels.predicted,
            features=self.digest,
            public=told_sums(labels.sums, labels.asked),
            shape=labels.shape,
        )


def _said_shape(shape: LabelShape | None) -> str:
    if shape is None:
        return ""
    turned = "" if shape.axes is None else f", turned to {shape.width} directions"
    return f", standardised{turned}{', long rows shortened' * (shape.cap is not None)}"


def _is_diagonal(matrix: NDArray[np.float64]) -> bool:
    return bool(np.count_nonzero(matrix) == np.count_nonzero(np.diag(matrix)))
