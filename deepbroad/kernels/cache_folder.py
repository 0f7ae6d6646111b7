"""Where compiled kernels are kept if Numba finds no folder that it can write to."""

import atexit
import os
import shutil
import stat
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def find_cache_folder() -> Path | None:
    """Return a private temporary folder, and warn of it once; None if there is none either."""
    try:
        folder = _open_private_folder(Path(tempfile.gettempdir()))
    except OSError:
        folder = None
    place = "in every process anew" if folder is None else f"and kept in {folder}"
    warnings.warn(
        "neither the folder of the package nor the user's cache folder can be written to: kernels "
        f"are compiled {place}. Set NUMBA_CACHE_DIR to a folder of yours to keep them",
        RuntimeWarning,
        stacklevel=2,
    )
    return folder


def _open_private_folder(parent: Path) -> Path:
    """Return a folder that only this user can write to, the same in every process if possible."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = parent / f"deepbroad-kernels-{user}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if is_private(folder):
        return folder
    # Someone else may have made it, and Numba would run what lies in it.
    own = Path(tempfile.mkdtemp(prefix="deepbroad-kernels-", dir=parent))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


def is_private(folder: Path) -> bool:
    """Tell whether a path is a folder, no link to one, that belongs to this user alone."""
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True  # temporary folders of Windows are those of one user
    return facts.st_uid == os.getuid() and not facts.st_mode & 0o077
