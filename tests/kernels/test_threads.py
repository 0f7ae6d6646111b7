"""Threads run every task once, over ranges that do not overlap."""

import os
import threading

import numba
import pytest

from deepbroad.kernels.threads import Threads, split_range, thread_count


@pytest.mark.parametrize(
    ("length", "parts", "step"),
    [(10, 3, 1), (10, 20, 1), (1000, 3, 512), (5, 2, 512), (1025, 4, 512)],
)
def test_ranges_cover_everything_once_and_start_at_multiples(length, parts, step):
    ranges = split_range(length, parts, step)
    assert [i for a, b in ranges for i in range(a, b)] == list(range(length))
    assert len(ranges) <= parts
    assert all(a % step == 0 for a, _ in ranges)


def test_nothing_is_split_into_nothing():
    assert split_range(0, 4) == []


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_task_runs_once(count):
    done, lock = [], threading.Lock()

    def task(i):
        with lock:
            done.append(i)

    with Threads(count) as threads:
        threads.run([lambda i=i: task(i) for i in range(20)])
    assert sorted(done) == list(range(20))


def test_tasks_run_without_a_pool_too():
    done = []
    Threads(3).run([lambda: done.append(1), lambda: done.append(2)])
    assert done == [1, 2]


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_of_a_task_is_raised(failing):
    def fail():
        raise RuntimeError("in a task")

    tasks = [lambda: None, lambda: None]
    tasks[failing] = fail
    with Threads(2) as threads, pytest.raises(RuntimeError, match="in a task"):
        threads.run(tasks)


def test_what_has_not_begun_is_dropped_after_an_error():
    ran, gate = [], threading.Event()

    def fail():
        raise RuntimeError("in a task")

    def wait():
        gate.wait(0.5)

    with pytest.raises(RuntimeError, match="in a task"), Threads(2) as threads:
        threads.run([fail, wait, wait, *[lambda: ran.append(1)] * 5])
    assert ran == []


def test_no_thread_outlives_the_block():
    with Threads(3) as threads:
        threads.run([lambda: None] * 6)
    assert not [t for t in threading.enumerate() if t.name.startswith("deepbroad")]


def test_the_number_of_jobs_follows_scikit_learn():
    available = numba.config.NUMBA_NUM_THREADS
    assert thread_count(None) == thread_count(-1) == available <= (os.cpu_count() or 1)
    assert thread_count(7) == 7
    assert thread_count(-1000) == 1


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", True])
def test_other_numbers_of_jobs_are_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or an integer other than 0"):
        thread_count(n_jobs)


@pytest.mark.parametrize("worth", [False, True])
def test_tasks_that_are_not_worth_threads_are_run_where_they_are(worth):
    seen = []
    with Threads(3) as threads:
        threads.run([lambda: seen.append(threading.current_thread())] * 3, worth=worth)
    assert len(seen) == 3
    assert (set(seen) == {threading.current_thread()}) != worth
