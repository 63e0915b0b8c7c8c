"""What a likelihood that was maximised says about models: tests between nested ones, AIC and BIC."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.errors import InvalidInput, NotAvailable
from askance.learning.face.estimator import Estimator
from askance.reports.hypothesis_test import HypothesisTest

NO_MOMENTS = "moments have no likelihood"
NOT_INDEPENDENT = "a likelihood of weighted rows or of a complex sample is not that of independent reports"

_SOLVED = 1e-3  # solvers end with a log-likelihood much nearer to its maximum; half a chi-squared that changes no test


class LikelihoodResults(Estimator):
    """An estimator whose ``log_likelihood_`` is that of all reports, at its maximum, unless it says why not."""

    n_reports_: int
    log_likelihood_: float | None
    report_weights_: tuple[float, ...] | None = None  # how many there were of each report; a saved model has lost it

    @property
    def aic_(self) -> float:
        """Akaike's criterion, -2 log-likelihood + 2 parameters: smaller is better, among models of the same reports.

        Examples
        --------
        >>> import numpy as np, askance as ask
        >>> rng = np.random.default_rng(0)
        >>> X, channel = rng.normal(size=(4000, 2)), ask.Warner(0.85)
        >>> reports = channel.simulate(np.where(rng.random(4000) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no"), rng)
        >>> larger, smaller = (ask.AnswerRegression(channel).fit(X[:, :k], reports) for k in (2, 1))
        >>> print(round(larger.aic_ - smaller.aic_, 1), round(larger.bic_ - smaller.bic_, 1))
        -0.6 5.7
        >>> print(larger.likelihood_ratio_test(smaller))
        likelihood ratio test of x1 = 0: chi-squared 2.556 on 1 degree of freedom, p 0.1099
        """
        return -2 * self.maximum_likelihood("AIC") + 2 * self.n_parameters_

    @property
    def bic_(self) -> float:
        """Schwarz's criterion, -2 log-likelihood + log(n) parameters, among models of the same reports."""
        return float(-2 * self.maximum_likelihood("BIC") + np.log(self.n_reports_) * self.n_parameters_)

    def likelihood_ratio_test(self, smaller: Any) -> HypothesisTest:
        """Test this model against one with fewer terms, fitted to the same reports.

        Parameters
        ----------
        smaller : fitted estimator of the same kind
            All its parameters are among those of this one.
        """
        from scipy.stats import chi2

        if type(smaller) is not type(self):
            raise InvalidInput(f"a {type(smaller).__name__}", f"a fitted {type(self).__name__} with fewer terms")
        check_is_fitted(smaller)
        larger, least = self.maximum_likelihood("a likelihood ratio"), smaller.maximum_likelihood("a likelihood ratio")
        strange = [name for name in smaller.parameter_names_ if name not in self.parameter_names_]
        if strange:
            what = f"a smaller model with {', '.join(strange)}, which this one does not have"
            raise InvalidInput(what, "one whose parameters are all among those of this one")
        if smaller.n_reports_ != self.n_reports_:
            raise InvalidInput(
                f"models of {self.n_reports_} and {smaller.n_reports_} reports",
                "two fits to the same reports",
                "Rows that lack a covariate of the larger model must be left out of both.",
            )
        theirs = smaller.must_agree()
        for what, value in self.must_agree().items():
            if theirs[what] != value:
                raise InvalidInput(f"models of different {what}", "two fits to the same reports that differ in terms")
        if None not in (weights := (self.report_weights_, smaller.report_weights_)) and weights[0] != weights[1]:
            raise InvalidInput("fits to different reports", "two fits to the same reports, drawn once")
        if least - larger > _SOLVED:
            raise InvalidInput(
                f"a smaller model whose log-likelihood is higher (by {least - larger:.4g})",
                "two fits to the same reports, drawn once, with the same weights",
            )
        degrees = self.n_parameters_ - smaller.n_parameters_
        if degrees < 1:
            raise InvalidInput(f"models with {self.n_parameters_} parameters both", "one with fewer terms")
        statistic = max(2 * (larger - least), 0.0)
        gone = [name for name in self.parameter_names_ if name not in smaller.parameter_names_]
        hypothesis = f"{', '.join(gone)} = 0"
        return HypothesisTest("likelihood ratio", hypothesis, statistic, degrees, float(chi2.sf(statistic, degrees)))

    def maximum_likelihood(self, what: str = "the maximum of the likelihood") -> float:
        """Return ``log_likelihood_``; refuse ``what`` where it is not that of all reports, at its maximum."""
        check_is_fitted(self)
        why = self._why_no_maximum()
        if why or self.log_likelihood_ is None:
            raise NotAvailable(
                f"{what} of this fit ({why or 'it has no likelihood'})", "wald_test, or profile intervals"
            )
        return self.log_likelihood_

    def must_agree(self) -> dict[str, Any]:
        """Return what two models have in common if one of them is the other with fewer terms."""
        return {"channels": getattr(self, "channel_", None)}

    @property
    def n_parameters_(self) -> int:
        """How many numbers were estimated; columns that the fit left out are none."""
        raise NotImplementedError

    def _why_no_maximum(self) -> str:
        """Why the log-likelihood is not that of all reports at its maximum; empty where it is."""
        raise NotImplementedError
