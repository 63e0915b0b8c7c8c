"""Factors of likelihoods with hidden states: which state a row is in, and shares that are nobody's interest."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from askance.arrays import Flags, Floats, Integers
from askance.learning.surveys.hidden_states import FactorValue


@dataclass(frozen=True, eq=False)
class LogLinear:
    """The law of one of several alternatives, exp(offset + F g) over its sum, in a row's group of alternatives.

    Parameters
    ----------
    features : array, n x groups x alternatives x d
        F: what each alternative has of each parameter.
    group, taken : arrays of int, n x states
        In which group each state of a row is, and which of its alternatives.
    offset : array, alternatives, optional
        What is known of the logarithm of their weight.
    """

    features: Floats
    group: Integers
    taken: Integers
    offset: Floats | None = None

    @property
    def size(self) -> int:
        return int(self.features.shape[3])

    def at(self, theta: Floats) -> FactorValue:
        logits = self.features @ theta
        if self.offset is not None:
            logits = logits + self.offset
        logs = logits - logsumexp(logits, axis=2, keepdims=True)
        law = np.exp(logs)
        mean = np.einsum("iga,igad->igd", law, self.features)
        rows = np.arange(len(logs))[:, None]
        value = logs[rows, self.group, self.taken]
        score = self.features[rows, self.group, self.taken] - mean[rows, self.group]

        def curvature(weights: Floats) -> Floats:
            second = np.zeros((self.size, self.size))
            for group in range(logs.shape[1]):
                heft = np.where(self.group == group, weights, 0.0).sum(axis=1)
                flat = self.features[:, group].reshape(-1, self.size)
                second += (mean[:, group] * heft[:, None]).T @ mean[:, group]
                second -= (flat * (law[:, group] * heft[:, None]).reshape(-1, 1)).T @ flat
            return second

        return FactorValue(value, score, curvature)


@dataclass(frozen=True, eq=False)
class Share:
    """A share q on the logit scale: each state of a row adds log q, log (1 - q), or nothing.

    Parameters
    ----------
    yes, no : arrays, n x states
        One where a state adds the logarithm of q, or of 1 - q; zero elsewhere.
    """

    yes: Floats
    no: Floats

    size = 1

    def at(self, theta: Floats) -> FactorValue:
        q = float(expit(theta[0]))
        value = self.yes * float(log_expit(theta[0])) + self.no * float(log_expit(-theta[0]))
        score = (self.yes * (1 - q) - self.no * q)[:, :, None]
        either = self.yes + self.no

        def curvature(weights: Floats) -> Floats:
            return np.array([[-q * (1 - q) * float((weights * either).sum())]])

        return FactorValue(value, score, curvature)


@dataclass(frozen=True, eq=False)
class Carrier:
    """A yes or no by logistic regression on covariates: whether the hidden truth is "yes".

    Parameters
    ----------
    design : array, n x d
        Covariates, with a column of ones for the intercept.
    yes : array of bool, n x states
        In which states the truth is "yes".
    """

    design: Floats
    yes: Flags

    @property
    def size(self) -> int:
        return int(self.design.shape[1])

    @cached_property
    def _sign(self) -> Floats:
        return np.where(self.yes, 1.0, -1.0)

    def at(self, theta: Floats) -> FactorValue:
        logit = (self.design @ theta)[:, None]
        p = expit(logit)
        score = (self.yes - p)[:, :, None] * self.design[:, None, :]

        def curvature(weights: Floats) -> Floats:
            pull = weights.sum(axis=1) * (p * (1 - p))[:, 0]
            return np.asarray(-(self.design * pull[:, None]).T @ self.design)

        return FactorValue(log_expit(self._sign * logit), score, curvature)
