"""Where scores by counts are tried, and what comes of it."""

from math import inf

import numpy as np
import pytest

from deepbroad.data.source import ArraySource
from deepbroad.engine import evidence_trial
from deepbroad.engine.evidence import evidence_bytes
from deepbroad.engine.evidence_trial import is_sparse, try_evidence
from deepbroad.model.family import Family
from deepbroad.model.strengths import Strengths
from deepbroad.model.terms import Terms
from deepbroad.solvers import Solution
from tests.engine.problems import ONE_THREAD

FAMILY = Family(generative=True, strength=0.0, by_score=True, backs_off=True)


def draw_source(rows=400, values=40, weights=None):
    rng = np.random.default_rng(0)
    codes = rng.integers(values, size=(3, rows)).astype(np.uint8)
    labels = rng.integers(2, size=rows)
    return ArraySource(codes, labels, 2, np.full(3, values), weights)


def terms_of(source, tuples=((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))):
    return Terms.of(tuples, source.cardinalities)


def trial_of(source, deadline=inf):
    held = [np.arange(0, 400, 2), np.arange(1, 400, 2)]
    strengths = Strengths((1.0, 2.0))
    return try_evidence(
        source,
        terms_of(source),
        FAMILY,
        held,
        strengths,
        smoothing=1.0,
        deadline=deadline,
        seed=0,
        threads=ONE_THREAD,
    )


@pytest.mark.parametrize(
    ("source", "sparse"),
    [
        (draw_source(), True),
        (draw_source(values=20), False),  # as many joint values as rows
        (draw_source(weights=np.ones(400)), False),
    ],
)
def test_tables_are_sparse_whose_pairs_have_more_values_than_rows(source, sparse):
    assert is_sparse(source, terms_of(source), inf) == sparse


def test_there_must_be_pairs_and_room_for_them():
    source = draw_source()
    assert not is_sparse(source, terms_of(source, [(0,), (1,)]), inf)
    assert not is_sparse(source, terms_of(source), evidence_bytes(400, 6, 2) - 1)


def test_a_trial_tells_its_held_out_loss():
    trial = trial_of(draw_source())
    assert trial.by_counts
    assert trial.depth == 2
    assert trial.passes > 0
    # The classes are chance.
    assert trial.loss == pytest.approx(np.log(2), abs=0.1)


def test_no_trial_is_begun_without_time_for_it():
    assert trial_of(draw_source(), deadline=0.0) == "time"


def test_an_interrupted_trial_interrupts_the_choice(monkeypatch):
    ended = Solution(np.zeros(1), 0.0, "interrupted", 0)
    monkeypatch.setattr(evidence_trial, "fit_evidence", lambda *_, **__: (None, ended))
    with pytest.raises(KeyboardInterrupt):
        trial_of(draw_source())
