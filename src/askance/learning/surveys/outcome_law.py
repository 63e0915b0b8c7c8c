"""Whether a linear outcome is normal around its line, with one spread, as a likelihood takes it to be.

A mixture of two normal laws is also a skewed law: where the outcome's own law is skewed, or its spread moves with a
covariate, a likelihood takes that for an effect of the hidden answer. What is left over, in standard deviations z, has
Hermite polynomials z^2 - 1, z^3 - 3 z and z^4 - 6 z^2 + 3 of mean zero and variances 2, 6 and 24; their means given
what was seen vary less, and less still around a fit, so that these tests reject proper laws more rarely than they say.
"""

import numpy as np
from scipy.special import erfc

from askance.arrays import Floats
from askance.learning.surveys.outcome_families import LinearOutcome
from askance.learning.surveys.survey_sample import SurveySample

_LEAST = 1e-99  # a p-value that is no smaller on paper


def normal_law_p_value(
    factor: LinearOutcome,
    theta: Floats,
    states: Floats,
    covariates: Floats,
    weights: Floats | None,
    sample: SurveySample | None,
) -> float:
    """Return the p-value of the hypothesis that what is left over is normal and varies alike for all covariates.

    Parameters
    ----------
    factor : LinearOutcome
    theta : array
        Its parameters.
    states : array, n x states
        Probabilities of the hidden answers given what was seen.
    covariates : array, n x d
        Standardised.
    weights, sample
        As of the fit.
    """
    left = (factor.outcome[:, None] - factor.design @ theta[:-1]) * np.exp(-theta[-1])
    square, skew, tails = (
        (states * polynomial).sum(axis=1) for polynomial in (left**2 - 1, left**3 - 3 * left, left**4 - 6 * left**2 + 3)
    )
    terms = np.column_stack([skew, tails, square[:, None] * covariates])
    spreads = np.column_stack([np.full(len(left), 6.0), np.full(len(left), 24.0), 2 * covariates**2])
    heft = np.ones(len(left)) if weights is None else weights
    variances = heft**2 @ spreads
    terms = terms * heft[:, None]
    if sample is not None:  # who is alike in a cluster goes together
        variances = np.maximum(variances, np.diag(sample.plain_covariance(terms)))
    told = variances > 0
    roots = np.abs(terms.sum(axis=0)[told]) / np.sqrt(variances[told])
    return float(np.clip(told.sum() * erfc(roots.max() / np.sqrt(2)), _LEAST, 1.0))
