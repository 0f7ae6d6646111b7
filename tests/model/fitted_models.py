"""Random score tables over random attributes, as fits could have left them."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from deepbroad.data.code_column import CategoryColumn, NumberColumn
from deepbroad.data.encoding import Encoding
from deepbroad.engine.scoring import Scorer
from deepbroad.model.groups import Group
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms


@dataclass(frozen=True)
class FittedModel:
    """Tables, the encoding of their columns, and counts (V,) of the values of each attribute."""

    tables: ScoreTables
    encoding: Encoding
    counts: list

    def grid(self):
        """Return the codes of all rows there can be, and V + 1 of each attribute."""
        last = {column.attribute: c for c, column in enumerate(self.encoding.columns)}
        shape = tuple(owned[-1].cardinality + 1 for owned in self.encoding.owned)
        fine = np.indices(shape).reshape(len(shape), -1)
        codes = []
        for c, column in enumerate(self.encoding.columns):
            bins = self.encoding.bins_within(c, last[column.attribute])
            codes.append(np.append(bins, column.cardinality)[fine[column.attribute]])
        return np.array(codes, np.uint8), shape

    def log_odds(self, codes):
        """Return the log odds that the engine gives rows, (n_rows, K)."""
        scores = Scorer(self.tables).scores(codes, 1)
        if self.tables.n_classes == 2:
            return scores
        scores = np.pad(scores, ((0, 0), (1, 0)))
        return scores - scores.mean(axis=1, keepdims=True)


def make_columns(kinds):
    """Return the code columns of attributes: (how many values or levels, missing, is a number)."""
    columns = []
    for attribute, (size, missing, is_number) in enumerate(kinds):
        name = f"x{attribute}"
        if not is_number:
            values = tuple(f"v{i}" for i in range(size))
            columns.append(CategoryColumn(attribute, name, missing, values))
            continue
        for level in range(1, size + 1):
            cuts = np.arange(1.0, 2.0**level) / 2**level
            columns.append(NumberColumn(attribute, name, missing, cuts))
    return columns


@st.composite
def fitted_models(draw, max_attributes=4):
    """Draw a model: dense and compact tables, numbers at several resolutions, any orders."""
    kind = st.tuples(st.integers(1, 3), st.booleans(), st.booleans())
    kinds = draw(st.lists(kind, min_size=1, max_size=max_attributes))
    encoding = Encoding(make_columns(kinds), [f"x{i}" for i in range(len(kinds))])
    owned = [
        [c for c, column in enumerate(encoding.columns) if column.attribute == i]
        for i in range(len(kinds))
    ]
    tuples = []
    for _ in range(draw(st.integers(1, 6))):
        chosen = draw(st.sets(st.integers(0, len(kinds) - 1), min_size=1, max_size=3))
        tuples.append(tuple(draw(st.sampled_from(owned[i])) for i in sorted(chosen)))
    terms = Terms.of(tuples, encoding.cardinalities)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    compact = {}
    for term in range(len(terms)):
        if draw(st.booleans()):
            compact[term] = draw_group(rng, terms, term)
    used = {c for t in range(len(terms)) if t not in compact for c in terms.tuple(t)}
    groups = tuple(Group.single(c, int(encoding.cardinalities[c])) for c in sorted(used))
    plan = Plan.of(terms, groups, compact)
    n_classes = draw(st.integers(2, 5))
    scores = rng.normal(size=(plan.terms.n_cells, n_classes))
    tables = ScoreTables(plan, rng.normal(size=n_classes), scores, None)
    counts = [rng.integers(0, 5, size=own[-1].cardinality) for own in encoding.owned]
    for some in counts:
        some[rng.integers(len(some))] += 1
    return FittedModel(tables, encoding, counts)


def draw_group(rng, terms, term):
    """Return a compact group with some of the joint values of a term."""
    columns = np.array(terms.tuple(term))
    cardinalities = terms.cardinalities[columns]
    codes = np.indices(cardinalities).reshape(len(columns), -1)
    kept = codes[:, rng.random(codes.shape[1]) < 0.5]
    keys = np.sort(np.ravel_multi_index(tuple(kept), cardinalities + 1))
    return Group(columns, cardinalities, keys, compact=True)
