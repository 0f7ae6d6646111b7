"""The one decorator that compiles every kernel of the library."""

from collections.abc import Callable
from typing import Any

import numba

# Sums may be reordered and fused, which lets LLVM vectorise them; `nnan` and `ninf` are left out,
# so that a NaN or an infinity in the input stays visible in the output.
FAST_MATH = frozenset({"reassoc", "contract", "arcp", "nsz"})


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` without the GIL, cached on disk."""
    compiled: Callable[..., Any] = numba.njit(
        cache=True, nogil=True, fastmath=set(FAST_MATH), error_model="numpy"
    )(function)
    return compiled
