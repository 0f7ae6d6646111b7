"""What KDB and TAN share: a learned structure, counted, or with weights fitted to it."""

from abc import abstractmethod
from typing import Any

from deepbroad.data.encoding import Encoding
from deepbroad.data.labels import Labels
from deepbroad.data.source import Source
from deepbroad.engine.training import Training
from deepbroad.estimators.discriminative import DiscriminativeClassifier
from deepbroad.estimators.parameters import check_choice, check_depth
from deepbroad.estimators.prepared import Coded, Prepared
from deepbroad.kernels.threads import Threads
from deepbroad.model.family import Family
from deepbroad.model.scores import ScoreTables
from deepbroad.model.structure import Parents, children_of, parents_of, structure_terms
from deepbroad.model.terms import Terms

# What only a solver leaves behind.
_OF_SOLVER = (
    "n_evaluations_",
    "loss_",
    "loss_curve_",
    "evaluation_curve_",
    "status_",
    "temperature_",
)


class StructuredClassifier(DiscriminativeClassifier):
    """Base of the classifiers with one table per attribute: its values given its parents'.

    Their parameters are those of `DBLClassifier`, and `fitting`, which tells whether weights are
    fitted at all.
    """

    fitting: str
    shrink_to: str

    # Tuples are chosen by the structure alone.
    terms = None
    max_terms = None
    # A compact table has one cell for all joint values that training never had, whoever their
    # parents are. There are few tables, so these may well be dense and have a cell for each.
    _small_table = 1 << 18

    @abstractmethod
    def _learn_parents(self, source: Source, threads: Threads) -> Parents:
        """Return the code columns that each code column depends on beside the class."""

    @property
    def _solved(self) -> bool:
        return self.fitting == "discriminative"

    @property
    def _history(self) -> int:  # type: ignore[override]
        return super()._history if self._solved else 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("fitting", self.fitting, ["generative", "discriminative"])
        check_choice("shrink_to", self.shrink_to, ["generative", "zero"])

    def _read_depth(self, n_features: int) -> int:
        return check_depth(1, n_features)

    def _choose_terms(self, coded: Coded) -> tuple[Terms | None, Any]:
        parents = self._learn_parents(coded.source, coded.threads)
        return structure_terms(parents, coded.encoding.cardinalities), parents

    def _fit_tables(self, training: Training, prepared: Prepared) -> ScoreTables:
        if self._solved:
            return super()._fit_tables(training, prepared)
        for name in _OF_SOLVER:
            self.__dict__.pop(name, None)  # of an earlier fit
        return training.generative(children_of(training.plan.terms))

    def _family(self, training: Training, prepared: Prepared) -> Family:
        return Family(
            generative=True,
            strength=float(self.alpha),
            target=1.0 if self.shrink_to == "generative" else 0.0,
            children=children_of(training.plan.terms),
        )

    def _keep(self, labels: Labels, encoding: Encoding, tables: ScoreTables) -> None:
        # A file may hold terms that are no structure's.
        parents = parents_of(tables.plan.terms)
        super()._keep(labels, encoding, tables)
        if not hasattr(self, "loss_"):
            self.n_iter_ = 1  # counting; scikit-learn wants one of whatever has a max_iter
        names = [column.name for column in encoding.columns]
        self.parents_ = {
            name: tuple(names[c] for c in given) for name, given in zip(names, parents, strict=True)
        }
