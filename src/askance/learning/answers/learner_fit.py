"""A scikit-learn classifier in place of the softmax model, by expectation-maximisation."""

import warnings
from typing import Any

import numpy as np

from askance.arrays import Codes
from askance.channels.base import LabelChannel
from askance.channels.labels.channel_matrix import refuse_indistinguishable
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.answers.compliance import DesignTest, design_lines
from askance.learning.answers.kept_fit import likelihood_fact
from askance.learning.answers.unknown_estimators import has_unknowns
from askance.learning.face.base_learner import check_base_learner, learner_name
from askance.learning.face.sample_weights import checked_weights
from askance.reports.summary import Summary
from askance.solvers.em import expectation_maximisation
from askance.statistics.frequencies import ReportCounts, counted


def check_learner(model: Any, channel: LabelChannel) -> None:
    """Refuse what a learner cannot do."""
    if model.method == "moments":
        raise InvalidInput(
            "method='moments' with a base_estimator",
            "method='marginal'",
            "Unbiased labels have negative weights, which scikit-learn classifiers do not take.",
        )
    if has_unknowns(channel):
        raise InvalidInput("unknown numbers in the channel with a base_estimator", "base_estimator=None")
    refuse_indistinguishable(channel.matrix, channel.classes)
    check_base_learner(model.base_estimator, "Expectation-maximisation weights every row by how likely each class is.")


def fit_learner(model: Any, X: Any, channel: LabelChannel, codes: Codes, sample_weight: Any) -> Any:
    """Fit, give the model the results, and return the fitted learner."""
    rows = len(codes)
    weights = checked_weights(sample_weight, np.empty((rows, 0)))
    result = expectation_maximisation(
        model.base_estimator,
        X,
        channel.matrix[codes],
        weights,
        max_iterations=model.max_iter,
        tolerance=model.tol,
    )
    model.log_likelihood_ = (rows if weights is None else float(weights.sum())) * result.log_likelihood[-1]
    model.n_reports_ = rows
    model.n_iter_ = len(result.log_likelihood)
    model.converged_ = result.converged
    model.design_test_ = DesignTest.of(channel, ReportCounts(rows, *counted(codes, weights, len(channel.matrix))))
    model.notes_ = ()
    if not result.converged:
        model.notes_ = (f"EM stopped after {model.n_iter_} rounds before it converged: raise max_iter.",)
        warnings.warn(model.notes_[0], AskanceWarning, stacklevel=4)
    return result.model


def learner_summary(model: Any, what: str, level: float) -> Summary:
    """The facts about such a fit, which has no table."""
    title = f"{what} by {learner_name(model.base_estimator_)} on hidden answers"
    rounds = ("rounds of expectation-maximisation", f"{model.n_iter_}")
    facts = (("reports", f"{model.n_reports_}"), *likelihood_fact(model), rounds)
    said_of_design = design_lines(Summary(title, level=level, facts=facts), model.design_test_)
    return Summary(title, level=level, notes=model.notes_, privacy=model.privacy_statement_, **said_of_design)
