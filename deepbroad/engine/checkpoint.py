"""A folder with what a fit has come to, in the last two versions of it.

Files are written beside and moved into place; each has a checksum. So whenever a process is killed
or the power fails, one version at least is whole, and damage to the newer leaves the older.
"""

import os
import tempfile
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deepbroad.engine.tensor_file import (
    DamagedFile,
    read_description,
    read_tensors,
    sync_folder,
    write_atomically,
    write_tensors,
)

FORMAT = 1
NAMES = ("deepbroad-0.checkpoint", "deepbroad-1.checkpoint")


class CheckpointError(ValueError):
    """A folder cannot hold a checkpoint, or holds that of another fit."""


class Saved(NamedTuple):
    """What a version holds: JSON and arrays."""

    content: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Checkpoint:
    """The two latest versions of what a fit has come to.

    Parameters
    ----------
    folder : str or os.PathLike
        It is made if it is missing; CheckpointError if it cannot be written to.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Checkpoint(folder).save({"iteration": 7}, {"u": np.arange(3.0)})
    ...     Checkpoint(folder).load()
    Saved(content={'iteration': 7}, arrays={'u': array([0., 1., 2.])})
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._serial = 0
        # Where the next version goes: never over the latest that is known to be whole.
        self._slot = 0
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(".deepbroad-*.checkpoint.*.tmp"):
                left.unlink(missing_ok=True)  # of a process that was killed
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise CheckpointError(
                f"checkpoint must be a folder that can be written to; {str(self.folder)!r} is not "
                f"({error.strerror or error})."
            ) from None

    @property
    def paths(self) -> list[Path]:
        """The files of both versions."""
        return [self.folder / name for name in NAMES]

    def save(self, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Write a version over the older of the two; OSError leaves both as they were."""
        description = {
            "format": FORMAT,
            "version": version("deepbroad"),
            "serial": self._serial + 1,
            "content": dict(content),
        }
        path = self.paths[self._slot]
        write_atomically(path, lambda file: write_tensors(file, description, arrays))
        self._serial += 1
        self._slot = 1 - self._slot

    def load(self) -> Saved | None:
        """Return the newest version that is whole, None if there is none.

        A warning tells of those that are not. CheckpointError if another release wrote it.
        """
        for serial, slot in sorted(self._find(), reverse=True):
            try:
                with self.paths[slot].open("rb") as file:
                    description, arrays = read_tensors(file)
            except (DamagedFile, OSError) as error:
                self._warn(self.paths[slot], error)
                continue
            self._check(description)
            self._serial, self._slot = serial, 1 - slot
            return Saved(description["content"], arrays)
        return None

    def clear(self) -> None:
        """Delete both versions."""
        # The older first: were the process killed in between, the newer would be what is left.
        for path in (self.paths[self._slot], self.paths[1 - self._slot]):
            path.unlink(missing_ok=True)
        sync_folder(self.folder)
        self._serial, self._slot = 0, 0

    def _find(self) -> list[tuple[int, int]]:
        """Return serial number and slot of the versions that are there, checked in part only."""
        found = []
        for slot, path in enumerate(self.paths):
            try:
                with path.open("rb") as file:
                    serial = read_description(file).get("serial")
                if type(serial) is not int or not 0 < serial < 2**62:
                    raise DamagedFile("it has no number")
                found.append((serial, slot))
            except FileNotFoundError:
                continue
            except (DamagedFile, OSError) as error:
                self._warn(path, error)
        return found

    def _check(self, description: dict[str, Any]) -> None:
        """Raise CheckpointError for a file, whole as it is, that this release cannot go on with."""
        ours = FORMAT, version("deepbroad")
        theirs = description.get("format"), description.get("version")
        if theirs != ours or not isinstance(description.get("content"), dict):
            raise CheckpointError(
                f"The checkpoint in {str(self.folder)!r} was written by deepbroad "
                f"{theirs[1]!s:.40}, and this is {ours[1]}: go on with that release, take another "
                "folder, or delete this one to start afresh."
            )

    @staticmethod
    def _warn(path: Path, error: Exception) -> None:
        warnings.warn(
            f"The checkpoint {str(path)!r} is damaged ({error}), so the one before it is used, if "
            "there is one.",
            UserWarning,
            stacklevel=2,
        )
