"""DBL: weights on generative estimates, fitted discriminatively."""

from typing import Any, Self

from deepbroad.engine.training import Training
from deepbroad.estimators.discriminative import DiscriminativeClassifier
from deepbroad.estimators.parameters import check_choice
from deepbroad.model.family import Family


class DBLClassifier(DiscriminativeClassifier):
    r"""Deep broad learning: logistic regression on tuples, preconditioned by AnJE.

    Every joint value of every n attributes has a weight per class on its log probability:

    .. math:: P(y|x) \propto \exp\Big( w_y \log \pi_y
        + \sum_{\alpha} w_{y,\alpha,x_\alpha} \log \theta_{x_\alpha|y} \Big)

    The weights minimise the convex

    .. math:: F(w) = \frac{1}{\sum_r \omega_r} \Big[ -\sum_r \omega_r \log P(y_r|x_r)
        + \frac{\alpha}{2} \sum (w - t)^2 \Big]

    from AnJE's weights 1/p, p = C(a-1, n-1). The class weights :math:`w_y` are not penalised. A
    joint value that no training row has is no parameter: its weight is t.

    Parameters
    ----------
    n : int, default=2
        Depth: how many attributes a tuple joins. 1 is a weighted naive Bayes (WANBIA-C).
    alpha : float, default=1.0
        Strength of the penalty, on the scale of the sum over rows.
    shrink_to : {"zero", "generative"}, default="zero"
        t above: 0 as in the paper, or AnJE's weights 1/p.
    smoothing : float, default=1.0
        m in :math:`\theta = (\#_{x_\alpha,y} + m/|x_\alpha|) / (\#_y + m)`.
    loss : {"log_loss", "mse", "squared_hinge"}, default="log_loss"
        What takes the place of :math:`-\log P(y_r|x_r)` in F; see the notes.
    solver : {"lbfgs", "lbfgs-plain"}, default="lbfgs"
        L-BFGS, preconditioned by a rough diagonal of the Hessian, or plainly on w as the paper has
        it. Both minimise the same F; the first mostly needs fewer passes.
    max_iter : int, default=500
        Iterations of the solver at most.
    tol : float, default=1e-5
        Stop when F falls by less than tol·max(F, 1) per iteration, over the last five.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied with `sample_weight`.
    categorical_features : "auto", list of names or indices, boolean mask or None, default="auto"
        As in `AnJEClassifier`.
    terms : list of tuples or None, default=None
        Use only these tuples of n attributes, by name or index; None uses all.
    min_count : float, default=1
        A joint value of less weight than this is treated as one that training never had. Up to 1,
        every joint value that some row of positive weight has is kept.
    max_terms : int or None, default=None
        Keep so many tuples: for each attribute the one that tells most about the class, and then
        those that tell most beyond their parts (least conditional mutual information of a member
        with the class, given the others). Fewer than there are attributes leave some out. None
        keeps all that `memory_limit` allows.
    memory_limit : int, str or None, default=None
        Memory that the fit may take beside its input, in bytes or as "4GB"; None: four fifths of
        what is free. Where all tuples need more, the best are kept, as many as fit, and a warning
        says so.
    warm_start : bool, default=False
        Start from the scores of the previous fit.
    callbacks : list of callables or None, default=None
        Called after each iteration with a `deepbroad.Progress`; one that returns True stops the
        fit, which keeps what it has reached.
    n_jobs : int or None, default=None
        Threads; None and -1 use all cores. The result does not depend on it.
    verbose : int, default=0
        If not 0, log a line per iteration to the logger "deepbroad" at level INFO.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        Number of attributes and, for data frames, their names.
    n_iter_, n_evaluations_ : int
        Iterations, and passes over the data.
    loss_ : float
        F at the fitted weights.
    loss_curve_, evaluation_curve_ : list of float
        F after each iteration, the start first, and at each pass.
    status_ : str
        Why the solver ended: "converged", "max_iter", "stopped", "interrupted" or "stalled".
    temperature_ : float
        What scores were multiplied by to become log odds: 1 but for the squared hinge.
    terms_ : list of tuples of str
        The tuples of attributes in the model.
    term_gains_ : ndarray of shape (n_terms,) or None
        What each tells about the class beyond its parts, in nats, if they were screened. What
        chance alone would tell is taken off, so that it is negative where that is more.
    tables_ : mapping
        Scores and weights by the names of attributes, for instance ``tables_["a", "b"]``.
    intercept_ : ndarray of shape (n_classes,)
        Class scores :math:`w_y \log \pi_y`.

    Notes
    -----
    The default strength of 1 suits tables of thousands of rows; the paper's 0.01 over-fits them
    (`benchmarks/defaults.py` prints the comparison). `DBLClassifier.paper` has its settings.

    A value that training never saw counts as missing where missing was seen. Else the tuples that
    hold it contribute nothing.

    The losses of a row, s being its scores:

    - "log_loss": :math:`-\log P(y|x)`.
    - "mse": :math:`\sum_c (1[y=c] - P(c|x))^2`. It is not convex: the fit goes on from the solution
      of the log loss, since from AnJE it ends higher on most data. `n_iter_`, `loss_` and the
      curves are of what comes then.
    - "squared_hinge": :math:`\max(0, 1 + \max_{c \ne y} s_c - s_y)^2`, Crammer and Singer's, whose
      maximum is rounded off near ties, where it is up to 1 % more. Probabilities are the softmax of
      `temperature_` times s. That is fitted by the log loss to the scores of a fifth of the rows
      that was held out (with less than 2,500 rows, of each fifth in turn; without smoothing, to
      those of the training rows); then all rows are fitted.

    References
    ----------
    Zaidi, Webb, Carman, Petitjean (2015). Deep Broad Learning: Big Models for Big Data.

    Examples
    --------
    >>> from deepbroad import DBLClassifier
    >>> from deepbroad.datasets import poker_hand
    >>> X, y = poker_hand(20_000, seed=0, return_X_y=True)
    >>> model = DBLClassifier(n=2).fit(X.slice(0, 10_000), y[:10_000])
    >>> bool(model.score(X.slice(10_000), y[10_000:]) > 0.9)
    True
    """

    def __init__(
        self,
        n: int = 2,
        *,
        alpha: float = 1.0,
        shrink_to: str = "zero",
        smoothing: float = 1.0,
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
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n = n
        self.alpha = alpha
        self.shrink_to = shrink_to
        self.smoothing = smoothing
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
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, n: int = 2) -> Self:
        """Return a model with the paper's settings: m = 1, λ = 0.01 towards 0, start at AnJE.

        Parameters
        ----------
        n : int, default=2
            Depth.

        Returns
        -------
        model : DBLClassifier
            Not yet fitted.
        """
        return cls(n=n, alpha=1e-2, shrink_to="zero", smoothing=1.0)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("shrink_to", self.shrink_to, ["generative", "zero"])

    def _family(self, training: Training) -> Family:
        return Family(
            generative=True,
            strength=float(self.alpha),
            target=1.0 if self.shrink_to == "generative" else 0.0,
        )
