import io
import logging

from rich.console import Console

from deepbroad.cli.watch import Watch
from deepbroad.solvers import Progress


def progress(iteration, loss, seconds=1.0):
    return Progress(iteration, 100, iteration + 1, loss, 0.1, seconds)


def test_a_line_tells_passes_loss_and_speed():
    watch = Watch(Console(file=io.StringIO()), 1000, 1e-5)
    line = watch.describe(progress(3, 0.5, seconds=2.0))
    assert line == "iteration 3, 4 passes, loss 0.50000, 2,000 rows/s"


def test_time_left_follows_the_loss():
    watch = Watch(Console(file=io.StringIO()), 1000, 1e-5)
    for k in range(30):
        watch(progress(k, 1 + 0.8**k, seconds=k * 0.5))
    assert " s left" in watch.describe(progress(30, 1.0, seconds=15.0))


def test_a_fit_that_begins_again_is_a_new_one():
    watch = Watch(Console(file=io.StringIO()), 1000, 1e-5)
    for k in range(5):
        watch(progress(k, 1.0))
    watch(progress(0, 2.0))
    assert watch.losses == [2.0]


def test_the_logger_is_left_as_it_was():
    logger = logging.getLogger("deepbroad")
    before = logger.level, list(logger.handlers)
    screen = io.StringIO()
    with Watch(Console(file=screen, force_terminal=True), 10, 1e-5):
        logger.info("coding the rows")
    assert (logger.level, list(logger.handlers)) == before
    assert "coding the rows" in screen.getvalue()
