"""The live line of a fit: what it says, and that it goes away."""

import io
import logging

import pytest
import rich.console
from rich.console import Console

from deepbroad import DBLClassifier, LRClassifier, TANClassifier
from deepbroad.estimators import chosen_terms
from deepbroad.estimators.watch import Watch
from deepbroad.solvers import Progress
from tests.estimators.tables import small_table
from tests.estimators.test_recipe import choose_some


def progress(iteration, loss, seconds=1.0):
    return Progress(iteration, 100, iteration + 1, loss, 0.1, seconds)


def test_a_line_tells_passes_loss_and_speed():
    watch = Watch(Console(file=io.StringIO()), 1e-5)
    watch.n_rows = 1000
    line = watch.describe(progress(3, 0.5, seconds=2.0))
    assert line == "fitting: iteration 3, 4 passes, loss 0.50000, 2,000 rows/s"


def test_time_left_follows_the_loss():
    watch = Watch(Console(file=io.StringIO()), 1e-5)
    for k in range(30):
        watch(progress(k, 1 + 0.8**k, seconds=k * 0.5))
    assert " s left" in watch.describe(progress(30, 1.0, seconds=15.0))


def test_a_fit_that_begins_again_is_a_new_one():
    watch = Watch(Console(file=io.StringIO()), 1e-5)
    for k in range(5):
        watch(progress(k, 1.0))
    watch(progress(0, 2.0))
    assert watch.losses == [2.0]


def test_control_characters_of_names_are_escaped():
    screen = io.StringIO()
    with Watch(Console(file=screen, force_terminal=True), 1e-5) as watch:
        watch.note_trial("pairs of \x07bell", 0.5, 0.25)
        watch._progress.refresh()
    assert "choosing: pairs of" in screen.getvalue()
    assert "\x07" not in screen.getvalue()


@pytest.fixture
def screens(monkeypatch):
    """Terminals that fits would draw on."""
    made = []

    def open_console(**options):
        made.append(Console(file=io.StringIO(), force_terminal=True, width=200))
        return made[-1]

    monkeypatch.setattr(rich.console, "Console", open_console)
    return made


def test_a_fit_shows_what_it_tries_and_where_the_solver_stands(screens, monkeypatch):
    X, y = small_table()

    def choose(source, *arguments, progress, **options):
        progress("pairs", 0.123, 0.5)
        return choose_some(source)

    monkeypatch.setattr(chosen_terms, "choose", choose)
    shown = []
    monkeypatch.setattr(Watch, "show", lambda self, line: shown.append(line))
    logger = logging.getLogger("deepbroad")
    before = logger.level, list(logger.handlers)
    model = DBLClassifier(verbose=1).fit(X, y)
    assert shown[0].startswith("choosing: pairs, held-out loss 0.12300, 50 % done, about ")
    assert any(line.startswith("fitting: iteration") for line in shown)
    assert "reading" in screens[0].file.getvalue()
    assert (logger.level, list(logger.handlers)) == before
    assert "_watch" not in vars(model)


def test_without_verbose_nothing_is_shown(screens, capfd):
    X, y = small_table()
    for model in (DBLClassifier(n=1, alpha=1.0), LRClassifier(), TANClassifier()):
        model.fit(X, y)
    assert not screens
    assert capfd.readouterr() == ("", "")


def test_a_fit_that_fails_leaves_no_line_behind(screens):
    model = DBLClassifier(n=1, alpha=1.0, verbose=1)
    with pytest.raises(ValueError, match="2 classes"):
        model.fit([["a"], ["b"]], [1, 1])
    assert len(screens) == 1
    assert "_watch" not in vars(model)


def test_what_is_no_terminal_is_left_alone(capfd):
    X, y = small_table()
    DBLClassifier(n=1, alpha=1.0, verbose=1).fit(X, y)
    assert capfd.readouterr() == ("", "")
