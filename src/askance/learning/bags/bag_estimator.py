"""What estimators that learn from bags have in common: what they are fitted to."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.errors import AskanceWarning, InvalidInput
from askance.frames import refuse_other_rows
from askance.learning.bags.bags import Bags, read_bags
from askance.learning.bags.released_bags import bag_data
from askance.learning.face.checked_features import checked_features
from askance.learning.face.classes import class_array
from askance.learning.face.engine_choice import refuse_engine
from askance.learning.face.estimator import Estimator
from askance.releases.any_release import AnyRelease
from askance.releases.counts_release import CountsRelease
from askance.releases.reading import open_release
from askance.releases.release import Release

_LARGEST = 1e100  # its powers, which are summed, are numbers still


class BagEstimator(Estimator):
    """An estimator that is fitted to rows in bags, of which the proportions of the classes are known."""

    classes: Any
    classes_: NDArray[Any]
    n_bags_: int
    n_rows_: int
    notes_: tuple[str, ...]

    def fit(self, X: Any, bags: Any, proportions: Any = None, noise: Any = None) -> Self:
        """Fit to rows in bags and the bags' proportions.

        Parameters
        ----------
        X : n x d, or a Release
            The features of a release are its numeric covariates.
        bags : n names
            The bag of each row; of a release, the name of the column.
        proportions : mapping, frame, series, array or CountsRelease
            By bag: shares of the classes, or of the second of two. An array has its rows in the order of the sorted
            names of the bags. With a release they may be left out: its reports tell them, and their noise. Released
            counts bring their noise with them.
        noise : number, array, mapping or frame, optional
            The variances (bags, or bags x classes) or covariances (bags x classes x classes) of the proportions about
            the true ones.
        """
        return self._fit(X, bags, proportions, noise)

    def fit_release(self, release: Any, engine: str = "local", *, X: Any = None, bags: Any = None) -> Self:
        """Fit to released counts and the rows that were counted, or to a release of answers.

        Parameters
        ----------
        release : path, CountsRelease or Release
        engine : "local"
            All rows are looked at together, in this process.
        X : n x d
            The features of the people who were counted. A release of answers has features of its own: its numeric
            covariates.
        bags : n names
            The bag of each row; of a release of answers, the name of the column.
        """
        refuse_engine(engine, "learning from bags")
        opened: AnyRelease = open_release(release, CountsRelease, Release)
        if not isinstance(opened, CountsRelease):
            if X is not None:
                raise InvalidInput("X= beside a release of answers", "bags= alone: the features are its covariates")
            return self._fit(opened, bags, None, None)
        if X is None or bags is None:
            raise InvalidInput(
                "a release of counts without the rows that were counted",
                "X= and bags=: the features of the people, n x d, and the bag of each",
            )
        return self._fit(X, bags, opened, None)

    def _fit(self, X: Any, bags: Any, proportions: Any, noise: Any) -> Self:
        self._check_parameters()
        refuse_other_rows(X=X, bags=bags)
        given = bag_data(X, bags, proportions, noise)
        rows = self._checked_rows(given.features, reset=True)
        classes = given.classes if self.classes is None else self.classes
        known = read_bags(given.bags, given.proportions, classes, given.noise, len(rows))
        known.check_identifiable()
        self._describe(known, given.guarantee)
        for note in self._learn(rows, known):
            self.notes_ = (*self.notes_, note)
            warnings.warn(note, AskanceWarning, stacklevel=3)
        return self

    def _describe(self, bags: Bags, guarantee: Guarantee) -> None:
        """Keep what is known before anything is learned."""
        self.classes_ = class_array(bags.classes)
        self.guarantee_ = guarantee
        self.n_bags_, self.n_rows_ = len(bags.labels), len(bags.order)
        self.notes_ = ()

    # -- what an estimator does itself -----------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters that mean nothing."""
        raise NotImplementedError

    def _checked_rows(self, X: Any, reset: bool = False) -> Floats:
        """Features as numbers; with ``reset`` their number and names are kept."""
        return _checked_size(np.asarray(checked_features(self, X, dtype=np.float64, order="C", reset=reset)))

    def _learn(self, X: Floats, bags: Bags) -> list[str]:
        """Learn, keep what was learned, and return what a user must be warned of."""
        raise NotImplementedError


def _checked_size(rows: Floats) -> Floats:
    """Return features none of which is too large to be squared and summed."""
    largest = max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))
    if largest > _LARGEST:
        raise InvalidInput(
            f"a feature of {largest:.3g}", f"numbers of at most {_LARGEST:g}", "Is it a code for a missing value?"
        )
    return rows
