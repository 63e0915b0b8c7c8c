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


def compiled_for_sums(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for speed: sums may be reordered and fused, and nobody looks out for divisions by zero.

    For sums of positive numbers, which lose nothing that matters, with divisors that cannot be zero.
    """
    options = {"fastmath": {"reassoc", "nsz", "contract", "arcp"}, "error_model": "numpy"}
    return cast(Callable[..., Any], njit(cache=True, nogil=True, **options)(function))
