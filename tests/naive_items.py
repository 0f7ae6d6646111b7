"""Slow, obvious twins of items: dictionaries of sets, and loops over all their subsets.

An item is a (column, code) pair, a set of items a tuple of their numbers, ascending. Scores and
values have k numbers each: cells are (n_cells, k), entries (n_entries, k), values (N, k).
"""

from itertools import combinations

import numpy as np


def list_items(cardinalities, common, unseen):
    """Return all items in order: the codes of each column but for the common one."""
    return [
        (column, code)
        for column, cardinality in enumerate(cardinalities)
        for code in range(int(cardinality) + unseen)
        if code != common[column]
    ]


def subsets_of(members, depth):
    return [s for k in range(depth + 1) for s in combinations(members, k)]


def order_sets(sets):
    """Return sets by size and then in colexicographic order."""
    return sorted(sets, key=lambda s: (len(s), s[::-1]))


def chosen_terms(items):
    terms = items.terms
    return [(t, terms.tuple(t)) for t in np.flatnonzero(items.chosen)]


def lay_out(items, *, complete):
    """Return the entry of every set: all of so many items, or those that some term can hold."""
    known = list_items(items.terms.cardinalities, items.common, items.unseen)
    depth = max(len(term) for _, term in chosen_terms(items))
    sets = subsets_of(range(len(known)), depth)
    if not complete:
        sets = [s for s in sets if holders(items, [known[i][0] for i in s])]
    return {s: entry for entry, s in enumerate(order_sets(sets))}


def holders(items, columns):
    """Return the chosen terms that hold a cell for these columns, each of them once."""
    if len(set(columns)) < len(columns):
        return []
    return [(t, term) for t, term in chosen_terms(items) if set(columns) <= set(term)]


def find_cell(terms, t, values):
    """Return the number of a cell, None where a value was never seen."""
    shape = [int(terms.cardinalities[c]) for c in terms.tuple(t)]
    if any(value >= size for value, size in zip(values, shape, strict=True)):
        return None
    return int(terms.offsets[t]) + int(np.ravel_multi_index(tuple(values), shape))


def expand(items, cells, layout):
    """Return entries: alternating sums of cells with some of a set's items, common elsewhere."""
    known = list_items(items.terms.cardinalities, items.common, items.unseen)
    entries = np.zeros((len(layout), cells.shape[1]))
    for chosen, entry in layout.items():
        for t, term in holders(items, [known[i][0] for i in chosen]):
            for some in subsets_of(chosen, len(chosen)):
                value_of = {column: int(items.common[column]) for column in term}
                value_of.update(known[i] for i in some)
                cell = find_cell(items.terms, t, [value_of[c] for c in term])
                if cell is not None:
                    entries[entry] += (-1) ** (len(chosen) - len(some)) * cells[cell]
    return entries


def items_of_rows(items, codes):
    """Return the numbers of each row's items, in the columns that chosen terms have."""
    numbers = {
        item: i
        for i, item in enumerate(list_items(items.terms.cardinalities, items.common, items.unseen))
    }
    used = sorted({c for _, term in chosen_terms(items) for c in term})
    return [
        [numbers[c, code] for c in used if (c, code := int(codes[c, r])) in numbers]
        for r in range(codes.shape[1])
    ]


def score(rows, layout, entries, depth):
    """Return (N, k): the sum of the entries of all sets of a row's items."""
    return np.array(
        [
            sum(
                (entries[layout[s]] for s in subsets_of(row, depth) if s in layout),
                np.zeros(entries.shape[1]),
            )
            for row in rows
        ]
    ).reshape(len(rows), entries.shape[1])


def scatter(rows, layout, values, depth):
    """Return (n_entries, k): the values of all rows that have a set of items."""
    entries = np.zeros((len(layout), values.shape[1]))
    for row, value in zip(rows, values, strict=True):
        for s in subsets_of(row, depth):
            if s in layout:
                entries[layout[s]] += value
    return entries


def score_cells(items, cells, codes):
    """Return (N, k): the sum of the cells of all chosen terms, nothing for never-seen values."""
    scores = np.zeros((codes.shape[1], cells.shape[1]))
    for r in range(codes.shape[1]):
        for t, term in chosen_terms(items):
            cell = find_cell(items.terms, t, [int(codes[c, r]) for c in term])
            if cell is not None:
                scores[r] += cells[cell]
    return scores


def sum_cells(items, values, codes):
    """Return (n_cells, k): the values of all rows that have a cell's joint value."""
    cells = np.zeros((items.terms.n_cells, values.shape[1]))
    for r in range(codes.shape[1]):
        for t, term in chosen_terms(items):
            cell = find_cell(items.terms, t, [int(codes[c, r]) for c in term])
            if cell is not None:
                cells[cell] += values[r]
    return cells
