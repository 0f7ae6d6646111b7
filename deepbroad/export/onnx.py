"""A model as an ONNX graph of standard operators: codes, cells, look-ups, a softmax."""

from typing import Any

import numpy as np

from deepbroad.data.code_column import CodeColumn, NumberColumn
from deepbroad.export.cells import Cells
from deepbroad.export.effects import Effects
from deepbroad.export.graph import Graph, Kind
from deepbroad.export.plain import plain_labels, plain_values

# Terms that are looked up at once: a batch of N rows holds N times as many numbers per class.
CHUNK = 256
# A term has a table of all its cells up to this many, or this many times those that are listed.
SMALL, SPARSE = 4096, 8


def write_onnx(effects: Effects) -> Any:
    """Return the `onnx.ModelProto` of a model; `deepbroad.export` says what goes in and out."""
    names = {effects.columns[c].name for c in effects.used}
    graph = Graph(names)
    codes, seen = _codes(graph, effects)
    scores = graph.constant(effects.intercept[None])
    sums = _sum_effects(graph, effects, codes, seen)
    if sums is not None:
        if effects.rescaling is not None and seen is not None:
            sums = graph.add("Mul", sums, _rescaling(graph, effects.rescaling, seen))
        scores = graph.add("Add", scores, sums)
    else:
        rows = graph.add("Cast", graph.add("Sub", codes, codes), to=Kind.DOUBLE)
        none = graph.add("ReduceSum", rows, graph.constant(np.array([1])), keepdims=1)
        scores = graph.add("Add", scores, none)
    # The score of the first class is 0.
    scores = graph.add("Pad", scores, graph.constant(np.array([0, 1, 0, 0])))
    softmax = graph.add("Softmax", scores, axis=1)
    label, probabilities = _free("label", names), _free("probabilities", names)
    graph.add("Cast", softmax, name=probabilities, to=Kind.FLOAT)
    best = graph.add("ArgMax", scores, axis=1, keepdims=0)
    labels, kind = _labels(effects)
    graph.add("Gather", graph.constant(labels), best, name=label, axis=0)
    outputs: dict[str, tuple[int, list[Any]]] = {
        label: (kind, ["N"]),
        probabilities: (Kind.FLOAT, ["N", len(effects.classes)]),
    }
    return graph.finish(outputs, {"model": effects.model_name})


def _labels(effects: Effects) -> tuple[np.ndarray, Kind]:
    """Return the labels of classes, and their type."""
    labels = plain_labels(effects.labels)
    if isinstance(labels[0], str):
        return np.array(labels, object), Kind.STRING
    if isinstance(labels[0], bool):
        return np.array(labels), Kind.BOOL
    return np.array(labels, np.int64), Kind.INT64


def _free(name: str, taken: set[str]) -> str:
    """Return a name of an output that no input has."""
    while name in taken:
        name += "_"
    return name


def _codes(graph: Graph, effects: Effects) -> tuple[str, str | None]:
    """Return codes [N, n_used], and which of them training saw; None if no other can be."""
    columns = [effects.columns[c] for c in effects.used]
    parts = [_code(graph, column) for column in columns]
    codes = graph.add("Concat", *parts, axis=1)
    if all(column.missing for column in columns):
        return codes, None
    limits = graph.constant(np.array([[column.cardinality for column in columns]], np.int64))
    return codes, graph.add("Less", codes, limits)


def _code(graph: Graph, column: CodeColumn) -> str:
    """Return the codes of one code column, [N, 1] of int64."""
    reading, values = plain_values(column)
    given = graph.input(column.name, text=reading == "text")
    if reading == "text":
        texts = [_encode(str(value)) for value in values]
        # The operator wants a key at least; missing is the empty string.
        keys, known = (texts, list(range(len(texts)))) if texts else ([b""], [column.unknown])
        return graph.add(
            "LabelEncoder",
            given,
            keys_strings=keys,
            values_int64s=known,
            default_int64=column.unknown,
        )
    unknown = graph.constant(np.array([[column.unknown]], np.int64))
    if isinstance(column, NumberColumn):
        bins = _count(graph, given, column.cuts)
        return graph.add("Where", graph.add("IsNaN", given), unknown, bins)
    order = np.argsort(np.array(values, np.float64))
    ascending = np.array(values, np.float64)[order]
    # The largest of the values that is not above x, if it is x.
    place = _count(graph, given, ascending[1:])
    found = graph.add("Equal", graph.add("Gather", graph.constant(ascending), place), given)
    code = graph.add("Gather", graph.constant(order.astype(np.int64)), place)
    return graph.add("Where", found, code, unknown)


def _encode(text: str) -> bytes:
    """Return text as UTF-8; ValueError if it is none."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"ONNX cannot hold the text {text!r:.60}; change it first.") from None


def _count(graph: Graph, given: str, cuts: np.ndarray) -> str:
    """Return how many cuts are <= x, [N, 1] of int64; 0 for NaN."""
    if len(cuts) == 0:
        cuts = np.array([np.nan])  # which nothing reaches: the shape comes from x
    reached = graph.add("GreaterOrEqual", given, graph.constant(np.asarray(cuts)[None]))
    ones = graph.add("Cast", reached, to=Kind.INT64)
    return graph.add("ReduceSum", ones, graph.constant(np.array([1])), keepdims=1)


def _sum_effects(graph: Graph, effects: Effects, codes: str, seen: str | None) -> str | None:
    """Return the sum of the effects of each row, [N, C - 1], None if there are none."""
    cells = Cells.of(effects)
    places = np.searchsorted(effects.used, cells.members)
    listed = np.diff(np.searchsorted(cells.cells, [*cells.bases, np.iinfo(np.int64).max]))
    dense = cells.spaces <= np.maximum(SMALL, SPARSE * listed)
    total: str | None = None
    for is_dense in (True, False):
        chosen = np.flatnonzero(dense == is_dense)
        for low in range(0, len(chosen), CHUNK):
            terms = chosen[low : low + CHUNK]
            bases = cells.bases[terms]
            if is_dense:  # one row of zeros, then all cells of these terms
                bases = 1 + np.concatenate([[0], np.cumsum(cells.spaces[terms])[:-1]])
            keys = _keys(graph, codes, seen, places[terms], cells.strides[terms], bases)
            find = _dense_rows if is_dense else _listed_rows
            rows, table = find(graph, cells, terms, keys)
            found = graph.add("Gather", graph.constant(table.astype(np.float32)), rows, axis=0)
            exact = graph.add("Cast", found, to=Kind.DOUBLE)
            part = graph.add("ReduceSum", exact, graph.constant(np.array([1])), keepdims=0)
            total = part if total is None else graph.add("Add", total, part)
    return total


def _keys(
    graph: Graph,
    codes: str,
    seen: str | None,
    places: np.ndarray,
    strides: np.ndarray,
    bases: np.ndarray,
) -> str:
    """Return base + Σ stride · code for each term, [N, n_terms]; -1 where a value is unseen."""
    keys = graph.constant(bases[None])
    alive: str | None = None
    for j in range(places.shape[1]):
        which = graph.constant(places[:, j])
        digits = graph.add("Gather", codes, which, axis=1)
        steps = graph.add("Mul", digits, graph.constant(strides[None, :, j]))
        keys = graph.add("Add", keys, steps)
        if seen is not None:
            known = graph.add("Gather", seen, which, axis=1)
            alive = known if alive is None else graph.add("And", alive, known)
    if alive is None:
        return keys
    return graph.add("Where", alive, keys, graph.constant(np.array([[-1]])))


def _dense_rows(graph: Graph, cells: Cells, terms: np.ndarray, keys: str) -> tuple[str, np.ndarray]:
    """Return the row of each key in a table of all cells of some terms, and this table."""
    table = np.zeros((1 + int(cells.spaces[terms].sum()), cells.scores.shape[1]))
    start = 1
    for term in terms.tolist():
        base, space = int(cells.bases[term]), int(cells.spaces[term])
        low, high = np.searchsorted(cells.cells, [base, base + space])
        table[start + cells.cells[low:high] - base] = cells.scores[low:high]
        start += space
    return graph.add("Max", keys, graph.constant(np.array([[0]]))), table


def _listed_rows(
    graph: Graph, cells: Cells, terms: np.ndarray, keys: str
) -> tuple[str, np.ndarray]:
    """Return the row of each key in a table of the listed cells of some terms, and this table."""
    bounds = np.searchsorted(
        cells.cells, [cells.bases[terms], cells.bases[terms] + cells.spaces[terms]]
    )
    listed = np.concatenate([np.arange(low, high) for low, high in bounds.T.tolist()])
    table = np.concatenate([np.zeros((1, cells.scores.shape[1])), cells.scores[listed]])
    rows = graph.add(
        "LabelEncoder",
        keys,
        keys_int64s=cells.cells[listed].tolist(),
        values_int64s=list(range(1, len(listed) + 1)),
        default_int64=0,
    )
    return rows, table


def _rescaling(graph: Graph, factors: np.ndarray, seen: str) -> str:
    """Return the factor of each row by its number of never-seen values, [N, 1]."""
    unseen = graph.add("Cast", graph.add("Not", seen), to=Kind.INT64)
    count = graph.add("ReduceSum", unseen, graph.constant(np.array([1])), keepdims=1)
    return graph.add("Gather", graph.constant(factors), count)
