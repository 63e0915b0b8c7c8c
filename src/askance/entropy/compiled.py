"""One place that knows how hot loops are compiled."""

from collections.abc import Callable
from typing import Any, cast

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with numba: machine code is cached on disk and runs without the interpreter lock."""
    return cast(Callable[..., Any], njit(cache=True, nogil=True)(function))
