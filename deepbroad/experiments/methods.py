"""The methods that are compared, by name: each makes a new estimator with the paper's settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline

from deepbroad import (
    AnDEClassifier,
    AnJEClassifier,
    DBLClassifier,
    KDBClassifier,
    LRClassifier,
    TANClassifier,
)
from deepbroad.experiments.value_codes import ValueCodes

# The paper searches by plain L-BFGS-B with λ = 0.01, to convergence; it names no limit. That code
# goes on until a step gains about 2e-9 of the sum; our default tolerance stops well before.
_ALPHA = 1e-2
_SEARCH: dict[str, Any] = {"solver": "lbfgs-plain", "max_iter": 1000, "tol": 1e-7}


@dataclass(frozen=True)
class Method:
    """A method by name.

    Parameters
    ----------
    name : str
        Its name in rows, tables and figures.
    create : callable
        Makes a new estimator; it must pickle, so no lambda.
    depth : int
        How many attributes a tuple of it joins.
    effort : float
        About how many look-ups of a tuple it makes for each row, to order runs by cost.
    first : callable or None
        Makes the estimator whose short fit loads compiled code before anything is timed; None:
        the same as `create`.
    """

    name: str
    create: Callable[[], Any]
    depth: int = 1
    effort: float = 1.0
    first: Callable[[], Any] | None = None

    @property
    def parameters(self) -> str:
        """The estimator and its parameters, those at their defaults left out."""
        with config_context(print_changed_only=True):
            return " ".join(repr(self.create()).split())

    def limited(self, max_iter: int) -> "Method":
        """Return the same method with a limit of iterations, if it has one."""
        if "max_iter" not in self.create().get_params():
            return self
        return replace(self, create=partial(_make_limited, self.create, max_iter))


def _make_limited(create: Callable[[], Any], max_iter: int) -> Any:
    """Make an estimator that searches no longer than this."""
    return create().set_params(max_iter=max_iter)


def find(names: Sequence[str]) -> list[Method]:
    """Return the methods of these names, or refuse."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(
            f"There is no method {', '.join(unknown)}; there are {', '.join(METHODS)}."
        )
    return [METHODS[name] for name in METHODS if name in names]


def make_dbl(n: int, shrink_to: str = "zero") -> DBLClassifier:
    """Make DBL^n with the paper's settings."""
    return DBLClassifier.paper(n).set_params(shrink_to=shrink_to, **_SEARCH)


def make_forest(*, discretise: bool) -> Any:
    """Make a random forest of 100 trees on MDL codes, or on raw numbers."""
    return make_pipeline(
        ValueCodes(discretise=discretise), RandomForestClassifier(100, random_state=0)
    )


_ALL = [
    *(Method(f"A{n}JE", partial(AnJEClassifier, n), n, 3) for n in (1, 2, 3)),
    *(Method(f"A{n}DE", partial(AnDEClassifier, n), n + 1, 20) for n in (1, 2)),
    *(Method(f"DBL{n}", partial(make_dbl, n), n, 100) for n in (1, 2, 3)),
    *(
        Method(f"LR{n}", partial(LRClassifier, n, alpha=_ALPHA, **_SEARCH), n, 200)
        for n in (1, 2, 3)
    ),
    Method("RF", partial(make_forest, discretise=True), 1, 1000),
    Method("RF-raw", partial(make_forest, discretise=False), 1, 1500),
    Method("NB", partial(AnJEClassifier, 1), 1, 3),
    Method("TAN", TANClassifier, 2, 5),
    Method("ELR", partial(TANClassifier, fitting="discriminative", alpha=_ALPHA, **_SEARCH), 2, 50),
    Method("KDB1", partial(KDBClassifier, 1), 2, 5),
    Method("KDB5", partial(KDBClassifier, 5), 2, 20),
    Method("DBL2-generative", partial(make_dbl, 2, "generative"), 2, 100),
    Method("DBL", DBLClassifier, 2, 2000, partial(DBLClassifier, 2, alpha=[1.0, 1.0])),
]
METHODS = {method.name: method for method in _ALL}
