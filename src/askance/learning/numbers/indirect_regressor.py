"""Linear regression from rows, or outcomes, that were hidden before they were given."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from askance.arrays import Floats
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.engines.base import Engine, running
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.face.formula import Formula
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.saving import JsonModel
from askance.learning.numbers.report_set_reading import WaveReader, outcome_wave
from askance.learning.numbers.report_sets import Wave, WaveFit, fit_waves
from askance.releases.reading import open_release
from askance.releases.release import Release
from askance.reports.number_format import number
from askance.reports.summary import Summary, standard_errors, summarise
from askance.statistics.base import Records


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
            if sample_weight is not None or y is not None:
                raise InvalidInput("weights or y beside a list of channels", "fit(list) only")
            if not isinstance(X, list | tuple) or not X or len(X) != len(self.channel):
                arrived = len(X) if isinstance(X, list | tuple) else type(X).__name__
                raise InvalidInput(
                    f"{len(self.channel)} channels and {arrived} sets of reports",
                    "fit(list), with an item for each channel: reports, or a pair (a tuple) of features and reports",
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
            records = Records(np.empty((len(codes), 0)), codes, _positive(weights))
            return self._reader.of_rows(channel, ArraySource(records))
        if channel is not None and not isinstance(channel, PrivateNumber):
            raise InvalidInput(f"channel={channel!r}", "a PrivateRow, a PrivateNumber, or a list of such")
        if y is None and channel is not None:
            raise InvalidInput("reports without features", "fit(X, reports): the features of every row are public")
        if self.features is not None:
            raise InvalidInput(f"features={self.features!r} beside X", "the columns of X to be the features")
        if channel is None:
            X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
            codes = np.asarray(y, dtype=float)
        else:
            X = validate_data(self, X, dtype=np.float64, order="C")
            codes = channel.encode_reports(y)
        if len(codes) != len(X):
            raise InvalidInput(f"{len(X)} rows of features and {len(codes)} reports", "one report for each row")
        named = hasattr(self, "feature_names_in_")
        names = self.feature_names_in_ if named else [f"x{i}" for i in range(X.shape[1])]
        weights = _positive(None if sample_weight is None else _check_sample_weight(sample_weight, X))
        public = X if channel is not None else np.column_stack([X, codes])
        mean = np.average(public, axis=0, weights=weights)
        spread = np.sqrt(np.average((public - mean) ** 2, axis=0, weights=weights))
        source = ArraySource(Records(X, codes, weights))
        return outcome_wave(channel, source, (*map(str, names), self._outcome_name()), mean, spread, named)

    @property
    def _reader(self) -> WaveReader:
        return WaveReader(self.outcome, self.features, self.fit_intercept)

    def _outcome_name(self) -> str:
        """What the outcome is called where features are public: as told, or as rows that are hidden beside call it."""
        several = self.channel if isinstance(self.channel, list | tuple) else ()
        rows = [channel.outcome or channel.bounds.names[-1] for channel in several if isinstance(channel, PrivateRow)]
        return self.outcome or (rows[0] if rows else "outcome")

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        question: str | None = None,
        formula: str | Formula | None = None,
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
        formula : str or Formula, optional
            Such as ``"income ~ age + C(school)"``: for a hidden outcome any formula over public covariates; for a
            hidden row the columns to use, such as ``"value ~ income + age"``.
        features : names of columns, optional
            Instead of a formula.
        weight : name of a column of sample weights, optional
        """
        self._check_parameters()
        several = release if isinstance(release, list | tuple) else [release]
        if not several:
            raise InvalidInput("an empty list of releases", "at least one")
        if formula is not None and features is not None:
            raise InvalidInput(f"formula={str(formula)!r} and features={features!r}", "one of them")
        opened = [open_release(item, Release) for item in several]
        with running(engine) as where:
            waves = [self._reader.of_release(item, where, question, formula, features, weight) for item in opened]
            return self._fit_waves(waves, where)

    def _fit_waves(self, waves: list[Wave], engine: Engine) -> Self:
        ridge = checked_ridge(self.ridge)
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
        if not any(wave.named for wave in waves):
            del self.feature_names_in_
        self.notes_ = _notes(fit, waves, automatic=ridge is None)
        for note in self.notes_:
            warnings.warn(note, AskanceWarning, stacklevel=3)
        return self

    def _check_parameters(self) -> None:
        checked_ridge(self.ridge)
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise InvalidInput(f"fit_intercept={self.fit_intercept!r}", "True or False")
        if isinstance(self.features, str):
            raise InvalidInput(f"features={self.features!r}", "a list of names")
        if isinstance(self.channel, list | tuple) and not self.channel:
            raise InvalidInput("an empty list of channels", "at least one")

    # -- using the model -----------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """Return the expected outcome of each row, with features brought inside their public bounds."""
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.bounds_ is not None:
            X = np.clip(X, self.bounds_[0], self.bounds_[1])
        predicted: Floats = X @ self.coef_ + self.intercept_
        return predicted

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the centred R^2 on true outcomes; or, on reports of a hidden outcome, an estimate of it.

        Reports, as ``privatize`` and ``simulate`` return them, are told from outcomes by their type. Model selection
        thus needs no true outcome.
        """
        channel = getattr(self, "channel_", None)
        if not isinstance(channel, PrivateNumber) or np.asarray(y).dtype != channel.layout.dtype:
            return float(super().score(X, y, sample_weight))
        predicted = (self.predict(X) - channel.centre) / channel.half
        codes = channel.encode_reports(y)
        outcome = (channel.unbias(codes) - channel.centre) / channel.half
        mean = partial(np.average, weights=sample_weight)
        square = mean(channel.unbias_square(codes))
        missed = square - 2 * mean(outcome * predicted) + mean(predicted**2)
        return float(1 - missed / (square - mean(outcome) ** 2))

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
        clip = FunctionTransformer(np.clip, validate=True, kw_args={"a_min": lower, "a_max": upper})
        clip.n_features_in_, clip.feature_names_in_ = self.n_features_in_, self.feature_names_in_.copy()
        return make_pipeline(clip, plain)


def _notes(fit: WaveFit, waves: Sequence[Wave], automatic: bool) -> tuple[str, ...]:
    said = []
    if any(isinstance(wave.channel, PrivateRow) and wave.channel.shortens for wave in waves):
        said.append(
            "Moments longer than the radius were shortened before they were hidden: coefficients are biased by as much "
            "as there were such rows."
        )
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
            # In the order of the first wave, which is that of the coefficients.
            chosen = [bounds.names.index(name) for name in waves[0].names[:-1]]
            lower.append([bounds.lower[number] for number in chosen])
            upper.append([bounds.upper[number] for number in chosen])
    return np.array([np.min(lower, axis=0), np.max(upper, axis=0)]) if lower else None


def _positive(weights: Any) -> Floats | None:
    if weights is not None and (weights.min(initial=0.0) < 0 or not weights.sum() > 0):
        raise InvalidInput("sample weights that are negative, or all zero", "weights of zero or more")
    checked: Floats | None = weights
    return checked
