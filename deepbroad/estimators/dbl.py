"""DBL: the discriminative model, preconditioned by the generative one."""

from typing import Any, Self

from deepbroad.estimators.chosen_terms import ChosenTerms
from deepbroad.model.recipe import Recipe


class DBLClassifier(ChosenTerms):
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
    n : int or "auto", default="auto"
        Depth: how many attributes a tuple joins; 1 is a weighted naive Bayes (WANBIA-C). "auto"
        chooses it by validation folds, up to 3 (4 with ``effort="thorough"``).
    alpha : float, sequence of float or "auto", default="auto"
        Strength of the penalty, on the scale of the sum over rows: a number for all cells, or one
        for each order from 1 to n. "auto" finds one for each table. No number is good for all data:
        search for it by cross-validation, from 1 to 10,000.
    orders : {"auto", "all", "exact"}, default="auto"
        "all": tuples of 1, 2, ..., n attributes have cells, and alpha is the strength of scores,
        ½ α (β - β⁰)². "exact": only tuples of n attributes, as in the paper. "auto": all if alpha
        is "auto" or several, else exact.
    bins : {"auto", "nested", "mdl"}, default="auto"
        How numbers become values. "nested": halves, quarters, eighths, ... of the rows, all at
        once, coarse ones also shifted. "mdl": bins by minimum description length, as in the paper.
        "auto": nested if all orders have cells, else mdl.
    shrink_to : {"zero", "generative"}, default="zero"
        t above: 0 as in the paper, or AnJE's weights 1/p.
    smoothing : float, default=1.0
        m in :math:`\theta = (\#_{x_\alpha,y} + m/|x_\alpha|) / (\#_y + m)`.
    loss : {"log_loss", "mse", "squared_hinge"}, default="log_loss"
        What takes the place of :math:`-\log P(y_r|x_r)` in F; see the notes.
    solver : {"auto", "lbfgs", "lbfgs-plain", "sgd"}, default="auto"
        "auto": dual coordinate ascent, row by row, where counted work says that it is faster, else
        "lbfgs", which also goes on where an ascent does not converge. "lbfgs": L-BFGS,
        preconditioned by a rough diagonal of the Hessian; "lbfgs-plain": on w itself, as in the
        paper. "sgd": steps by batches, without a step size to choose; see the notes.
    max_iter : int, default=500
        Iterations of the solver at most; of "sgd" and dual ascent, passes over the rows.
    tol : float, default=1e-5
        Stop when F falls by less than tol·max(F, 1) per iteration, over the last five; dual ascent,
        when the gap between F and its dual is at most tol/10. Below 1e-6, L-BFGS sums over rows in
        double precision (unless tables are large).
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied with `sample_weight`.
    categorical_features : "auto", list of names or indices, boolean mask or None, default="auto"
        As in `AnJEClassifier`.
    terms : list of tuples or None, default=None
        Use only these tuples of n attributes, by name or index; None uses all. Where all orders
        have cells, tuples may be of up to n attributes, and bring their parts with them.
    min_count : float, default=1
        A joint value of less weight than this is treated as one that training never had. Up to 1,
        every joint value that some row of positive weight has is kept.
    max_terms : int or None, default=None
        Keep so many tuples: for each attribute the best one, then those with the largest least
        conditional mutual information of a member with the class, given the others. None keeps all
        that `memory_limit` allows. Only for tuples of exactly n attributes, with a number as alpha.
    recipe : deepbroad.Recipe or None, default=None
        The tables, cut points and strengths of the model, as `recipe_` of another fit has them:
        nothing is chosen, and the same rows give the same model, bit for bit. It goes with no
        other `n`, `alpha`, `orders`, `bins`, `terms` and `max_terms` than their defaults. A recipe
        that was chosen on all rows makes a cross-validation with it optimistic.
    effort : {"fast", "thorough"}, default="fast"
        How much work an automatic choice takes: "thorough" is a little more accurate on some
        tables, and takes several times as long.
    memory_limit : int, str or None, default=None
        Memory that the fit may take beside its input, in bytes or as "4GB"; None: four fifths of
        what is free. Where all tuples need more, "auto" takes a smaller n. With a number as alpha
        and exact orders the best tuples are kept, as many as fit, and a warning says so; else it is
        an error.
    time_limit : float or None, default=None
        Seconds after which an automatic choice tries nothing new. A warning says where that ended
        the search: another fit of the same rows may then choose a different model. It is no limit
        of the fit that follows. None: what is chosen depends on no clock.
    warm_start : bool, default=False
        Start from the scores of the previous fit.
    callbacks : list of callables or None, default=None
        Called after each iteration with a `deepbroad.Progress`; one that returns True stops the
        fit, which keeps what it has reached.
    checkpoint : str, os.PathLike or None, default=None
        A folder to keep the fit's progress in. A fit that was killed, or stopped by Ctrl-C or a
        callback, goes on from there when it is run again with the same data and parameters (but
        `max_iter`, `n_jobs`, `callbacks`, `verbose` and the limits, which may change), and comes to
        the same model. It is left empty by a fit that comes to its end, and saving takes about
        5 % of the time at most. One folder serves one fit at a time.
    n_jobs : int or None, default=None
        Threads; None and -1 use all cores. The result does not depend on it, unless `time_limit`
        had a part in the choice.
    random_state : int, RandomState or None, default=0
        Draws the rows that the automatic choice holds out, and the batches of "sgd".
    verbose : int, default=0
        If not 0, show a live line in a terminal or notebook (what is tried, held-out loss, share of
        the work done, time left), and log a line per iteration to the logger "deepbroad" at level
        INFO.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        Number of attributes and, for data frames, their names.
    n_iter_, n_evaluations_ : int
        Iterations, and passes over the data.
    loss_ : float
        F at the fitted weights; of scores by counts, with each row's cells counted without it.
    loss_curve_, evaluation_curve_ : list of float
        F after each iteration, the start first, and at each pass.
    status_ : str
        Why the solver ended: "converged", "max_iter", "stopped", "interrupted" or "stalled".
    recipe_ : deepbroad.Recipe or None
        The tables, cut points and strengths that were chosen or given. It prints in a few lines,
        `to_json` writes it, and ``DBLClassifier(recipe=model.recipe_)`` fits it again. None where
        `n` and `alpha` were given.
    selection_ : dict or None
        The account of an automatic choice, as plain data that prints line by line: the held-out
        "loss", the "trials" and what was left out. None where nothing was chosen.
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
    The default model has a score for every value, pair and triple, as far as they pay:
    :math:`\log P(y|x) = \mathrm{const} + \beta_y + \sum_{k \le n} \sum_\alpha
    \beta_{y,\alpha,x_\alpha}`, penalised by :math:`\frac12 \sum_j \lambda_j \beta_j^2`. The choice
    goes by a sample of at most 16,000 rows in 2 to 5 validation folds. It depends on the data, the
    parameters and `random_state` alone. Interactions whose residuals on held-out rows agree more
    than chance allows are tried, order by order, as long as the held-out loss falls by more than
    its standard error (``docs/how.md``). `DBLClassifier.paper` has the paper's settings, whose λ of
    0.01 over-fits tables of thousands of rows (`benchmarks/defaults.py` prints the comparison).

    Where categories have so many values that rows share few of their joint values, the score of a
    cell may instead follow from how many rows of each class have it, by five weights for each tuple
    (`recipe_.by_counts`): its log lift, smoothed a little and a lot, and how many rows it has
    at all; single values have scores of their own besides. The weights are fitted to counts of
    other rows than their own, in unweighted rows in memory, and taken where the held-out loss
    falls by more than its standard error.

    "sgd" is dual ascent where that is fast, less exactly, else a step by each of many batches. Ten
    passes are planned for, or `max_iter` if that is less; a smaller `tol` plans for more. It stops
    when two passes in a row lower the held-out loss by less than 200·tol of it each. From 5,000
    rows on, batches leave out one row in twenty (5,000 at most), whose loss is what `loss_` and
    `loss_curve_` have; with fewer they have F. L-BFGS can go on from there with `warm_start`.

    A value that training never saw counts as missing where missing was seen. Else the tuples that
    hold it contribute nothing.

    The losses of a row, s being its scores:

    - "log_loss": :math:`-\log P(y|x)`.
    - "mse": :math:`\sum_c (1[y=c] - P(c|x))^2`. It is not convex: the fit goes on from the solution
      of the log loss, since from AnJE it ends higher on most data. `n_iter_`, `loss_` and the
      curves are of what comes then.
    - "squared_hinge": :math:`\max(0, 1 + \max_{c \ne y} s_c - s_y)^2`, Crammer and Singer's, whose
      maximum is rounded off near ties, where it is up to 1 % more. The fit starts from t, since
      AnJE's scores lie far beyond the margins of 1. Probabilities are the softmax of
      `temperature_` times s. That is fitted by the log loss to the scores of a fifth of the rows
      that was held out (with less than 2,500 rows, of each fifth in turn; without smoothing, to
      those of the training rows); then all rows are fitted.

    An automatic choice of depth and strengths goes by the log loss, whatever the loss.

    References
    ----------
    Zaidi, Webb, Carman, Petitjean (2015). Deep Broad Learning: Big Models for Big Data.

    Crammer and Singer (2001). On the algorithmic implementation of multiclass kernel-based vector
    machines. JMLR 2.

    Examples
    --------
    >>> from deepbroad import DBLClassifier
    >>> from deepbroad.datasets import poker_hand
    >>> X, y = poker_hand(20_000, seed=0, return_X_y=True)
    >>> model = DBLClassifier().fit(X.slice(0, 10_000), y[:10_000])
    >>> model.selection_["n"], bool(model.score(X.slice(10_000), y[10_000:]) > 0.85)
    (2, True)
    """

    def __init__(
        self,
        n: int | str = "auto",
        *,
        alpha: Any = "auto",
        orders: str = "auto",
        bins: str = "auto",
        shrink_to: str = "zero",
        smoothing: float = 1.0,
        loss: str = "log_loss",
        solver: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-5,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        terms: Any = None,
        min_count: float = 1,
        max_terms: int | None = None,
        recipe: Recipe | None = None,
        effort: str = "fast",
        memory_limit: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        callbacks: Any = None,
        checkpoint: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n = n
        self.alpha = alpha
        self.orders = orders
        self.bins = bins
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
        self.recipe = recipe
        self.effort = effort
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
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
        return cls(n=n, alpha=1e-2, orders="exact", bins="mdl", shrink_to="zero", smoothing=1.0)
