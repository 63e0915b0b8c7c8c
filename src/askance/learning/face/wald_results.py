"""Tests of terms, by estimates and their covariance: once for all estimators whose parameters have names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.errors import InvalidInput, NotAvailable, did_you_mean
from askance.learning.face.estimator import Estimator
from askance.reports.hypothesis_test import HypothesisTest

# Of the largest eigenvalue of the correlations: below, a direction is one that the model itself leaves open, such as
# the sum of the weights of all tags of a chain. Rounding leaves 1e-16 of it times some hundred parameters.
_OPEN = 1e-11
_BESIDE = 1e-5  # of the length in standard errors: what solvers leave along a direction that is open


@dataclass(frozen=True, eq=False)
class NamedEstimates:
    """Estimates that are tested by name.

    Parameters
    ----------
    names : sequence of str
    about : sequence of str
        What each is about: the name of its feature, say, whatever its class.
    values : array
    covariance : array
        NaN where there is no error.
    degrees : sequence of float
        Degrees of freedom of each error; none at all where all are infinite.

    Examples
    --------
    >>> names = ("Intercept", "C(school)[T.b]", "C(school)[T.c]")
    >>> print(NamedEstimates(names, names, np.array([0.0, 1.0, 2.0]), np.eye(3)).wald_test(["C(school)"]))
    Wald test of C(school)[T.b], C(school)[T.c] = 0: chi-squared 5.000 on 2 degrees of freedom, p 0.0821
    """

    names: Sequence[str]
    about: Sequence[str]
    values: Floats
    covariance: Floats
    degrees: Sequence[float] = ()

    def wald_test(self, terms: Sequence[str]) -> HypothesisTest:
        """Test whether all parameters of some terms are zero."""
        from scipy.stats import chi2, f

        places = sorted({place for term in terms for place in self._places(term)})
        covariance = np.asarray(self.covariance[np.ix_(places, places)], dtype=np.float64)
        unknown = [self.names[place] for place, error in zip(places, np.diag(covariance), strict=True) if not error > 0]
        if unknown:
            raise NotAvailable(f"a test of {listed(unknown, 5)}, which has no standard error", "terms that have one")
        statistic, many = _length(np.asarray(self.values[places], dtype=np.float64), covariance)
        known = [self.degrees[place] for place in places] if self.degrees else []
        degrees = min((each for each in known if np.isfinite(each)), default=np.inf)
        if np.isinf(degrees):
            p_value = float(chi2.sf(statistic, many))
        else:
            statistic, p_value = statistic / many, float(f.sf(statistic / many, many, degrees))
        hypothesis = f"{', '.join(self.names[place] for place in places)} = 0"
        return HypothesisTest("Wald", hypothesis, statistic, many, p_value, degrees)

    def _places(self, term: str) -> list[int]:
        """The parameters of a term: one by its name, or all columns of a term of a formula, of every class."""
        found = [
            place
            for place, (name, about) in enumerate(zip(self.names, self.about, strict=True))
            if term in (name, about) or about.startswith(f"{term}[")
        ]
        if not found:
            known = tuple(dict.fromkeys([*self.about, *self.names]))
            raise InvalidInput(f"the term {term!r}", f"one of {listed(known)}", did_you_mean(term, known))
        return found


def _length(values: Floats, covariance: Floats) -> tuple[float, int]:
    """The squared length of values in standard errors, and how many directions it has."""
    sizes, axes, errors = _directions(covariance)
    seen, along = sizes > _OPEN * sizes[-1], axes.T @ (values / errors)
    if (np.abs(along[~seen]) > _BESIDE * (1 + np.linalg.norm(along))).any():
        raise NotAvailable(
            f"a test of {len(values)} parameters together, whose errors are known along {int(seen.sum())} directions",
            "fewer terms, or more clusters",
        )
    return float((along[seen] ** 2 / sizes[seen]).sum()), int(seen.sum())


def _directions(covariance: Floats) -> tuple[Floats, Floats, Floats]:
    """The eigenvalues and eigenvectors of the correlations, and the standard errors."""
    errors = np.sqrt(np.diag(covariance))
    return *np.linalg.eigh(covariance / np.outer(errors, errors)), errors


def free_directions(covariance: Floats) -> int:
    """Return how many numbers were estimated: along what a model leaves open there is no error.

    Examples
    --------
    >>> free_directions(np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, np.nan]]))
    1
    """
    known = np.flatnonzero(np.diag(covariance) > 0)
    sizes = _directions(np.asarray(covariance, dtype=np.float64)[np.ix_(known, known)])[0]
    return int((sizes > _OPEN * sizes.max(initial=0.0)).sum())


class WaldResults(Estimator):
    """An estimator whose parameters have names and a covariance, unless it says why not."""

    def wald_test(self, *terms: str) -> HypothesisTest:
        """Test whether everything about some terms is zero.

        By the covariance of the parameters: chi-squared, or F where clusters leave the errors degrees of freedom, as
        the intervals have them; of several parameters the fewest.

        Parameters
        ----------
        *terms : str
            Names of features, of parameters, or of terms of the formula, such as ``"C(school)"``.

        Examples
        --------
        >>> import numpy as np, askance as ask
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(4000, 2))
        >>> channel = ask.Warner(0.85)
        >>> reports = channel.simulate(np.where(rng.random(4000) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no"), rng)
        >>> model = ask.AnswerRegression(channel, link="probit").fit(X, reports)
        >>> print(model.wald_test("x1"))
        Wald test of x1 = 0: chi-squared 2.692 on 1 degree of freedom, p 0.1008
        """
        if not terms:
            raise InvalidInput("no terms", "names of features, such as wald_test('age')")
        covariance, names = self._wald_covariance(), self.parameter_names_
        about = [self._about(place, name) for place, name in enumerate(names)]
        degrees: tuple[float, ...] = getattr(self, "degrees_", ())
        return NamedEstimates(names, about, self.parameters_, covariance, degrees).wald_test(terms)

    def odds_ratios(self, level: float = 0.95) -> Any:
        """Return the odds ratio of each coefficient with its interval and p-value, as a data frame.

        The factor by which the odds grow when a feature grows by one: of a class against the first, or of more than
        each class where classes are in an order. Intervals are of the kind that the summary has.
        """
        check_is_fitted(self)
        names = list(self._log_odds_names())
        table = self.summary(level).to_frame().loc[names]
        found = np.exp(table[["estimate", "lower", "upper"]])
        found.columns = ["odds_ratio", "lower", "upper"]
        return found.assign(p_value=table["p_value"])

    def _log_odds_names(self) -> Sequence[str]:
        """The parameters that are log-odds of a step of a feature; refused where there are none."""
        raise NotAvailable(f"odds ratios of {type(self).__name__}, whose parameters are no log-odds", "summary()")

    def _wald_covariance(self) -> Floats:
        """The covariance of the parameters; refused where there is none, or none that may be used so."""
        check_is_fitted(self)
        why = self._why_no_wald()
        covariance: Floats | None = getattr(self, "covariance_", None)
        if why or covariance is None:
            raise NotAvailable(f"this of a fit without Wald errors ({why or self._why_no_errors()})", "summary()")
        return covariance

    def _about(self, place: int, name: str) -> str:
        """What a parameter is about: a term is all parameters that are about it."""
        return name

    def _why_no_wald(self) -> str:
        """Why errors of parameters say nothing about functions of them; empty where they do."""
        return ""

    def _why_no_errors(self) -> str:
        """Why covariance_ is None."""
        return "this fit has none"
