"""Where measured costs are kept between processes: one JSON file in the user's cache folder."""

import json
import os
import platform
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np

from deepbroad.model.cost import TYPICAL, VERSION, Costs

FILE = "costs.json"
FOLDER_VARIABLE = "DEEPBROAD_CACHE"


def cache_folder() -> Path:
    """Return the folder of cached files: DEEPBROAD_CACHE, else the platform's convention."""
    if os.environ.get(FOLDER_VARIABLE):
        return Path(os.environ[FOLDER_VARIABLE])
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "deepbroad"


def machine_key() -> str:
    """Return what the costs depend on: processor, cores, and what compiled the kernels."""
    return (
        f"{cpu_model()}, {os.cpu_count()} cores, "
        f"numba {numba.__version__}, deepbroad {version('deepbroad')}, costs {VERSION}"
    )


def cpu_model() -> str:
    """Return the processor's name."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def load_costs() -> Costs | None:
    """Return the costs measured on this machine before, or None."""
    found = _read_all().get(machine_key())
    return None if found is None else parse_costs(found)


def store_costs(costs: Costs) -> None:
    """Keep costs for later processes; a folder that cannot be written is no error."""
    text = json.dumps({**_read_all(), machine_key(): asdict(costs)}, indent=1)
    with suppress(OSError, RuntimeError):  # RuntimeError: no home folder
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        # Written aside and moved into place, so that no process ever reads half a file.
        handle, name = tempfile.mkstemp(dir=folder, prefix=FILE)
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            os.replace(name, folder / FILE)
        except OSError:
            Path(name).unlink(missing_ok=True)


def parse_costs(values: Any) -> Costs | None:
    """Return the costs that JSON holds, or None where it holds anything else."""
    try:
        read = {field.name: values[field.name] for field in fields(Costs)}
        for name, value in read.items():
            expected = np.shape(getattr(TYPICAL, name))
            numbers = np.array(value, float)
            if numbers.shape != expected or not (np.isfinite(numbers) & (numbers >= 0)).all():
                return None
            read[name] = _as_tuples(numbers.tolist())
        return Costs(**read)
    except (KeyError, TypeError, ValueError):
        return None


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(v) for v in value) if isinstance(value, list) else value


def _read_all() -> dict[str, Any]:
    """Return what the file holds, nothing where it is missing or damaged."""
    with suppress(OSError, RuntimeError, ValueError):
        held = json.loads((cache_folder() / FILE).read_text())
        if isinstance(held, dict):
            return held
    return {}
