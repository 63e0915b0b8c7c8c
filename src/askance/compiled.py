"""One place that knows how hot loops are compiled."""

from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from numba import njit
from numba.core.caching import IndexDataCacheFile


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
    index: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if isinstance(index, IndexDataCacheFile):
        # numba looks at the caller's file alone: after an upgrade it would run what callees in other files used to be.
        index._source_stamp = (index._source_stamp, _all_kernels())
        index.save = partial(_save, index)
    return cast(Callable[..., Any], dispatcher)


def _save(index: Any, key: Any, code: Any) -> None:
    """Write machine code into a file that is named by its signature, and then into the index.

    numba numbers these files. Two processes that compile two signatures at once take the same number for both, and
    whoever starts after them is given the code of the other: wrong numbers, without a word.
    """
    name = index._data_name(int(sha256(repr(key).encode()).hexdigest()[:16], 16))
    index._save_data(name, code)
    index._save_index({**index._load_index(), key: name})


@cache
def _all_kernels() -> str:
    """A digest of every module that has compiled code."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        content = path.read_bytes()
        if b"@compiled" in content:
            digest.update(content)
    return digest.hexdigest()
