"""Which fit suits the total of shaped rows: the plain one where labels' own chance prevails, else that of the total."""

from dataclasses import replace

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.errors import InvalidInput, NotAvailable
from askance.learning.totals.mean_operator_fit import MeanOperatorProblem, OperatorFit
from askance.learning.totals.public_features import PublicFeatures
from askance.learning.totals.shaped_fit import fit_shaped, is_mostly_chance
from askance.mechanisms.sums.label_shape import LabelShape
from askance.releases.mean_operator import MeanOperator


def fit_release_of_shape(
    problem: MeanOperatorProblem, X: Floats, operator: MeanOperator, shape: LabelShape, intercept: bool, engine: Engine
) -> OperatorFit:
    """Fit to the total of shaped rows; parameters are those of features as they are.

    Parameters
    ----------
    problem : MeanOperatorProblem
        With a loss other than the logistic one, a ridge or a regulariser of its own only the plain fit can do it.
    X, operator, shape, intercept, engine
        As for :func:`fit_shaped`.
    """
    check_width(operator, shape, intercept)
    of_total = problem.loss.softmax and problem.ridge is None and problem.regulariser is None
    if not shape.is_whole:
        if not of_total:
            raise NotAvailable(
                f"a {problem.loss.name} loss, a ridge or a regulariser for a release that was turned to {shape.width} "
                "directions or whose long rows were shortened",
                "loss='logistic' and ridge='auto'",
                "Or ask for a release with shape='none'.",
            )
        return fit_shaped(X, operator, shape, intercept, engine)
    standard = PublicFeatures.of(shape.standard(X), intercept, engine)
    plain = unturned(operator, shape, intercept)
    if of_total and not is_mostly_chance(plain, _uncentred(standard)):
        return fit_shaped(X, operator, shape, intercept, engine)
    return _in_raw_units(problem.fit(standard, plain), shape, intercept)


def check_width(operator: MeanOperator, shape: LabelShape, intercept: bool) -> None:
    """Refuse a total with an intercept's value for a model without one, or the other way round."""
    if operator.width != shape.width + intercept:
        raise InvalidInput(
            f"a total of {operator.width} values by a shape of {shape.width} directions",
            f"fit_intercept={operator.width > shape.width}, as the release was made",
        )


def unturned(operator: MeanOperator, shape: LabelShape, intercept: bool) -> MeanOperator:
    """Return the total of standardised rows, where that of shaped ones tells it."""
    back = np.eye(operator.width)
    first = int(intercept)
    back[first:, first:] = np.linalg.inv(shape.directions.T)
    lift = np.kron(np.eye(operator.values.size // operator.width), back)
    values = (lift @ operator.values.ravel()).reshape(operator.values.shape)
    covariance = lift @ operator.noise_covariance @ lift.T
    return replace(operator, values=values, noise_variance=None, noise_covariance=(covariance + covariance.T) / 2)


def _uncentred(features: PublicFeatures) -> Floats:
    """E[(1, x)(1, x)'], of which ``features`` has the moments around the mean."""
    moments = features.moments
    if not features.intercept:
        return moments
    whole = np.array(moments)
    whole[1:, 1:] += np.outer(features.mean, features.mean)
    return whole


def _in_raw_units(fit: OperatorFit, shape: LabelShape, intercept: bool) -> OperatorFit:
    back = shape.in_raw_units(intercept)
    lift = np.kron(np.eye(len(fit.parameters) // len(back)), back)
    covariance = None if fit.covariance is None else lift @ fit.covariance @ lift.T
    return replace(fit, rows=fit.rows @ back.T, parameters=lift @ fit.parameters, covariance=covariance)
