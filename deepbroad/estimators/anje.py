"""AnJE: the generative model, counted in one pass."""

from typing import Any

from deepbroad.engine.training import Training
from deepbroad.estimators.streamed import CountedClassifier
from deepbroad.model.scores import ScoreTables


class AnJEClassifier(CountedClassifier):
    r"""Averaged n-join estimators: naive Bayes over tuples of n attributes.

    The geometric mean of all models that partition the attributes into sets of n and take those
    sets to be independent given the class:

    .. math:: \log P(y|x) = \mathrm{const} + \log \pi_y
        + \frac{(n-1)!\,(a-n)!}{(a-1)!} \sum_{\alpha} \log \theta_{x_\alpha|y}

    over all sets α of n of the a attributes, with smoothed probabilities
    :math:`\theta = (\#_{x_\alpha,y} + m/|x_\alpha|) / (\#_y + m)` and
    :math:`\pi_y = (\#_y + m/C) / (N + m)`. ``n=1`` is naive Bayes. Fitting only counts: one pass.

    Parameters
    ----------
    n : int, default=1
        Depth: how many attributes a tuple joins.
    smoothing : float, default=1.0
        m above. 0 is maximum likelihood, refused where it would take the logarithm of 0.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied with `sample_weight`.
    categorical_features : "auto", list of names or indices, boolean mask or None, default="auto"
        Columns that are categories. "auto": strings, categories, booleans and mixed columns.
        Numbers are cut into bins by `MDLDiscretizer`'s rule, those of two values between them.
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
    n_jobs : int or None, default=None
        Threads; None and -1 use all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        Number of attributes and, for data frames, their names.
    terms_ : list of tuples of str
        The tuples of attributes in the model.
    term_gains_ : ndarray of shape (n_terms,) or None
        What each tells about the class beyond its parts, in nats, if they were screened. What
        chance alone would tell is taken off, so that it is negative where that is more.
    tables_ : mapping
        Scores and weights by the names of attributes, for instance ``tables_["a", "b"]``.
    intercept_ : ndarray of shape (n_classes,)
        log π.

    Notes
    -----
    A value that training never saw counts as missing where missing was seen. Else the tuples that
    hold it contribute nothing, and the others are rescaled as if the attribute were not there.

    References
    ----------
    Zaidi, Webb, Carman, Petitjean (2015). Deep Broad Learning: Big Models for Big Data.

    Examples
    --------
    >>> from deepbroad import AnJEClassifier
    >>> X = [["sunny", "hot"], ["sunny", "cool"], ["rain", "cool"], ["rain", "hot"]]
    >>> y = ["no", "yes", "yes", "no"]
    >>> AnJEClassifier(n=2).fit(X, y).predict([["rain", "cool"]])
    array(['yes'], dtype='<U3')
    """

    _rescales = True

    def __init__(
        self,
        n: int = 1,
        *,
        smoothing: float = 1.0,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        terms: Any = None,
        min_count: float = 1,
        max_terms: int | None = None,
        memory_limit: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n = n
        self.smoothing = smoothing
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.terms = terms
        self.min_count = min_count
        self.max_terms = max_terms
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    def _count_tables(self, training: Training) -> ScoreTables:
        return training.generative()
