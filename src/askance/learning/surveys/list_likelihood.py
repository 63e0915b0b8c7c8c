"""Who says yes to the sensitive item of a list, by maximum likelihood with covariates.

The model of Imai (2011): a logistic regression of the sensitive answer Z, and a law of how many of the J other items
are true given covariates and Z. Imai takes a binomial law for these; ours has free weights,

    P(Y0 = y | x, z)  proportional to  exp(a_y + y (x'g + k z)),

because the items of a list are neither independent nor equally likely: their counts spread less than binomial ones,
while a beta-binomial law only spreads more, and a law of the wrong spread is paid for with a wrong prevalence. This law
is exact for independent items of any probabilities whose odds covariates and the sensitive answer multiply by the same
factor. The binomial law is the case a_y = log C(J, y) + y a. Its parameters stay few: J + p + 1.

Floor and ceiling (Blair and Imai 2012, section 4): of people for whom all items are true a share says J and not J + 1,
of those for whom only the sensitive one is, a share says 0. Direct answers: a share of those for whom it is true says
so.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, gammaln, logit

from askance.arrays import Floats, Integers
from askance.errors import Unidentifiable
from askance.learning.surveys.covariates import Covariates
from askance.learning.surveys.hidden_states import Factor, HiddenStates
from askance.learning.surveys.list_counts import ListCounts
from askance.learning.surveys.list_means import Estimate
from askance.learning.surveys.state_factors import Carrier, LogLinear, Share
from askance.learning.surveys.survey_fit import SurveyFit, fit_survey, smallest_eigenvalue
from askance.solvers.log_f import LogF

Control = Literal["free", "binomial"]
_UNIDENTIFIED = 1e-8  # of the scaled information without covariates: others have at least .001
_START_SHARE = 0.2  # where the search for shares of liars begins: neither few nor many
_INSIDE = 0.02  # shares nearer to 0 or 1 are no start for a search


@dataclass(frozen=True, eq=False)
class ListModel:
    """The likelihood of a list experiment: rows, covariates, and which shares are unknown."""

    data: ListCounts
    covariates: Covariates
    control: Control = "free"
    floor: bool = False
    ceiling: bool = False

    def likelihood(self) -> HiddenStates:
        """Return the likelihood of the counts (and direct answers), as a function of all parameters."""
        data = self.data
        count, long, items = data.counts[:, 0], data.treated, data.items
        # States of a row: not true; true, and counted; true, and passed over at the floor or the ceiling.
        others = np.column_stack([count, count - long, count])
        lied = np.zeros((len(count), 3), dtype=bool)
        lied[:, 2] = long & ((self.floor & (count == 0)) | (self.ceiling & (count == items)))
        possible = (others >= 0) & (others <= items)
        possible[:, 2] &= lied[:, 2]
        yes = np.array([False, True, True])[None, :] & np.ones_like(possible)
        if data.direct is not None:
            possible[:, 0] &= ~data.direct
        others = np.clip(others, 0, items)
        factors: list[Factor] = [Carrier(self.covariates.design, yes), self._items(yes, others)]
        for asked, place in ((self.floor, 0), (self.ceiling, items)):
            if asked:
                there = (yes & (others == place) & long[:, None]).astype(float)
                factors.append(Share(there * lied, there * ~lied))
        if data.direct is not None:
            said = yes & data.direct[:, None]
            factors.append(Share(said.astype(float), (yes & ~said).astype(float)))
        return HiddenStates(np.where(possible, 0.0, -np.inf), factors, data.weights, sample=data.sample)

    def _items(self, yes: Any, others: Integers) -> LogLinear:
        """The law of how many other items are true."""
        items, x = self.data.items, self.covariates.design[:, 1:]
        counts = np.arange(items + 1.0)
        weights = counts[:, None] if self.control == "binomial" else np.eye(items + 1)[:, 1:]
        free = weights.shape[1]
        features = np.zeros((len(x), 2, items + 1, free + x.shape[1] + 1))
        features[:, :, :, :free] = weights
        features[:, :, :, free:-1] = (x[:, None, :] * counts[:, None])[:, None]
        features[:, 1, :, -1] = counts
        ways = gammaln(items + 1) - gammaln(counts + 1) - gammaln(items - counts + 1)
        return LogLinear(features, yes.astype(np.int64), others, ways if self.control == "binomial" else None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters."""
        items = ["each"] if self.control == "binomial" else [str(y) for y in range(1, self.data.items + 1)]
        return (
            *self.covariates.names,
            *(f"other items: {name}" for name in items),
            *(f"other items: {name}" for name in self.covariates.names[1:]),
            "other items: if the sensitive one is true",
            *(["floor"] if self.floor else []),
            *(["ceiling"] if self.ceiling else []),
            *(["says so directly"] if self.data.direct is not None else []),
        )

    @property
    def back(self) -> Floats:
        """Turns parameters of standardised covariates into those of the covariates as they came."""
        width, free = self.covariates.width, 1 if self.control == "binomial" else self.data.items
        back = np.eye(len(self.names))
        back[:width, :width] = self.covariates.back
        tilt = slice(width + free, width + free + width - 1)
        back[tilt, tilt] = self.covariates.back[1:, 1:]
        ways = np.ones(1) if self.control == "binomial" else np.arange(1.0, self.data.items + 1)
        back[width : width + free, tilt] = np.outer(ways, self.covariates.back[0, 1:])
        return back

    def fit(self, prevalence: float) -> SurveyFit:
        """Fit from a guess of the prevalence, and from one half."""
        self._refuse_unidentified(prevalence)
        likelihood = self.likelihood()
        starts = [self._start(share) for share in dict.fromkeys((float(np.clip(prevalence, 0.1, 0.9)), 0.5))]
        scored = likelihood if self.data.weights is not None or self.data.sample is not None else None
        return fit_survey(likelihood, starts, self._penalty(prevalence), scored=scored)

    def _start(self, prevalence: float) -> Floats:
        data = self.data
        theta = np.zeros(len(self.names))
        theta[0] = logit(prevalence)
        seen = np.bincount(data.counts[~data.treated, 0], minlength=data.items + 1) + 0.5
        width = self.covariates.width
        if self.control == "free":
            theta[width : width + data.items] = np.log(seen[1:] / seen[0])
        else:
            mean = float(seen @ np.arange(data.items + 1) / seen.sum() / data.items)
            theta[width] = logit(np.clip(mean, _INSIDE, 1 - _INSIDE))
        shares = int(self.floor) + int(self.ceiling)
        if shares:
            theta[len(theta) - shares - (data.direct is not None) :][:shares] = logit(_START_SHARE)
        return theta

    def _penalty(self, prevalence: float) -> LogF:
        """Pull slopes to zero, the intercept to the prevalence that differences tell, and shares to one half."""
        centre, scale = np.zeros(len(self.names)), np.ones(len(self.names))
        centre[0], scale[0] = logit(np.clip(prevalence, _INSIDE, 1 - _INSIDE)), 0.5
        width, free = self.covariates.width, 1 if self.control == "binomial" else self.data.items
        centre[width : width + free] = self._start(prevalence if 0 < prevalence < 1 else 0.5)[width : width + free]
        scale[width : width + free] = 0.5
        return LogF(centre[None, :], scale)

    def _refuse_unidentified(self, prevalence: float) -> None:
        """Refuse unknown shares that the counts cannot tell: seen without covariates, which hide it."""
        if not (self.floor or self.ceiling):
            return
        alone = ListModel(self.data, Covariates.of(None, rows=len(self.data.counts)), "free", self.floor, self.ceiling)
        start = alone._start(float(np.clip(prevalence, 0.1, 0.9)))
        if smallest_eigenvalue(_expected_information(alone, start)) < _UNIDENTIFIED:
            raise Unidentifiable(
                f"a list of {self.data.items} items with unknown shares at the floor or the ceiling",
                "fewer unknown shares, or a longer list: these counts have the same law for different prevalences",
            )


def _expected_information(model: ListModel, theta: Floats) -> Floats:
    """The information of one person in each group, from every count they can give, at some parameters."""
    data = model.data
    counts = [*range(data.items + 1), *range(data.items + 2)]
    treated = np.array([False] * (data.items + 1) + [True] * (data.items + 2))
    answers = None if data.direct is None else np.repeat([False, True], len(counts))
    times = 1 if answers is None else 2
    rows = ListCounts(np.tile(counts, times)[:, None], np.tile(treated, times), data.items, answers)
    alone = Covariates.of(None, rows=len(rows.counts))
    likelihood = ListModel(rows, alone, model.control, model.floor, model.ceiling).likelihood()
    with np.errstate(divide="ignore"):
        logs = likelihood.known + sum(
            factor.at(theta[block]).value for factor, block in zip(likelihood.factors, likelihood.blocks, strict=True)
        )
    law = np.exp(logs).sum(axis=1)
    scores = likelihood.rows(theta).scores[law > 0]
    return np.asarray((scores * law[law > 0, None]).T @ scores)


def mean_prevalence(model: ListModel, fit: SurveyFit) -> Estimate:
    """Return the mean of P(yes | x) over all rows, with how much each row moves it."""
    design, width = model.covariates.design, model.covariates.width
    weights = np.ones(len(design)) if model.data.weights is None else model.data.weights
    heft = weights / weights.sum()
    p = expit(design @ fit.theta[:width])
    value = float(heft @ p)
    gradient = np.zeros(len(fit.theta))
    gradient[:width] = (heft * p * (1 - p)) @ design
    around = heft * (p - value)
    scores = model.likelihood().rows(fit.theta).scores * weights[:, None]
    bread = np.linalg.pinv(fit.objective(fit.theta).information, hermitian=True)
    influence = around + scores @ (bread @ gradient)
    if model.data.sample is not None:
        variance, degrees = model.data.sample.variance(influence)
        return Estimate(value, variance, influence, degrees)
    return Estimate(value, float(gradient @ fit.covariance @ gradient + around @ around), influence)
