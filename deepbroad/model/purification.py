"""Score tables told apart into an intercept, effects of single attributes, of pairs, of triples.

Tables of tuples hide effects of fewer attributes, in whatever shares the fit left them. Told apart,
every effect is only what its attributes do together, and the sum of all is the same for every row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from deepbroad.data.encoding import Encoding
from deepbroad.model.effects import Effect
from deepbroad.model.joint_scores import (
    DenseScores,
    JointScores,
    SparseScores,
    add_scores,
)
from deepbroad.model.marginals import Marginals
from deepbroad.model.scores import MAX_DENSE, ScoreTables

Attributes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Purification:
    r"""The functional ANOVA of a model under a distribution of independent attributes.

    With tables :math:`f_\alpha` of tuples of attributes and :math:`E_i` the mean over attribute i,

    .. math:: f_S = \prod_{i \in S} (1 - E_i) \sum_{\alpha \supseteq S} E[f_\alpha | x_S]

    is the effect of the attributes S. Each has mean 0 over each of its attributes, no other effects
    have and sum to the model, and their variances sum to that of the log odds.

    A value that training never saw is one value more of each attribute, of probability 0: tables
    score 0 there, so effects are the means that this row has to do without.

    Parameters
    ----------
    model : ScoreTables
    encoding : Encoding
        Of the code columns that the model's terms join.
    marginals : Marginals

    Attributes
    ----------
    n_outputs : int
        K: 1 for two classes, the log odds of the second; else C, scores less their mean over
        classes.

    References
    ----------
    Lengerich, Tan, Chang, Hooker, Caruana (2020). Purifying Interaction Effects with the Functional
    ANOVA: An Efficient Algorithm for Recovering Identifiable Additive Models. AISTATS.
    """

    model: ScoreTables
    encoding: Encoding
    marginals: Marginals

    @property
    def n_outputs(self) -> int:
        """K."""
        return 1 if self.model.n_classes == 2 else self.model.n_classes

    @cached_property
    def _terms(self) -> dict[Attributes, list[int]]:
        """The terms of each tuple of attributes; numbers have several, at several resolutions."""
        terms, owners = self.model.plan.terms, self.encoding.attributes
        found: dict[Attributes, list[int]] = {}
        for term in range(len(terms)):
            attributes = tuple(sorted(owners[list(terms.tuple(term))].tolist()))
            if len(set(attributes)) < len(attributes):
                raise ValueError("A tuple that joins an attribute with itself has no effects.")
            found.setdefault(attributes, []).append(term)
        return found

    @cached_property
    def _finest(self) -> dict[Attributes, tuple[int, ...]]:
        """The finest code columns of the terms of each tuple of attributes."""
        terms = self.model.plan.terms
        found = {}
        for attributes, own in self._terms.items():
            columns = [sorted(terms.tuple(term)) for term in own]
            found[attributes] = tuple(map(self.encoding.finest_of, zip(*columns, strict=True)))
        return found

    @cached_property
    def columns(self) -> dict[Attributes, tuple[int, ...]]:
        """The attributes of all effects, lower orders first, and the code columns of each."""
        found: dict[Attributes, tuple[int, ...]] = {}
        for attributes in self._terms:
            finest = dict(zip(attributes, self._finest[attributes], strict=True))
            for subset in subsets(attributes):
                columns = tuple(finest[i] for i in subset)
                both = zip(columns, found.get(subset, columns), strict=True)
                found[subset] = tuple(map(self.encoding.finest_of, both))
        return {key: found[key] for key in sorted(found, key=lambda key: (len(key), key))}

    @property
    def n_cells(self) -> int:
        """About how many cells are held at a time: of effects inside larger ones, and of one."""
        terms, sizes = self.model.plan.terms, self.encoding.cardinalities
        within: dict[Attributes, float] = {}
        largest = 0.0
        for attributes, own in self._terms.items():
            dense = any(not terms.is_compact[term] for term in own)
            space = np.prod(sizes[list(self._finest[attributes])] + 1.0)
            cells = float(space if dense else sum(terms.sizes[term] for term in own))
            largest = max(largest, cells)
            for part in subsets(attributes):
                if part != attributes:
                    within[part] = within.get(part, 0.0) + cells
        spaces = {part: np.prod(sizes[list(self.columns[part])] + 1.0) for part in within}
        return int(sum(min(cells, spaces[part]) for part, cells in within.items()) + largest)

    @property
    def class_log_odds(self) -> np.ndarray:
        """The log odds of classes without any attribute, (K,)."""
        return self._log_odds(np.asarray(self.model.class_scores, np.float64)[None])[0]

    @cached_property
    def _received(self) -> tuple[np.ndarray, dict[Attributes, JointScores]]:
        """The intercept, and the means of larger tables that effects receive."""
        intercept = self.class_log_odds
        received: dict[Attributes, JointScores] = {}
        for attributes in self._terms:
            own, shared = self._own(attributes)
            finest = dict(zip(attributes, self._finest[attributes], strict=True))
            for subset, mean in self._means(attributes, own):
                columns = tuple(finest[i] for i in subset)
                if not subset:
                    intercept = intercept + mean.values + shared
                    continue
                parts = [self._refine(mean, columns, subset)]
                if shared.any():
                    parts.append(self._unseen(subset, shared))
                if subset in received:
                    parts.append(received[subset])
                received[subset] = add_scores(parts)
        return intercept, received

    def _means(
        self, attributes: Attributes, scores: JointScores
    ) -> Iterator[tuple[Attributes, JointScores]]:
        """Return the means of a table given fewer of its attributes, down to none."""
        columns = dict(zip(attributes, self._finest[attributes], strict=True))
        means = {attributes: scores}
        for order in reversed(range(len(attributes))):
            for subset in combinations(attributes, order):
                # A mean of a mean over one attribute less, whichever.
                left = next(i for i in attributes if i not in subset)
                whole = tuple(i for i in attributes if i in subset or i == left)
                kept = tuple(axis for axis, i in enumerate(whole) if i != left)
                weights = self._weights(tuple(columns[i] for i in whole))
                means[subset] = means[whole].mean(kept, weights)
                yield subset, means[subset]

    @property
    def intercept(self) -> np.ndarray:
        """The mean of log odds, (K,)."""
        return self._received[0]

    def effect(self, attributes: Attributes) -> Effect:
        """Return the effect of a tuple of attributes, ascending."""
        parts: list[JointScores] = []
        if attributes in self._received[1]:
            parts.append(self._received[1][attributes])
        if attributes in self._terms:
            own, shared = self._own(attributes)
            parts.append(self._refine(own, self._finest[attributes], attributes))
            if shared.any():
                parts.append(self._unseen(attributes, shared))
        columns = self.columns[attributes]
        return Effect.of(attributes, columns, add_scores(parts), self._weights(columns))

    def effects(self) -> Iterator[Effect]:
        """Go through all effects, lower orders first."""
        return map(self.effect, self.columns)

    def _own(self, attributes: Attributes) -> tuple[JointScores, np.ndarray]:
        """Return the tables of a tuple of attributes as one, by its finest codes.

        Also the score (K,) that other joint values of seen values have beside it, in compact ones.
        """
        shared = np.zeros(self.n_outputs)
        finest = self._finest[attributes]
        parts: list[JointScores] = []
        for term in self._terms[attributes]:
            scores, rest = self._term(term)
            columns = tuple(sorted(self.model.plan.terms.tuple(term)))
            parts.append(self._regrid(scores, columns, finest))
            shared = shared + rest
        return add_scores(parts), shared

    def _term(self, term: int) -> tuple[JointScores, np.ndarray]:
        """Return the table of one term, its columns ascending, and the score of other cells."""
        terms = self.model.plan.terms
        own = terms.tuple(term)
        columns = tuple(sorted(own))
        shape = tuple(int(v) + 1 for v in terms.cardinalities[list(columns)])
        scores = self._log_odds(self.model.scores[self.model.cells_of(term)])
        if terms.is_compact[term]:
            codes = self.model.seen_values(term, columns)
            listed = SparseScores.of(shape, codes, scores[:-1] - scores[-1])
            return listed, scores[-1]
        values = np.zeros((*shape, self.n_outputs))
        table = scores.reshape(*terms.cardinalities[list(own)], self.n_outputs)
        inside = tuple(slice(size - 1) for size in shape)
        values[inside] = table.transpose(*[own.index(c) for c in columns], len(own))
        return DenseScores(values), np.zeros(self.n_outputs)

    def _log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Return the log odds (n, K) of scores (n, C), which rows are scored with."""
        relative = (scores[:, 1:] - scores[:, :1]).astype(np.float64)
        if self.n_outputs == 1:
            return relative
        full = np.zeros(scores.shape)
        full[:, 1:] = relative
        return full - (relative.sum(axis=1) / self.n_outputs)[:, None]

    def _weights(self, columns: tuple[int, ...]) -> list[np.ndarray]:
        return [self.marginals.probabilities[c] for c in columns]

    def _refine(
        self, scores: JointScores, columns: tuple[int, ...], attributes: Attributes
    ) -> JointScores:
        """Return scores by the codes that the effect of these attributes has."""
        return self._regrid(scores, columns, self.columns[attributes])

    def _regrid(
        self, scores: JointScores, coarse: tuple[int, ...], fine: tuple[int, ...]
    ) -> JointScores:
        """Return scores by the codes of finer columns."""
        if coarse == fine:
            return scores
        sizes = self.encoding.cardinalities
        bins = [
            np.append(self.encoding.bins_within(*pair), sizes[pair[0]])  # never seen in either
            for pair in zip(coarse, fine, strict=True)
        ]
        cells = np.prod([len(inside) for inside in bins], dtype=np.float64)
        if isinstance(scores, DenseScores) and cells > MAX_DENSE:
            names = [self.encoding.columns[c].name for c in fine]
            raise ValueError(
                f"The effect of {names} would have {cells:,.0f} cells. Fit with "
                'bins="mdl" or a smaller n to explain the model.'
            )
        return scores.refined(bins)

    def _unseen(self, attributes: Attributes, shared: np.ndarray) -> SparseScores:
        """Return what a score of all seen values is worth where none of these values was seen."""
        shape = tuple(int(self.encoding.cardinalities[c]) + 1 for c in self.columns[attributes])
        last = np.array([int(np.prod(shape, dtype=np.int64)) - 1])
        return SparseScores(shape, last, (-1.0) ** len(attributes) * shared[None])


def subsets(attributes: Attributes) -> Iterator[Attributes]:
    """List all subsets but the empty one, smaller ones first."""
    for order in range(1, len(attributes) + 1):
        yield from combinations(attributes, order)
