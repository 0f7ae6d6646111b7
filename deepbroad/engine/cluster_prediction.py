"""Predictions for Dask collections, as lazy as these are."""

from collections.abc import Callable
from typing import Any

import numpy as np


def predict_cluster(method: Callable[[Any], np.ndarray], X: Any, like: np.ndarray) -> Any:
    """Return a Dask array of what a method of a model says of each partition.

    Parameters
    ----------
    method : callable
        From a table to an array with as many rows.
    X : Dask data frame or array
    like : empty array
        With the dtype and the further dimensions of the result.

    Returns
    -------
    dask.array.Array
        Nothing is computed yet. The sizes of its chunks are known if those of X are.
    """
    import dask
    from dask.array import concatenate, from_delayed

    # A model is one node of the graph, however many partitions use it.
    shared = dask.delayed(method, pure=False)
    X = X.rechunk({1: -1}) if hasattr(X, "chunks") else X
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * X.npartitions
    predict = dask.delayed(predict_part, pure=False)
    blocks = [
        from_delayed(
            predict(shared, part, like), (length, *like.shape[1:]), dtype=like.dtype, meta=like
        )
        for part, length in zip(np.ravel(X.to_delayed()), lengths, strict=True)
    ]
    return concatenate(blocks, allow_unknown_chunksizes=True)


def predict_part(method: Callable[[Any], np.ndarray], part: Any, like: np.ndarray) -> np.ndarray:
    """Return what a method says of a partition, which may have no rows."""
    return method(part) if len(part) else like
