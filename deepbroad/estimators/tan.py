"""TAN: each attribute depends on the class and, along a tree, on one other attribute."""

from typing import Any

from deepbroad.data.source import Source
from deepbroad.estimators.structured import StructuredClassifier
from deepbroad.kernels.threads import Threads
from deepbroad.model.dependence import dependence_of
from deepbroad.model.structure import Parents, dependence_tree


class TANClassifier(StructuredClassifier):
    r"""Tree-augmented naive Bayes, and extended logistic regression (ELR) on its structure.

    .. math:: P(y|x) \propto \pi_y \prod_i \theta_{x_i | x_{\Pi(i)}, y}

    Each attribute but the root has one parent :math:`\Pi(i)`, along the tree over the attributes
    whose pairs have the largest sum of conditional mutual information I(x_i; x_j | y) (Chow and
    Liu). The root is the attribute of largest mutual information with the class. Of equal
    attributes the first in the table is chosen, and so of equal pairs. :math:`\theta` is that of
    `KDBClassifier`; with it, the root does not matter to the probabilities.

    With ``fitting="discriminative"`` every :math:`\log \theta` has a weight w, from 1, and these
    minimise the convex F of `DBLClassifier`, t being 0 or 1: ELR, a restriction of DBL² to some of
    its tuples.

    Parameters
    ----------
    fitting : {"generative", "discriminative"}, default="generative"
        Only count, or fit weights by conditional likelihood (ELR).
    alpha, shrink_to, smoothing
        As in `KDBClassifier`.
    solver, max_iter, tol, warm_start, callbacks, checkpoint, verbose
        As in `DBLClassifier`.
    class_weight, categorical_features, min_count, memory_limit, n_jobs
        As in `AnJEClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        Number of attributes and, for data frames, their names.
    parents_ : dict of str to tuple of str
        The parent of each attribute beside the class; none for the root.
    terms_, tables_, intercept_, n_iter_
        As in `KDBClassifier`.
    n_evaluations_, loss_, loss_curve_, evaluation_curve_, status_
        As in `DBLClassifier`, where weights are fitted.

    See Also
    --------
    KDBClassifier : Its notes on samples, unseen values and large tables hold here too.

    References
    ----------
    Friedman, Geiger, Goldszmidt (1997). Bayesian Network Classifiers. Machine Learning 29.

    Greiner, Su, Shen, Zhou (2005). Structural Extension to Logistic Regression: Discriminative
    Parameter Learning of Belief Net Classifiers. Machine Learning 59.

    Examples
    --------
    >>> from deepbroad import TANClassifier
    >>> X = [["sunny", "hot", "dry"], ["sunny", "cool", "dry"], ["rain", "cool", "wet"]] * 4
    >>> y = ["no", "yes", "yes"] * 4
    >>> model = TANClassifier().fit(X, y)
    >>> model.parents_
    {'x0': ('x1',), 'x1': (), 'x2': ('x0',)}
    >>> model.predict([["rain", "hot", "dry"]])
    array(['no'], dtype='<U3')
    """

    def __init__(
        self,
        *,
        fitting: str = "generative",
        alpha: float = 1.0,
        shrink_to: str = "zero",
        smoothing: float = 1.0,
        solver: str = "lbfgs",
        max_iter: int = 500,
        tol: float = 1e-5,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        min_count: float = 1,
        memory_limit: Any = None,
        warm_start: bool = False,
        callbacks: Any = None,
        checkpoint: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.fitting = fitting
        self.alpha = alpha
        self.shrink_to = shrink_to
        self.smoothing = smoothing
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.min_count = min_count
        self.memory_limit = memory_limit
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn_parents(self, source: Source, threads: Threads) -> Parents:
        return dependence_tree(dependence_of(source, threads))
