"""Plausible rows of an experiment, made up: no data set and no model is needed."""

import numpy as np

from deepbroad.experiments.learning_curves import Point

# Error, training and classification time of each method, DBL² being 1.
_FACTORS = {
    "A1JE": (1.3, 0.02, 0.3),
    "A2JE": (1.15, 0.1, 0.8),
    "A3JE": (1.05, 0.5, 3.0),
    "A1DE": (1.1, 0.1, 1.5),
    "A2DE": (1.0, 0.5, 9.0),
    "DBL1": (1.1, 0.4, 0.5),
    "DBL2": (1.0, 1.0, 1.0),
    "DBL3": (0.97, 5.0, 4.0),
    "LR1": (1.1, 0.6, 0.5),
    "LR2": (1.0, 3.0, 1.0),
    "LR3": (0.97, 25.0, 4.0),
    "RF": (1.0, 0.8, 6.0),
    "RF-raw": (0.95, 0.9, 6.0),
    "ELR": (1.1, 1.0, 1.0),
    "DBL2-generative": (0.98, 1.0, 1.0),
}
METHODS = tuple(_FACTORS)
_ITERATIONS = {"DBL1": 20, "DBL2": 30, "DBL3": 40, "LR1": 35, "LR2": 80, "LR3": 160}
_ITERATIONS |= {"ELR": 40, "DBL2-generative": 15}
PAPER_NAMES = {
    "poker-hand": "Poker-hand",
    "covertype": "Covertype",
    "connect-4": "Connect-4Opening",
    "adult": "Adult",
    "wall-following": "Wall-following",
    "iris": "IrisClassification",
}


def make_row(dataset, method, round=0, fold=0, *, seed=0, **columns):
    """A row that finished, with `columns` set as given."""
    n_rows, level = columns.pop("n_rows", 200), columns.pop("level", 0.2)
    n_classes = 3
    random = np.random.default_rng([seed, round, fold, *map(ord, dataset + method)])
    order = np.random.default_rng([seed, round, *map(ord, dataset)]).permutation(n_rows)
    tested = np.sort(order[fold::2])
    actual = tested % n_classes
    errors, training, predicting = _FACTORS.get(method, (1.0, 1.0, 1.0))
    share = min(level * errors, 0.95)
    wrong = random.random(tested.size) < share
    predicted = np.where(wrong, (actual + 1) % n_classes, actual).astype(np.int16)
    bits = np.zeros(n_rows, dtype=bool)
    bits[tested] = True
    error = float(np.mean(wrong))
    size = n_rows / 1000
    steps = _ITERATIONS.get(method)
    steps = None if steps is None else int(steps * random.uniform(0.6, 1.6)) + 2
    return {
        "dataset": dataset,
        "method": method,
        "round": round,
        "fold": fold,
        "seed": seed,
        "stratified": False,
        "status": "done",
        "message": "",
        "error": error,
        "rmse": float(np.sqrt((error + 0.01) / n_classes) * random.uniform(0.9, 1.1)),
        "log_loss": 3 * error + 0.01,
        "train_seconds": size * training * random.uniform(0.5, 2) + 1e-3,
        "predict_seconds": size * predicting * random.uniform(0.5, 2) / 50 + 1e-4,
        "iterations": steps,
        "passes": steps,
        "loss_curve": None if steps is None else _decline(steps, share),
        "n_rows": n_rows,
        "n_train": n_rows - tested.size,
        "n_test": tested.size,
        "n_attributes": 9,
        "n_classes": n_classes,
        "predicted": predicted,
        "actual": actual.astype(np.int16),
        "test_bits": np.packbits(bits).tobytes(),
        "machine": "a machine",
        "versions": "deepbroad 0",
        **columns,
    }


def make_rows(n_little=24, *, rounds=2, methods=METHODS):
    """Rows of some Little data sets, those of the paper among them, and of two Big ones."""
    sizes = {"connect-4": 900, "adult": 700, "wall-following": 400, "iris": 150}
    sizes |= {f"set-{i:02d}": 60 + 20 * i for i in range(n_little - len(sizes))}
    sizes |= {"poker-hand": 1500, "covertype": 1200}
    levels = np.random.default_rng(0).uniform(0.02, 0.5, len(sizes))
    return [
        make_row(name, method, round, fold, n_rows=n_rows, level=level)
        for (name, n_rows), level in zip(sizes.items(), levels, strict=True)
        for method in methods
        for round in range(rounds)
        for fold in (0, 1)
    ]


def fail(row, status, message):
    """The same row, had it not finished."""
    losses = ("error", "rmse", "log_loss", "train_seconds", "predict_seconds", "iterations")
    lacking = dict.fromkeys((*losses, "passes", "loss_curve", "predicted", "actual", "test_bits"))
    return {**row, **lacking, "status": status, "message": message}


def make_points():
    """Learning curves that cross."""
    ends = {"NB": (0.52, 0.50), "KDB5": (0.60, 0.20), "DBL2": (0.58, 0.01), "DBL3": (0.62, 0.02)}
    points = []
    for method, (first, last) in ends.items():
        for i, size in enumerate((100, 1_000, 10_000, 100_000)):
            for repeat in range(3 if size < 10_000 else 1):
                error = first + (last - first) * i / 3 + 0.01 * repeat
                points.append(Point(method, size, repeat, error, error / 2, error * 2))
    return points


def _decline(steps, level):
    """A loss that falls to `level` within `steps`."""
    return level + np.exp(-4 * np.arange(steps + 1) / steps)
