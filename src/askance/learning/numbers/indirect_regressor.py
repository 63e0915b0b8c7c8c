"""Linear regression from rows, or outcomes, that were hidden before they were given."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource
from askance.errors import AskanceWarning, InvalidInput
from askance.frames import refuse_other_rows
from askance.learning.face.checked_features import checked_features
from askance.learning.face.delta_law import DeltaLaw
from askance.learning.face.figures import intervals_figure
from askance.learning.face.hidden_truth import Estimate, in_words
from askance.learning.face.predicted_intervals import PredictedIntervals
from askance.learning.face.release_records import refuse_other_channel
from askance.learning.face.release_regression import RegressionTerms, ReleaseRegression
from askance.learning.face.requested_ridge import checked_ridge
from askance.learning.face.sample_weights import checked_weights
from askance.learning.face.scoring import Of, asks_for_truth, refuse_score_of_reports
from askance.learning.numbers.bound_notes import notes_on_bounds
from askance.learning.numbers.folds import with_fold
from askance.learning.numbers.line_fit import fit_line
from askance.learning.numbers.line_notes import fit_notes, notes_on_reports
from askance.learning.numbers.report_set_reading import (
    ReportSetReader,
    hides_outcome,
    hides_rows,
    outcome_of,
    outcome_reports,
)
from askance.learning.numbers.report_sets import ReportSet, worst_guarantee
from askance.releases.release import Release
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary, standard_errors, summarise
from askance.statistics.base import Records

HELD_OUT = "R squared on the truth, by reports held out"


class IndirectRegressor(RegressorMixin, PredictedIntervals, ReleaseRegression):  # type: ignore[misc]
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
        positive semi-definite matrix, and the penalty is half the noise of its entries times the root of its size;
        over the square of the share of the relation with the outcome that stands clear of noise, so that reports that
        show none give next to the mean.
    fit_intercept : bool

    Attributes
    ----------
    coef_, intercept_ : array, float
        In the units of the data.
    covariance_ : array
        Of ``parameters_``, by the delta method: it holds the noise of the channel and the luck of the sample.
    parameters_, parameter_names_, standard_errors_
    r_squared_, r_squared_error_ : float
        Centred R^2 on the hidden truth, with its standard error, judged by reports that a line was not fitted to: ten
        times nine tenths of the reports give a line, and the others say how far it is from the truth. NaN if reports
        do not tell how much the outcome varies. It may exceed 1, as any noisy estimate of a share may.
    ridge_, projected_
        What was needed to repair the moments; 0 and False where nothing was.
    n_reports_, notes_, channel_, guarantee_

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

    _combines_releases: ClassVar[bool] = True

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
        if not isinstance(self.channel, list | tuple):
            return self._fit_sets([self._report_set(self.channel, X, y, sample_weight)], LocalEngine())
        if sample_weight is not None or y is not None:
            raise InvalidInput("weights or y beside a list of channels", "fit(list) only")
        if not isinstance(X, list | tuple) or not X or len(X) != len(self.channel):
            arrived = len(X) if isinstance(X, list | tuple) else type(X).__name__
            raise InvalidInput(
                f"{len(self.channel)} channels and {arrived} sets of reports",
                "fit(list), with an item for each channel: reports, or a pair (a tuple) of features and reports",
            )
        pairs = [item if isinstance(item, tuple) else (item, None) for item in X]
        sets = [self._report_set(channel, *pair) for channel, pair in zip(self.channel, pairs, strict=True)]
        return self._fit_sets(sets, LocalEngine())

    def _report_set(self, channel: Any, X: Any, y: Any, sample_weight: Any = None, reset: bool = True) -> ReportSet:
        """Check reports; ``reset`` is scikit-learn's: learn the names of features, or compare them."""
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        if hides_rows(channel):
            if y is not None:
                raise InvalidInput(
                    "X and y for a channel that hides whole rows", "reports alone: the outcome is in the reports"
                )
            codes = channel.encode_reports(X)
            records = Records(np.empty((len(codes), 0)), codes, checked_weights(sample_weight, codes[:, None]))
            # Reports to be scored are about the line that was fitted, whatever its formula was.
            about = self._reader if reset else ReportSetReader(self.outcome_, self._slopes, self.fit_intercept)
            return about.of_rows(channel, ArraySource(with_fold(records)))
        if channel is not None and not hides_outcome(channel):
            raise InvalidInput(f"channel={channel!r}", "a PrivateRow, a PrivateNumber, or a list of such")
        if y is None and channel is not None:
            raise InvalidInput("reports without features", "X, reports: the features of every row are public")
        if self.features is not None and reset:
            raise InvalidInput(f"features={self.features!r} beside X", "the columns of X to be the features")
        if channel is None:
            X, y = checked_features(self, X, y, dtype=np.float64, order="C", y_numeric=True)
            codes = np.asarray(y, dtype=float)
        else:
            X = checked_features(self, X, dtype=np.float64, order="C", reset=reset)
            codes = channel.encode_reports(y)
        if len(codes) != len(X):
            raise InvalidInput(f"{len(X)} rows of features and {len(codes)} reports", "one report for each row")
        named = hasattr(self, "feature_names_in_")
        names = self.feature_names_in_ if named else [f"x{i}" for i in range(X.shape[1])]
        weights = checked_weights(sample_weight, X)
        public = X if channel is not None else np.column_stack([X, codes])
        mean = np.average(public, axis=0, weights=weights)
        spread = np.sqrt(np.average((public - mean) ** 2, axis=0, weights=weights))
        source = ArraySource(with_fold(Records(X, codes, weights)))
        return outcome_reports(channel, source, (*map(str, names), self._outcome_name()), mean, spread, named)

    @property
    def _reader(self) -> ReportSetReader:
        return ReportSetReader(self.outcome, self.features, self.fit_intercept)

    @property
    def _slopes(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        names: tuple[str, ...] = self.parameter_names_[int(self.fit_intercept) :]
        return names

    def _outcome_name(self) -> str:
        """What the outcome is called where features are public: as asked for, or as in rows that are hidden beside."""
        several = self.channel if isinstance(self.channel, list | tuple) else ()
        rows = [outcome_of(channel) for channel in several if hides_rows(channel)]
        return self.outcome or (rows[0] if rows else "outcome")

    def _fit_releases(self, releases: Sequence[Release], terms: RegressionTerms, engine: Engine) -> Self:
        if not releases:
            raise InvalidInput("an empty list of releases", "at least one")
        given = self.channel if isinstance(self.channel, list | tuple) else [self.channel] * len(releases)
        if len(given) != len(releases):
            raise InvalidInput(f"{len(given)} channels and {len(releases)} releases", "one of each, or channel=None")
        sets = [self._reader.of_release(item, terms, engine) for item in releases]
        for own, reports in zip(given, sets, strict=True):
            refuse_other_channel(own, reports.channel)
        return self._fit_sets(sets, engine)

    def _fit_sets(self, sets: list[ReportSet], engine: Engine) -> Self:
        ridge = checked_ridge(self.ridge)
        checked = [notes_on_reports(reports, engine) for reports in sets]
        fit = fit_line(sets, engine, ridge, self.fit_intercept)
        names = sets[0].names
        self.intercept_ = float(fit.parameters[0]) if self.fit_intercept else 0.0
        self.coef_ = fit.parameters[int(self.fit_intercept) :].copy()
        self.parameters_ = fit.parameters
        self.parameter_names_ = (*(["Intercept"] if self.fit_intercept else []), *names[:-1])
        self.covariance_ = fit.covariance
        self.r_squared_, self.r_squared_error_ = fit.r_squared.value, fit.r_squared.std_error
        self.ridge_ = fit.solved.ridge
        self.projected_ = fit.solved.projected
        self.n_reports_ = fit.rows
        self.outcome_ = names[-1]
        channels = tuple(reports.channel for reports in sets)
        self.channel_ = channels if len(sets) > 1 else channels[0]
        self.guarantee_ = worst_guarantee(channels)
        self.bounds_ = _bounds(sets)
        self.feature_names_in_ = np.array(names[:-1], dtype=object)
        self.n_features_in_ = len(names) - 1
        if not any(reports.named for reports in sets):
            del self.feature_names_in_
        on_reports = [note for notes, _ in checked for note in notes]
        on_bounds = notes_on_bounds(fit.moments, [seen for _, seen in checked])
        self.notes_ = (*on_reports, *fit_notes(fit, sets, automatic=ridge is None), *on_bounds)
        for note in self.notes_:
            warnings.warn(note, AskanceWarning, stacklevel=3)
        return self

    def fill_in(self) -> None:
        """Give a model that an earlier version saved what that version did not keep."""
        if not hasattr(self, "guarantee_"):
            self.guarantee_ = worst_guarantee(self._channels)
        if not hasattr(self, "r_squared_error_"):  # what was kept was fitted and judged by the same reports
            self.r_squared_error_ = float("nan")

    def _check_parameters(self) -> None:
        checked_ridge(self.ridge)
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise InvalidInput(f"fit_intercept={self.fit_intercept!r}", "True or False")
        if isinstance(self.features, str):
            raise InvalidInput(f"features={self.features!r}", "a list of names")
        if isinstance(self.channel, list | tuple) and not self.channel:
            raise InvalidInput("an empty list of channels", "at least one")

    # -- using the model -----------------------------------------------------------------------------

    @property
    def _channels(self) -> tuple[Any, ...]:
        return self.channel_ if isinstance(self.channel_, tuple) else (self.channel_,)

    def predict(self, X: Any) -> Floats:
        """Return the expected outcome of each row, with features brought inside their public bounds."""
        check_is_fitted(self, "coef_")
        predicted: Floats = self._rows(X) @ self.coef_ + self.intercept_
        return predicted

    def _rows(self, X: Any) -> Floats:
        rows: Floats = checked_features(self, self._with_indicators(X), dtype=np.float64, reset=False)
        return rows if self.bounds_ is None else np.clip(rows, self.bounds_[0], self.bounds_[1])

    def _features(self) -> Sequence[str] | None:
        names = super()._features()
        return None if names is None else [*names, *self.categories_]

    def _predicted_labels(self) -> Sequence[Any]:
        return ()

    def _prediction_law(self) -> DeltaLaw:
        covariance, intercept = self._wald_covariance(), self.fit_intercept

        def line(X: Floats) -> tuple[Floats, Floats]:
            rows = np.column_stack([np.ones(len(X)), X]) if intercept else X
            return (rows @ self.parameters_)[:, None], rows[:, None, :]

        names = self.parameter_names_[int(intercept) :]
        return DeltaLaw(line, covariance, shares=False, features=names)

    @property
    def categories_(self) -> dict[str, tuple[str, ...]]:
        """The hidden columns that are no numbers, with their categories."""
        rows = [channel for channel in self._channels if hides_rows(channel)]
        return rows[0].categories if rows else {}

    def _with_indicators(self, X: Any) -> Any:
        """Features as the model has them, of a table that has categories in their own words."""
        rows = [channel for channel in self._channels if hides_rows(channel)]
        if not rows or not hasattr(X, "columns") or not {*rows[0].categories} & {*X.columns}:
            return X
        import pandas as pd

        wanted = [str(name) for name in self.feature_names_in_]
        made = rows[0].numbers_of(X, wanted)
        return pd.DataFrame(made, columns=wanted)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, of: Of = "reports") -> float:
        """Return an estimate of the centred R^2 on the hidden truth, from reports.

        The squares and products that it is made of are estimated without bias, so model selection needs no true
        outcome; a single estimate may leave the range of R^2 when reports are few or noisy, and a warning says so.

        Parameters
        ----------
        X : reports
            Of a PrivateRow. Features if the outcome alone is hidden.
        y : reports, optional
            Of a PrivateNumber. Outcomes as they are without a channel.
        sample_weight : n, optional
        of : "reports" or "truth"
            With "truth", X are features and y true outcomes, and R^2 is measured on them.
        """
        check_is_fitted(self, "coef_")
        if asks_for_truth(of) or self.channel_ is None:
            refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
            return float(super().score(X, y, sample_weight))
        found = self.score_estimate(X, y, sample_weight)
        low, high = found.interval()
        if low > 1 or (low < 0 and high > 1):  # no line reaches more than 1
            warnings.warn(
                f"These {found.n} reports hardly tell R squared: {found.value:.2f} with a standard error of "
                f"{found.std_error:.2f}. Look at score_estimate, and compare models by more reports.",
                AskanceWarning,
                stacklevel=2,
            )
        return found.value

    def _scored(self, X: Any, y: Any, sample_weight: Any) -> ReportSet:
        """Reports that the line is to be judged by."""
        if self.channel_ is None:
            raise InvalidInput("outcomes that were not hidden", "reports", "Use score(X, y).")
        if len(self._channels) > 1:
            raise refuse_score_of_reports(
                "a line from several report sets",
                "nothing says which of the channels hid these reports",
                "Or fit an IndirectRegressor to the reports of one channel, and score that.",
            )
        return self._report_set(self.channel_, X, y, sample_weight, reset=False)

    def score_estimate(self, X: Any, y: Any = None, sample_weight: Any = None) -> Estimate:
        """Return :meth:`score` of reports with its standard error.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`score`: reports that ``fit`` did not see.
        """
        check_is_fitted(self, "coef_")
        return self._scored(X, y, sample_weight).score(np.append(self.intercept_, self.coef_), LocalEngine())

    @property
    def _r_squared(self) -> Estimate:
        return Estimate(self.r_squared_, self.r_squared_error_, self.n_reports_, "consistent")

    @property
    def standard_errors_(self) -> Floats:
        """Standard errors of ``parameters_``."""
        check_is_fitted(self, "coef_")
        return standard_errors(self.covariance_)

    def summary(self, level: float = 0.95) -> Summary:
        """Return estimates, standard errors, z, p and intervals as a table."""
        check_is_fitted(self, "coef_")
        facts = [("reports", f"{self.n_reports_}")]
        if np.isfinite(self.r_squared_error_):
            facts.append((HELD_OUT, in_words(self._r_squared, level)))
        if self.ridge_:
            facts.append(("ridge", f"{self.ridge_:.4g}"))
        if len(self._channels) > 1:
            levels = [f"{channel.guarantee.epsilon:.4g}" if channel else "none" for channel in self._channels]
            facts.append(("epsilon of each report set", ", ".join(levels)))
        return summarise(
            f"{self.outcome_} by linear regression on hidden data",
            self.parameter_names_,
            self.parameters_,
            self.covariance_,
            level,
            tuple(facts),
            self.notes_,
            self.privacy_statement_,
        )

    def _why_no_wald(self) -> str:
        return "a ridge shrank the coefficients, and their errors do not know by how much" if self.ridge_ else ""

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figure of coefficients with their intervals."""
        return (intervals_figure(self.summary(), f"change in {self.outcome_}"),)

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


def _bounds(sets: Sequence[ReportSet]) -> Floats | None:
    """The widest public bounds of the features, 2 x d, if the features were hidden."""
    lower, upper = [], []
    for rows in (reports.rows for reports in sets if reports.rows is not None):
        # In the order of the first set, which is that of the coefficients.
        chosen = [rows.names.index(name) for name in sets[0].names[:-1]]
        low, high = rows.limits
        lower.append(low[chosen])
        upper.append(high[chosen])
    return np.array([np.min(lower, axis=0), np.max(upper, axis=0)]) if lower else None
