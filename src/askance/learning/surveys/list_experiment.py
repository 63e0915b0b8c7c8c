"""List experiments: a sensitive item hidden among others, of which people only say how many are true."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from askance.channels.guarantee import Guarantee
from askance.engines.base import Engine
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.frames import refuse_other_rows
from askance.learning.face.classes import class_array
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.figures import intervals_figure, shares_figure
from askance.learning.face.formula import Formula
from askance.learning.face.interval_table import with_intervals
from askance.learning.face.likelihood_results import LikelihoodResults
from askance.learning.surveys.covariates import Covariates
from askance.learning.surveys.list_counts import ListCounts
from askance.learning.surveys.list_design_test import design_test
from askance.learning.surveys.list_likelihood import ListModel, mean_prevalence
from askance.learning.surveys.list_means import (
    Estimate,
    difference_in_means,
    of_double_list,
    with_direct_answers,
)
from askance.learning.surveys.list_notes import SUSPICIOUS, notes_on_direct_answers
from askance.learning.surveys.list_predictions import ListPredictions
from askance.learning.surveys.list_regression import least_squares
from askance.learning.surveys.survey_estimator import SurveyEstimator
from askance.learning.surveys.survey_fit import effective_weights, few_people
from askance.learning.surveys.survey_release import SurveyTable
from askance.reports.estimator_report import ReportFigure
from askance.reports.summary import Summary, summarise

# What a list gives away: a count of zero, or of all items, tells the answer of whoever gives it.
_NO_CHANNEL = Guarantee(math.inf, protects="the sensitive answer of who counts no item or all of them")


class ListExperiment(SurveyEstimator, LikelihoodResults, ListPredictions):
    """How many, and who, say yes to a sensitive item in a list of which people only count what is true.

    Half of the people count a list of harmless items, the other half the same list with the sensitive item added.
    Nobody says which items are true.

    Parameters
    ----------
    items : int
        How many items the list has without the sensitive one.
    method : {"auto", "difference", "linear", "likelihood"}
        "difference": the difference in means; of people who were also asked directly, together with their answers
        (Aronow and others 2015); of double lists, from both. "linear": how it changes with covariates, by least
        squares, on the scale of shares. "likelihood": logistic regression of the sensitive answer by maximum likelihood
        (Imai 2011), the most precise. "auto": "difference" without covariates; with them "likelihood", and "linear" for
        double lists.
    control : {"free", "binomial"}
        For "likelihood": the law of how many other items are true. "free" has a weight for every count, tilted by
        covariates and by the sensitive answer: exact for independent items of any difficulty. "binomial" takes all
        items for equally likely, as the R package list does.
    floor, ceiling : bool
        For "likelihood": estimate the share of people who pass over the sensitive item where only it is true, or where
        all items are: there the count would give them away.
    intervals : {"auto", "wald", "profile"}
        For "likelihood": "wald" is estimate and standard error; "profile" the likelihood ratio, right where few say
        yes; "auto" chooses.

    Attributes
    ----------
    prevalence_, prevalence_error_ : float
        The share of people for whom the sensitive item is true, as the method estimates it.
    difference_, difference_error_ : float
        The difference in means.
    design_p_value_ : float
        Of the hypothesis that the sensitive item leaves the other answers alone (Blair and Imai 2012).
    sample_, degrees_, design_effects_
        What the sample is made of, and what its clusters do to the parameters; the first empty for people drawn one by
        one.
    parameters_, parameter_names_, covariance_, standard_errors_, notes_, n_reports_

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> truth, treated = rng.random(2000) < 0.3, rng.random(2000) < 0.5
    >>> counts = rng.binomial(4, 0.5, 2000) + (truth & treated)
    >>> fitted = ask.ListExperiment(items=4).fit(None, counts, treated)
    >>> round(fitted.prevalence_, 1), fitted.design_p_value_ > 0.05
    (0.3, True)

    References
    ----------
    Imai (2011), Multivariate regression analysis for the item count technique. Blair & Imai (2012), Statistical
    analysis of list experiments. Aronow, Coppock, Crawford & Green (2015), Combining list experiment and direct
    question estimates.
    """

    def __init__(
        self,
        items: int | None = None,
        method: str = "auto",
        *,
        control: str = "free",
        floor: bool = False,
        ceiling: bool = False,
        intervals: str = "auto",
    ) -> None:
        self.items = items
        self.method = method
        self.control = control
        self.floor = floor
        self.ceiling = ceiling
        self.intervals = intervals

    def fit(
        self,
        X: Any,
        counts: Any,
        treatment: Any = None,
        *,
        direct: Any = None,
        sample_weight: Any = None,
        strata: Any = None,
        cluster: Any = None,
    ) -> Self:
        """Fit to counts.

        Of a double list, everybody counts both: ``counts`` has two columns, and ``treatment`` is 1 for people whose
        first list had the sensitive item, 0 for those whose second had it.

        Parameters
        ----------
        X : n x d covariates, or None
        counts : n, or n x 2
            How many items each person counted.
        treatment : n
            1 (or True, "treatment") for people whose list had the sensitive item, 0 ("control") for the others.
        direct : n, optional
            Who said yes (1, True, "yes") when asked directly, too.
        sample_weight : n, optional
        strata, cluster : n names or numbers, optional
            The stratum and the primary sampling unit of each person: standard errors are then linearised, with CR2 and
            Bell and McCaffrey's degrees of freedom for clusters.
        """
        sampled = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        refuse_other_rows(X=X, counts=counts, treatment=treatment, direct=direct, **sampled)
        data = ListCounts.of(counts, treatment, self.items, direct, sample_weight, strata, cluster)
        return self._fit_counts(X, data, sample_weight)

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        question: str | Sequence[str] | None = None,
        treatment: str | None = None,
        formula: str | Formula | None = None,
        features: Sequence[str] | None = None,
        direct: str | None = None,
        weight: str | None = None,
        strata: str | None = None,
        cluster: str | None = None,
    ) -> Self:
        """Fit to a release.

        The counts are a question that is asked directly, with the choices 0 to items + 1.

        Parameters
        ----------
        release : path or Release
            The engine is "local": all rows are read.
        question : str, or two of a double list
            The counts; the left side of the formula, or the only question, if not given.
        treatment : name of a column
            Whose list had the sensitive item.
        formula : str or Formula, optional
            Such as ``"count ~ age + C(school)"``.
        features : names of numeric columns, optional
            Instead of a formula.
        direct : name of a column or question, optional
            Answers to the direct question.
        weight, strata, cluster : names of columns, optional
            Sample weights; the stratum and the primary sampling unit of each person.
        """
        refuse_engine(engine, "a list experiment")
        table = SurveyTable.of(release, formula, features or (), weight, strata, cluster)
        if treatment is None:
            raise InvalidInput("no treatment", "treatment= the column that says whose list had the sensitive item")
        names = [question] if isinstance(question, str) else list(question or [table.left_or_only()])
        counts = np.column_stack([table.whole_numbers(name) for name in names])
        items = table.largest(names[0]) - 1 if self.items is None else self.items
        said = None if direct is None else table.column(direct)
        units = (None if name is None else table.table[name].to_pylist() for name in (strata, cluster))
        data = ListCounts.of(counts, table.column(treatment), items, said, table.weights, *units)
        return self._fit_counts(table.features, data, table.weights)

    def _fit_counts(self, X: Any, data: ListCounts, weights: Any) -> Self:
        covariates = Covariates.of(X, rows=len(data.counts) if weights is None else len(np.asarray(weights)))
        if data.weights is not None:
            covariates = covariates.of_rows(np.asarray(weights, dtype=float) > 0)
        method = self._chosen_method(data, covariates)
        self.method_, self.items_ = method, data.items
        self.guarantee_, self.classes_ = _NO_CHANNEL, class_array((0, 1))
        self.n_reports_, self.lists_ = len(data.counts), data.lists
        told = np.bincount(2 * data.counts[:, 0] + data.treated, minlength=2 * data.items + 4)
        self.report_weights_ = tuple(map(float, told))
        tests = [design_test(data, number) for number in range(data.lists)]
        self.design_p_value_ = min(1.0, data.lists * min(test.p_value for test in tests))
        self.kinds_of_people_ = tests[0].shares
        both = difference_in_means(data) if data.lists == 1 else of_double_list(data)
        self.difference_, self.difference_error_ = both.value, both.error
        self.profiles_ = {}
        notes = [*covariates.notes, *self._notes_on_design(data)]
        if data.weights is not None and method != "likelihood":  # Welch's degrees of freedom know of few people
            notes += few_people(len(data.counts), covariates.width + 1, data.weights)
        if method == "likelihood":
            notes += self._fit_likelihood(data, covariates, both)
        elif method == "linear":
            notes += self._fit_linear(data, covariates)
        else:
            notes += self._fit_means(data, both)
        if not 0 <= self.prevalence_ <= 1:
            notes.append(
                f"The estimated share is {self.prevalence_:.3f}, outside of [0, 1]: too few people, or people who do "
                "not count as asked."
            )
        self.notes_ = tuple(notes)
        for note in notes:
            warnings.warn(note, AskanceWarning, stacklevel=4)
        return self

    def _chosen_method(self, data: ListCounts, covariates: Covariates) -> str:
        if self.method not in ("auto", "difference", "linear", "likelihood"):
            raise InvalidInput(f"method={self.method!r}", "'auto', 'difference', 'linear' or 'likelihood'")
        if self.control not in ("free", "binomial"):
            raise InvalidInput(f"control={self.control!r}", "'free' or 'binomial'")
        double, lies = data.lists == 2, self.floor or self.ceiling
        default = ("linear" if double else "likelihood") if covariates.width > 1 else "difference"
        method = ("likelihood" if lies else default) if self.method == "auto" else self.method
        if double and method == "likelihood":
            raise InvalidInput(
                "method='likelihood' for a double list",
                "method='linear' or 'difference'",
                "Two lists of one person are made to be correlated, in a way that no likelihood here describes.",
            )
        if double and data.direct is not None:
            raise InvalidInput("direct answers with a double list", "one list with direct answers, or two without")
        if method == "difference" and covariates.width > 1:
            raise InvalidInput(
                "method='difference' with covariates", "X=None, or method='linear' or 'likelihood', which use them"
            )
        if lies and method != "likelihood":
            raise InvalidInput(f"floor or ceiling with method={method!r}", "method='likelihood', which estimates them")
        if method == "linear" and data.direct is not None:
            raise InvalidInput("direct answers with method='linear'", "method='likelihood' or 'difference'")
        return method

    def _notes_on_design(self, data: ListCounts) -> list[str]:
        notes = []
        if self.design_p_value_ < SUSPICIOUS:
            notes.append(
                f"The sensitive item seems to change how other items are answered (design effect, p = "
                f"{self.design_p_value_:.2g}): counts with and without it cannot both be true counts, and the "
                "estimates may be wrong by any amount."
            )
        if data.direct is not None:
            notes += notes_on_direct_answers(data, data.direct)
        return notes

    def _fit_means(self, data: ListCounts, both: Estimate) -> list[str]:
        if data.lists == 2:
            parts = {"first list": difference_in_means(data, 0), "second list": difference_in_means(data, 1)}
            parts["both lists"] = both
        elif data.direct is not None:
            said, hidden, together = with_direct_answers(data, data.direct)
            parts = {"said yes directly": said, "of the others, by the list": hidden, "list alone": both}
            parts["together"] = together
        else:
            parts = {"sensitive item": both}
        self.parameter_names_ = tuple(parts)
        self.parameters_ = np.array([part.value for part in parts.values()])
        self.covariance_ = np.diag([part.variance for part in parts.values()])
        last = [*parts.values()][-1]
        self.prevalence_, self.prevalence_error_ = last.value, last.error
        simple = np.array([part.influence @ part.influence for part in parts.values()])
        return self._keep_sample(data.sample, [part.degrees for part in parts.values()], simple, None, list(parts))

    def _fit_linear(self, data: ListCounts, covariates: Covariates) -> list[str]:
        found = least_squares(data, covariates)
        self.parameter_names_, self.feature_names_ = covariates.names, covariates.names[1:]
        self.parameters_ = covariates.back @ found.coefficients
        self.covariance_ = covariates.back @ found.covariance @ covariates.back.T
        heft = np.ones(len(covariates.design)) if data.weights is None else data.weights
        mean = heft @ covariates.design / heft.sum()
        self.prevalence_ = float(mean @ found.coefficients)
        self.prevalence_error_ = float(np.sqrt(mean @ found.covariance @ mean))
        simple = np.diag(covariates.back @ found.simple @ covariates.back.T)
        return self._keep_sample(data.sample, found.degrees, simple, None, covariates.names)

    def _fit_likelihood(self, data: ListCounts, covariates: Covariates, both: Estimate) -> list[str]:
        data = replace(data, weights=effective_weights(data.weights))
        control: Any = self.control
        model = ListModel(data, covariates, control, self.floor, self.ceiling)
        few = few_people(len(data.counts), len(model.names), data.weights)
        fit = model.fit(both.value)
        profiled = list(range(covariates.width))
        said = self._keep_parameters(
            fit, model.names, model.back, profiled, self.intervals, sample=data.sample, weights=data.weights
        )
        prevalence = mean_prevalence(model, fit)
        self.prevalence_, self.prevalence_error_ = prevalence.value, prevalence.error
        self.coef_, self.intercept_ = self.parameters_[1 : covariates.width][None, :], self.parameters_[:1]
        self.feature_names_ = covariates.names[1:]
        apart = Estimate(0.0, 0.0, prevalence.influence - both.influence)
        apart = apart._replace(variance=float(apart.influence @ apart.influence)).sampled(data.sample)
        error = apart.error
        notes = [*few, *fit.notes, *said]
        if self.floor or self.ceiling or error <= 0:
            return notes
        p = 2 * float(ndtr(-abs(prevalence.value - both.value) / error))
        if p < SUSPICIOUS:
            notes.append(
                f"The model's share ({prevalence.value:.3f}) and the difference in means ({both.value:.3f}) are "
                f"farther apart than chance (p = {p:.2g}): the law of the other items does not fit, or people do not "
                "count as asked. The difference in means needs no such law."
            )
        return notes

    def summary(self, level: float = 0.95) -> Summary:
        """Return the estimates as a table: shares, or coefficients of the sensitive answer."""
        check_is_fitted(self, "parameters_")
        facts: tuple[tuple[str, str], ...] = (
            ("people", f"{self.n_reports_}"),
            ("items", f"{self.items_} and the sensitive one{', twice' if self.lists_ > 1 else ''}"),
            ("method", self.method_),
            ("difference in means", f"{self.difference_:.4f} (standard error {self.difference_error_:.4f})"),
            ("test for design effects", f"p = {self.design_p_value_:.3g}"),
            ("assumed", self._assumed),
        )
        if self.method_ == "likelihood":
            share = ("share of yes", f"{self.prevalence_:.4f} (standard error {self.prevalence_error_:.4f})")
            rows = [i for i, name in enumerate(self.parameter_names_) if not _is_count_weight(name)]
            title = "P(yes to the sensitive item) by logistic regression on a list experiment"
            return self._parameter_table(title, level, (*facts, share), rows)
        title = "Share of people for whom the sensitive item is true"
        if self.method_ == "linear":
            title = "Share of people for whom the sensitive item is true, by least squares on covariates"
            facts = (*facts, ("share of yes", f"{self.prevalence_:.4f} (standard error {self.prevalence_error_:.4f})"))
        wald = summarise(title, self.parameter_names_, self.parameters_, self.covariance_, level)
        values = with_intervals(wald, ["wald"] * len(wald.names), (), self.degrees_).values
        facts = (*facts, *self._sample_facts(range(len(wald.names))))
        return Summary(title, wald.names, values, level, facts, self.notes_, self.privacy_statement_)

    @property
    def _assumed(self) -> str:
        """What the estimates stand on, and counts show too little of."""
        passed = [place for place, asked in (("floor", self.floor), ("ceiling", self.ceiling)) if asked]
        but = f" but at the {' and '.join(passed)}" if passed else ""
        return f"all count truly{but}, and other items as without the sensitive one: only gross breaches show in counts"

    def must_agree(self) -> dict[str, Any]:
        """Return what two models have in common if one of them is the other with fewer terms."""
        # Shares of liars lie on their border if nobody lies, and direct answers are more to explain.
        parts = ("floor", "ceiling", "says so directly")
        law = [name for name in self.parameter_names_ if name in parts or _is_count_weight(name)]
        return {"lists": self.items_, "laws of the list": law}

    def _log_odds_names(self) -> tuple[str, ...]:
        if self.method_ != "likelihood":
            raise NotAvailable(f"odds ratios with method={self.method_!r}", "method='likelihood', with covariates")
        return self.feature_names_

    def _why_no_wald(self) -> str:
        if self.method_ == "difference" and len(self.parameters_) > 1:
            return "several estimates of shares of the same people, whose errors are not known together"
        return super()._why_no_wald()

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figure of shares, or of coefficients, with their intervals."""
        summary = self.summary()
        if self.method_ == "likelihood":
            return (intervals_figure(summary),)
        if self.method_ == "linear":
            return (intervals_figure(summary, "change in the share"),)
        return (shares_figure(summary),)


def _is_count_weight(name: str) -> bool:
    """Whether a parameter is the weight of a count of other items, which nobody asks about."""
    kind, _, rest = name.partition(": ")
    return kind == "other items" and (rest.isdigit() or rest == "each")
