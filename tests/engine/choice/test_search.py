"""What the choice finds in tables whose rule is known."""

import numpy as np
import pytest

from deepbroad.engine.choice import EFFORTS, choose
from deepbroad.kernels.threads import Threads
from tests.engine.choice.tables_for_tests import make_source, noise, parity


def find(source, threads=1, **options):
    with Threads(threads) as pool:
        return choose(
            source, **{"depth": None, "settings": EFFORTS["fast"], "threads": pool} | options
        )


def tuples_of(choice):
    return {tuple(sorted(m for m in row if m >= 0)) for row in choice.members.tolist()}


def test_an_interaction_of_two_is_found_and_noise_has_none():
    assert (0, 1) in tuples_of(find(parity(800)))
    assert find(noise(800)).selection["n"] == 1


def test_an_interaction_of_three_that_shows_in_no_pair_is_found():
    assert (0, 1, 2) in tuples_of(find(parity(1500, features=10, members=3)))


def test_a_given_depth_is_kept_though_it_gains_nothing():
    assert find(noise(500), depth=2).selection["n"] == 2


def test_exact_orders_have_no_others():
    choice = find(parity(500), depth=2, exact=True)
    assert {len(t) for t in tuples_of(choice)} == {2}


def test_given_tuples_are_the_only_ones():
    among = {1: np.array([[0], [1]]), 2: np.array([[0, 1]])}
    choice = find(parity(500), depth=2, among=among)
    assert tuples_of(choice) <= {(0,), (1,), (0, 1)}
    assert (0, 1) in tuples_of(choice)


@pytest.mark.parametrize("change", ["order", "threads", "weights"])
def test_the_choice_depends_on_data_and_seed_alone(change):
    source = parity(600, features=5)
    first = find(source)
    if change == "order":
        order = np.random.default_rng(0).permutation(600)
        second = find(make_source(source.codes[:, order], source.labels[order]))
    elif change == "threads":
        second = find(source, threads=2)
    else:
        times = np.full(600, 2)
        first = find(make_source(source.codes.repeat(2, axis=1), source.labels.repeat(2)))
        second = find(make_source(source.codes, source.labels, times.astype(float)))
    np.testing.assert_array_equal(first.members, second.members)
    np.testing.assert_array_equal(first.strength, second.strength)
    assert first.selection == second.selection


def test_time_that_is_up_is_told():
    choice = find(parity(500), time_limit=1e-9)
    assert not choice.selection["complete"]
    assert "time_limit" in choice.selection["warnings"][0]
    assert find(parity(500)).selection["warnings"] == []


def test_progress_names_what_is_tried():
    seen = []
    find(parity(500), progress=lambda what, loss, share: seen.append((what, loss, share)))
    assert seen
    assert all(0.0 <= share <= 1.0 for _, _, share in seen)
