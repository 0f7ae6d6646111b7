"""The automatic choice with folds fitted in the space of rows, beside the same over cells.

Both choose for the same rows (the first of two stratified folds trains), alternately. Printed are
the ratio of the seconds of the whole fit, and the test log loss of both: the choices may differ by
what rounding tells apart.

    python benchmarks/gram.py --datasets tae chess
"""

import argparse
import warnings
from functools import partial
from unittest.mock import patch

from common import REPEATS, THREADS, alternate
from peers import split_fold

from deepbroad import DBLClassifier
from deepbroad.engine.gram import plan_gram
from deepbroad.measures import measure

DATA = ("tae", "glass", "zoo", "autos", "audiology", "vehicle", "chess", "car", "segment", "splice")


class Choice:
    """The default model of a data set, chosen by folds in the space of rows or over cells."""

    def __init__(self, name: str) -> None:
        self.data = split_fold(name, 0)
        self.losses: dict[bool, float] = {}

    def fit(self, *, by_rows: bool) -> None:
        """Choose and fit; keep the test log loss."""
        model, data = DBLClassifier(n_jobs=THREADS), self.data
        planned = plan_gram if by_rows else lambda *_: False
        with patch("deepbroad.engine.validation.plan_gram", planned):
            model.fit(data.X_train, data.y_train)
        found = model.predict_proba(data.X_test)
        measures = measure(data.y_test, found, classes=model.classes_, labels=data.labels)
        self.losses[by_rows] = measures.log_loss


def main() -> None:
    """Print a line for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATA, metavar="NAME")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | seconds, cells / rows | range | log loss by rows | by cells |")
    print("|---" * 5 + "|")
    for name in chosen.datasets:
        choice = Choice(name)
        times = alternate(
            partial(choice.fit, by_rows=True),
            partial(choice.fit, by_rows=False),
            repeats=chosen.repeats,
        )
        by_rows, by_cells = choice.losses[True], choice.losses[False]
        print(f"| {name} | {times.ratio:.1f} | {times.spread} | {by_rows:.4f} | {by_cells:.4f} |")


if __name__ == "__main__":
    main()
