"""What to do with evidence that a never-seen value takes away: leave it weaker, or rescale it.

In each test row, k attributes chosen at random (seed 0) get a value that training never saw. The
tuples that hold it contribute nothing; the rest is summed as it is, or rescaled by
C(a-1, n-1) / C(a-k-1, n-1). Prints test log loss, both ways in one run.

    python benchmarks/unseen_values.py
"""

import numpy as np
from common import split

from deepbroad import AnJEClassifier, DBLClassifier
from deepbroad.data.table import read_table
from deepbroad.engine.scoring import Scorer
from deepbroad.measures import measure

DATA = ("nursery", "car", "connect-4", "mushroom", "splice", "adult", "led", "tic-tac-toe")
MODELS = {
    "A2JE": AnJEClassifier(n=2),
    "A3JE": AnJEClassifier(n=3),
    "DBL²": DBLClassifier(n=2, alpha=1.0),
}
HIDDEN = (1, 2, 3)
MAX_TEST_ROWS = 5_000


def hide_values(codes: np.ndarray, cardinalities: np.ndarray, k: int) -> np.ndarray:
    """Return codes with k values of each row replaced by the code of a never-seen value."""
    order = np.random.default_rng(0).random(codes.shape).argsort(axis=0)[:k]
    hidden = codes.copy()
    hidden[order, np.arange(codes.shape[1])] = cardinalities[order]
    return hidden


def main() -> None:
    """Print a line per data set, model and k, and the share of lines that rescaling wins."""
    print(f"{'data':14} {'model':6} k  as it is  rescaled")
    wins = []
    for name in DATA:
        data = split(name)
        X, y = data.X_test.slice(0, MAX_TEST_ROWS), data.y_test[:MAX_TEST_ROWS]
        for label, model in MODELS.items():
            if label == "A3JE" and data.X_train.num_columns > 30:
                continue
            model.fit(data.X_train, data.y_train)
            codes = model._encoding.encode(read_table(X)).astype(np.uint16)
            for k in HIDDEN:
                hidden = hide_values(codes, model._encoding.cardinalities, k)
                losses = [
                    measure(
                        y,
                        Scorer(model._scorer.model, rescale=rescale).probabilities(hidden),
                        classes=model.classes_,
                    ).log_loss
                    for rescale in (False, True)
                ]
                wins.append(losses[1] < losses[0])
                print(f"{name:14} {label:6} {k}  {losses[0]:8.4f}  {losses[1]:8.4f}", flush=True)
    print(f"rescaling has the lower log loss in {sum(wins)} of {len(wins)}")


if __name__ == "__main__":
    main()
