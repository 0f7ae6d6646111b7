"""The decorators that compile every kernel of the library."""

from collections.abc import Callable
from typing import Any

import numba

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
    compiled: Callable[..., Any] = numba.njit(
        cache=True, nogil=True, fastmath=set(FAST_MATH), error_model="numpy", **options
    )(function)
    return compiled
