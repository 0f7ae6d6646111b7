"""Purified models: the functional ANOVA of the whole function, and the same predictions."""

from contextlib import nullcontext
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbroad.data.code_column import CategoryColumn
from deepbroad.data.encoding import Encoding
from deepbroad.model import joint_scores
from deepbroad.model.groups import Group
from deepbroad.model.marginals import Marginals
from deepbroad.model.plan import Plan
from deepbroad.model.purification import Purification
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms
from tests.model.fitted_models import FittedModel, fitted_models, make_columns


def naive_effect(values, chosen, weights):
    """Return the effect of some attributes, of a function (V_1 + 1, ..., V_a + 1, K) of all."""
    for axis, weight in enumerate(weights):
        mean = np.expand_dims(np.tensordot(weight, values, (0, axis)), axis)
        values = values - mean if axis in chosen else np.broadcast_to(mean, values.shape)
    return values


def weights_of(model):
    return [np.append(counts / counts.sum(), 0.0) for counts in model.counts]


def purify(model):
    return Purification(model.tables, model.encoding, Marginals.of(model.encoding, model.counts))


def lists_kept(kept):
    """Make lists of cells stay lists, however small their arrays would be."""
    return mock.patch.multiple(joint_scores, SMALL=0, LISTED=0) if kept else nullcontext()


@given(model=fitted_models(), listed=st.booleans())
def test_effects_are_those_of_the_whole_function(model, listed):
    codes, shape = model.grid()
    values = model.log_odds(codes).reshape(*shape, -1)
    weights, a = weights_of(model), len(shape)
    with lists_kept(listed):
        purified = purify(model)
        known = {effect.attributes: effect for effect in purified.effects()}
    np.testing.assert_allclose(
        naive_effect(values, (), weights)[(0,) * a], purified.intercept, atol=1e-9
    )
    for order in range(1, a + 1):
        for chosen in combinations(range(a), order):
            expected = naive_effect(values, chosen, weights).reshape(len(codes[0]), -1)
            if chosen in known:
                np.testing.assert_allclose(known[chosen].at(codes), expected, atol=1e-9)
            else:
                np.testing.assert_allclose(expected, 0.0, atol=1e-9)


@given(model=fitted_models(), listed=st.booleans())
def test_effects_sum_to_the_log_odds_of_every_row(model, listed):
    codes, _ = model.grid()
    with lists_kept(listed):
        purified = purify(model)
        total = purified.intercept + sum(effect.at(codes) for effect in purified.effects())
    np.testing.assert_allclose(total, model.log_odds(codes), atol=1e-9)


@given(model=fitted_models(), listed=st.booleans())
def test_tables_cells_and_variances_agree_and_have_no_mean(model, listed):
    marginals = Marginals.of(model.encoding, model.counts)
    with lists_kept(listed):
        effects = list(purify(model).effects())
    for effect in effects:
        table = effect.table()
        weights = [marginals.probabilities[c][:-1] for c in effect.columns]
        for axis, weight in enumerate(weights):
            np.testing.assert_allclose(np.tensordot(weight, table, (0, axis)), 0.0, atol=1e-9)
        joint = np.ones(())
        for weight in weights:
            joint = np.multiply.outer(joint, weight)
        np.testing.assert_allclose(
            effect.variance, (joint[..., None] * table**2).reshape(-1, table.shape[-1]).sum(axis=0),
            atol=1e-9,
        )  # fmt: skip
        codes, values = effect.cells()
        np.testing.assert_allclose(values, table[tuple(codes)], atol=1e-9)


@given(model=fitted_models())
def test_variances_sum_to_that_of_log_odds(model):
    codes, shape = model.grid()
    values = model.log_odds(codes).reshape(*shape, -1)
    weights = weights_of(model)
    mean = naive_effect(values, (), weights)
    variance = naive_effect((values - mean) ** 2, (), weights)[(0,) * len(shape)]
    total = sum(effect.variance for effect in purify(model).effects())
    np.testing.assert_allclose(total, variance, atol=1e-9)


def test_a_coarse_bin_is_as_probable_as_the_finest_in_it():
    encoding = Encoding(make_columns([(2, True, True)]), ["x0"])
    marginals = Marginals.of(encoding, [np.array([1.0, 2.0, 3.0, 4.0, 6.0])])
    coarse, fine = marginals.probabilities
    np.testing.assert_allclose(coarse, np.array([3, 7, 6, 0]) / 16)
    np.testing.assert_allclose(fine, np.array([1, 2, 3, 4, 6, 0]) / 16)
    uniform = Marginals.uniform(encoding)
    np.testing.assert_allclose(uniform.probabilities[0], [0.4, 0.4, 0.2, 0.0])


def test_an_attribute_without_any_known_value_is_refused():
    encoding = Encoding(make_columns([(2, False, False)]), ["x0"])
    with pytest.raises(ValueError, match="No row has a value of 'x0'"):
        Marginals.of(encoding, [np.zeros(2)])


def large_compact_model(cardinality=6000, n_listed=500):
    """Return a pair of identifiers, whose array of all joint values would be far too large."""
    values = tuple(f"v{i}" for i in range(cardinality))
    encoding = Encoding([CategoryColumn(i, f"x{i}", False, values) for i in range(2)], ["x0", "x1"])
    terms = Terms.of([(0, 1)], encoding.cardinalities)
    rng = np.random.default_rng(0)
    space = (cardinality + 1) ** 2
    codes = np.unique(rng.integers(cardinality, size=(2, n_listed)), axis=1)
    keys = np.sort(np.ravel_multi_index(tuple(codes), (cardinality + 1,) * 2))
    assert keys[-1] < space
    group = Group(np.arange(2), encoding.cardinalities, keys, compact=True)
    plan = Plan.of(terms, (), {0: group})
    tables = ScoreTables(plan, np.zeros(3), rng.normal(size=(len(keys) + 1, 3)), None)
    counts = [rng.integers(1, 9, size=cardinality) for _ in range(2)]
    return FittedModel(tables, encoding, counts)


def test_a_large_compact_table_stays_a_list():
    model = large_compact_model()
    purified = purify(model)
    rng = np.random.default_rng(1)
    seen = model.tables.seen_values(0, (0, 1))
    codes = np.concatenate([seen, rng.integers(6001, size=(2, 200))], axis=1).astype(np.uint16)
    total = purified.intercept + sum(effect.at(codes) for effect in purified.effects())
    np.testing.assert_allclose(total, model.log_odds(codes), atol=1e-9)
    pair = purified.effect((0, 1))
    assert pair.cells()[0].shape == seen.shape
    assert purified.n_cells < 20_000
    with pytest.raises(ValueError, match="36,000,000 cells"):
        pair.table()


def test_a_tuple_of_one_attribute_twice_is_refused():
    encoding = Encoding(make_columns([(2, False, True)]), ["x0"])
    terms = Terms.of([(0, 1)], encoding.cardinalities)
    groups = tuple(Group.single(c, int(encoding.cardinalities[c])) for c in range(2))
    plan = Plan.of(terms, groups)
    tables = ScoreTables(plan, np.zeros(2), np.zeros((plan.terms.n_cells, 2)), None)
    with pytest.raises(ValueError, match="an attribute with itself"):
        list(Purification(tables, encoding, Marginals.uniform(encoding)).effects())
