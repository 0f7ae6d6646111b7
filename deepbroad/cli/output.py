"""Files that commands write: checked before the work, and written whole or not at all."""

import errno
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import deepbroad
from deepbroad.engine.tensor_file import is_special, name_beside, write_atomically

# What the system says of a disk that has no room, of a quota, and of a limit on the size of files.
# Their messages name no file.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_output(out: Path | None, *inputs: Path) -> None:
    """Raise ValueError for a file that cannot be written, or that a command is to read.

    Parameters
    ----------
    out : Path or None
        None is the screen.
    *inputs : Path
        Files and folders that the command reads.
    """
    if out is None:
        return
    for given in inputs:
        if _holds(given, out):
            raise ValueError(
                f"--out {out} would write over what is read from {given}; give another file."
            )
    # Where a link leads is what is written.
    place = Path(os.path.realpath(out))
    if not place.parent.is_dir():
        raise ValueError(
            f"There is no folder {_shown_folder(out)} to write {out.name} to; make it first."
        )
    if place.is_dir():
        raise ValueError(f"{out} is a folder; give --out the name of a file.")
    if place.exists() and not os.access(place, os.W_OK):
        raise ValueError(f"{out} may not be written over: it is read-only. Give another file.")
    if not is_special(place):
        _try_folder(out, place)


def write_output(out: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file whole or not at all; what stood there before is kept if `write` fails."""
    try:
        write_atomically(out, write)
    except OSError as error:
        if error.errno in _NO_ROOM and error.filename is None:
            raise OSError(f"{out} cannot be written: {error.strerror}.") from error
        raise


def save_model(model: Any, out: Path) -> None:
    """Save a model; where that fails, save it elsewhere, and raise an OSError that says where.

    A fit may have taken hours: a disk that is full at its end must not lose it.
    """
    try:
        deepbroad.save(model, out)
    except OSError as error:
        why = error.strerror or str(error)
        kept = _keep_elsewhere(model, out)
        if kept is None:
            raise OSError(
                f"{out} cannot be written: {why}. There was no room for the model in the folder "
                "for temporary files nor in the home folder either: the model is lost."
            ) from error
        raise OSError(
            f"{out} cannot be written: {why}. The model was saved as {kept} instead; move it to "
            "where it belongs."
        ) from error


def _keep_elsewhere(model: Any, out: Path) -> Path | None:
    """Save a model under a new name where there is room, and return its path."""
    name = f"{out.stem}-{secrets.token_hex(4)}{out.suffix or '.dbl'}"
    for find_folder in (tempfile.gettempdir, Path.home):
        try:
            path = Path(find_folder()) / name
            deepbroad.save(model, path)
        except (OSError, RuntimeError):  # RuntimeError: there is no home
            continue
        return path
    return None


def _try_folder(out: Path, place: Path) -> None:
    """Raise ValueError unless a file can be made in the folder that is written to."""
    beside = name_beside(place)
    try:
        beside.open("xb").close()
    except OSError as error:
        raise ValueError(
            f"{out} cannot be written: no file can be made in its folder "
            f"({error.strerror}). Give another --out."
        ) from error
    beside.unlink()


def _holds(given: Path, out: Path) -> bool:
    """Tell whether a file is the one that is given, or in the folder that is, by any name."""
    if not given.exists():
        return False
    if not given.is_dir():
        return _is_same(given, out)
    folder, place = Path(os.path.realpath(given)), Path(os.path.realpath(out))
    if folder in (place, *place.parents):
        return True
    return place.exists() and any(_is_same(file, out) for file in given.rglob("*"))


def _is_same(given: Path, out: Path) -> bool:
    """Tell whether two paths are one file: through links of either kind."""
    try:
        return os.path.samefile(given, out)
    except OSError:  # one of them is not there
        return False


def _shown_folder(out: Path) -> str:
    """Return the folder of a file, or where its link leads to."""
    return str(Path(os.path.realpath(out)).parent if out.is_symlink() else out.parent)
