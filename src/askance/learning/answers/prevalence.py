"""How many are there of each class: proportions from reports, with intervals."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.channels.base import LabelChannel
from askance.engines.base import Engine, running
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource
from askance.errors import AskanceWarning, InvalidInput, NotAvailable, Unidentifiable
from askance.frames import refuse_other_rows
from askance.learning.answers.compliance import NOT_TESTED, DesignTest, design_lines
from askance.learning.answers.read_labels import as_channel
from askance.learning.answers.replicate_weights import (
    ReplicateMethod,
    Replicates,
    replicated_arrays,
    replicated_release,
)
from askance.learning.answers.report_shares import report_share, score_interval
from askance.learning.answers.share_covariance import (
    Influence,
    likelihood_influence,
    moment_influence,
    sampled_shares,
    with_unseen,
)
from askance.learning.answers.unknown_estimators import (
    channel_at_estimate,
    fit_shares,
    forget_unknowns,
    has_unknowns,
    shares_summary,
)
from askance.learning.answers.unknown_samples import UnknownSample
from askance.learning.face.classes import class_array
from askance.learning.face.estimator import Estimator
from askance.learning.face.figures import shares_figure
from askance.learning.face.interval_table import sample_facts, with_intervals
from askance.learning.face.release_records import NumericColumns, records_of, refuse_other_channel
from askance.learning.face.report_weights import least_variance_weights
from askance.learning.face.sample_weights import checked_weights, unequal_weights
from askance.learning.face.sampling_design import SampleColumns, SampledUnits, sampled_arrays
from askance.learning.face.scoring import Of, asks_for_truth
from askance.releases.reading import open_release
from askance.releases.release import Release
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary, standard_errors, summarise
from askance.solvers.simplex import mixture_proportions, project_to_simplex
from askance.statistics.base import Records
from askance.statistics.frequencies import ReportCounts, ReportFrequencies

_ROUNDING = 1e-12  # proportions are worked out to about 1e-14
_BORDER = 1e-9  # a proportion below is at the border: the solver ends there with 1e-10 or less


class Prevalence(Estimator):
    """Proportions of the true classes.

    Parameters
    ----------
    channel : finite channel, or mapping of named ones
        How the answers were hidden; may be left out when fitting a release.
    method : {"marginal", "moments"}
        "marginal": maximum likelihood. "moments": unbiased proportions, projected onto the simplex. The two
        agree for channels with as many reports as classes, unless the estimate is at the border.

    Attributes
    ----------
    proportions_ : array, K
        Non-negative and summing to one.
    unbiased_ : array, K
        The unbiased estimate, which may leave [0, 1].
    covariance_ : array, K x K
    standard_errors_ : array, K
    classes_, n_reports_, notes_
    unknowns_ : dict
        With unknown numbers in the channel: their estimates by name. ``summary()`` has their intervals and tests.

    Examples
    --------
    >>> import askance as ask
    >>> reports = ["yes"] * 400 + ["no"] * 600
    >>> fitted = ask.Prevalence(ask.Warner(0.8)).fit(reports)
    >>> fitted.proportions_.round(4)
    array([0.6667, 0.3333])
    """

    def __init__(self, channel: LabelChannel | Mapping[str, Any] | None = None, method: str = "marginal") -> None:
        self.channel = channel
        self.method = method

    def fit(
        self,
        reports: Any,
        y: Any = None,
        sample_weight: Any = None,
        design: Any = None,
        *,
        cluster: Any = None,
        strata: Any = None,
        fpc: Any = None,
        replicate_method: str = "jk1",
        replicate_weights: Any = None,
        rscales: Any = None,
        rho: float | None = None,
    ) -> Self:
        """Fit to reports; ``y`` is ignored and there for scikit-learn only.

        Strata, clusters, the size of the population and replicate weights are as for :meth:`IndirectClassifier.fit`.
        """
        channel = as_channel(self.channel)
        if channel is None:
            raise InvalidInput("no channel", "how the answers were hidden, such as Prevalence(Warner(0.8))")
        sampled = {"strata": strata, "cluster": cluster, "fpc": fpc, "replicate_weights": replicate_weights}
        refuse_other_rows(reports=reports, sample_weight=sample_weight, design=design, **sampled)
        codes = channel.encode_reports(reports, design)
        rows = np.empty((len(codes), 0))
        weights = checked_weights(sample_weight, rows)
        records = Records(rows, codes, weights)
        sample = sampled_arrays(records, strata, cluster, fpc)
        scales = None if rscales is None else tuple(map(float, rscales))
        method = ReplicateMethod(replicate_method, rho, scales)
        replicates = replicated_arrays(records, replicate_weights, method)
        return self._fit_source(ArraySource(records), channel, LocalEngine(), weights is not None, sample, replicates)

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        question: str | None = None,
        weight: str | None = None,
        cluster: str | None = None,
        strata: str | None = None,
        fpc: str | None = None,
        replicate_method: str = "jk1",
        replicate_weights: Sequence[str] = (),
        rscales: Sequence[float] | None = None,
        rho: float | None = None,
    ) -> Self:
        """Fit to a release, which knows its own channel; the data may be larger than memory.

        Parameters
        ----------
        release : path or Release
        engine : "local", "dask", "spark" or an engine
            Where the sums run.
        question : str, optional
            Which question, if the release has several.
        weight : name of a column of sample weights, optional
        strata, cluster, fpc : names of columns, optional
            The stratum and the primary sampling unit of each row, and the population of its stratum.
        replicate_weights : names of columns, optional
            Replicate weights, instead of strata and clusters; with the other three as for IndirectClassifier.fit.
        """
        release = open_release(release, Release)
        asked = release.question(question)
        refuse_other_channel(as_channel(self.channel), asked.label_channel)
        source = records_of(release, asked, NumericColumns(()), weight)
        with running(engine) as where:
            sample = SampleColumns(strata, cluster, fpc).sampled(release, source, where)
            how = ReplicateMethod(replicate_method, rho, None if rscales is None else tuple(map(float, rscales)))
            replicates = replicated_release(release, source, replicate_weights, how, where)
            return self._fit_source(source, asked.label_channel, where, weight is not None, sample, replicates)

    def _fit_source(
        self,
        source: Any,
        channel: LabelChannel,
        engine: Engine,
        weighted: bool,
        sample: SampledUnits | None = None,
        replicates: Replicates | None = None,
    ) -> Self:
        if sample is not None and replicates is not None:
            raise InvalidInput("replicate weights, and strata, clusters or fpc", "one of them")
        if self.method not in ("marginal", "moments"):
            raise InvalidInput(f"method={self.method!r}", "'marginal' or 'moments'")
        forget_unknowns(self)
        if has_unknowns(channel):
            fit_shares(self, source, channel, engine, weighted, UnknownSample(channel, engine, sample, replicates))
            return self
        counts = engine.reduce(ReportFrequencies(channel.matrix.shape[0]), source)
        if not counts.weight.sum() > 0:
            raise InvalidInput(f"{counts.rows} reports of total weight 0", "at least one report")
        self.unbiased_, moments = self._unbiased(channel, counts)
        outside = bool(self.unbiased_.min() < -_ROUNDING)
        likelihood = None
        if self.method == "moments":
            self.proportions_ = project_to_simplex(self.unbiased_)
        else:
            self.proportions_ = mixture_proportions(channel.matrix, counts.weight)
            # On the border the likelihood is not quadratic: the unbiased estimate has honest errors there.
            if moments is None or not self.proportions_.min() < _BORDER:
                likelihood = likelihood_influence(channel.matrix, self.proportions_, counts)
        influence: Any = moments if likelihood is None else likelihood
        self.degrees_: tuple[float, ...] = ()
        self.design_effects_: tuple[float, ...] = ()
        self.sample_, effect = "", 1.0
        if sample is None:
            seen = counts if likelihood is not None else with_unseen(counts)
            self.covariance_ = influence.covariance(seen, weighted or likelihood is None)
        else:
            self.covariance_, self.degrees_, self.design_effects_ = sampled_shares(
                influence, counts, sample, engine, channel, self.proportions_
            )
            self.sample_ = sample.describe()
            # Unequal weights are known to the test of the design: what is left is due to the clusters.
            unequal = counts.rows * counts.squared_weight.sum() / counts.weight.sum() ** 2
            effect = max(self.design_effects_) / unequal
        if replicates is not None:
            again = [self._replicate(channel, engine, source, likelihood is None) for source in replicates.sources]
            full = self.unbiased_ if likelihood is None else self.proportions_
            simple = np.diag(influence.covariance(counts, False)) * (counts.weight.sum() / counts.rows)
            self.covariance_ = replicates.covariance(np.array(again), full)
            self.degrees_ = (replicates.degrees,) * len(full)
            self.design_effects_ = tuple((np.diag(self.covariance_) / simple).tolist())
            self.sample_ = replicates.describe()
        self.channel_, self.guarantee_ = channel, channel.guarantee
        self.classes_ = class_array(channel.classes)
        self.n_reports_ = counts.rows
        self.score_: tuple[float, ...] = ()
        if sample is None and replicates is None:
            self.score_ = report_share(channel, counts, self.method)
        self.design_test_ = DesignTest.of(channel, counts, effect)
        self.notes_: tuple[str, ...] = unequal_weights(counts.rows, counts.weight, counts.squared_weight)
        if self.design_test_.alert:
            warnings.warn(self.design_test_.alert, AskanceWarning, stacklevel=3)
        elif outside:
            lowest = int(self.unbiased_.argmin())
            self.notes_ += (
                f"Fewer reports point to {channel.classes[lowest]!r} than chance alone would give: the unbiased "
                f"estimate is {self.unbiased_[lowest]:.4f}, and was moved to the border.",
            )
        for note in self.notes_:
            warnings.warn(note, AskanceWarning, stacklevel=3)
        return self

    @staticmethod
    def _replicate(channel: LabelChannel, engine: Engine, source: Any, unbiased: bool) -> Floats:
        """The proportions of one replicate: unbiased where the full sample's are at the border."""
        counts = engine.reduce(ReportFrequencies(channel.matrix.shape[0]), source)
        if not unbiased:
            return mixture_proportions(channel.matrix, counts.weight)
        shares: Floats = least_variance_weights(channel, counts) @ (counts.weight / counts.weight.sum())
        return shares

    @property
    def channel_at_estimate_(self) -> Any:
        """The channel, with the estimates of its unknown numbers in their places if it has some."""
        check_is_fitted(self, "proportions_")
        return channel_at_estimate(self)

    def _unbiased(self, channel: LabelChannel, counts: ReportCounts) -> tuple[Floats, Influence | None]:
        """The unbiased proportions and what moves them; NaN and None where no single report determines the truth."""
        classes = len(channel.classes)
        try:
            unbiasing = least_variance_weights(channel, counts)
        except Unidentifiable:
            # Several designs together may tell what each alone does not; only the likelihood can use that.
            if self.method == "moments" or np.linalg.matrix_rank(channel.matrix) < classes:
                raise
            return np.full(classes, np.nan), None
        unbiased = unbiasing @ (counts.weight / counts.weight.sum())
        return unbiased, moment_influence(unbiasing, unbiased, counts)

    def score(self, reports: Any, y: Any = None, *, of: Of = "reports") -> float:
        """Refuse: proportions predict nobody's answer, so there is nothing to score."""
        asks_for_truth(of)
        raise NotAvailable("a score of proportions, which predict nobody's answer", "summary() for their errors")

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figure of the proportions with their intervals."""
        return (shares_figure(self.summary()),)

    @property
    def standard_errors_(self) -> Floats:
        """Standard errors of the proportions."""
        check_is_fitted(self, "proportions_")
        return standard_errors(self.covariance_)

    def interval(self, level: float = 0.95) -> Floats:
        """Return lower and upper limits, K x 2, cut to [0, 1]."""
        table = self.summary(level).values
        limits: Floats = table[: len(self.classes_), 4:6]
        return limits

    def summary(self, level: float = 0.95) -> Summary:
        """Return proportions, standard errors and intervals as a table."""
        check_is_fitted(self, "proportions_")
        if hasattr(self, "unknown_numbers_"):
            return shares_summary(self, level)
        names = tuple(str(label) for label in self.classes_)
        sampled = sample_facts(self.sample_, names, self.degrees_, self.design_effects_)
        facts = (("reports", f"{self.n_reports_}"), ("method", self.method), *sampled)
        title = "Proportions of the true answers"
        wald = summarise(title, names, self.proportions_, self.covariance_, level, tested=False)
        wald = with_intervals(wald, ["wald"] * len(names), (), self.degrees_)
        values = wald.values.copy()
        values[:, 4:6] = np.clip(values[:, 4:6], 0.0, 1.0)
        if self.score_ and not self.design_test_.alert:
            values[:, 4:6] = score_interval(self.score_, values[:, 4:6], level)
            facts = (*facts, ("intervals", "score"))
        if self.design_test_.alert:
            # What the border would hide is what must be seen; and no interval is about people who followed the design.
            values[:, 0], values[:, 2:] = self.unbiased_, np.nan
        table = Summary(wald.title, names, values, level, facts, self.notes_, self.privacy_statement_)
        return replace(table, **design_lines(table, self.design_test_))

    def fill_in(self) -> None:
        """Give a model that an earlier version saved what that version did not keep."""
        super().fill_in()
        if not hasattr(self, "design_test_"):
            self.design_test_ = NOT_TESTED
        if not hasattr(self, "score_"):
            self.score_ = ()
        if not hasattr(self, "sample_"):
            self.sample_, self.degrees_, self.design_effects_ = "", (), ()
