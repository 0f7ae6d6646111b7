"""How much memory there is, how it is handed back, and sizes in words that people write."""

import ctypes
import numbers
import re
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow as pa

# Left for the operating system, the caller's own work and what an estimate does not see.
USABLE = 0.8
UNITS = {
    "": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip


def free_memory() -> int:
    """Return the bytes that this process may still take without swapping."""
    free = int(psutil.virtual_memory().available)
    # psutil sees the machine, not the container.
    limit, used = (
        _read_number(f"/sys/fs/cgroup/{name}") for name in ("memory.max", "memory.current")
    )
    if limit is not None and used is not None:
        free = min(free, max(limit - used, 0))
    return free


def _read_number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None


def release_freed() -> None:
    """Hand memory that was freed back to the system, where allocators can be asked to.

    They keep it for later; but a fit that follows takes other sizes, and its process would grow.
    """
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # other C libraries than glibc have no such call
            ctypes.CDLL(None).malloc_trim(0)


def parse_limit(memory_limit: int | float | str | None) -> int:
    """Return a memory limit in bytes; None means most of what is free now."""
    if memory_limit is None:
        return int(USABLE * free_memory())
    if isinstance(memory_limit, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?I?B?)\s*", memory_limit.upper())
        if found and found[2] in UNITS and float(found[1]) > 0:
            return int(float(found[1]) * UNITS[found[2]])
    elif isinstance(memory_limit, numbers.Real) and memory_limit > 0 and memory_limit is not True:
        return int(min(memory_limit, sys.maxsize))
    raise ValueError(
        f"memory_limit must be a number of bytes or a size such as '4GB' or '512MiB', "
        f"got {memory_limit!r}."
    )


def format_bytes(size: float) -> str:
    """Return a size as people read it."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError  # the loop always returns
