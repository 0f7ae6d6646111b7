"""AnDE: averaged n-dependence estimators, counted in one pass."""

from math import comb
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepbroad.engine.averaging import AveragedScorer
from deepbroad.engine.footprint import listed_bytes
from deepbroad.engine.provision import MAX_LISTED
from deepbroad.engine.training import Training
from deepbroad.estimators.named_tables import NamedTables
from deepbroad.estimators.parameters import check_depth
from deepbroad.estimators.prepared import Coded
from deepbroad.estimators.read_only import read_only
from deepbroad.estimators.streamed import CountedClassifier
from deepbroad.model.generative import refuse_zeros
from deepbroad.model.lifts import all_tuples
from deepbroad.model.scores import ScoreTables
from deepbroad.model.terms import Terms


class AnDEClassifier(CountedClassifier):
    r"""Averaged n-dependence estimators.

    The arithmetic mean of all models in which every attribute depends on the class and on the
    same n attributes, its parents:

    .. math:: P(y, x) \propto \sum_{\alpha} \pi_y\, \theta_{x_\alpha|y}
        \prod_{i \notin \alpha} \theta_{x_i|x_\alpha,y}, \qquad
        \theta_{x_i|x_\alpha,y} = \theta_{x_\alpha,x_i|y} / \theta_{x_\alpha|y}

    over all sets α of n of the a attributes, with the smoothed probabilities of `AnJEClassifier`:
    :math:`\theta_{x|y} = (\#_{x,y} + m/|x|) / (\#_y + m)` for the joint value x of any attributes,
    and :math:`\pi_y = (\#_y + m/C) / (N + m)`. ``n=0`` is naive Bayes, ``n=1`` AODE. Fitting only
    counts tuples of up to n + 1 attributes: one pass.

    Parameters
    ----------
    n : int, default=1
        How many parents each attribute has. Tables join n + 1 attributes.
    smoothing : float, default=1.0
        m above. 0 is maximum likelihood, refused where it would take the logarithm of 0.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied with `sample_weight`.
    categorical_features : "auto", list of names or indices, boolean mask or None, default="auto"
        As in `AnJEClassifier`.
    min_count : float, default=1
        A parent set is left out for rows whose values on it have less weight than this in
        training. Up to 1, every value that some row of positive weight has is kept. Where no
        parent set is left, A(n-1)DE answers, down to naive Bayes.
    memory_limit : int, str or None, default=None
        Memory that the fit may take beside its input, in bytes or as "4GB"; None: four fifths of
        what is free. A fit that needs more is refused.
    n_jobs : int or None, default=None
        Threads; None and -1 use all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_, feature_names_in_
        Number of attributes and, for data frames, their names.
    terms_ : list of tuples of str
        The tuples that were counted, those of 1 to n + 1 attributes.
    tables_ : mapping
        log θ by the names of attributes, for instance ``tables_["a", "b"].scores``.
    intercept_ : ndarray of shape (n_classes,)
        log π.

    Notes
    -----
    A value that training never saw counts as missing where missing was seen. Else parent sets that
    hold it are left out, and as a child it contributes nothing.

    The time to predict a row grows with the number of pairs of a parent set and a child,
    C(a, n)·(a - n): 74,412 for n = 2 and 54 attributes.

    References
    ----------
    Webb, Boughton, Wang (2005). Not So Naive Bayes: Aggregating One-Dependence Estimators. Machine
    Learning 58.

    Webb, Boughton, Zheng, Ting, Salem (2012). Learning by extrapolation from marginal to
    full-multivariate probability distributions. Machine Learning 86.

    Examples
    --------
    >>> from deepbroad import AnDEClassifier
    >>> X = [["sunny", "hot"], ["sunny", "cool"], ["rain", "cool"], ["rain", "hot"]]
    >>> y = ["no", "yes", "yes", "no"]
    >>> AnDEClassifier(n=1).fit(X, y).predict([["rain", "cool"]])
    array(['yes'], dtype='<U3')
    """

    terms = None
    max_terms = None
    _beyond = 1

    def __init__(
        self,
        n: int = 1,
        *,
        smoothing: float = 1.0,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        min_count: float = 1,
        memory_limit: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n = n
        self.smoothing = smoothing
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.min_count = min_count
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    @property
    def _cell_count(self) -> float:
        # `min_count` is about parents; children are counted whole.
        return 1.0

    def _read_depth(self, n_features: int) -> int:
        return min(check_depth(self.n, n_features, least=0) + self._beyond, n_features)

    def _choose_terms(self, coded: Coded) -> tuple[Terms | None, Any]:
        n, cardinalities = coded.depth, coded.encoding.cardinalities
        n_tuples = comb(len(cardinalities), n)
        if n_tuples > MAX_LISTED or listed_bytes(n_tuples, n, 0) > coded.limit:
            raise MemoryError(
                f"AnDEClassifier(n={self.n}) counts {n_tuples:,} tuples of {n} attributes, and "
                "their list alone is too long for the memory that there is. Lower n, use fewer "
                "columns, or raise memory_limit."
            )
        return all_tuples(n, cardinalities), None

    def _count_tables(self, training: Training) -> ScoreTables:
        refuse_zeros(training.counts, float(self.smoothing))
        return ScoreTables(training.plan, training.class_counts, training.counts, None)

    def _make_scorer(self, tables: ScoreTables) -> AveragedScorer:
        self._check_parameters()  # a model file may hold any
        n = check_depth(self.n, len(self._encoding.names), least=0)
        smoothing, min_count = float(self.smoothing), float(self.min_count)
        return AveragedScorer(tables, n, smoothing=smoothing, min_count=min_count)

    @property
    def tables_(self) -> NamedTables:
        """Log θ of joint values by the names of attributes, as ``tables_["a", "b"].scores``."""
        check_is_fitted(self, "classes_")
        counts = self._scorer.counts
        theta = counts.log_likelihoods()
        tables = ScoreTables(counts.plan, counts.log_priors, theta, theta)
        return NamedTables(tables, self._encoding, self.classes_)

    @property
    def intercept_(self) -> np.ndarray:
        """Log π, (n_classes,); read-only."""
        check_is_fitted(self, "classes_")
        return read_only(self._scorer.counts.log_priors)
