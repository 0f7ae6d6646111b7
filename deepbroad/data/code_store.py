"""Arrays in scratch files: codes of more rows than memory holds, mapped as if they were there."""

import mmap
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from deepbroad.data.encoding import Encoding
from deepbroad.data.files import TableFiles
from deepbroad.data.target import Target
from deepbroad.kernels.threads import Threads

# Pages written since the last time before they are sent to disk and let go.
_UNSETTLED = 2**27


class CodedRows(NamedTuple):
    """Rows in codes; see `deepbroad.data.source.ArraySource`."""

    codes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray | None


class CodeStore:
    """Arrays that lie in files without names, which go when the arrays do, or the process.

    Their pages are the file system's: it may drop them at any time and read them again, so that
    they never crowd out memory that has no other place.

    Parameters
    ----------
    folder : str or path, optional
        Where the files are. By default what TMPDIR says, else /var/tmp, which unlike /tmp is on a
        disk on every system, else what the system has for such files.

    Examples
    --------
    >>> with CodeStore() as store:
    ...     codes = store.empty((2, 3), np.uint8)
    ...     codes[:] = 7
    ...     store.settle()
    ...     int(codes.sum())
    42
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(folder) if folder is not None else _scratch_folder()
        self._maps: list[mmap.mmap] = []
        self._unsettled = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(len(mapped) for mapped in self._maps)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array of zeros in a file of its own; OSError if the disk has no room for it."""
        dtype = np.dtype(dtype)
        size = int(np.prod(shape)) * dtype.itemsize
        if size == 0:
            return np.empty(shape, dtype)
        self.check_space(size)
        with tempfile.TemporaryFile(dir=self.folder, prefix="deepbroad-") as file:
            # Space is taken now: a disk that is full later would end the process without a word.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            mapped = mmap.mmap(file.fileno(), size)
        self._maps.append(mapped)
        return np.ndarray(shape, dtype, buffer=mapped)

    def check_space(self, size: int) -> None:
        """Raise OSError unless the disk has room for so many bytes more."""
        free = shutil.disk_usage(self.folder).free
        if size > free:
            raise OSError(
                f"codes of these rows take {size / 1e9:.2f} GB of scratch space, and "
                f"{str(self.folder)!r} has {free / 1e9:.2f} GB. Free some, or set TMPDIR to a "
                "folder that has more"
            )

    def wrote(self, size: int) -> None:
        """Count bytes written, and settle them now and then."""
        self._unsettled += size
        if self._unsettled >= _UNSETTLED:
            self.settle()

    def settle(self) -> None:
        """Have what was written on disk, and take no memory for it."""
        self._unsettled = 0
        for mapped in self._maps:
            mapped.flush()
            if hasattr(mapped, "madvise"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Let go of all files; those whose arrays are still in use go with them."""
        self._maps.clear()

    def __enter__(self) -> "CodeStore":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def encode_files(
    files: TableFiles,
    encoding: Encoding,
    target: Target,
    store: CodeStore,
    threads: Threads | None = None,
) -> CodedRows:
    """Write the codes, labels and weights of all rows to scratch files, in one pass.

    Parameters
    ----------
    files : TableFiles
        With labels.
    encoding, target
        As `TableSketch.finish` returns them.
    store : CodeStore
    threads : Threads, optional
        Code columns are shared among them.
    """
    n_rows, n_columns = files.n_rows, len(encoding.columns)
    weighted = files.weights is not None or target.factors is not None
    per_row = n_columns * encoding.dtype.itemsize + target.codes.itemsize + 8 * weighted
    store.check_space(per_row * n_rows)
    codes = store.empty((n_columns, n_rows), encoding.dtype)
    labels = store.empty(n_rows, target.codes.dtype)
    weights = store.empty(n_rows, np.float64) if weighted else None
    begin = 0
    for table, y, given in files.batches():
        rows = slice(begin, begin + table.n_rows)
        labels[rows], found = target.encode(y, given)
        if weights is not None:
            weights[rows] = found
        encoding.encode(table, codes[:, rows], threads)
        store.wrote(per_row * table.n_rows)
        begin = rows.stop
    store.settle()
    return CodedRows(codes, labels, weights)


def _scratch_folder() -> Path:
    if "TMPDIR" not in os.environ and os.access("/var/tmp", os.W_OK):
        return Path("/var/tmp")
    return Path(tempfile.gettempdir())
