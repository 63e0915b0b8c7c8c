"""Regression of hidden answers with other links, ordered classes, and random intercepts by group."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import gammaincc, ndtri
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats, Integers
from askance.engines.base import Engine
from askance.engines.sources import ArraySource
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.frames import refuse_other_rows
from askance.learning.face.classes import class_array
from askance.learning.face.delta_law import DeltaLaw
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.equal_rows import notes_on_rows
from askance.learning.face.figures import intervals_figure
from askance.learning.face.formula import Formula
from askance.learning.face.likelihood_results import LikelihoodResults
from askance.learning.face.predicted_intervals import PredictedIntervals
from askance.learning.face.sample_weights import checked_weights
from askance.learning.surveys.answer_likelihood import AnswerRows, GroupedAnswers
from askance.learning.surveys.answer_terms import GROUP_SPREAD, base_rates, group_codes, log_f_penalty, presented
from askance.learning.surveys.covariates import Covariates
from askance.learning.surveys.cumulative_links import Link, checked_link, class_probabilities, class_slopes
from askance.learning.surveys.group_effects import notes_on_groups
from askance.learning.surveys.hidden_answers import HiddenAnswer, answers_told, hidden_answers, notes_on_reports
from askance.learning.surveys.survey_estimator import SurveyEstimator, opened_profile
from askance.learning.surveys.survey_fit import SurveyFit, effective_weights, few_people, fit_survey
from askance.learning.surveys.survey_release import SurveyTable
from askance.learning.surveys.survey_sample import SurveySample
from askance.reports.estimator_report import ReportFigure
from askance.reports.hypothesis_test import HypothesisTest
from askance.reports.summary import Summary
from askance.solvers.damped_newton import climb
from askance.solvers.newton import Local
from askance.statistics.base import Records

_STARTS = (0.3, 1.0)  # standard deviations of groups from which the search begins
_ROUNDS = 4  # of moving the nodes to where the last fit was: two are enough where groups are not large
_SETTLED = 1e-5  # change of the log-likelihood by moving the nodes once more: nothing
_NO_SPREAD = 0.02  # a standard deviation below cannot be told from none, on the scale of any link
_FEW_GROUPS = 10  # with fewer, the spread between them is known to a factor of two at best
_BORDER_GRID = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5)  # standard deviations of groups, on the scale of a link
# How far from the base rate a parameter has run away: a probability of about 6e-6 for each link, from even odds.
_FAR: dict[Link, float] = {"logit": 12.0, "probit": 4.4, "cloglog": 12.0}
_FAR_ROOT = 3.3  # the 99.9% quantile: no interval asks for more


class AnswerRegression(SurveyEstimator, LikelihoodResults, PredictedIntervals):
    """Regression of a hidden answer: yes or no by any of three links, ordered classes, random intercepts by group.

    P(answer above k | x) = F(x'b + u_g - c_k), where u_g is normal with a standard deviation that is estimated, and 0
    without groups. For two classes without groups and the link "logit" this is :class:`~askance.IndirectClassifier`.

    Parameters
    ----------
    channel : finite channel, or mapping of named ones
        How the answers were hidden; its classes are in their order, the least first. May be left out when fitting a
        release.
    link : {"logit", "probit", "cloglog"}
        F: logistic, normal, or 1 - exp(-exp(t)).
    nodes : int
        Of the quadrature over each group's intercept.
    intervals : {"auto", "wald", "profile"}
        "wald" is estimate and standard error; "profile" the likelihood ratio, right where few have the answer; "auto"
        chooses.

    Attributes
    ----------
    parameters_, parameter_names_, covariance_, standard_errors_
        Intercept and coefficients; for more than two classes, coefficients and then cuts between the classes.
    group_spread_ : float
        The standard deviation of the groups' intercepts; 0 if the likelihood is highest there. None without groups.
    group_p_value_ : float
        Of the hypothesis that groups do not differ.
    sample_, degrees_, design_effects_
        What the sample is made of, and what its clusters do to the parameters; empty for people drawn one by one.
    classes_, n_reports_, n_groups_, log_likelihood_, notes_, guarantee_

    Examples
    --------
    >>> import numpy as np, askance as ask
    >>> rng = np.random.default_rng(0)
    >>> school = rng.integers(0, 60, 3000)
    >>> x, shift = rng.normal(size=3000), rng.normal(size=60)[school]
    >>> truth = np.where(rng.random(3000) < 1 / (1 + np.exp(-x - shift)), "yes", "no")
    >>> channel = ask.Warner(0.85)
    >>> fitted = ask.AnswerRegression(channel).fit(x[:, None], channel.simulate(truth, rng), groups=school)
    >>> fitted.parameters_[1].round(), round(fitted.group_spread_)
    (np.float64(1.0), 1)

    References
    ----------
    Fox, Veen & Klotzke (2019), Generalized linear mixed models for randomized responses.
    """

    def __init__(
        self,
        channel: Any = None,
        link: str = "logit",
        *,
        nodes: int = 9,
        intervals: str = "auto",
    ) -> None:
        self.channel = channel
        self.link = link
        self.nodes = nodes
        self.intervals = intervals

    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        design: Any = None,
        sample_weight: Any = None,
        strata: Any = None,
        cluster: Any = None,
    ) -> Self:
        """Fit to covariates and reports.

        With ``groups`` there are no sample weights: a weight of a person says nothing of its group.

        Parameters
        ----------
        X : n x d covariates, or None
        y : n reports
        groups : n, optional
            The group of each person: interviewer, school.
        design : n names, optional
            The design that each row was asked under, when the channel has several.
        sample_weight : n, optional
        strata, cluster : n names or numbers, optional
            The stratum and the primary sampling unit of each person, in which a group must lie: standard errors are
            then linearised, with CR2 and Bell and McCaffrey's degrees of freedom.
        """
        if self.channel is None:
            raise InvalidInput("no channel", "how the answers were hidden, such as AnswerRegression(Warner(0.8))")
        sampled = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        refuse_other_rows(X=X, y=y, groups=groups, design=design, **sampled)
        designs = None if design is None else {"y": design}
        (answer,) = hidden_answers({"y": self.channel}, {"y": y}, None, designs)
        sample = SurveySample.of(len(answer.codes[0]), strata, cluster)
        return self._fit_answer(X, answer, groups, sample_weight, sample)

    def fit_release(
        self,
        release: Any,
        engine: str | Engine = "local",
        *,
        formula: str | Formula | None = None,
        groups: str | None = None,
        weight: str | None = None,
        strata: str | None = None,
        cluster: str | None = None,
        question: str | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Fit to a release, which knows its own channel.

        Parameters
        ----------
        release : path or Release
            The engine is "local": all rows are read.
        formula : str or Formula, optional
            Such as ``"cheated ~ age + C(school)"``.
        groups, weight, strata, cluster : names of columns, optional
            The group of each person; sample weights; stratum and primary sampling unit.
        question : str, optional
            Which question, if the release has several and no formula names one.
        features : names of numeric columns, optional
            Instead of a formula.
        """
        refuse_engine(engine, "a regression with links or groups")
        table = SurveyTable.of(release, formula, features or (), weight, strata, cluster)
        left = None if table.formula is None else table.formula.left
        name = table.release.header.question_about(question, left).name
        known = {} if isinstance(self.channel, Mapping) else {name: self.channel}
        (answer,) = table.answers([name], known)
        members = None if groups is None else np.array(table.column(groups).to_pylist(), dtype=object)
        return self._fit_answer(table.features, answer, members, table.weights, table.sample)

    def _fit_answer(
        self, X: Any, answer: HiddenAnswer, groups: Any, sample_weight: Any, sample: SurveySample | None
    ) -> Self:
        link = checked_link(self.link)
        rows = len(answer.codes[0])
        covariates = Covariates.of(X, rows=rows)
        weights = checked_weights(sample_weight, np.empty((rows, 0)))
        members = None if groups is None else group_codes(groups, rows)
        if members is not None and weights is not None:
            raise InvalidInput(
                "sample weights together with groups", "one of them", "A weight of a person says nothing of its group."
            )
        if isinstance(self.nodes, bool) or not isinstance(self.nodes, int) or not 3 <= self.nodes <= 101:
            raise InvalidInput(f"nodes={self.nodes!r}", "a whole number from 3 to 101")
        heft = effective_weights(weights)
        model = AnswerRows(link, covariates.design[:, 1:], answer.log_likelihood, heft, sample)
        start, likelihood = base_rates(link, answer, covariates.width - 1), model.likelihood()
        plain = fit_survey(
            likelihood,
            [start],
            log_f_penalty(start, covariates.width - 1),
            scored=likelihood if weights is not None or sample is not None else None,
            far=_FAR[link],
        )
        self.link_, self.guarantee_, self.classes_ = link, answer.guarantee, class_array(answer.classes)
        self.n_reports_, self.feature_names_ = rows, covariates.names[1:]
        self.report_weights_ = answers_told([answer])
        self.group_spread_: float | None = None
        self.group_p_value_: float | None = None
        self.n_groups_: int | None = None
        self.spread_curve_: Floats | None = None
        few = few_people(rows, covariates.width + len(answer.classes) - 2, weights)
        notes = [*notes_on_reports([answer], weights, sample), *covariates.notes, *few]
        fit = plain
        if members is not None:
            fit, more = self._fit_groups(model, members, plain, covariates.width - 1)
            at = np.insert(fit.theta, covariates.width - 1, math.log(_NO_SPREAD)) if fit is plain else fit.theta
            nodes = GroupedAnswers.around(model, members, at, self.nodes)
            notes += [*more, *notes_on_groups(nodes, at, covariates.names[1:], alike=fit is plain)]
        grouped = fit is not plain
        if sample is None:
            slopes, whole = covariates.width - 1, weights is None and members is None
            notes += notes_on_rows(
                ArraySource(Records(covariates.design[:, 1:], answer.codes[0], weights)),
                slopes,
                answer.channels[0],
                (lambda X: class_probabilities(link, X @ plain.theta[:slopes], plain.theta[slopes:]))
                if whole
                else None,
                "give cluster= what group each row is of, or groups=",
            )
        names, back = presented(covariates, answer.classes, grouped)
        # The spread of groups is near its border where they are few or alike, and its logarithm far from normal: over
        # 175 sets (100 groups of 20) Wald intervals missed 3% on one side and none on the other, profiles 3% and 4%.
        spread = [len(names) - 1] if grouped else []
        notes += self._keep_parameters(
            fit, names, back, range(len(names)), self.intervals, never_wald=spread, sample=sample, weights=heft
        )
        if grouped:
            self._keep_spread()
        self.notes_ = (*notes, *fit.notes)
        for note in self.notes_:
            warnings.warn(note, AskanceWarning, stacklevel=4)
        return self

    def _fit_groups(
        self, model: AnswerRows, group: Integers, plain: SurveyFit, slopes: int
    ) -> tuple[SurveyFit, list[str]]:
        sizes = np.bincount(group)
        self.n_groups_ = len(sizes)
        notes = []
        if (sizes > 1).sum() < 2:
            raise InvalidInput(
                f"{len(sizes)} groups, of which {(sizes > 1).sum()} have more than one member",
                "at least two groups of two members: what varies between groups must repeat within them",
                "Leave groups out, or choose a coarser one.",
            )
        if len(sizes) < _FEW_GROUPS:
            notes.append(f"{len(sizes)} groups tell little about how much groups differ: see the interval.")
        base = plain.likelihood(plain.theta).value
        for spread in _STARTS:
            best = self._settled(model, group, np.insert(plain.theta, slopes, math.log(spread)), slopes)
            if best.theta[slopes] > math.log(_NO_SPREAD) and best.likelihood(best.theta).value > base:
                break
        else:
            self.group_spread_, self.group_p_value_ = 0.0, 1.0
            self.spread_curve_ = self._from_the_border(model, group, plain, slopes)
            notes.append("Groups differ no more than chance makes them: their standard deviation is estimated as 0.")
            return plain, notes
        apart = float(np.exp(best.theta[slopes]))
        if 2 * apart > _FAR[checked_link(self.link)]:  # one group in twenty is as far out as a fit that ran away
            notes.append(
                f"The groups differ by a standard deviation of {apart:.1f} on the scale of the link: with covariates "
                "they tell the answers apart nearly without error, so that how large any effect is can hardly be told. "
                "Read signs, not sizes, or leave groups or covariates out."
            )
        ratio = 2 * (best.likelihood(best.theta).value - base)
        # At its border the ratio is zero half of the time (Self & Liang 1987).
        self.group_p_value_ = 0.5 * float(gammaincc(0.5, ratio / 2))
        return best, notes

    def _settled(self, model: AnswerRows, group: Integers, theta: Floats, slopes: int) -> SurveyFit:
        """Fit, move the nodes to where the fit is, and fit again until nothing changes."""

        def fitted(start: Floats) -> SurveyFit:
            likelihood = GroupedAnswers.around(model, group, start, self.nodes)
            scored = None if model.sample is None else likelihood
            penalty = log_f_penalty(np.delete(start, slopes), slopes, spread_at=slopes)
            return fit_survey(likelihood, [start], penalty, scored=scored)

        found = fitted(theta)
        for _ in range(_ROUNDS):
            again = fitted(found.theta)
            gained = abs(again.solution.local.value - found.solution.local.value)
            found = again
            if gained < _SETTLED or found.theta[slopes] < math.log(_NO_SPREAD):
                break
        return found

    def _from_the_border(self, model: AnswerRows, group: Integers, plain: SurveyFit, slopes: int) -> Floats:
        """How much the likelihood loses at some standard deviations of groups: what an upper limit is read from."""
        curve_points = [(0.0, 0.0)]
        base = plain.likelihood(plain.theta).value
        for spread in _BORDER_GRID:
            theta = np.insert(plain.theta, slopes, math.log(spread))
            likelihood = GroupedAnswers.around(model, group, theta, self.nodes)
            fixed = np.delete(np.eye(len(theta)), slopes, axis=0)

            def others(
                inner: Floats, around: Floats = theta, value: GroupedAnswers = likelihood, free: Floats = fixed
            ) -> Local:
                here = value(free.T @ inner + (np.eye(len(around))[slopes] * around[slopes]))
                return Local(here.value, free @ here.gradient, free @ here.information @ free.T)

            found = climb(others, fixed @ theta)
            curve_points.append((spread, math.sqrt(2 * max(base - found.local.value, 0.0))))
            if curve_points[-1][1] > _FAR_ROOT:
                break
        return np.array(curve_points)

    def _keep_spread(self) -> None:
        """Keep the standard deviation of groups itself; its interval is made of that of its logarithm."""
        place = self.parameter_names_.index(GROUP_SPREAD)
        self.group_spread_ = float(np.exp(self.parameters_[place]))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for rows of covariates, in a group of average intercept."""
        check_is_fitted(self, "parameters_")
        rows = self._rows(X)
        slopes, cuts = self._slopes_and_cuts()
        return class_probabilities(checked_link(self.link_), rows @ slopes, cuts)

    def _slopes_and_cuts(self) -> tuple[Floats, Floats]:
        width = len(self.feature_names_)
        numbers = self.parameters_[: width + len(self.classes_) - 1]
        return (numbers[1:], -numbers[:1]) if len(self.classes_) == 2 else (numbers[:width], numbers[width:])

    def _features(self) -> Sequence[str]:
        return self.feature_names_

    def _prediction_law(self) -> DeltaLaw:
        covariance, (slopes, cuts) = self._wald_covariance(), self._slopes_and_cuts()
        link, size = checked_link(self.link_), len(slopes) + len(cuts)

        def classes(X: Floats) -> tuple[Floats, Floats]:
            by_slopes, by_cuts = class_slopes(link, X, slopes, cuts)
            # Of two classes the intercept comes first, with the other sign.
            both = [-by_cuts, by_slopes] if len(cuts) == 1 else [by_slopes, by_cuts]
            return class_probabilities(link, X @ slopes, cuts), np.concatenate(both, axis=2)

        return DeltaLaw(classes, covariance[:size, :size], self._least_degrees(), features=self.feature_names_)

    def predict(self, X: Any) -> Any:
        """Return the most likely class for rows of covariates."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def wald_test(self, *terms: str) -> HypothesisTest:
        """Test whether everything about some terms is zero; whether groups differ is told by ``group_p_value_``."""
        if GROUP_SPREAD in terms:
            raise NotAvailable("a Wald test of what lies on its border if groups are alike", "group_p_value_")
        return super().wald_test(*terms)

    def _log_odds_names(self) -> tuple[str, ...]:
        if self.link != "logit":
            raise NotAvailable(f"odds ratios with link={self.link!r}", "link='logit', or marginal_effects()")
        return self.feature_names_

    @property
    def n_parameters_(self) -> int:
        """How many numbers were estimated, the spread of groups among them even where it is estimated as 0."""
        return len(self.parameters_) + (self.n_groups_ is not None and GROUP_SPREAD not in self.parameter_names_)

    def must_agree(self) -> dict[str, Any]:
        """Return what two models have in common if one of them is the other with fewer terms."""
        # Whether groups differ is a test at the border of the model: group_p_value_.
        groups = self.n_groups_, GROUP_SPREAD in self.parameter_names_
        return {"links": self.link_, "classes": tuple(self.classes_.tolist()), "spreads of groups": groups}

    def summary(self, level: float = 0.95) -> Summary:
        """Return coefficients, cuts and the spread of groups as a table."""
        check_is_fitted(self, "parameters_")
        facts: list[tuple[str, str]] = [("reports", f"{self.n_reports_}"), ("link", self.link_)]
        if self.n_groups_ is not None:
            facts += [("groups", f"{self.n_groups_}"), ("groups do not differ", f"p = {self.group_p_value_:.3g}")]
        last = self.classes_.tolist()[-1]
        what = f"P({last})" if len(self.classes_) == 2 else "Ordered classes"
        title = f"{what} by {self.link_} regression on hidden answers"
        table = self._parameter_table(title, level, tuple(facts), range(len(self.parameters_)))
        if self.group_spread_ is None:
            return table
        return self._with_spread(table, level)

    def _with_spread(self, table: Summary, level: float) -> Summary:
        values, names = table.values.copy(), table.names
        spread = float(self.group_spread_ or 0.0)
        if GROUP_SPREAD not in names:
            names = (*names, GROUP_SPREAD)
            # One-sided: the other end is the border.
            spreads, losses = np.asarray(self.spread_curve_).T
            roots = np.maximum.accumulate(losses)
            wanted = float(ndtri(level))
            upper = float(np.interp(wanted, roots, spreads)) if roots[-1] > wanted else math.inf
            values = np.vstack([values, [0.0, np.nan, np.nan, self.group_p_value_, 0.0, upper]])
        else:
            row = names.index(GROUP_SPREAD)
            if GROUP_SPREAD in self.profiles_:
                df = self.degrees_[row] if self.degrees_ else math.inf
                low, high = opened_profile(self.profiles_[GROUP_SPREAD]).interval(level, df)
            else:
                low, high = values[row, 4:6]
            p = float(self.group_p_value_ or 0.0)
            lower = 0.0 if p > (1 - level) / 2 else math.exp(low)  # the ratio does not refuse that groups are alike
            values[row] = spread, spread * values[row, 1], np.nan, p, lower, math.exp(high)
        return replace(table, names=names, values=values)

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figure of the coefficients with their intervals."""
        unit = {"logit": "change in log-odds", "probit": "change in probits", "cloglog": "change in log-hazard"}
        summary = self.summary()
        cuts = self.parameter_names_[len(self.feature_names_) :][: len(self.classes_) - 1]
        return (intervals_figure(summary, unit[self.link_], cuts if len(self.classes_) > 2 else ()),)
