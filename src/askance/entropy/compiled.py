"""One place that knows how hot loops are compiled."""

from collections.abc import Callable
from typing import Any, cast

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with numba: machine code is cached on disk and runs without the interpreter lock."""
    return cast(Callable[..., Any], njit(cache=True, nogil=True)(function))


def compiled_for_whole_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, and let sums be reordered: for doubles that hold whole numbers, whose sums are exact in any order."""
    return cast(Callable[..., Any], njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})(function))
