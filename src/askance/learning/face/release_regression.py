"""Regressions on a release: which question, explained by which columns, weighted by which."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from askance.engines.base import Engine, running
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.face.estimator import Estimator
from askance.learning.face.formula import Formula, FormulaColumns
from askance.learning.face.release_records import FeatureReader, NumericColumns, checked_columns
from askance.releases.complete_rows import check_way, complete_release
from askance.releases.header import Question
from askance.releases.reading import open_release
from askance.releases.release import Release


@dataclass(frozen=True)
class RegressionTerms:
    """What a regression on a release is about."""

    question: str | None = None
    formula: Formula | None = None
    features: Sequence[str] | None = None
    weight: str | None = None
    strata: str | None = None
    cluster: str | None = None
    fpc: str | None = None
    replicate_weights: Sequence[str] = ()
    replicate_method: str = "jk1"
    rho: float | None = None
    rscales: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.formula is not None and self.features is not None:
            raise InvalidInput(f"formula={self.formula.text!r} and features={self.features!r}", "one of them")

    def complete(self, release: Release, missing: str) -> Release:
        """Return the release without rows that lack a covariate, with a warning, if these are to be dropped."""
        if missing == "refuse":
            return release
        kept, lacking = complete_release(release, checked_columns(release, self._needed(release)))
        if lacking.incomplete:
            warnings.warn(lacking.sentence(), AskanceWarning, stacklevel=4)
        return kept

    def _needed(self, release: Release) -> list[str]:
        covariates = [covariate.name for covariate in release.header.covariates]
        right = list(self.formula.columns) if self.formula is not None else list(self.features or covariates)
        sample = [name for name in (self.weight, self.strata, self.cluster, self.fpc) if name]
        return list(dict.fromkeys([*right, *sample, *self.replicate_weights]))

    def asked(self, release: Release) -> Question:
        """Return the question that is named, or left of the formula's ~, or the only one."""
        return release.header.question_about(self.question, None if self.formula is None else self.formula.left)

    def reader(self, release: Release, engine: Engine, features: Sequence[str] | None = None) -> FeatureReader:
        """Return how features are read: by the formula, or from columns; ``features`` if none are asked for here."""
        if self.formula is not None:
            return FormulaColumns.learn(self.formula, release, engine)
        about_the_sample = (self.weight, self.strata, self.cluster, self.fpc, *self.replicate_weights)
        covariates = [one.name for one in release.header.covariates if one.name not in about_the_sample]
        names = next(names for names in (self.features, features, covariates) if names is not None)
        return NumericColumns(checked_columns(release, names))


class ReleaseRegression(Estimator):
    """An estimator that explains the hidden answers or numbers of a release by its columns."""

    _combines_releases: ClassVar[bool] = False
    _knows_samples: ClassVar[bool] = False

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        question: str | None = None,
        formula: str | Formula | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        strata: str | None = None,
        cluster: str | None = None,
        fpc: str | None = None,
        replicate_weights: Sequence[str] = (),
        replicate_method: str = "jk1",
        rho: float | None = None,
        rscales: Sequence[float] | None = None,
        missing: str = "refuse",
    ) -> Self:
        """Fit to a release, which knows its own channel; the data may be larger than memory.

        Parameters
        ----------
        release : path or Release
            An IndirectRegressor also takes a list of them: several releases about the same columns, hidden by
            different channels, are combined.
        engine : "local", "dask", "spark" or an engine
            Where the sums run; "dask:ADDRESS" and "spark:MASTER" name a cluster.
        question : str, optional
            Which question, if the release has several and no formula names one.
        formula : str or Formula, optional
            Such as ``"cheated ~ age + C(school)"``, over public columns. For a hidden row the columns to use, such as
            ``"value ~ income + age"``.
        features : names of numeric columns, optional
            Instead of a formula; all covariates if neither is given.
        weight : name of a column of sample weights, optional
        strata, cluster, fpc : names of columns, optional
            The stratum and the primary sampling unit of each row, and the population of its stratum: in units that are
            sampled, or as the share of it that is in the sample. For answers out of a list of choices.
        replicate_weights : names of columns, optional
            Replicate weights, instead of strata and clusters; with the other three as for IndirectClassifier.fit.
        missing : "refuse" or "drop"
            Whether rows that lack a covariate are refused, or left out with a warning that counts them.
        """
        self._check_parameters()
        if getattr(self, "base_estimator", None) is not None:
            raise InvalidInput("fit_release with a base_estimator", "base_estimator=None", "Use fit(X, reports).")
        if (strata or cluster or fpc or replicate_weights) and not self._knows_samples:
            raise InvalidInput(
                f"strata, clusters or fpc for a {type(self).__name__}", "a simple random sample, or weights alone"
            )
        read = None if formula is None else Formula.of(formula)
        replicated = (tuple(replicate_weights), replicate_method, rho, rscales)
        terms = RegressionTerms(question, read, features, weight, strata, cluster, fpc, *replicated)
        several = release if self._combines_releases and isinstance(release, list | tuple) else [release]
        opened = [terms.complete(open_release(item, Release), check_way(missing)) for item in several]
        with running(engine) as where:
            return self._fit_releases(opened, terms, where)

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before anything is read."""
        raise NotImplementedError

    def _fit_releases(self, releases: Sequence[Release], terms: RegressionTerms, engine: Engine) -> Self:
        """Fit to a release; to several where these can be combined."""
        raise NotImplementedError
