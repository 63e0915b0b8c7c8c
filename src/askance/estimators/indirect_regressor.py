"""Linear regression from rows, or outcomes, that were hidden before they were given."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from askance.channels.private_number import PrivateNumber
from askance.channels.private_row import PrivateRow
from askance.engines.base import Engine, running
from askance.engines.local import LocalEngine
from askance.engines.sources import ArraySource, RecordSource
from askance.errors import AskanceWarning, InvalidInput
from askance.estimators.formula import Formula, FormulaColumns
from askance.estimators.numbers import number
from askance.estimators.records import FeatureReader, NumericColumns, checked_columns, records_of
from askance.estimators.saving import JsonModel
from askance.estimators.summary import Summary, standard_errors, summarise
from askance.estimators.waves import Wave, WaveFit, fit_waves
from askance.releases.release import Release, read_release
from askance.statistics.base import Records
from askance.statistics.features import FeatureMoments
from askance.statistics.second_moments import HiddenOutcome, HiddenRows

Floats = NDArray[np.float64]


class IndirectRegressor(JsonModel, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression from privatised rows, or from a privatised outcome and public features.

    Parameters
    ----------
    channel : PrivateRow, PrivateNumber, or a list of them, optional
        How the rows (or the outcomes) were hidden. With a list, reports of several channels are combined, each
        weighted by its precision. Not needed for a release, which knows its channel; without one the outcome is
        taken as it is.
    outcome : str, optional
        The column to predict, of a PrivateRow; the channel's own outcome, or else its last column.
    features : list of str, optional
        The columns to predict it from; all others of the row if not given.
    ridge : "auto" or float
        Penalty on the coefficients of standardised columns (each taken from -1 to 1 over its public bounds). "auto" is
        0 where the features' covariance stands clear of the noise. Where it does not, it is projected to the nearest
        positive semi-definite matrix, and the penalty is half the noise of its entries times the root of its size.
    fit_intercept : bool

    Attributes
    ----------
    coef_, intercept_ : array, float
        In the units of the data.
    covariance_ : array
        Of ``parameters_``, by the delta method: it holds the noise of the channel and the luck of the sample.
    parameters_, parameter_names_, standard_errors_
    r_squared_ : float
        Centred R^2 as the hidden data themselves tell it; NaN if they do not.
    ridge_, projected_
        What was needed to repair the moments; 0 and False where nothing was.
    n_reports_, notes_, channel_

    Notes
    -----
    :meth:`predict` brings features into the public bounds first, as was done before they were hidden.

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 70, 50_000)
    >>> income = 2 + 0.1 * age + rng.uniform(-2, 2, age.size)
    >>> channel = ask.PrivateRow({"age": (0, 100), "income": (0, 15)}, epsilon=8, outcome="income")
    >>> reports = channel.simulate({"age": age, "income": income}, rng)
    >>> fitted = ask.IndirectRegressor(channel).fit(reports)
    >>> bool(abs(fitted.coef_[0] - 0.1) < 3 * fitted.standard_errors_[1])
    True
    """

    def __init__(
        self,
        channel: Any = None,
        outcome: str | None = None,
        features: Sequence[str] | None = None,
        ridge: str | float = "auto",
        *,
        fit_intercept: bool = True,
    ) -> None:
        self.channel = channel
        self.outcome = outcome
        self.features = features
        self.ridge = ridge
        self.fit_intercept = fit_intercept

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to reports.

        Parameters
        ----------
        X : reports
            Of a PrivateRow. Public features (n x d) if the outcome alone is hidden. With a list of channels, a list
            with an item for each: reports, or a pair of features and reports.
        y : reports, optional
            Of a PrivateNumber.
        sample_weight : n, optional
        """
        self._check_parameters()
        if isinstance(self.channel, list | tuple):
            if sample_weight is not None or y is not None or len(X) != len(self.channel):
                raise InvalidInput(
                    f"{len(self.channel)} channels and {len(X)} sets of reports",
                    "fit(list), with an item for each channel: reports, or a pair of features and reports",
                )
            waves = [
                self._wave(channel, *(item if isinstance(item, tuple) else (item, None)))
                for channel, item in zip(self.channel, X, strict=True)
            ]
        else:
            waves = [self._wave(self.channel, X, y, sample_weight)]
        return self._fit_waves(waves, LocalEngine())

    def _wave(self, channel: Any, X: Any, y: Any, sample_weight: Any = None) -> Wave:
        if isinstance(channel, PrivateRow):
            if y is not None:
                raise InvalidInput(
                    "X and y for a channel that hides whole rows", "fit(reports): the outcome is in the reports"
                )
            codes = channel.encode_reports(X)
            weights = None if sample_weight is None else _check_sample_weight(sample_weight, codes[:, None])
            return self._rows_wave(channel, ArraySource(Records(np.empty((len(codes), 0)), codes, _positive(weights))))
        if channel is not None and not isinstance(channel, PrivateNumber):
            raise InvalidInput(f"channel={channel!r}", "a PrivateRow, a PrivateNumber, or a list of such")
        if y is None and channel is not None:
            raise InvalidInput("reports without features", "fit(X, reports): the features of every row are public")
        if channel is None:
            X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
            codes = np.asarray(y, dtype=float)
            middle: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
        else:
            X = validate_data(self, X, dtype=np.float64, order="C")
            codes = channel.encode_reports(y)
            middle = _middle(channel)
        if len(codes) != len(X):
            raise InvalidInput(f"{len(X)} rows of features and {len(codes)} reports", "one report for each row")
        self._named = hasattr(self, "feature_names_in_")
        names = self.feature_names_in_ if self._named else [f"x{i}" for i in range(X.shape[1])]
        weights = _positive(None if sample_weight is None else _check_sample_weight(sample_weight, X))
        public = X if channel is not None else np.column_stack([X, codes])
        mean = np.average(public, axis=0, weights=weights)
        spread = np.sqrt(np.average((public - mean) ** 2, axis=0, weights=weights))
        reader = HiddenOutcome(
            channel, (*mean.tolist(), *middle[0]), (*np.where(spread > 0, spread, 1.0).tolist(), *middle[1])
        )
        source = ArraySource(Records(X, codes, weights))
        return Wave(channel, reader, source, (*map(str, names), self.outcome or "outcome"), np.eye(reader.width))

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        question: str | None = None,
        formula: str | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
    ) -> Self:
        """Fit to a release, which knows its own channel; the data may be larger than memory.

        Parameters
        ----------
        release : path or Release, or a list of them
            Several releases about the same columns, hidden by different channels, are combined.
        engine : "local", "dask", "spark" or an engine
        question : str, optional
            Which question, if the release has several and no formula names one.
        formula : str, optional
            Such as ``"income ~ age + C(school)"``: for a hidden outcome any formula over public covariates; for a
            hidden row the columns to use, such as ``"value ~ income + age"``.
        features : names of columns, optional
            Instead of a formula.
        weight : name of a column of sample weights, optional
        """
        self._check_parameters()
        several = release if isinstance(release, list | tuple) else [release]
        opened = [item if isinstance(item, Release) else read_release(item) for item in several]
        with running(engine) as where:
            waves = [self._release_wave(item, where, question, formula, features, weight) for item in opened]
            return self._fit_waves(waves, where)

    def _release_wave(
        self,
        release: Release,
        engine: Engine,
        question: str | None,
        formula: str | None,
        features: Sequence[str] | None,
        weight: str | None,
    ) -> Wave:
        asked = _asked(release, question, formula)
        channel = release.question(asked).channel
        if isinstance(channel, PrivateRow):
            outcome, chosen = self.outcome, features
            if formula is not None:
                outcome, chosen = _plain_formula(formula)
            source = records_of(release, asked, NumericColumns(()), weight)
            return self._rows_wave(channel, engine.hold(source), outcome, chosen)
        if not isinstance(channel, PrivateNumber):
            raise InvalidInput(
                f"the question {asked!r} is hidden by {channel!r}",
                "a row or a number with public bounds",
                "For answers out of a list of choices use IndirectClassifier.",
            )
        reader: FeatureReader
        if formula is None:
            names = (
                features if features is not None else [c.name for c in release.header.covariates if c.name != weight]
            )
            reader = NumericColumns(checked_columns(release, names))
        else:
            reader = FormulaColumns.learn(Formula(formula), release, engine)
            if not reader.intercept and self.fit_intercept:
                raise InvalidInput(f"the formula {formula!r} without an intercept", "fit_intercept=False")
        held = engine.hold(records_of(release, asked, reader, weight))
        moments = engine.reduce(FeatureMoments(len(reader.names), intercept=True), held)
        if not moments.weight > 0:
            raise InvalidInput("a release without rows of positive weight", "at least one report")
        mean = moments.second[0, 1:] / moments.weight
        spread = np.sqrt(np.maximum(np.diag(moments.second)[1:] / moments.weight - mean**2, 0.0))
        centre, scale = _middle(channel)
        outcome_reader = HiddenOutcome(
            channel, (*mean.tolist(), *centre), (*np.where(spread > 0, spread, 1.0).tolist(), *scale)
        )
        return Wave(channel, outcome_reader, held, (*reader.names, asked), np.eye(outcome_reader.width))

    def _rows_wave(
        self, channel: PrivateRow, source: RecordSource, outcome: str | None = None, features: Any = None
    ) -> Wave:
        columns = list(channel.bounds.names)
        target = outcome or self.outcome or channel.outcome or columns[-1]
        wanted = features if features is not None else self.features
        used = [name for name in columns if name != target] if wanted is None else list(wanted)
        strangers = [name for name in [*used, target] if name not in columns]
        if strangers or target in used or len({*used}) < len(used):
            raise InvalidInput(
                f"the outcome {target!r} and the features {', '.join(map(repr, used))}",
                f"an outcome and other columns out of {', '.join(columns)}",
            )
        selection = np.zeros((len(used) + 2, len(columns) + 1))
        selection[np.arange(len(used) + 2), [0, *(columns.index(name) + 1 for name in [*used, target])]] = 1.0
        return Wave(channel, HiddenRows(channel), source, (*used, target), selection)

    def _fit_waves(self, waves: list[Wave], engine: Engine) -> Self:
        ridge = None if self.ridge == "auto" else float(self.ridge)
        fit = fit_waves(waves, engine, ridge, self.fit_intercept)
        names = waves[0].names
        self.intercept_ = float(fit.parameters[0]) if self.fit_intercept else 0.0
        self.coef_ = fit.parameters[int(self.fit_intercept) :].copy()
        self.parameters_ = fit.parameters
        self.parameter_names_ = (*(["Intercept"] if self.fit_intercept else []), *names[:-1])
        self.covariance_ = fit.covariance
        self.r_squared_ = fit.solved.r_squared
        self.ridge_ = fit.solved.ridge
        self.projected_ = fit.solved.projected
        self.n_reports_ = fit.rows
        self.outcome_ = names[-1]
        self.channel_ = waves[0].channel if len(waves) == 1 else tuple(wave.channel for wave in waves)
        self.bounds_ = _bounds(waves)
        self.feature_names_in_ = np.array(names[:-1], dtype=object)
        self.n_features_in_ = len(names) - 1
        if waves[0].channel is None and not self._named:
            del self.feature_names_in_
        self.notes_ = _notes(fit, automatic=ridge is None)
        for note in self.notes_:
            warnings.warn(note, AskanceWarning, stacklevel=3)
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.ridge, str) or self.ridge != "auto":
            number = self.ridge if isinstance(self.ridge, int | float | np.number) else np.nan
            if not 0 <= number < np.inf:
                raise InvalidInput(f"ridge={self.ridge!r}", "'auto', 0 or a positive number")

    # -- using the model -----------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """Return the expected outcome of each row, with features brought inside their public bounds."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.bounds_ is not None:
            X = np.clip(X, self.bounds_[0], self.bounds_[1])
        predicted: Floats = X @ self.coef_ + self.intercept_
        return predicted

    @property
    def standard_errors_(self) -> Floats:
        """Standard errors of ``parameters_``."""
        return standard_errors(self.covariance_)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table."""
        check_is_fitted(self, "coef_")
        channels = self.channel_ if isinstance(self.channel_, tuple) else (self.channel_,)
        facts = [("reports", f"{self.n_reports_}"), ("R squared", number(self.r_squared_, 4))]
        if self.ridge_:
            facts.append(("ridge", f"{self.ridge_:.4g}"))
        facts += [("privacy", str(channel.guarantee)) for channel in channels if channel is not None]
        title = f"{self.outcome_} by linear regression on hidden data"
        return summarise(
            title, self.parameter_names_, self.parameters_, self.covariance_, level, tuple(facts), self.notes_
        )

    def to_sklearn(self) -> Any:
        """Return a plain scikit-learn model that predicts the same, for deployment.

        A LinearRegression; behind a step that clips features where these had public bounds.
        """
        from sklearn.linear_model import LinearRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        check_is_fitted(self, "coef_")
        plain = LinearRegression(fit_intercept=self.fit_intercept)
        plain.coef_, plain.intercept_ = self.coef_.copy(), self.intercept_
        plain.n_features_in_ = self.n_features_in_
        if self.bounds_ is None:
            if hasattr(self, "feature_names_in_"):
                plain.feature_names_in_ = self.feature_names_in_.copy()
            return plain
        lower, upper = self.bounds_
        return make_pipeline(FunctionTransformer(np.clip, kw_args={"a_min": lower, "a_max": upper}), plain)


def _notes(fit: WaveFit, automatic: bool) -> tuple[str, ...]:
    said = []
    if fit.solved.flat:
        said.append("Some combination of the features does not vary: of all lines that fit, this is the shortest.")
    if fit.solved.projected:
        said.append(
            "Noise made the estimated covariance one that no data can have: it was moved to the nearest that data can "
            "have."
        )
    if automatic and fit.solved.ridge:
        said.append(
            f"Some direction of the features does not stand clear of the noise (smallest variance "
            f"{fit.solved.flattest:.2g}, noise of a moment {fit.noise:.2g}): coefficients were shrunk by a ridge of "
            f"{fit.solved.ridge:.2g}. They predict better so, but their intervals do not cover the shrinkage. More "
            "reports, a larger epsilon, tighter public bounds or fewer features would help."
        )
    return tuple(said)


def _bounds(waves: Sequence[Wave]) -> Floats | None:
    """The widest public bounds of the features, 2 x d, if the features were hidden."""
    lower, upper = [], []
    for wave in waves:
        if isinstance(wave.channel, PrivateRow):
            bounds = wave.channel.bounds
            chosen = [bounds.names.index(name) for name in wave.names[:-1]]
            lower.append([bounds.lower[number] for number in chosen])
            upper.append([bounds.upper[number] for number in chosen])
    return np.array([np.min(lower, axis=0), np.max(upper, axis=0)]) if lower else None


def _middle(channel: PrivateNumber) -> tuple[tuple[float, ...], tuple[float, ...]]:
    low, high = channel.range
    return ((low + high) / 2,), ((high - low) / 2,)


def _positive(weights: Any) -> Floats | None:
    if weights is not None and (weights.min(initial=0.0) < 0 or not weights.sum() > 0):
        raise InvalidInput("sample weights that are negative, or all zero", "weights of zero or more")
    checked: Floats | None = weights
    return checked


def _asked(release: Release, question: str | None, formula: str | None) -> str:
    """The question that is meant: by name, by the left side of a formula, or the only one that hides numbers."""
    if question is not None:
        return release.question(question).name
    fitting = [q for q in release.header.questions if isinstance(q.channel, PrivateRow | PrivateNumber)]
    if formula is not None:
        left = Formula(formula).sides()[0]
        fitting = [q for q in fitting if left == q.name or left in getattr(q.channel, "columns", ())]
    return fitting[0].name if len(fitting) == 1 else release.question(None).name


def _plain_formula(formula: str) -> tuple[str, list[str]]:
    left, right = Formula(formula).sides()
    terms = [term for term in right if str(term) != "1"]
    if any(len(term.factors) != 1 or term.factors[0].eval_method.value != "lookup" for term in terms):
        raise InvalidInput(
            f"the formula {formula!r}",
            "plain names of hidden columns joined by +: only their own products can be told from the reports",
        )
    return left, [str(term) for term in terms]
