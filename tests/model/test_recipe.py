"""Recipes: from code columns and back, in JSON, and what they refuse."""

import copy
import json
import pickle
from itertools import combinations
from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbroad.data.encoding import Encoding
from deepbroad.data.table import read_table
from deepbroad.model.recipe import Recipe, RecipeTable
from deepbroad.model.terms import NONE

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "age": RNG.normal(size=200),
        "job": RNG.choice(["a", "b", "c"], 200),
        "pay": RNG.integers(0, 9, 200).astype(float),
    }
)
X.loc[::9, "pay"] = np.nan
LABELS = np.arange(200) % 2
WIDE = Encoding.fit(read_table(X), LABELS, 2, levels=4)[0]


@st.composite
def choices(draw):
    """Draw tables of code columns of different attributes, and their strengths."""
    owned = [np.flatnonzero(WIDE.attributes == a).tolist() for a in range(3)]
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        order = draw(st.integers(1, 3))
        attributes = draw(st.sampled_from(list(combinations(range(3), order))))
        columns = [draw(st.sampled_from(owned[a])) for a in attributes]
        rows.append([*columns, *[NONE] * (3 - order)])
    strength = draw(
        st.lists(st.sampled_from([0.0, 0.123456, 1.0, 7e-9, 1234.5]), min_size=len(rows),
                 max_size=len(rows))
    )  # fmt: skip
    return np.array(rows), np.array(strength)


@settings(derandomize=True)
@given(choices(), st.booleans())
def test_code_columns_come_back_from_a_recipe(case, by_counts):
    members, strength = case
    recipe = Recipe.of(WIDE, members, strength, by_counts)
    assert Recipe.from_json(recipe.to_json()) == recipe
    assert recipe.by_counts == by_counts
    narrow, _ = WIDE.narrowed(recipe.edges)
    found, values = recipe.members(narrow)

    def cells(encoding, row):
        columns = [encoding.columns[c] for c in row if c != NONE]
        return frozenset((c.attribute, tuple(getattr(c, "cuts", ()))) for c in columns)

    expected = {}
    for row, value in zip(members.tolist(), strength.tolist(), strict=True):
        expected.setdefault(cells(WIDE, row), []).append(value)
    assert len(found) == len(expected)
    for row, value in zip(found.tolist(), values.tolist(), strict=True):
        own = expected[cells(narrow, row)]
        joint = own[0] if len(own) == 1 else 0.0 if 0.0 in own else 1.0 / sum(1.0 / v for v in own)
        assert value == float(f"{joint:.2g}")
        columns = [c for c in row if c != NONE]
        assert row == [*sorted(columns), *[NONE] * (len(row) - len(columns))]
    orders = np.count_nonzero(found != NONE, axis=1)
    assert (np.diff(orders) >= 0).all()
    # Every resolution that is kept has a table.
    used = {(name, place) for t in recipe.tables for name, place in zip(*t[:2], strict=True)}
    for name, edges in recipe.edges.items():
        assert {(name, i) for i in range(len(edges))} <= used


@settings(derandomize=True)
@given(choices(), st.randoms(use_true_random=False))
def test_the_order_of_tables_does_not_matter(case, random):
    members, strength = case
    order = random.sample(range(len(members)), len(members))
    # Sums of strengths of equal tables are exact in any order only if there are none.
    _, first = np.unique(members, axis=0, return_index=True)
    members, strength = members[np.sort(first)], strength[np.sort(first)]
    order = [i for i in order if i < len(members)]
    assert Recipe.of(WIDE, members, strength) == Recipe.of(WIDE, members[order], strength[order])


def small():
    return Recipe(
        {"age": [[0.5], [-1.0, 0.5, 2.0]], "pay": [[4.0]]},
        (
            RecipeTable(("age",), (1,), 2.0),
            RecipeTable(("job",), (0,), 0.5),
            RecipeTable(("age", "job"), (0, 0), 30.0),
            RecipeTable(("age", "pay"), (0, 0), 12.0),
        ),
    )


def test_a_recipe_prints_in_a_few_lines():
    assert repr(small()).splitlines() == [
        "Recipe of 4 tables: 2 of order 1, 2 of order 2",
        "4 effects, the least penalised first: job (0.5), age (2), age x pay (12), age x job (30)",
        "2 numbers: age (2 resolutions, 2 to 4 bins), pay (1 resolution, 2 bins)",
    ]
    counted = Recipe({}, (RecipeTable(("job",), (0,), 1.0),), by_counts=True)
    assert str(counted).splitlines()[-1] == "Cells score by how many rows of each class they have"


def test_recipes_of_many_effects_stay_short():
    names = [f"x{i}" for i in range(50)]
    edges = {name: [[0.0]] for name in names}
    many = Recipe(edges, tuple(RecipeTable((name,), (0,), 1.0) for name in names))
    assert len(str(many)) < 600


def test_recipes_are_values():
    recipe = small()
    assert copy.deepcopy(recipe) == recipe == pickle.loads(pickle.dumps(recipe))
    assert recipe != Recipe(recipe.edges, recipe.tables[:-1] + recipe.tables[-1:], True)
    with pytest.raises(TypeError, match="unhashable"):
        hash(recipe)
    assert (recipe.depth, recipe.orders) == (2, [1, 2])
    assert recipe.features == ["age", "job", "pay"]


def test_infinite_cut_points_go_through_json():
    recipe = Recipe({"age": [[-inf, 0.1, inf]]}, (RecipeTable(("age",), (0,), 1.0),))
    json.loads(recipe.to_json(), parse_constant=pytest.fail)
    assert Recipe.from_json(recipe.to_json()) == recipe


def changed(**parts):
    return {**small().to_dict(), **parts}


TABLE = [["age"], [0], 1.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "not a recipe"),
        ([], "not a recipe"),
        (changed(more=1), "not a recipe"),
        (changed(by_counts=1), "not a recipe"),
        (changed(format=2), "a recipe of format 2, and this version reads 1"),
        (changed(tables=[]), "at least one table"),
        (changed(tables=[[["age"], [0]]]), "not a table"),
        (changed(tables=[[["age"], [0], True]]), "strengths must be numbers"),
        (changed(tables=[[["age"], [0], -1.0]]), "has the strength -1"),
        (changed(tables=[[["age"], [0], nan]]), "has the strength nan"),
        (changed(tables=[[["age"], [0], 10**400]]), "double precision"),
        (changed(tables=[[["age"], [True], 1.0]]), "counted from 0"),
        (changed(tables=[[["age"], [2], 1.0]]), "has no resolution 2"),
        (changed(tables=[[["job"], [1], 1.0]]), "has no resolution 1"),
        (changed(tables=[[["age"], [-1], 1.0]]), "has no resolution -1"),
        (changed(tables=[[["age", "job"], [0], 1.0]]), "a resolution for each feature"),
        (changed(tables=[[["age", "age"], [0, 1], 1.0]]), "different features"),
        (changed(tables=[[[], [], 1.0]]), "different features"),
        (changed(tables=[[[3], [0], 1.0]]), "features have names"),
        (changed(tables=[TABLE, TABLE]), "two tables"),
        (changed(tables=[TABLE]), "no table has 'pay'"),
        (changed(edges=[]), "not a recipe"),
        (changed(edges={"age": []}), "not the edges"),
        (changed(edges={"age": [3.0]}), "must be a list"),
        (changed(edges={"age": [["x"]]}), "must be numbers"),
        (changed(edges={"age": [[nan]]}), "must be numbers"),
        (changed(edges={"age": [[1.0, 1.0]]}), "must ascend"),
        (changed(edges={"age": [[2.0, 1.0]]}), "must ascend"),
    ],
)
def test_what_is_no_recipe_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        Recipe.from_dict(data)


def test_text_that_is_no_json_is_refused():
    with pytest.raises(ValueError, match="Expecting"):
        Recipe.from_json("{")


def test_features_that_a_table_has_not_are_named():
    recipe = small()
    other, _ = Encoding.fit(
        read_table(X.rename(columns={"pay": "wage"})), LABELS, 2, edges=recipe.edges
    )
    with pytest.raises(ValueError, match=r"tables of 'pay', and X has no such columns\. .*'wage'"):
        recipe.members(other)


def test_columns_of_another_kind_are_refused():
    recipe = small()
    words, _ = Encoding.fit(
        read_table(X.assign(age=["a", "b"] * 100)), LABELS, 2, edges=recipe.edges
    )
    with pytest.raises(ValueError, match="takes column 'age' for a number, and it holds categor"):
        recipe.members(words)
    numbers, _ = Encoding.fit(
        read_table(X.assign(job=np.arange(200.0))), LABELS, 2, edges=recipe.edges
    )
    with pytest.raises(ValueError, match="takes column 'job' for categories, and it holds a num"):
        recipe.members(numbers)
    with pytest.raises(ValueError, match="'age' is not cut by the edges"):
        recipe.members(WIDE)


def test_a_number_that_is_missing_everywhere_has_its_one_value():
    recipe = small()
    gone, _ = Encoding.fit(read_table(X.assign(age=np.nan)), LABELS, 2, edges=recipe.edges)
    members, _ = recipe.members(gone)
    assert members[0].tolist() == [0, NONE]
    both = Recipe(
        {"age": [[0.0], [1.0]]},
        (RecipeTable(("age",), (0,), 2.0), RecipeTable(("age",), (1,), 2.0)),
    )
    members, strength = both.members(gone)
    assert (members.tolist(), strength.tolist()) == ([[0]], [1.0])


def test_columns_may_stand_in_another_order():
    recipe = small()
    turned, _ = Encoding.fit(read_table(X[["pay", "job", "age"]]), LABELS, 2, edges=recipe.edges)
    members, strength = recipe.members(turned)
    names = [[turned.columns[c].name for c in row if c != NONE] for row in members.tolist()]
    assert names == [["job"], ["age"], ["pay", "age"], ["job", "age"]]
    assert strength.tolist() == [0.5, 2.0, 12.0, 30.0]
