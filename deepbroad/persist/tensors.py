"""The arrays of a file that is being read: each is asked for once, with the type it must have."""

from collections.abc import Sequence

import numpy as np

from deepbroad.persist.error import ModelFileError

FLOATS = ("float32", "float64")
COUNTS = ("uint8", "uint16", "uint32", "uint64")


class Tensors:
    """Arrays by name, handed out one by one after their checks."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._left = dict(arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def take(
        self,
        name: str,
        dtypes: Sequence[str],
        shape: tuple[int | None, ...],
        *,
        finite: bool = True,
    ) -> np.ndarray:
        """Return the array of this name; None in `shape` stands for any length."""
        if name not in self._left:
            raise ModelFileError(f"it has no array {name!r}")
        array = self._left.pop(name)
        if array.dtype.name not in dtypes:
            raise ModelFileError(f"its array {name!r} cannot be of type {array.dtype}")
        fits = len(shape) == array.ndim and all(
            wanted is None or wanted == length
            for wanted, length in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise ModelFileError(f"its array {name!r} cannot be of shape {array.shape}")
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"its array {name!r} has numbers that are not finite")
        return array

    def finish(self) -> None:
        """Raise ModelFileError if an array was never asked for."""
        if self._left:
            raise ModelFileError(f"it has an unknown array {next(iter(self._left))!r:.60}")
