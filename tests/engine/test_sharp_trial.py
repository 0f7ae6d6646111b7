"""Whether to go on with cuts by the class: where the class steps, and where it does not."""

from dataclasses import replace

import numpy as np
import pytest

from deepbroad.engine import automatic, depth_search, sharp_trial
from deepbroad.engine.automatic import GROWTH, Automatic
from deepbroad.engine.sharp_trial import SHARP_FOLDS, try_cuts
from deepbroad.engine.sharpening import sharpen, sharpen_without
from deepbroad.kernels.threads import Threads
from deepbroad.model.resolutions import Resolutions
from deepbroad.model.strengths import Strengths
from tests.engine.choices import FAMILY, choose, from_journal, tuples_of
from tests.steps import encode, smooth_table, step_table

ONE = Threads(1)
START = Strengths((), GROWTH)
ONE_FOLD, FIVE_FOLDS = 3500, 1500


def sharp_rows(X, labels):
    """Return rows with cuts by the class."""
    encoding, source = encode(X, labels)
    source, _ = sharpen(source, encoding, 1.0, ONE)
    assert Resolutions(source.attributes, source.cardinalities).is_sharp().any()
    return source


def search_of(source):
    """Return the search that an automatic choice would begin with."""
    return Automatic(
        source,
        FAMILY,
        depths=(1, 2, 3),
        smoothing=1.0,
        min_count=1,
        memory_limit=1e9,
        time_limit=1e6,
        history=10,
        seed=0,
        threads=ONE,
    ).search


def informed_columns(source, order=1):
    """Return the code columns for cuts by the class of the attributes that have some."""
    resolutions = Resolutions(source.attributes, source.cardinalities)
    return set(resolutions.sharp_columns(order)[resolutions.is_sharp(order)].tolist())


def used_columns(levelled):
    terms = levelled.terms
    return {column for t in range(len(terms)) for column in terms.tuple(t)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("rows", "folds"), [(ONE_FOLD, 1), (FIVE_FOLDS, 5)])
def test_where_the_class_steps_in_a_tail_it_goes_on_with_cuts_there(rows, folds, seed):
    source = sharp_rows(*step_table(rows, seed))
    search = search_of(source)
    assert len(search.held) == folds
    trial = try_cuts(search, 1, START, least=1)
    assert trial.search.by_class
    without, within = trial.tried
    assert trial.found is within
    assert within.trial.loss < without.trial.loss
    # Rows that tell where to cut are none that are held out.
    held = search.held[:SHARP_FOLDS]
    assert [rows.tolist() for rows in trial.search.held] == [rows.tolist() for rows in held]
    expected = sharpen_without(search.sample, np.concatenate(held), ONE)
    np.testing.assert_array_equal(trial.search.sample.codes, expected.codes)
    # Terms are those of the source, with the cuts of all rows.
    assert trial.search.source is source
    columns = informed_columns(source)
    assert columns
    assert columns <= used_columns(within.levelled)
    assert not columns & used_columns(without.levelled)
    np.testing.assert_array_equal(within.levelled.terms.cardinalities, source.cardinalities)
    # What was tried says which it was.
    assert not any(one.by_class for one in without.search.trials)
    assert all(one.by_class for one in within.search.trials)


@pytest.mark.parametrize("seed", range(3))
def test_where_the_class_is_smooth_few_rows_go_on_without_and_with_all_folds(seed):
    source = sharp_rows(*smooth_table(FIVE_FOLDS, seed))
    search = search_of(source)
    sample, held = search.sample, search.held
    trial = try_cuts(search, 1, START, least=1)
    assert trial.search is search
    assert not search.by_class
    assert search.sample is sample
    assert search.held is held
    assert len(held) == 5
    # What two folds found is no guide to what five would.
    assert trial.found is None
    assert [len(found.validation.folds) for found in trial.tried] == [SHARP_FOLDS] * 2
    assert [found.trial.by_class for found in trial.tried] == [False, True]


@pytest.mark.parametrize("worth", [-1e9, 1e9])
def test_of_one_fold_what_was_found_is_gone_on_with_either_way(worth, monkeypatch):
    monkeypatch.setattr(sharp_trial, "WORTH_CUTTING", worth)
    search = search_of(sharp_rows(*smooth_table(ONE_FOLD)))
    trial = try_cuts(search, 1, START, least=1)
    is_worth = worth < 0
    assert trial.search.by_class == is_worth
    assert (trial.search is search) != is_worth
    assert trial.found is trial.tried[is_worth]
    assert len(trial.search.held) == 1


@pytest.mark.parametrize("rows", [ONE_FOLD, FIVE_FOLDS])
@pytest.mark.parametrize("worth", [-1e9, 1e9])
def test_time_goes_on_from_the_first_fit_of_both(rows, worth, monkeypatch):
    for name in ("WORTH_CUTTING", "WORTH_FOLDS"):
        monkeypatch.setattr(sharp_trial, name, worth)
    search = search_of(sharp_rows(*step_table(rows)))
    before = search.deadline
    trial = try_cuts(search, 1, START, least=1)
    begun = trial.search.deadline
    assert begun > before
    if rows == ONE_FOLD:
        assert search.deadline == begun
    # The clock is not started again by what follows.
    trial.search.run(1, START, {}, forced=True)
    assert trial.search.deadline == begun


def test_the_trial_is_of_the_depth_that_comes_first():
    search = search_of(sharp_rows(*step_table(FIVE_FOLDS)))
    trial = try_cuts(search, 2, START, least=2)
    assert [found.trial.depth for found in trial.tried] == [2, 2]
    assert trial.search.by_class
    pairs = [columns for columns in tuples_of(trial.found) if len(columns) == 2]
    informed = informed_columns(search.source, 2)
    assert any(set(columns) & informed for columns in pairs)


def least_memory(search, depth):
    """Return about the least limit within which models of a depth fit."""
    few, enough = 0.0, 1e9
    while enough - few > 100:
        middle = (few + enough) / 2
        try:
            replace(search, memory_limit=middle).check_memory(depth)
        except MemoryError:
            few = middle
        else:
            enough = middle
    return enough


@pytest.mark.parametrize("least", [2, 3])
def test_where_there_is_no_memory_for_them_it_goes_on_without(least):
    source = sharp_rows(*step_table(FIVE_FOLDS))
    limit = least_memory(search_of(source), least)
    # With cuts by the class there are more terms.
    search = replace(search_of(source), memory_limit=limit)
    with pytest.raises(MemoryError):
        replace(search, by_class=True).check_memory(least)
    trial = try_cuts(search, 1, START, least=1)
    assert trial.search.by_class
    trial = try_cuts(search, 1, START, least=least)
    assert trial.search is search
    assert trial.found is None
    assert trial.tried == []
    choice = choose(source, depths=range(1, least + 1), least=least, memory_limit=limit)
    assert choice.best.depth == least
    assert not any(one.by_class for one in choice.trials)


@pytest.mark.parametrize("rows", [ONE_FOLD, FIVE_FOLDS])
def test_plans_are_for_the_cuts_of_the_rows_that_are_looked_at(rows, monkeypatch):
    planner, planned = depth_search.Planner, []

    def plan(sample, terms, **options):
        planned.append((sample, terms))
        return planner(sample, terms, **options)

    monkeypatch.setattr(depth_search, "Planner", plan)
    source = sharp_rows(*smooth_table(rows, 1))
    try_cuts(search_of(source), 1, START, least=1)
    assert len(planned) == 2
    for sample, terms in planned:
        np.testing.assert_array_equal(terms.cardinalities, sample.cardinalities)
    # Other rows have other steps.
    sharp = planned[1][0].cardinalities
    columns = sorted(informed_columns(source))
    assert (sharp[columns] != source.cardinalities[columns]).any()


# The choice as a whole.


@pytest.mark.parametrize("rows", [ONE_FOLD, FIVE_FOLDS])
def test_a_choice_with_cuts_by_the_class_is_restored_from_its_journal(rows):
    source = sharp_rows(*step_table(rows, 2))
    choice = choose(source)
    assert choice.best.by_class
    assert 0 in choice.levelled.levels
    assert {trial.by_class for trial in choice.trials} == {False, True}
    # Without them, the first depth alone was tried.
    assert {trial.depth for trial in choice.trials if not trial.by_class} == {1}
    again = from_journal(choice, source)
    assert again.best == choice.best
    assert tuples_of(again) == tuples_of(choice)
    np.testing.assert_array_equal(again.levelled.levels, choice.levelled.levels)
    np.testing.assert_array_equal(again.strength, choice.strength)


def test_a_choice_without_cuts_by_the_class_is_that_of_rows_which_have_none():
    X, labels = smooth_table(FIVE_FOLDS)
    choice = choose(sharp_rows(X, labels), depths=(1, 2))
    plain = choose(encode(X, labels)[1], depths=(1, 2))
    assert not choice.best.by_class
    assert 0 not in choice.levelled.levels
    assert choice.best == plain.best
    assert tuples_of(choice) == tuples_of(plain)
    np.testing.assert_array_equal(choice.strength, plain.strength)


def test_rows_without_cuts_by_the_class_are_not_tried_with_any():
    choice = choose(encode(*step_table(FIVE_FOLDS))[1], depths=(1,))
    assert not any(trial.by_class for trial in choice.trials)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_change_nothing(n_threads):
    source = sharp_rows(*step_table(FIVE_FOLDS))
    one, more = (choose(source, depths=(1,), n_threads=count) for count in (1, n_threads))
    assert one.trials == more.trials
    np.testing.assert_array_equal(one.strength, more.strength)


def test_a_choice_does_not_change_the_rows():
    source = sharp_rows(*step_table(FIVE_FOLDS))
    codes, cardinalities = source.codes.copy(), source.cardinalities.copy()
    choose(source, depths=(1,))
    np.testing.assert_array_equal(source.codes, codes)
    np.testing.assert_array_equal(source.cardinalities, cardinalities)


def sparse_rows(rows=ONE_FOLD, values=120, columns=6):
    """Return rows of a number in whose tail the class steps, and categories for cells by counts."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(values, size=rows)
    codes = rng.integers(values, size=(columns, rows))
    codes = np.where(rng.random((columns, rows)) < 0.6, hidden, codes)
    X, _ = step_table(rows)
    labels = np.where(X["size"] > 1.5, 2, hidden % 2)
    more = {f"c{i}": [f"v{code}" for code in column] for i, column in enumerate(codes)}
    return sharp_rows(X[["size"]].assign(**more), labels)


def test_scores_by_counts_are_tried_with_the_cuts_of_the_rows_that_are_looked_at(monkeypatch):
    source, tried = sparse_rows(), []

    def look(sample, terms, *arguments, **options):
        tried.append((sample, terms))
        return "loss"

    monkeypatch.setattr(automatic, "try_evidence", look)
    choose(source, depths=(1, 2), counts=True)
    [(sample, terms)] = tried
    assert (sample.codes != source.codes).any()
    assert informed_columns(source) <= set(terms.members.ravel().tolist())
    np.testing.assert_array_equal(terms.cardinalities, sample.cardinalities)


def test_scores_by_counts_are_with_cuts_by_the_class_too(monkeypatch):
    source = sparse_rows()
    monkeypatch.setattr(automatic, "WORTH_COUNTING", -1e9)
    choice = choose(source, depths=(1, 2), counts=True)
    assert choice.best.by_counts
    assert 0 in choice.levelled.levels
    assert choice.best.by_class
    again = from_journal(choice, source)
    assert again.best == choice.best
    assert tuples_of(again) == tuples_of(choice)
    np.testing.assert_array_equal(again.strength, choice.strength)


@pytest.mark.parametrize(("rows", "folds"), [(ONE_FOLD, 1), (FIVE_FOLDS, 5)])
def test_where_time_is_up_no_cuts_are_tried(rows, folds):
    search = replace(search_of(sharp_rows(*step_table(rows, 0))), time_limit=1e-9)
    trial = try_cuts(search, 1, START, least=1)
    assert trial.search is search
    assert search.is_cut_short
    (without,) = trial.tried
    assert not without.trial.by_class
    assert (trial.found is without) == (folds == 1)
