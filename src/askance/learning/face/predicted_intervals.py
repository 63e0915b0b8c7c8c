"""Predictions with intervals, for rows and groups of rows, and effects on them: once for all that have them."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.frames import column_names, library_of, refuse_other_rows, some_columns, table_like
from askance.learning.face.delta_law import effect_table
from askance.learning.face.sample_weights import checked_weights
from askance.learning.face.wald_results import WaldResults
from askance.reports.summary import Summary


class PredictionLaw(Protocol):
    """What is predicted from features, and how far it is known."""

    @property
    def features(self) -> Sequence[str]:
        """The names of the columns that it is predicted from."""

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the errors; infinite without clusters."""

    def each(self, X: Floats) -> tuple[Floats, Floats]:
        """Predictions for each row, n x K, and their standard errors."""

    def mean(self, X: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """The weighted mean of predictions over rows (K), and their standard errors."""

    def effects(self, X: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """The weighted mean change of predictions with each feature, K x d, and standard errors."""

    def limits(self, values: Floats, errors: Floats, level: float) -> tuple[Floats, Floats]:
        """The ends of intervals."""


class PredictedIntervals(WaldResults):
    """An estimator that predicts by its parameters, so that predictions have their errors."""

    def predict_interval(self, X: Any, level: float = 0.95, *, by: Any = None, sample_weight: Any = None) -> Any:
        """Return predictions with standard errors and intervals, as a data frame.

        Probabilities of the truth; of an :class:`~askance.IndirectRegressor` the mean of the outcome among all who have
        such features; of an :class:`~askance.AnswerRegression` with groups, in a group of average intercept. The errors
        are those of the parameters: where a probability or a mean is, not where a single answer or outcome falls.

        Parameters
        ----------
        X : n x d
        level : float
        by : name of a column of X, or n names, optional
            Means over groups of rows in place of every row: the prevalence among such people.
        sample_weight : n, optional
            How much each row counts in the mean of its group.

        Returns
        -------
        data frame
            Of the mean, or of the second of two classes, with a row for each row or group; of more, with a row for each
            class too. pandas' unless X is a table of polars or Arrow: then it is one of these.

        Examples
        --------
        >>> import numpy as np, askance as ask
        >>> rng = np.random.default_rng(0)
        >>> X, channel = rng.uniform(-1, 1, (2000, 1)), ask.PrivateNumber(-3, 3, epsilon=6)
        >>> model = ask.IndirectRegressor(channel).fit(X, channel.simulate(X[:, 0] + rng.normal(size=2000) / 3, rng))
        >>> model.predict_interval([[0.5], [-0.5]]).round(2)
           estimate  std_error  lower  upper
        0      0.50       0.02   0.46   0.53
        1     -0.49       0.02  -0.53  -0.45
        """
        refuse_other_rows(X=X, by=by, sample_weight=sample_weight)
        check_is_fitted(self)
        law, labels = self._prediction_law(), self._predicted_labels()
        rows = self._rows(without_group(X, by, self._features()))
        weight = checked_weights(sample_weight, rows)
        weight = np.ones(len(rows)) if weight is None else weight
        if by is None:
            names = X.index if library_of(X) == "pandas" else range(len(rows))
            return table_like(X, prediction_frame(names, labels, *law.each(rows), law, level))
        groups = checked_groups(X, by, weight)
        found = [law.mean(rows[places], weight[places]) for _, places in groups]
        values, errors = (np.reshape([pair[part] for pair in found], (len(groups), -1)) for part in (0, 1))
        frame = prediction_frame([name for name, _ in groups], labels, values, errors, law, level)
        return table_like(X, frame, rows=by if isinstance(by, str) else "group")

    def marginal_effects(self, X: Any, level: float = 0.95, *, sample_weight: Any = None) -> Summary:
        """Return how much what is predicted changes with each feature, on average over rows.

        By the derivative for a number, by the change from 0 to 1 for a feature of zeros and ones. A feature that
        stands in several columns, such as ``age`` and ``age ** 2``, is not moved as a whole; where names of columns
        tell, a note says so.

        Parameters
        ----------
        X : n x d
        level : float
        sample_weight : n, optional
            How much each row counts.

        Returns
        -------
        Summary
            With a row for each feature; where there are more than two classes, for each class and feature.

        Examples
        --------
        >>> import numpy as np, askance as ask
        >>> rng = np.random.default_rng(0)
        >>> X, channel = rng.normal(size=(3000, 1)), ask.Warner(0.8)
        >>> truth = np.where(rng.random(3000) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
        >>> model = ask.IndirectClassifier(channel).fit(X, channel.simulate(truth, rng))
        >>> model.marginal_effects(X).to_frame()[["estimate", "std_error"]].round(2)
            estimate  std_error
        x0       0.2       0.01
        """
        refuse_other_rows(X=X, sample_weight=sample_weight)
        check_is_fitted(self)
        law, labels = self._prediction_law(), self._predicted_labels()
        rows = self._rows(X)
        if not len(rows):
            raise InvalidInput("no rows", "at least one: effects are means over rows")
        weight = checked_weights(sample_weight, rows)
        effects, errors = law.effects(rows, np.ones(len(rows)) if weight is None else weight)
        if len(labels) > 2:
            of, names = "the probability of each class", [f"{one}: {name}" for one in labels for name in law.features]
        else:
            of, names = f"P({labels[-1]})" if labels else "what is predicted", list(law.features)
            effects, errors = effects[-1:], errors[-1:]
        facts = (("rows", f"{len(rows)}"), ("errors", "of the parameters, by the delta method"))
        values = effect_table(effects.ravel(), errors.ravel(), level, law.degrees)
        title = f"Average marginal effects on {of}"
        notes = (*self.notes_, *notes_on_made_columns(law.features))
        return Summary(title, tuple(names), values, level, facts, notes, self.privacy_statement_)

    def _prediction_law(self) -> PredictionLaw:
        """What is predicted, with errors; refused where there are none."""
        raise NotImplementedError

    def _predicted_labels(self) -> Sequence[Any]:
        """The classes whose probabilities are predicted; none where a number is."""
        labels: list[Any] = self.classes_.tolist()
        return labels

    def _rows(self, X: Any) -> Floats:
        """Features as fit took them."""
        raise NotImplementedError

    def _features(self) -> Sequence[str] | None:
        """The names of the columns that are features, where they have names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _least_degrees(self) -> float:
        """The fewest degrees of freedom of the errors; infinite without clusters."""
        return min((each for each in getattr(self, "degrees_", ()) if np.isfinite(each)), default=np.inf)


def notes_on_made_columns(features: Sequence[str]) -> list[str]:
    """Say of columns that are made of others, such as products and powers, that each was moved alone.

    Examples
    --------
    >>> notes_on_made_columns(["age", "log(income)", "old age"])
    []
    >>> print(*notes_on_made_columns(["age", "woman", "age:woman"]))  # doctest: +ELLIPSIS
    'age:woman' changes with columns that stand alone, too. Here each column was moved alone...
    """
    known = set(features)
    made = [
        name
        for name in features
        if re.search(r"[:*^(]", name) and known & ({*re.findall(r"[\w.]+", name), *name.split(":")} - {name})
    ]
    if not made:
        return []
    return [
        f"{listed(made, 6)} change{'s' * (len(made) == 1)} with columns that stand alone, too. Here each column was "
        "moved alone: these effects are none of the whole. For that, compare predictions of all rows before and after."
    ]


def checked_groups(X: Any, by: Any, weight: Floats) -> list[tuple[Any, Any]]:
    """Return the groups of rows, in the order of their names: each name and its places."""
    values = np.asarray(X[by] if isinstance(by, str) else by)
    if values.ndim != 1 or len(values) != len(weight):
        raise InvalidInput(f"by of shape {values.shape}", f"one group for each of {len(weight)} rows")
    given = values.tolist()
    missing = [row for row, name in enumerate(given) if name is None or name != name]
    if missing:
        raise InvalidInput(
            f"{len(missing)} rows without a group (first in row {missing[0]})",
            "the group of each row",
            "Leave these rows out, or give them a group of their own.",
        )
    names = list(dict.fromkeys(given))
    with suppress(TypeError):  # numbers and words have no order together
        names.sort()
    place = {name: code for code, name in enumerate(names)}
    codes = np.array([place[name] for name in given], dtype=np.int64)
    groups = [(name, np.flatnonzero(codes == code)) for name, code in place.items()]
    empty = [name for name, places in groups if not weight[places].sum() > 0]
    if empty:
        raise InvalidInput(f"groups whose weights are all zero: {listed(tuple(empty))}", "a weight in every group")
    return groups


def without_group(X: Any, by: Any, features: Any) -> Any:
    """Return the features without a column that only names groups."""
    names = column_names(X)
    if not isinstance(by, str):
        if isinstance(by, list | tuple) and names and len(by) != len(X) and {*map(str, by)} <= {*map(str, names)}:
            joined = " + ' ' + ".join(f"X[{name!r}].astype(str)" for name in by)
            raise InvalidInput(f"by={by!r}: {len(by)} columns", "one column, or a group for each row", f"by={joined}")
        return X
    if names is None:
        raise InvalidInput(f"by={by!r} and rows without names of columns", "a data frame, or by=an array of groups")
    if by not in names:
        raise InvalidInput(f"by={by!r}", f"a column of X: {listed(tuple(map(str, names)))}")
    is_feature = features is None or by in list(features)
    return X if is_feature else some_columns(X, [name for name in names if name != by])


def prediction_frame(
    names: Sequence[Any], labels: Sequence[Any], values: Floats, errors: Floats, law: PredictionLaw, level: float
) -> Any:
    """Return predictions with errors and intervals as a data frame: of two classes of the second, of more of all."""
    import pandas as pd

    if len(labels) <= 2:
        values, errors, index = values[:, -1], errors[:, -1], pd.Index(names)
    else:
        values, errors = values.ravel(), errors.ravel()
        index = pd.MultiIndex.from_product([names, labels], names=[None, "class"])
    lower, upper = law.limits(values, errors, level)
    return pd.DataFrame({"estimate": values, "std_error": errors, "lower": lower, "upper": upper}, index)
