"""Scores and counts of rows by the values that are not the common ones of their columns.

Every column has a common value; an *item* is any other value of a column. A sum of terms over all
columns equals one number for the row of common values alone, plus one for each set of up to n
items that the row has: the entry of a set is the alternating sum of the cells that hold some of
its items and common values elsewhere. So a row costs as many look-ups as it has sets of items,
however many columns there are. The transpose gives counts and gradients: cells with common values
come out by subtraction, as in AD-trees.

A set of items i_1 < .. < i_k has the rank Σ_t C(i_t, t), its place among all sets of k items.

==========  ==========================================================  ====================
symbol      meaning                                                     shape
==========  ==========================================================  ====================
starts      where each row's items begin, and the end                   (rows + 1,) int64
items       items of rows, ascending in each row                        (any,) int32
common      the common code of each column                              (columns,) int64
sizes       values of each column, never-seen ones included if wanted   (columns,) int64
first       the first item of each column                               (columns,) int64
binomials   C(i, k)                                                     (n + 1, items + 1)
bases       the key of the first set of k items                         (n + 2,)
slots,      hash index from keys to entries (see `hashing`);            (any,)
numbers     empty where every key is an entry
bands       items that bands of items begin with, and the end           (bands + 1,) int64
==========  ==========================================================  ====================
"""

from typing import NamedTuple

import numpy as np

from deepbroad.kernels.hashing import find_key
from deepbroad.kernels.jit import inlined, jit


class ItemIndex(NamedTuple):
    """Where sets of items find their entries; shapes as listed above."""

    common: np.ndarray
    sizes: np.ndarray
    first: np.ndarray
    binomials: np.ndarray
    bases: np.ndarray
    slots: np.ndarray
    numbers: np.ndarray


@inlined
def find_entry(key, index):
    """Return the entry of a set of items, -1 if no term holds it."""
    if index.slots.shape[0] == 0:
        return np.int64(key)
    return find_key(key, index.slots, index.numbers)


@jit
def count_items(codes, columns, index, limits, lengths, missing):
    """Add up how many items each row has, and mark rows with a code at its limit, which is none."""
    for c in columns:
        column, common, limit = codes[c], index.common[c], limits[c]
        for r in range(column.shape[0]):
            known = column[r] < limit
            lengths[r] += known & (column[r] != common)
            missing[r] |= not known


@jit
def list_items(codes, columns, index, limits, positions, items):
    """Write the items of all rows; `positions` says where each row's next one goes."""
    for c in columns:
        column, common, limit = codes[c], index.common[c], limits[c]
        for r in range(column.shape[0]):
            code = np.int64(column[r])
            if code != common and code < limit:
                items[positions[r]] = index.first[c] + code - (code > common)
                positions[r] += 1


@inlined
def advance(places, k, length):
    """Move to the next choice of k - 1 places below `length`, descending; False after the last."""
    for t in range(k - 2, -1, -1):
        bound = length if t == 0 else places[t - 1]
        if places[t] + 1 < bound:
            places[t] += 1
            for u in range(t + 1, k - 1):
                places[u] = k - 1 - u
            return True
    return False


@inlined
def begin_choice(places, k):
    """Choose the lowest k - 1 places that leave room for one below them."""
    for t in range(k - 1):
        places[t] = k - 1 - t


@inlined
def prefix_key(row, places, k, index):
    """Return the key of the items at `places` as if the k-th item were item 0."""
    key = index.bases[k]
    for t in range(k - 1):
        key += index.binomials[k - t, row[places[t]]]
    return key


@inlined
def pair_prefix(item, index):
    """Return the key of the pair of an item and item 0; 0 where there are no pairs."""
    return index.bases[2] + index.binomials[2, item] if index.bases.shape[0] > 3 else np.int64(0)


@jit
def score_items(starts, items, first, last, bands, index, entries, values, width):
    """Add the entries of all sets of items of rows first..last to their `values`.

    Sets go by their largest item, and these band by band, so that the entries of a band, which are
    neighbours, stay in the cache while all rows go through them.
    """
    depth = index.bases.shape[0] - 2
    places = np.zeros(max(depth, 1), np.int64)
    totals = np.zeros((last - first) * width)
    tops = np.zeros(last - first, np.int64)
    for band in range(bands.shape[0] - 1):
        for r in range(first, last):
            row = items[starts[r] : starts[r + 1]]
            place, top = (r - first) * width, tops[r - first]
            # Of the first class, in a register: additions do not wait for a store.
            found = totals[place]
            while top < row.shape[0] and row[top] < bands[band + 1]:
                single = find_entry(index.bases[1] + row[top], index) * width
                if single >= 0:
                    found += entries[single]
                    for lane in range(1, width):
                        totals[place + lane] += entries[single + lane]
                # Here and not in a call, which would be slower for the loop in it, though inlined.
                pairs = pair_prefix(row[top], index)
                for b in range(top if depth > 1 else 0):
                    at = find_entry(pairs + row[b], index) * width
                    if at >= 0:
                        found += entries[at]
                        for lane in range(1, width):
                            totals[place + lane] += entries[at + lane]
                for k in range(3, min(depth, top + 1) + 1):
                    found += score_below(row, top, k, places, index, entries, totals, place, width)
                top += 1
            totals[place], tops[r - first] = found, top
    for place in range(last - first):
        for lane in range(width):
            values[place * width + lane] += entries[lane] + totals[place * width + lane]


@inlined
def score_below(row, top, k, places, index, entries, totals, place, width):
    """Add the entries of a row's sets of k items whose largest is at `top` to its total.

    But for those of the first class, whose sum is returned.
    """
    begin_choice(places, k)
    places[0] = top
    found, more = 0.0, True
    while more:
        prefix = prefix_key(row, places, k, index)
        for b in range(places[k - 2]):
            at = find_entry(prefix + row[b], index) * width
            if at >= 0:
                found += entries[at]
                for lane in range(1, width):
                    totals[place + lane] += entries[at + lane]
        more = advance(places, k, top + 1)
    return found


@jit
def scatter_items(starts, items, rows, bands, index, values, entries, width):
    """Add rows' values to the entries of their sets whose largest item is in one of the bands.

    Such sets share no entry with those of other bands, so that these may run side by side.
    """
    depth = index.bases.shape[0] - 2
    places = np.zeros(max(depth, 1), np.int64)
    tops = np.empty(rows, np.int64)
    for r in range(rows):
        tops[r] = np.searchsorted(items[starts[r] : starts[r + 1]], bands[0])
    for band in range(bands.shape[0] - 1):
        for r in range(rows):
            row, top = items[starts[r] : starts[r + 1]], tops[r]
            while top < row.shape[0] and row[top] < bands[band + 1]:
                add_row(index.bases[1] + row[top], index, values, r, entries, width)
                pairs = pair_prefix(row[top], index)
                for b in range(top if depth > 1 else 0):
                    add_row(pairs + row[b], index, values, r, entries, width)
                for k in range(3, min(depth, top + 1) + 1):
                    scatter_below(row, top, k, places, index, values, r, entries, width)
                top += 1
            tops[r] = top


@inlined
def scatter_below(row, top, k, places, index, values, r, entries, width):
    """Add a row's values to the entries of its sets of k items whose largest is at `top`."""
    begin_choice(places, k)
    places[0] = top
    more = True
    while more:
        prefix = prefix_key(row, places, k, index)
        for b in range(places[k - 2]):
            add_row(prefix + row[b], index, values, r, entries, width)
        more = advance(places, k, top + 1)


@inlined
def add_row(key, index, values, r, entries, width):
    """Add a row's values to the entry of a key, if it has one."""
    at = find_entry(key, index) * width
    if at >= 0:
        if width == 1:
            entries[at] += values[r]
        else:
            for lane in range(width):
                entries[at + lane] += values[r * width + lane]


@jit
def sum_rows(values, rows, entries, width):
    """Add all rows' values to the entry of the empty set."""
    for r in range(rows):
        for lane in range(width):
            entries[lane] += values[r * width + lane]


@inlined
def cell_key(term, digits, order, index):
    """Return the key of the items among a cell's values, and how many they are."""
    rank, k = np.int64(0), 0
    for axis in range(order):
        column = term[axis]
        code = digits[axis]
        common = index.common[column]
        if code != common:
            k += 1
            rank += index.binomials[k, index.first[column] + code - (code > common)]
    return index.bases[k] + rank, k


@inlined
def next_digits(term, digits, order, index):
    """Move to the next cell of a term in row-major order."""
    for axis in range(order - 1, -1, -1):
        digits[axis] += 1
        if digits[axis] < index.sizes[term[axis]]:
            return
        digits[axis] = 0


@inlined
def shape_of(term, index, shape):
    """Write the sizes of a term's columns, and return how many columns and cells it has."""
    order, cells = 0, 1
    for axis in range(term.shape[0]):
        if term[axis] >= 0:
            shape[axis] = index.sizes[term[axis]]
            cells *= shape[axis]
            order += 1
    return order, cells


@inlined
def subtract_common(buffer, term, shape, order, cells, index, width, transposed):
    """Take the cell with the common value from every other along each axis; or the transpose."""
    inner = cells * width
    outer = 1
    for axis in range(order):
        inner //= shape[axis]
        common = index.common[term[axis]]
        for p in range(outer):
            base = p * shape[axis] * inner
            for code in range(shape[axis]):
                if code != common:
                    for q in range(inner):
                        here, there = base + code * inner + q, base + common * inner + q
                        if transposed:
                            buffer[there] -= buffer[here]
                        else:
                            buffer[here] -= buffer[there]
        outer *= shape[axis]


@jit
def expand_items(terms, offsets, limits, index, cells, entries, low, buffer, width):
    """Add the terms' alternating sums of cells to entries.

    Sets of fewer items than the deepest belong to several terms: they go to `low`, which no other
    thread touches, and which is as long as they need. A code at a column's limit was never seen;
    its cells score 0.
    """
    depth = index.bases.shape[0] - 2
    shape = np.ones(terms.shape[1], np.int64)
    digits = np.zeros(terms.shape[1], np.int64)
    for t in range(terms.shape[0]):
        term = terms[t]
        order, n_cells = shape_of(term, index, shape)
        digits[:] = 0
        source = offsets[t] * width
        for j in range(n_cells):
            seen = True
            for axis in range(order):
                seen &= digits[axis] < limits[term[axis]]
            for lane in range(width):
                buffer[j * width + lane] = cells[source + lane] if seen else 0.0
            if seen:
                source += width
            next_digits(term, digits, order, index)
        subtract_common(buffer, term, shape, order, n_cells, index, width, False)
        digits[:] = 0
        for j in range(n_cells):
            key, k = cell_key(term, digits, order, index)
            at = find_entry(key, index) * width
            into = entries if k == depth else low
            for lane in range(width):
                into[at + lane] += buffer[j * width + lane]
            next_digits(term, digits, order, index)


@jit
def reduce_items(terms, offsets, index, entries, cells, buffer, width):
    """Write the transpose: what rows added to the entries of sets, as sums by cell."""
    shape = np.ones(terms.shape[1], np.int64)
    digits = np.zeros(terms.shape[1], np.int64)
    for t in range(terms.shape[0]):
        term = terms[t]
        order, n_cells = shape_of(term, index, shape)
        digits[:] = 0
        for j in range(n_cells):
            key, _ = cell_key(term, digits, order, index)
            at = find_entry(key, index) * width
            for lane in range(width):
                buffer[j * width + lane] = entries[at + lane]
            next_digits(term, digits, order, index)
        subtract_common(buffer, term, shape, order, n_cells, index, width, True)
        target = offsets[t] * width
        for j in range(n_cells * width):
            cells[target + j] = buffer[j]


@jit
def list_keys(terms, index, keys):
    """Write the keys of all cells of terms, one after the other."""
    shape = np.ones(terms.shape[1], np.int64)
    digits = np.zeros(terms.shape[1], np.int64)
    at = 0
    for t in range(terms.shape[0]):
        order, n_cells = shape_of(terms[t], index, shape)
        digits[:] = 0
        for _ in range(n_cells):
            keys[at], _k = cell_key(terms[t], digits, order, index)
            next_digits(terms[t], digits, order, index)
            at += 1
