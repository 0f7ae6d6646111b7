"""scikit-learn's own checks, on every classifier."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from deepbroad import AnDEClassifier, AnJEClassifier, DBLClassifier, LRClassifier
from tests.estimators.tables import STRUCTURED

CLASSIFIERS = [
    *(cls(n=n) for cls in (AnJEClassifier, LRClassifier) for n in (1, 2)),
    *(DBLClassifier(n=n, alpha=1.0) for n in (1, 2)),
    DBLClassifier(),
    *(AnDEClassifier(n=n) for n in (0, 1, 2)),
    *STRUCTURED.values(),
]


# A check calls partial_fit after fit.
@pytest.mark.filterwarnings("ignore:partial_fit begins anew")
@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
