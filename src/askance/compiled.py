"""One place that knows how hot loops are compiled."""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile with numba: machine code is cached on disk and runs without the interpreter lock."""
    return _cached(function)


def compiled_for_whole_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, and let sums be reordered: for doubles that hold whole numbers, whose sums are exact in any order."""
    return _cached(function, fastmath={"reassoc", "nsz"})


def compiled_for_sums(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for speed: sums may be reordered and fused, and nobody looks out for divisions by zero.

    For sums of positive numbers, which lose nothing that matters, with divisors that cannot be zero.
    """
    return _cached(function, fastmath={"reassoc", "nsz", "contract", "arcp"}, error_model="numpy")


def _cached(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    dispatcher = njit(cache=True, nogil=True, **options)(function)
    # numba looks at the caller's file alone: after an upgrade it would run what callees in other files used to be.
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, _all_kernels())
    return cast(Callable[..., Any], dispatcher)


@cache
def _all_kernels() -> str:
    """A digest of every module that has compiled code."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        content = path.read_bytes()
        if b"@compiled" in content:
            digest.update(content)
    return digest.hexdigest()
