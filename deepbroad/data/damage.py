"""Refuse damaged Arrow data before any code follows its offsets and indices out of their buffers.

Arrow itself trusts what a file says: one wrong byte may send it to any place of the memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa


def check_values(name: str, values: pa.Array | pa.ChunkedArray) -> None:
    """Raise ValueError if an offset, an index, a text or a count of missing values is wrong."""
    try:
        for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
            chunk.validate(full=True)
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name!r} is damaged: {error}") from error


def check_indices(name: str, indices: np.ndarray, n_levels: int) -> None:
    """Raise ValueError if an index is of none of the levels; -1 is a missing value."""
    if not len(indices):
        return
    low, high = int(indices.min()), int(indices.max())
    if low < -1 or high >= n_levels:
        raise ValueError(
            f"column {name!r} is damaged: it has the category code {low if low < -1 else high}, "
            f"but codes of its {n_levels} categories are -1 to {n_levels - 1}"
        )


def check_batch(batch: pa.Table) -> None:
    """Raise ValueError if a column of a batch is damaged."""
    batch.validate()  # columns of one length
    for name, values in zip(batch.column_names, batch.columns, strict=True):
        check_values(name, values)


@contextmanager
def naming(file: Any) -> Iterator[None]:
    """Name the file in errors about what it holds; those of the operating system have its name."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{file} cannot be read: {error}") from error
    except (ValueError, pa.ArrowException) as error:
        raise _refusal(file, error) from error
    except OSError as error:
        # Arrow's own errors about the structure of a file have no number.
        if error.errno is not None:
            raise
        raise _refusal(file, error) from error


def _refusal(file: Any, error: Exception) -> ValueError:
    return ValueError(
        f"{file} cannot be read: {str(error).rstrip('.')}. The file is damaged, or is no file of "
        "the format that its name says; copy or write it again"
    )
