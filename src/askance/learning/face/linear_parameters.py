"""Names of the parameters of linear classifiers."""

from collections.abc import Sequence
from typing import Any


def parameter_names(
    classes: Sequence[Any], features: Sequence[str], intercept: bool, *, every_class: bool = False
) -> tuple[str, ...]:
    """Name the parameters, class by class and intercept first.

    Parameters
    ----------
    classes : labels
    features : names
    intercept : bool
    every_class : bool
        Whether the first of more than two classes has parameters too, and is not what the others are set against.

    Examples
    --------
    >>> parameter_names(("no", "perhaps", "yes"), ["age"], intercept=True)
    ('perhaps: Intercept', 'perhaps: age', 'yes: Intercept', 'yes: age')
    """
    columns = [*(["Intercept"] if intercept else []), *features]
    if len(classes) == 2:
        return tuple(columns)
    return tuple(f"{label}: {column}" for label in classes[0 if every_class else 1 :] for column in columns)


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the features that an estimator saw: those of the frame, or x0, x1, ..."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(estimator.n_features_in_)] if names is None else [*map(str, names)]
