"""The decorators that compile every kernel of the library."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numba

from deepbroad.kernels.cache_folder import find_cache_folder

# Sums may be reordered and fused, which lets LLVM vectorise them; `nnan` and `ninf` are left out,
# so that a NaN or an infinity in the input stays visible in the output.
FAST_MATH = frozenset({"reassoc", "contract", "arcp", "nsz"})


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` without the GIL, cached on disk."""
    return _compile(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` into every kernel that calls it; it may be called by itself too.

    Where kernels share the code of another, a process takes the copy that it happens to load first,
    each optimised for one of its callers: results would differ in their last bits between a process
    that compiles the kernels and one that finds them on disk.
    """
    return _compile(function, forceinline=True)


def _compile(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    decorate = partial(
        numba.njit, nogil=True, fastmath=set(FAST_MATH), error_model="numpy", **options
    )
    compiled: Callable[..., Any]
    try:
        compiled = decorate(cache=True)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        folder = find_cache_folder()
        if folder is None:
            compiled = decorate()(function)
        else:
            with _cached_in(folder):
                compiled = decorate(cache=True)(function)
    return compiled


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Have Numba keep what is declared here in a folder; other packages' kernels stay elsewhere."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
