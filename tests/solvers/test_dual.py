"""When sweeps end, on gaps that are given."""

from math import inf

import pytest

from deepbroad.solvers import DualAscent


class Gaps:
    """A dual whose gaps fall as told; it notes what it is asked for."""

    def __init__(self, gap, measured=0.0):
        self.gap, self.measured, self.asked = gap, measured, []

    def measure(self):
        return self.measured

    def sweep(self, seed, cycle):
        self.asked.append((seed, cycle))
        return self.gap(cycle)


def test_it_ends_once_the_gap_is_closed():
    dual, gaps = Gaps(lambda cycle: 0.1**cycle), []
    ascent = DualAscent(tol=1.5e-3, most=30, seed=7).ascend(dual, gaps)
    assert ascent == (4, pytest.approx(1e-3), "converged")
    assert gaps == pytest.approx([1.0, 0.1, 0.01, 0.001])
    assert dual.asked == [(7, 0), (7, 1), (7, 2), (7, 3)]


@pytest.mark.parametrize(
    ("gap", "sweeps"),
    [
        (lambda cycle: 0.9**cycle, 3),  # 66 sweeps to 0.001
        (lambda cycle: 1.0, 3),
        (lambda cycle: inf, 3),
        (lambda cycle: 0.1**cycle if cycle < 3 else 0.01, 5),  # it comes to a standstill
    ],
    ids=["slow", "still", "infinite", "stuck"],
)
def test_it_is_given_up_once_the_rate_will_not_do(gap, sweeps):
    ascent = DualAscent(tol=1e-3, most=30).ascend(Gaps(gap), [])
    assert (ascent.sweeps, ascent.status) == (sweeps, "slow")


def test_a_gap_is_measured_before_it_counts_as_closed():
    def ascend(**settings):
        dual = Gaps(lambda cycle: 0.1**cycle, measured=2e-3)
        return DualAscent(tol=1.5e-3, most=30, **settings).ascend(dual, [])

    assert ascend(certain=False)[::2] == (4, "converged")
    assert ascend()[::2] == (7, "slow")  # the gap is stuck at what is measured


@pytest.mark.parametrize("tol", [0.0, 5e-324, 1e-12])
def test_a_gap_beyond_single_precision_is_not_tried(tol):
    dual = Gaps(lambda cycle: 0.1**cycle)
    assert DualAscent(tol=tol).ascend(dual, []) == (0, inf, "slow")
    assert dual.asked == []


def test_there_are_no_more_sweeps_than_it_may_have():
    assert DualAscent(tol=1e-7, most=2).ascend(Gaps(lambda cycle: 0.1**cycle), []) == (
        2,
        pytest.approx(0.1),
        "slow",
    )


def test_a_watch_may_stop_it():
    seen = []

    def watch():
        seen.append(len(gaps))
        return len(seen) == 2

    gaps = []
    ascent = DualAscent(tol=1e-7, most=30).ascend(Gaps(lambda c: 0.1**c), gaps, watch)
    assert (ascent.sweeps, ascent.status, seen) == (2, "stopped", [1, 2])


def test_it_goes_on_from_gaps_that_were():
    dual, gaps = Gaps(lambda cycle: 0.1**cycle), [1.0, 0.1]
    assert DualAscent(tol=1.5e-3, most=30).ascend(dual, gaps).sweeps == 4
    assert [cycle for _, cycle in dual.asked] == [2, 3]
