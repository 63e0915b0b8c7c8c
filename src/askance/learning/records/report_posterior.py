"""What feature reports tell about the true class, by what was learned of all attributes together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.learning.records.enumerated_likelihood import every_state, state_posterior
from askance.learning.records.latent_data import factorised_prior, from_arrays
from askance.learning.records.latent_reports import LatentReports, true_design
from askance.learning.records.mixture_likelihood import MixtureLikelihood
from askance.learning.records.posterior import FeaturePosterior
from askance.solvers.softmax import posterior as class_posterior


def told_by_joint_prior(
    features: FeatureChannel,
    nominal: tuple[bool, ...],
    kept: dict[str, Any] | None,
    posterior: FeaturePosterior,
    reports: NDArray[Any],
    theta: Floats,
) -> Floats:
    """P(true class | feature report), n x classes.

    Parameters
    ----------
    features : FeatureChannel
    nominal : d booleans
    kept : mapping, optional
        A table of all true records, or latent classes; attributes are independent where there is none.
    posterior : FeaturePosterior
        Of each attribute by itself.
    reports : n x d
        Codes of states, and numbers.
    theta : rows x (1 + D)
        Intercept, at the origin, first.
    """
    if kept is not None and "table" in kept:
        scores = true_design(features, nominal, every_state(features)) @ theta[:, 1:].T + theta[:, 0]
        against_first = scores if len(theta) == 1 else scores[:, 1:] - scores[:, :1]
        return state_posterior(features, reports, kept["table"]) @ class_posterior(against_first).probabilities
    ones = np.ones(len(reports))
    read = LatentReports.of(features, reports, ones, ones, nominal)
    prior = factorised_prior(posterior, read) if kept is None else from_arrays(kept)
    likelihood = MixtureLikelihood.of(prior, read, np.empty((len(reports), max(len(theta), 2))), intercept=False)
    return likelihood.probabilities(theta)
