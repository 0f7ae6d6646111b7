from time import perf_counter

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.engine import automatic, refinement
from deepbroad.engine.automatic import Automatic
from deepbroad.engine.refinement import (
    LEAST_ITERATIONS,
    MOST_STEPS,
    STEP,
    Refinement,
    find_factor,
)
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.terms import Terms

FAMILY = Family(generative=True, strength=0.0, by_score=True)


def source_of(rows=600, seed=0, odds=(0.02, 0.5, 0.98)):
    random = np.random.default_rng(seed)
    codes = random.integers(0, 3, (3, rows)).astype(np.uint8)
    odds = np.array(odds)[codes[0]]
    labels = (random.random(rows) < odds).astype(np.uint8)
    return ArraySource(codes, labels, n_classes=2, cardinalities=np.full(3, 3))


def refine(strength, *, seconds=60.0, source=None):
    source = source or source_of()
    terms = Terms.of_order(1, source.cardinalities)
    with Threads(1) as threads:
        return find_factor(
            source,
            terms,
            FAMILY,
            np.full(len(terms), strength),
            smoothing=1.0,
            min_count=1,
            deadline=perf_counter() + seconds,
            random=np.random.default_rng(0),
            threads=threads,
        )


def factor_of(strength, **options):
    return refine(strength, **options).factor


def test_strengths_that_are_far_too_great_are_lowered():
    assert factor_of(1e4) == pytest.approx(STEP**-MOST_STEPS)


def test_great_strengths_are_kept_where_there_is_nothing_to_learn():
    assert factor_of(1e4, source=source_of(odds=(0.5, 0.5, 0.5))) == 1.0


def test_nothing_is_tried_after_the_deadline():
    assert refine(1e4, seconds=-1.0) == (1.0, True)


def test_the_clock_has_no_part_where_there_is_time():
    assert not refine(1e4).is_cut_short


def test_fits_that_are_made_shorter_for_want_of_time_are_reported(monkeypatch):
    class Slow:
        seconds_per_pass = 60.0 / (2 * LEAST_ITERATIONS + 10)

    monkeypatch.setattr(refinement, "estimate_fit", lambda *_, **__: Slow)
    assert refine(1e4).is_cut_short


def test_rows_of_weight_zero_are_never_held_out():
    source = source_of()
    weights = np.ones(source.n_rows)
    weights[::2] = 0.0
    # Rows of weight 0 that contradict all others.
    labels = np.where(weights > 0, source.labels, 1 - source.labels)
    weighted = ArraySource(source.codes, labels, 2, source.cardinalities, weights)
    kept = source.take(np.flatnonzero(weights))
    assert factor_of(100.0, source=weighted) == factor_of(100.0, source=kept)


@pytest.mark.parametrize("most", [100, 10_000])
def test_a_choice_is_refined_only_where_it_looked_at_some_of_the_rows(monkeypatch, most):
    monkeypatch.setattr(automatic, "MAX_ROWS", most)
    asked = []

    def refuse_time(*_, **__):
        asked.append(1)
        return Refinement(0.5, is_cut_short=True)

    monkeypatch.setattr(automatic, "find_factor", refuse_time)
    monkeypatch.setattr(automatic, "find_caution", lambda *_: 1.0)
    with Threads(1) as threads:
        choice = Automatic(
            source_of(),
            FAMILY,
            depths=[1],
            smoothing=1.0,
            min_count=1,
            memory_limit=1e9,
            time_limit=60.0,
            history=10,
            seed=0,
            threads=threads,
        ).choose()
    assert choice.factor == (0.5 if most == 100 else 1.0)
    assert len(asked) == (most == 100)
    assert choice.is_cut_short == (most == 100)
    expected = choice.best.strengths.per_term(choice.levelled) * choice.factor
    if not choice.best.adaptation.power:
        np.testing.assert_allclose(choice.strength, expected)
