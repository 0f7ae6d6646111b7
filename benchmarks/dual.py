"""Dual ascent beside L-BFGS: the same objective, at the strengths of an automatic choice.

Both fit the whole training half by their default stopping rules, alternately, at one thread. F is
the training objective where they end: lower is nearer to its minimum. "-" for data sets where dual
ascent is not begun, or given up for L-BFGS from where it was.

    python benchmarks/dual.py --datasets splice letter amazon-employee-access
"""

import argparse
import warnings
from statistics import median
from time import perf_counter

from common import split

from deepbroad import DBLClassifier
from deepbroad.engine.training import Training
from deepbroad.estimators.prepared import Prepared
from deepbroad.model.scores import ScoreTables
from deepbroad.solvers import LBFGS, DualFirst

DATA = ("splice", "segment", "vowel", "letter", "pendigits", "amazon-employee-access", "adult")


class Comparison(DBLClassifier):
    """A classifier that, when it comes to its fit, compares the solvers."""

    rounds = 3

    def _fit_tables(self, training: Training, prepared: Prepared) -> ScoreTables:
        family, lbfgs = self._family(training, prepared), LBFGS()
        first = self._make_solver(lbfgs.history)
        assert isinstance(first, DualFirst)
        seconds: dict[str, list[float]] = {"L-BFGS": [], "dual": []}
        for _ in range(self.rounds):
            began = perf_counter()
            _, exact = training.discriminative(family, lbfgs)
            between = perf_counter()
            tables, by_dual = training.discriminative(family, first)
            seconds["L-BFGS"].append(between - began)
            seconds["dual"].append(perf_counter() - between)
        design = training.design(family)
        dual = training.dual(family, design, first.room(design.scale.size))
        ascent = None if dual is None else dual.ascend(family.strength, first.gap)
        known = ascent is not None and ascent.status == "converged"
        terms, rows = len(training.plan.terms), training.source.n_rows
        ratio = median(a / b for a, b in zip(seconds["L-BFGS"], seconds["dual"], strict=True))
        print(
            f"| {rows:,} | {terms:,} | {len(exact.u):,} | {exact.n_iter} | {exact.loss:.5f} | "
            f"{median(seconds['L-BFGS']):.2f} | "
            + (f"{by_dual.n_iter} | {by_dual.loss:.5f} | " if known else "- | - | ")
            + f"{median(seconds['dual']):.2f} | {ratio:.1f} |",
            flush=True,
        )
        return tables


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATA)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | rows | tuples | parameters | L-BFGS iterations | F | seconds | sweeps | F | "
          "seconds | L-BFGS / auto |")  # fmt: skip
    print("|" + "---|" * 11)
    for name in arguments.datasets:
        data = split(name)
        print(f"| {name} ", end="", flush=True)
        Comparison(n_jobs=1).fit(data.X_train, data.y_train)


if __name__ == "__main__":
    main()
