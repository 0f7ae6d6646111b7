"""Evaluations to a given training loss by how far L-BFGS preconditions its search.

Fits DBL² (the paper's λ) with search coordinates u·h^q for q = 0 (plain), 1/4 (the default) and 1/2
(h being the rough diagonal of the Hessian). The threshold on each data set is 1.01 × the final loss
of the plain search; the figure is the count of evaluations until F is below it.

    python benchmarks/preconditioning.py
"""

import warnings

import numpy as np
from common import split
from sklearn.exceptions import ConvergenceWarning

from deepbroad import DBLClassifier
from deepbroad.estimators import discriminative

DATA = ("poker-hand", "connect-4", "letter", "nursery", "adult")
EXPONENTS = (0.0, 0.25, 0.5)


def main() -> None:
    """Print a line per data set."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'evaluations, q =':18}" + "".join(f"{q:>8g}" for q in EXPONENTS))
    for name in DATA:
        data = split(name)
        curves = []
        for exponent in EXPONENTS:
            discriminative.PRECONDITIONING["lbfgs"] = exponent
            model = DBLClassifier.paper(2).set_params(max_iter=1000, tol=1e-6)
            curves.append(np.array(model.fit(data.X_train, data.y_train).evaluation_curve_))
        threshold = 1.01 * curves[0].min()
        counts = [
            str(int(np.argmax(curve <= threshold)) + 1) if curve.min() <= threshold else "never"
            for curve in curves
        ]
        print(f"{name:18}" + "".join(f"{count:>8}" for count in counts), flush=True)


if __name__ == "__main__":
    main()
