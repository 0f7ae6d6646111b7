"""Scores and scales of cells as compact arrays, exact to the bit.

Cells that no training row reached share one vector per number of cells of their term, so the file
has it once, and a bit per cell that tells them apart. Of the other cells it has their floats or,
where few of these are different (logarithms of counts are), the different ones and a small code
per cell.
"""

import numpy as np

from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms
from deepbroad.persist.error import ModelFileError
from deepbroad.persist.tensors import COUNTS, FLOATS, Tensors

# How many times larger than its file a model may be: more is never written, nor believed. So it
# takes megabytes to ask for gigabytes. Amazon's access data, n = 2, has 128.
MAX_GROWTH = 1000
_CHUNK = 1 << 20


def pack_cells(tables: ScoreTables) -> dict[str, np.ndarray]:
    """Return the arrays from which `unpack_cells` makes the same tables."""
    values = {"scores": np.ascontiguousarray(tables.scores)}
    if tables.scale is not None:
        values["scale"] = np.ascontiguousarray(tables.scale)
    whole = sum(array.nbytes for array in values.values())
    common, shared = _find_shared(tables.plan.terms, values)
    saved = whole * (shared.mean() if len(shared) else 0.0)
    if saved > len(shared) // 8 + 1 + sum(array.nbytes for array in common.values()):
        packed = {
            "kept": np.packbits(~shared),
            **{f"{name}.common": array for name, array in common.items()},
            **_pack_values({name: array[~shared] for name, array in values.items()}),
        }
        if whole <= MAX_GROWTH * sum(array.nbytes for array in packed.values()):
            return packed
    return _pack_values(values)


def unpack_cells(tensors: Tensors, plan: Plan, class_scores: np.ndarray) -> ScoreTables:
    """Return the tables of a file; `plan` must be known to be of a bearable size."""
    terms, n_classes = plan.terms, len(class_scores)
    kept = None
    n_kept = terms.n_cells
    if "kept" in tensors:
        bits = np.unpackbits(tensors.take("kept", ["uint8"], (-(-terms.n_cells // 8),)))
        if bits[terms.n_cells :].any():
            raise ModelFileError("it marks cells that its terms do not have")
        kept = bits[: terms.n_cells].astype(bool)
        n_kept = int(kept.sum())
    shape = (n_kept, n_classes)
    has_scale = "scale" in tensors or "scale.levels" in tensors
    scale, codes = _unpack_values(tensors, "scale", shape, None) if has_scale else (None, None)
    scores, _ = _unpack_values(tensors, "scores", shape, codes)
    if scale is not None and scale.dtype != scores.dtype:
        raise ModelFileError("its scores and its scales differ in type")
    if kept is not None:
        scores = _spread(tensors, "scores", scores, kept, terms)
        scale = None if scale is None else _spread(tensors, "scale", scale, kept, terms)
    return ScoreTables(plan, class_scores, scores, scale)


def _find_shared(
    terms: Terms, values: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the vectors (n_sizes, C) of unreached cells, and which cells (n_cells,) have them.

    Nothing says which cells rows reached; but a count of 0 in every class gives the least log θ
    of all terms of that size, and without log θ, such cells score 0.
    """
    scores, scale = values["scores"], values.get("scale")
    sizes, size_of_term = np.unique(terms.spaces, return_inverse=True)
    size_of_cell = terms.per_cell(size_of_term.astype(np.min_scalar_type(len(sizes))))
    common = {"scores": np.zeros((len(sizes), scores.shape[1]), scores.dtype)}
    if scale is None:
        return common, _matches(scores, common["scores"], size_of_cell)
    least = np.full((len(sizes), scale.shape[1]), np.inf, scale.dtype)
    np.minimum.at(least, size_of_term, np.minimum.reduceat(scale, terms.offsets[:-1], axis=0))
    shared = _matches(scale, least, size_of_cell)
    cells = np.flatnonzero(shared)
    found, first = np.unique(size_of_cell[cells], return_index=True)
    common["scores"][found] = scores[cells[first]]
    shared &= _matches(scores, common["scores"], size_of_cell)
    return {**common, "scale": least}, shared


def _matches(values: np.ndarray, common: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Tell which rows of `values` are bit for bit their row of `common`."""
    same = np.ones(len(values), bool)
    for column, wanted in zip(as_bits(values).T, as_bits(common).T, strict=True):
        same &= column == wanted[which]
    return same


def _spread(
    tensors: Tensors, name: str, values: np.ndarray, kept: np.ndarray, terms: Terms
) -> np.ndarray:
    """Return the values of all cells, those not kept from the vectors that they share."""
    sizes, size_of_term = np.unique(terms.spaces, return_inverse=True)
    common = tensors.take(f"{name}.common", [values.dtype.name], (len(sizes), values.shape[1]))
    spread: np.ndarray = np.repeat(common[size_of_term], terms.sizes, axis=0)
    spread[kept] = values
    return spread


def _pack_values(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return each array as it is, or as its levels and the code of each value."""
    packed: dict[str, np.ndarray] = {}
    scores, scale = values["scores"], values.get("scale")
    if scale is not None and (levels := _find_levels(scale)) is not None:
        codes = _encode(scale, levels)
        packed |= {"scale.levels": levels.view(scale.dtype), "scale.codes": codes}
        # AnJE's scores are a multiple of the scale, so that the same codes serve them.
        of_scores = np.zeros(len(levels), scores.dtype)
        of_scores[codes] = scores
        if np.array_equal(as_bits(of_scores)[codes], as_bits(scores)):
            return packed | {"scores.levels": of_scores}
    elif scale is not None:
        packed["scale"] = scale
    if (levels := _find_levels(scores)) is not None:
        codes = _encode(scores, levels)
        return packed | {"scores.levels": levels.view(scores.dtype), "scores.codes": codes}
    return packed | {"scores": scores}


def _unpack_values(
    tensors: Tensors, name: str, shape: tuple[int, int], codes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return an array and, where it has them, its codes; `codes` are used if it has none."""
    if name in tensors:
        return tensors.take(name, FLOATS, shape), None
    levels = tensors.take(f"{name}.levels", FLOATS, (None,))
    if codes is None or f"{name}.codes" in tensors:
        codes = tensors.take(f"{name}.codes", COUNTS, shape)
    if codes.size and int(codes.max()) >= len(levels):
        raise ModelFileError(f"its array {name!r} has codes outside its levels")
    return levels[codes], codes


def _find_levels(values: np.ndarray) -> np.ndarray | None:
    """Return the sorted different bit patterns; None if codes for them would save nothing."""
    bits = as_bits(values).ravel()
    sample = bits[:: max(1, len(bits) // 65536)]
    if len(bits) == 0 or len(np.unique(sample)) > 0.9 * len(sample):
        return None
    levels = bits[:0]
    for begin in range(0, len(bits), _CHUNK):
        levels = np.union1d(levels, bits[begin : begin + _CHUNK])
        code = np.min_scalar_type(len(levels) - 1).itemsize
        if levels.nbytes + len(bits) * code >= bits.nbytes:
            return None
    return levels


def _encode(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the position of each value in `levels`."""
    codes = np.empty(values.shape, np.min_scalar_type(len(levels) - 1))
    flat, bits = codes.reshape(-1), as_bits(values).ravel()
    for begin in range(0, len(bits), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        flat[chunk] = np.searchsorted(levels, bits[chunk])
    return codes


def as_bits(values: np.ndarray) -> np.ndarray:
    """Return floats as the integers that their bits spell, which tell 0 from -0."""
    return values.view(f"u{values.dtype.itemsize}")
