"""Unfolded tables score every exclusive row as the joined ones do, and fold to the same again."""

from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.model.groups import Group
from deepbroad.model.indicators import Joining
from deepbroad.model.plan import Plan
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms
from deepbroad.model.unfolding import Unfolding


class Case(NamedTuple):
    joining: Joining
    tables: ScoreTables  # of the joined columns
    compact: np.ndarray  # draws which unfolded terms are
    joined_rows: np.ndarray
    rows: np.ndarray


def draw_joining(rng, none):
    """Return two kept columns and two categories of three and four members, in any order."""
    order = rng.permutation(9)
    cardinalities = np.full(9, 2)
    cardinalities[order[7:]] = 3, 4
    members = order[:3], order[3:7]
    on = tuple(rng.integers(2, size=len(own)) for own in members)
    return Joining(members, on, none, cardinalities, np.arange(9))


def single_groups(cardinalities, order):
    return tuple(Group.single(int(c), int(cardinalities[c])) for c in order)


def draw_compact(rng, terms, share):
    """Return compact groups of some terms of several columns, each with some joint values."""
    found = {}
    for t in np.flatnonzero((terms.orders > 1) & (rng.random(len(terms)) < share)).tolist():
        columns = np.array(terms.tuple(t))
        sizes = terms.cardinalities[columns]
        digits = np.indices(sizes).reshape(len(columns), -1)
        keys = np.ravel_multi_index(tuple(digits), tuple(sizes + 1))
        keys = np.sort(keys[rng.random(len(keys)) < 0.5])
        if len(keys):
            found[t] = Group(columns, sizes, keys, compact=True)
    return found


def draw_case(seed, none=(True, False), share=0.5):
    rng = np.random.default_rng(seed)
    joining = draw_joining(rng, none)
    sizes = joining.joined_cardinalities
    tuples = [t for k in (1, 2, 3) for t in combinations(range(4), k)]
    chosen = [t for t in tuples if rng.random() < 0.7] or tuples
    terms = Terms.of(chosen, sizes)
    groups = single_groups(sizes, rng.permutation(4))
    plan = Plan.of(terms, groups, draw_compact(rng, terms, share))
    scores = rng.normal(size=(plan.terms.n_cells, 3))
    for t in np.flatnonzero(plan.terms.is_compact).tolist():
        if plan.terms.members[t].max() >= 2:  # a category
            scores[plan.terms.offsets[t + 1] - 1] = 0
    tables = ScoreTables(plan, rng.normal(size=3), scores, None)
    joined = np.array(list(product(*(range(size) for size in sizes)))).T
    rows = np.empty((9, joined.shape[1]), np.int64)
    rows[joining.kept] = joined[:2]
    for own, on, codes in zip(joining.members, joining.on, joined[2:], strict=True):
        for place, column in enumerate(own):
            rows[column] = np.where(codes == place, on[place], 1 - on[place])
    n_terms = len(Unfolding(joining, plan.terms).terms)
    return Case(joining, tables, rng.random(n_terms) < 0.5, joined, rows)


def unfold(case, seed=0):
    """Return the unfolded tables, under a plan whose groups are in any order."""
    unfolding = Unfolding(case.joining, case.tables.plan.terms)
    compact = unfolding.compact_groups(case.tables.plan, case.compact)
    order = np.random.default_rng(seed).permutation(9)
    groups = single_groups(case.joining.cardinalities, order)
    return unfolding, unfolding.unfold(case.tables, Plan.of(unfolding.terms, groups, compact))


def score(tables, rows):
    """Return the scores of rows, table by table."""
    scores = np.tile(tables.class_scores, (rows.shape[1], 1))
    for t in range(len(tables.plan.terms)):
        columns = tables.plan.terms.tuple(t)
        scores += tables.table(columns)[tuple(rows[list(columns)])]
    return scores


@given(
    seed=st.integers(0, 10_000),
    none=st.tuples(st.booleans(), st.booleans()),
    share=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_all_exclusive_rows_score_the_same_and_tables_fold_again(seed, none, share):
    case = draw_case(seed, none, share)
    unfolding, unfolded = unfold(case, seed)
    expected = score(case.tables, case.joined_rows)
    np.testing.assert_allclose(score(unfolded, case.rows), expected, atol=1e-12)
    folded = unfolding.fold(unfolded, case.tables.plan)
    np.testing.assert_allclose(score(folded, case.joined_rows), expected, atol=1e-12)
    np.testing.assert_allclose(folded.scores, case.tables.scores, atol=1e-12)


@given(seed=st.integers(0, 10_000), none=st.tuples(st.booleans(), st.booleans()))
def test_any_tables_of_indicators_fold_to_the_same_scores(seed, none):
    case = draw_case(seed, none, share=0.0)
    unfolding, unfolded = unfold(case, seed)
    scores = np.random.default_rng(seed).normal(size=unfolded.scores.shape)
    given_ = ScoreTables(unfolded.plan, unfolded.class_scores, scores, None)
    folded = unfolding.fold(given_, case.tables.plan)
    expected = score(given_, case.rows)
    np.testing.assert_allclose(score(folded, case.joined_rows), expected, atol=1e-12)


def test_terms_have_a_member_of_each_category_and_are_in_order():
    case = draw_case(0)
    terms = Unfolding(case.joining, case.tables.plan.terms).terms
    expected = set()
    for t in range(len(case.tables.plan.terms)):
        own = [case.joining.given_columns(c).tolist() for c in case.tables.plan.terms.tuple(t)]
        expected |= {tuple(sorted(chosen)) for chosen in product(*own)}
    found = [terms.tuple(t) for t in range(len(terms))]
    assert found == sorted(expected, key=lambda t: (len(t), t))


def test_what_is_dense_stays_dense_and_what_has_no_category_stays_what_it_is():
    case = draw_case(3, share=0.5)
    joined, joining = case.tables.plan, case.joining
    unfolding = Unfolding(joining, joined.terms)
    none, every = np.zeros(len(unfolding.terms), bool), np.ones(len(unfolding.terms), bool)
    kept = {t for t in joined.compact_groups if joined.terms.members[t].max() < 2}
    assert len(unfolding.compact_groups(joined, none)) == len(kept)
    sources = [
        int(np.prod([len(joining.given_columns(c)) for c in joined.terms.tuple(t)]))
        for t in joined.compact_groups
    ]
    assert len(unfolding.compact_groups(joined, every)) == sum(sources) > len(kept)


@pytest.mark.parametrize("change", ["fewer", "others"])
def test_tables_of_other_terms_do_not_fold(change):
    case = draw_case(1)
    unfolding, unfolded = unfold(case)
    members = unfolded.plan.terms.members[1 if change == "fewer" else 0 :].copy()
    if change == "others":
        members[0, 0] = 8 - members[0, 0]
    terms = Terms(members, case.joining.cardinalities)
    plan = Plan.of(terms, single_groups(case.joining.cardinalities, range(9)))
    other = ScoreTables(plan, np.zeros(3), np.zeros((terms.n_cells, 3)), None)
    assert unfolding.fold(other, case.tables.plan) is None


def test_scores_keep_their_type():
    case = draw_case(2)
    single = ScoreTables(
        case.tables.plan, case.tables.class_scores, case.tables.scores.astype(np.float32), None
    )
    unfolding, unfolded = unfold(case._replace(tables=single))
    assert unfolded.scores.dtype == np.float32
    assert unfolding.fold(unfolded, single.plan).scores.dtype == np.float32
