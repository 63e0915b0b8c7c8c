"""Labels of classes as they came."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_array(classes: Sequence[Any]) -> NDArray[Any]:
    """Return labels as an array that keeps what they are: mixed kinds stay objects, and 0 never becomes "0".

    Examples
    --------
    >>> class_array((0, 1)), class_array((0, "many"))
    (array([0, 1]), array([0, 'many'], dtype=object))
    """
    kinds = {type(label) for label in classes}
    return np.array(classes, dtype=None if len(kinds) == 1 else object)


def class_codes(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each label among the classes; -1 for a label that is none of them."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.int64)
