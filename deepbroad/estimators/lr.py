"""LR: logistic regression on tuples, from zero."""

from typing import Any

from deepbroad.engine.training import Training
from deepbroad.estimators.prepared import Prepared
from deepbroad.estimators.streamed_discriminative import StreamedDiscriminative
from deepbroad.model.family import Family


class LRClassifier(StreamedDiscriminative):
    r"""Logistic regression on all tuples of n attribute values.

    .. math:: P(y|x) \propto \exp\Big( \beta_y + \sum_{\alpha} \beta_{y,\alpha,x_\alpha} \Big)

    The scores minimise

    .. math:: F(\beta) = \frac{1}{\sum_r \omega_r} \Big[ -\sum_r \omega_r \log P(y_r|x_r)
        + \frac{\alpha}{2} \sum \beta_{y,\alpha,x_\alpha}^2 \Big]

    from 0. It is scikit-learn's ``LogisticRegression(C=1/alpha)`` on one-hot tuples (``C=2/alpha``
    for two classes, since here each class has its own vector), without ever making them. The same
    models as `DBLClassifier`'s, found more slowly.

    Parameters
    ----------
    n : int, default=2
        Depth: how many attributes a tuple joins. 1 is plain logistic regression on one-hot values.
    alpha : float, default=1.0
        Strength of the penalty, on the scale of the sum over rows. The paper has 0.01.
    loss, solver, max_iter, tol, class_weight, categorical_features, terms, min_count
        As in `DBLClassifier`.
    max_terms, memory_limit, warm_start, callbacks, checkpoint, n_jobs, verbose
        As in `DBLClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, terms_, term_gains_, tables_, intercept_
        As in `DBLClassifier`; tables have scores but no weights.
    n_iter_, n_evaluations_, loss_, loss_curve_, evaluation_curve_, status_, temperature_
        As in `DBLClassifier`.

    References
    ----------
    Zaidi, Webb, Carman, Petitjean (2015). Deep Broad Learning: Big Models for Big Data.

    Examples
    --------
    >>> from deepbroad import LRClassifier
    >>> X = [[a, b] for a in "xy" for b in "uv"] * 5
    >>> y = [a + b in ("xu", "yv") for a, b in X]
    >>> LRClassifier(n=2).fit(X, y).score(X, y), LRClassifier(n=1).fit(X, y).score(X, y)
    (1.0, 0.5)
    """

    # LR has no generative side; the base class's check still wants a number.
    smoothing = 1.0

    def __init__(
        self,
        n: int = 2,
        *,
        alpha: float = 1.0,
        loss: str = "log_loss",
        solver: str = "lbfgs",
        max_iter: int = 500,
        tol: float = 1e-5,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        terms: Any = None,
        min_count: float = 1,
        max_terms: int | None = None,
        memory_limit: Any = None,
        warm_start: bool = False,
        callbacks: Any = None,
        checkpoint: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n = n
        self.alpha = alpha
        self.loss = loss
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.terms = terms
        self.min_count = min_count
        self.max_terms = max_terms
        self.memory_limit = memory_limit
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _family(self, training: Training, prepared: Prepared) -> Family:
        return Family(generative=False, strength=float(self.alpha))
