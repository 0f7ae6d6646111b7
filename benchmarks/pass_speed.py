"""One loss-and-gradient pass of the engine against scikit-learn's, both with 2 threads.

scikit-learn's side is the function that its L-BFGS calls, `LinearModelLoss.loss_gradient`, on a
float32 CSR matrix of the same one-hot tuples, with float32 coefficients. Its products with the
sparse matrix are SciPy's. Both sides see the same codes of the training half; encoding,
discretising and building the matrix are not timed. The figure is the median of the ratios of
alternated passes.

    python benchmarks/pass_speed.py
    python benchmarks/pass_speed.py --only connect-4 --repeats 11

Covertype's matrix has 400 million entries; the process takes about 4.5 GB.
"""

import argparse
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from common import THREADS, OneHot, alternate, report, split
from engine_side import our_pass
from numpy.typing import NDArray
from scipy import sparse
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss
from sklearn.linear_model._linear_loss import LinearModelLoss

TARGETS = {"poker-hand": 10, "connect-4": 30, "covertype": 60}


def their_pass(matrix: sparse.csr_matrix, y: NDArray[Any]) -> Callable[[], object]:
    """Prepare one evaluation of scikit-learn's multinomial or binomial loss and gradient."""
    classes, codes = np.unique(y, return_inverse=True)
    random = np.random.default_rng(0)
    width = matrix.shape[1] + 1
    if classes.size == 2:
        loss = LinearModelLoss(base_loss=HalfBinomialLoss(), fit_intercept=True)
        coefficients = random.normal(scale=0.01, size=width).astype(np.float32)
    else:
        base = HalfMultinomialLoss(n_classes=classes.size)
        loss = LinearModelLoss(base_loss=base, fit_intercept=True)
        shape = (classes.size, width)
        coefficients = np.asfortranarray(
            random.normal(scale=0.01, size=shape).astype(np.float32)
        ).ravel(order="F")
    target = codes.astype(np.float32)
    return lambda: loss.loss_gradient(coefficients, matrix, target, n_threads=THREADS)


def compare(name: str, repeats: int) -> None:
    """Print the ratio of the two passes on one data set."""
    data = split(name)
    ours = our_pass(data.X_train, data.y_train, n=2)
    matrix = OneHot(ours.codes, n=2).transform(ours.codes)
    timing = alternate(ours.run, their_pass(matrix, data.y_train), repeats=repeats)
    print(
        f"{name}: {matrix.shape[0]:,} rows, {matrix.shape[1]:,} one-hot columns, "
        f"{ours.look_ups} fused look-ups a row, "
        f"medians {1000 * median(timing.ours):.1f} ms and {1000 * median(timing.theirs):.1f} ms"
    )
    target = TARGETS[name]
    found = f"{timing.ratio:.1f}x ({timing.spread})"
    report(f"{name}, pass, n=2", found, f"≥ {target}x", timing.ratio >= target)


def main() -> None:
    """Compare on the chosen data sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=TARGETS, help="run one data set")
    parser.add_argument("--repeats", type=int, default=7, help="timed rounds, default 7")
    chosen = parser.parse_args()
    for name in [chosen.only] if chosen.only else TARGETS:
        compare(name, chosen.repeats)


if __name__ == "__main__":
    main()
