"""What runs the experiments: the machine, and the versions of what matters."""

import os
import platform
from functools import cache
from pathlib import Path

import numpy
import psutil
import sklearn

import deepbroad

_GIBIBYTE = 2**30


@cache
def describe_machine() -> str:
    """Describe the processor, its cores, the memory and the system in a line."""
    memory = psutil.virtual_memory().total / _GIBIBYTE
    return (
        f"{_processor()}, {count_cores()} cores, {memory:.0f} GiB, "
        f"{platform.system()} {platform.machine()}"
    )


@cache
def describe_versions() -> str:
    """List the versions of the library and what it stands on."""
    return (
        f"deepbroad {deepbroad.__version__}, numpy {numpy.__version__}, "
        f"scikit-learn {sklearn.__version__}, python {platform.python_version()}"
    )


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def total_memory() -> int:
    """Return the machine's memory in bytes."""
    return int(psutil.virtual_memory().total)


def _processor() -> str:
    """Name the processor."""
    # platform.processor() is empty on most Linux systems.
    about = Path("/proc/cpuinfo")
    if about.exists():
        for line in about.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"
