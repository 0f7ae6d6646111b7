"""KDB: each attribute depends on the class and on up to k other attributes."""

from typing import Any

from deepbroad.data.source import Source
from deepbroad.estimators.parameters import check_count
from deepbroad.estimators.structured import StructuredClassifier
from deepbroad.kernels.threads import Threads
from deepbroad.model.dependence import dependence_of
from deepbroad.model.structure import Parents, dependence_order

# Plans look at all subsets of a term, so that deeper ones would take long.
MAX_PARENTS = 5


class KDBClassifier(StructuredClassifier):
    r"""k-dependence Bayesian classifier: naive Bayes with up to k parents per attribute.

    .. math:: P(y|x) \propto \pi_y \prod_i \theta_{x_i | x_{\Pi(i)}, y}

    Attributes are ordered by their mutual information with the class, I(x_i; y). The parents
    :math:`\Pi(i)` of each are the k attributes before it, or all if they are fewer, of largest
    conditional mutual information I(x_i; x_j | y); of equal ones the first in the table. Then

    .. math:: \theta_{x_i|x_\Pi,y} = \frac{\#_{x_i,x_\Pi,y} + m/|x_i,x_\Pi|}
        {\#_{x_\Pi,y} + m/|x_\Pi|}

    With ``fitting="discriminative"`` every :math:`\log \theta` has a weight w, from 1, and these
    minimise the convex F of `DBLClassifier`, t being 0 or 1: extended logistic regression (ELR)
    on this structure.

    Parameters
    ----------
    k : int, default=1
        Parents of an attribute at most, from 0 to 5. 0 is naive Bayes, and with weights WANBIA-C.
    fitting : {"generative", "discriminative"}, default="generative"
        Only count, or fit weights by conditional likelihood.
    alpha : float, default=1.0
        Strength of the penalty on weights, on the scale of the sum over rows. It and the other
        parameters of the solver have no effect where no weights are fitted.
    shrink_to : {"zero", "generative"}, default="zero"
        What the penalty pulls weights to: 0, or 1, which is the model without weights.
    smoothing : float, default=1.0
        m above. 0 is maximum likelihood, refused where it would take the logarithm of 0.
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
        The parents of each attribute beside the class.
    terms_ : list of tuples of str
        The tuples of attributes in the model: each attribute with its parents.
    tables_ : mapping
        Scores and weights by the names of attributes, for instance ``tables_["child", "parent"]``.
    intercept_ : ndarray of shape (n_classes,)
        Class scores: log π, with its weight where weights are fitted.
    n_iter_ : int
        Iterations; 1 where no weights are fitted.
    n_evaluations_, loss_, loss_curve_, evaluation_curve_, status_
        As in `DBLClassifier`, where weights are fitted.

    Notes
    -----
    Rows beyond a million, or beyond 10¹⁰ pairs of attributes times rows, are sampled for the
    structure; the tables always count all rows.

    A value that training never saw counts as missing where missing was seen. Else the tables that
    hold it contribute nothing. Joint values that training never had keep their smoothed θ, but not
    in compact tables (those of more than 262,144 joint values that rows show few of, or less where
    a model would take gigabytes): there they have one cell together, which tells nothing about
    the class.

    References
    ----------
    Sahami (1996). Learning Limited Dependence Bayesian Classifiers. KDD.

    Greiner, Su, Shen, Zhou (2005). Structural Extension to Logistic Regression: Discriminative
    Parameter Learning of Belief Net Classifiers. Machine Learning 59.

    Examples
    --------
    >>> from deepbroad import KDBClassifier
    >>> from deepbroad.datasets import poker_hand
    >>> X, y = poker_hand(2000, seed=0, return_X_y=True)
    >>> model = KDBClassifier(k=2).fit(X, y)
    >>> sorted(len(given) for given in model.parents_.values())
    [0, 1, 2, 2, 2, 2, 2, 2, 2, 2]
    """

    def __init__(
        self,
        k: int = 1,
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
        self.k = k
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_count("k", self.k, least=0) > MAX_PARENTS:
            raise ValueError(f"k must be at most {MAX_PARENTS}, got {self.k}.")

    def _learn_parents(self, source: Source, threads: Threads) -> Parents:
        if self.k == 0:
            return [()] * len(source.cardinalities)
        return dependence_order(dependence_of(source, threads), int(self.k))
