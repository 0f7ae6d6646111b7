"""Small fitted models of all sorts, with rows that hold missing and never-seen values."""

import datetime
import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from sklearn.base import clone

from deepbroad import (
    AnJEClassifier,
    DBLClassifier,
    KDBClassifier,
    LRClassifier,
    TANClassifier,
)

DAY = datetime.date(2020, 2, 28)
SEEN = {
    pa.string(): ["red", "it's", 'a "b"', "ä;--\n", "NULL", None],
    pa.float64(): [0.5, 1.5, 2.25, -3.5, 1e300, None],
    pa.int64(): [1, 2, 3, -4, None],
    pa.bool_(): [True, False, None],
    pa.date32(): [DAY + datetime.timedelta(days=i) for i in (0, 1, 40)] + [None],
}
NEW = {
    pa.string(): ["Red", "never", "1"],
    pa.float64(): [-1e9, 0.0, float("nan"), float("inf"), float("-inf")],
    pa.int64(): [0, 99],
    pa.bool_(): [None],
    pa.date32(): [datetime.date(1960, 1, 1), datetime.date(2031, 12, 31)],
}
LABELS = {pa.string(): ["no", "it's", "perhaps"], pa.int64(): [3, 1, 2], pa.bool_(): [False, True]}
MODELS = {
    "AnJE1": AnJEClassifier(n=1),
    "AnJE2": AnJEClassifier(n=2),
    "LR2": LRClassifier(n=2, max_iter=5),
    "LR2, rare tuples joined": LRClassifier(n=2, min_count=3, max_iter=5),
    "DBL2": DBLClassifier(n=2, alpha=1.0, max_iter=5),
    "DBL2, orders": DBLClassifier(n=2, orders="all", alpha=[1.0, 3.0], max_iter=5),
    "DBL2 to AnJE": DBLClassifier(n=2, alpha=1.0, shrink_to="generative", max_iter=5),
    "KDB": KDBClassifier(k=1),
    "TAN": TANClassifier(fitting="discriminative", max_iter=5),
}


class Fitted(NamedTuple):
    """A model and a table to score."""

    model: Any
    table: pa.Table


@st.composite
def fitted(draw, kinds=tuple(SEEN), models=tuple(MODELS)):
    """Models fitted to a few rows of typed columns, and rows to score."""
    n = draw(st.integers(4, 14))
    training, scored = {}, {}
    for i, kind in enumerate(draw(st.lists(st.sampled_from(kinds), min_size=2, max_size=4))):
        known = draw(st.sampled_from([SEEN[kind], SEEN[kind][:-1], SEEN[kind][:2]]))
        cells = draw(st.lists(st.sampled_from(known), min_size=n, max_size=n))
        others = st.sampled_from([*SEEN[kind], *NEW[kind]])
        name = draw(st.sampled_from(["c{}", 'na"me {}', "drop'; -- {}", "Ä\n{}"])).format(i)
        training[name] = pa.array(cells, kind)
        scored[name] = pa.array(draw(st.lists(others, min_size=6, max_size=6)), kind)
    kind = draw(st.sampled_from(list(LABELS)))
    labels = draw(st.lists(st.sampled_from(LABELS[kind]), min_size=n - 2, max_size=n - 2))
    model = clone(MODELS[draw(st.sampled_from(models))])
    table = pa.table(training)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that are stopped early
        model.fit(table, pa.array([*LABELS[kind][:2], *labels], kind))
    return Fitted(model, pa.concat_tables([pa.table(scored), table]))


def compact_model(rows=400, seed=0):
    """Return a model with a compact table, and rows with tuples that it never saw."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 90, (rows, 3))
    table = pa.table(
        {
            "a": [f"a{k}" for k in codes[:, 0]],
            "b": pa.array(codes[:, 1] * 0.5),
            "c": [f"c{k}" for k in codes[:, 2] % 3],
        }
    )
    y = (codes.sum(axis=1) + codes[:, 2] % 3) % 3
    model = AnJEClassifier(n=2, categorical_features=["b"]).fit(table, y)
    assert model._scorer.model.plan.terms.is_compact.any()
    mixed = {"a": [*[f"a{k}" for k in rng.integers(0, 95, 60)], None]}
    mixed["b"] = [*(rng.integers(0, 95, 60) * 0.5).tolist(), None]
    mixed["c"] = [*[f"c{k}" for k in rng.integers(0, 4, 60)], None]
    return Fitted(model, pa.table(mixed))


def nested_model(rows=300, seed=0):
    """Return a model whose numbers have bins of several sizes, and rows to score."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, rows))
    labels = np.where(u * v > 0, "same", "other")
    model = DBLClassifier(n=2, alpha=1.0, bins="nested", tol=1e-3)
    model.fit(pa.table({"u": u, "v": v}), labels)
    assert len(model._encoding.columns) > 2
    scored = rng.normal(size=(2, 50)).tolist()
    return Fitted(model, pa.table({"u": [*scored[0], None], "v": [*scored[1], 9.0]}))


def cut_model():
    """Return a model with a number in bins, and rows on its cuts and right beside them."""
    z = np.repeat([1.0, 2.0, 4.0], 10)
    table = pa.table({"z": z, "x": ["p", "q"] * 15})
    model = AnJEClassifier(n=1).fit(table, z.astype(int))
    cuts = model._encoding.columns[0].cuts
    assert len(cuts) == 2
    scored = np.concatenate([np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf)])
    return Fitted(model, pa.table({"z": scored, "x": ["p"] * len(scored)}))
