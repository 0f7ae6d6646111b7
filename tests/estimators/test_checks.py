"""scikit-learn's own checks, on every classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from deepbroad import AnJEClassifier, DBLClassifier, LRClassifier

ESTIMATORS = [
    AnJEClassifier(n=1),
    AnJEClassifier(n=2),
    DBLClassifier(n=1),
    DBLClassifier(n=2),
    LRClassifier(n=1),
]


def expected_failures(estimator):
    if estimator.n > 1:
        return {"check_fit2d_1feature": "one column has no pairs; the error says so in other words"}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
