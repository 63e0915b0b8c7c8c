"""The model of an outcome that is seen and of hidden answers that explain it, in the parameters of the solver."""

import numpy as np

from askance.arrays import Floats, Integers
from askance.learning.surveys.covariates import Covariates
from askance.learning.surveys.hidden_answers import HiddenAnswer, joint_log_likelihood
from askance.learning.surveys.hidden_states import HiddenStates
from askance.learning.surveys.outcome_families import Outcome
from askance.learning.surveys.state_factors import LogLinear
from askance.learning.surveys.survey_sample import SurveySample
from askance.solvers.log_f import LogF


class PredictorModel:
    """The likelihood of outcomes and reports, and how its parameters are named."""

    def __init__(
        self,
        answers: list[HiddenAnswer],
        states: Integers,
        covariates: Covariates,
        outcome: Outcome,
        explained: bool,
    ) -> None:
        self.answers, self.states, self.covariates, self.outcome = answers, states, covariates, outcome
        rows, width = covariates.design.shape
        hidden = np.hstack(
            [np.eye(len(answer.classes))[states[:, number]][:, 1:] for number, answer in enumerate(answers)]
        )
        design = np.empty((rows, len(states), width + hidden.shape[1]))
        design[:, :, :width] = covariates.design[:, None, :]
        design[:, :, width:] = hidden
        self.outcome_factor = outcome.factor(design)
        self.hidden_width = hidden.shape[1]
        prior = covariates.design if explained else np.ones((rows, 1))
        self.prior_width = prior.shape[1]
        main = (hidden[None, :, :, None] * prior[:, None, None, :]).reshape(rows, len(states), -1)
        sizes = np.repeat(np.arange(len(answers)), [len(answer.classes) - 1 for answer in answers])
        pairs = [(a, b) for a in range(len(sizes)) for b in range(a) if sizes[a] != sizes[b]]
        self.pairs = pairs
        together = np.stack([hidden[:, a] * hidden[:, b] for a, b in pairs], axis=1) if pairs else hidden[:, :0]
        features = np.concatenate([main, np.broadcast_to(together, (rows, *together.shape))], axis=2)
        every = np.broadcast_to(np.arange(len(states)), (rows, len(states)))
        self.prior = LogLinear(features[:, None], np.zeros_like(every), every)

    def likelihood(self, weights: Floats | None, sample: SurveySample | None = None) -> HiddenStates:
        factors = [self.outcome_factor, self.prior]
        return HiddenStates(joint_log_likelihood(self.answers), factors, weights, sample=sample)

    @property
    def _columns(self) -> list[str]:
        return [
            f"hidden({answer.name})" if len(answer.classes) == 2 else f"hidden({answer.name})={label}"
            for answer in self.answers
            for label in answer.classes[1:]
        ]

    @property
    def names(self) -> tuple[str, ...]:
        first = [] if self.outcome.family == "ordered" else ["Intercept"]
        columns = self._columns
        priors = ["Intercept", *self.covariates.names[1:]][: self.prior_width]
        return (
            *first,
            *self.covariates.names[1:],
            *columns,
            *self.outcome.extra,
            *(f"{column}: {name}" for column in columns for name in priors),
            *(f"{columns[a]} with {columns[b]}" for a, b in self.pairs),
        )

    @property
    def shown(self) -> int:
        """How many parameters the outcome has."""
        return self.outcome_factor.size

    @property
    def hidden_places(self) -> list[int]:
        """Where the coefficients of hidden answers are."""
        first = self.covariates.width - (self.outcome.family == "ordered")
        return list(range(first, first + self.hidden_width))

    @property
    def back(self) -> Floats:
        """Turns parameters of standardised covariates and outcome into those of both as they came."""
        width, scale = self.covariates.width, self.outcome.scale
        back = np.eye(len(self.names))
        own = self.covariates.back
        if self.outcome.family == "ordered":
            # Cuts take the place of the intercept, with the other sign.
            slopes = width - 1
            back[:slopes, :slopes] = own[1:, 1:]
            back[slopes + self.hidden_width : self.shown, :slopes] = -own[0, 1:]
        else:
            back[:width, :width] = own * scale
            ends = width + self.hidden_width
            back[width:ends, width:ends] *= scale
        for number in range(self.hidden_width):
            block = slice(self.shown + number * self.prior_width, self.shown + (number + 1) * self.prior_width)
            back[block, block] = own[: self.prior_width, : self.prior_width]
        return back

    @property
    def shift(self) -> Floats:
        shift = np.zeros(len(self.names))
        if self.outcome.family == "linear":
            shift[0], shift[self.shown - 1] = self.outcome.centre, np.log(self.outcome.scale)
        return shift

    def _base_rates(self) -> Floats:
        theta = np.zeros(self.prior.size)
        place = 0
        for answer in self.answers:
            share = np.maximum(answer.unbiased.mean(axis=0), 0.5 / len(answer.unbiased))
            for k in range(1, len(answer.classes)):
                theta[place] = np.log(share[k] / share[0])
                place += self.prior_width
        return theta

    def starts(self) -> list[Floats]:
        """No effect of the hidden answers; and an effect of one standard deviation up and down."""
        slopes = self.covariates.width - 1 + self.hidden_width
        base = self.outcome.start(slopes)
        starts = []
        for effect in (0.0, 1.0, -1.0):
            moved = base.copy()
            moved[self.hidden_places] = effect
            starts.append(np.concatenate([moved, self._base_rates()]))
        return starts

    def penalty(self) -> LogF:
        start = self.starts()[0]
        scale = np.ones(len(start))
        centre = np.zeros(len(start))
        own = self.shown
        if not self.outcome.logits:
            scale[:own] = 0.0
        elif self.outcome.family == "ordered":
            cuts = slice(own - len(self.outcome.extra), own)
            centre[cuts], scale[cuts] = start[cuts], 0.5
        else:
            centre[0], scale[0] = start[0], 0.5
        bases = own + self.prior_width * np.arange(self.hidden_width)
        centre[bases], scale[bases] = start[bases], 0.5
        return LogF(centre[None, :], scale)
