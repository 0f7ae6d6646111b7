"""What DBL and LR share of `partial_fit`: scores that each batch moves."""

from deepbroad.data.source import ArraySource
from deepbroad.engine.estimate import estimate_fit
from deepbroad.engine.online import Before, Learned, learn_batch
from deepbroad.engine.provision import Provision
from deepbroad.engine.stream import Batch, Stream
from deepbroad.engine.training import Training
from deepbroad.estimators.discriminative import (
    PRECONDITIONING,
    DiscriminativeClassifier,
    log_progress,
)
from deepbroad.estimators.parameters import check_callbacks
from deepbroad.estimators.prepared import Prepared
from deepbroad.estimators.streamed import StreamedClassifier
from deepbroad.model.family import Family
from deepbroad.model.loss import LOG_LOSS
from deepbroad.model.scores import ScoreTables
from deepbroad.solvers import LBFGS

# Iterations for each batch after the first: the next one moves scores again, and the sway that a
# closer minimum brings with it costs more than it gains.
ITERATIONS = 10


class StreamedDiscriminative(StreamedClassifier, DiscriminativeClassifier):
    """Base of the classifiers that minimise a loss and have `partial_fit`."""

    _learned: Learned | None = None
    _stream_family: Family | None = None  # of the first batch: strengths stay what they are

    def _fit_tables(self, training: Training, prepared: Prepared) -> ScoreTables:
        self._is_of_fit = True
        self._describe_structure(prepared)
        return DiscriminativeClassifier._fit_tables(self, training, prepared)

    def _check_stream(self) -> None:
        super()._check_stream()
        if self.loss != LOG_LOSS.name:
            raise ValueError(f'partial_fit has loss="{LOG_LOSS.name}" alone, not {self.loss!r}.')
        if self.checkpoint is not None:
            raise ValueError("partial_fit has no checkpoint: pickle the model between batches.")

    @property
    def _held_bytes(self) -> int:
        learned = 0 if self._stream is None or self._learned is None else self._learned.nbytes
        return super()._held_bytes + learned

    def _join_tables(
        self, training: Training, source: ArraySource, before: Stream | None, batch: Batch
    ) -> ScoreTables:
        if before is None or self._learned is None or self._stream_family is None:
            self._stream_family = self._first_family(training, source, batch)
            known, most = None, int(self.max_iter)
        else:
            plan, min_count = training.plan, self._cell_count
            known = Before.of(before, self._learned, plan, batch, min_count)
            most = min(int(self.max_iter), ITERATIONS)
        solver = LBFGS(
            max_iter=most,
            tol=float(self.tol),
            history=self._history,
            preconditioning=PRECONDITIONING.get(self.solver, LBFGS.preconditioning),
        )
        callbacks = check_callbacks(self.callbacks)
        if self.verbose:
            callbacks.append(log_progress)
        self._learned, tables, solution = learn_batch(
            training, source, self._stream_family, solver, known, callbacks
        )
        self.temperature_ = 1.0
        self._hold(solution)
        return tables

    def _first_family(self, training: Training, source: ArraySource, batch: Batch) -> Family:
        """Return the arrays of the model, strengths among them, as a fit to the batch has them."""
        plan, history, threads = training.plan, self._history, training.threads
        estimate = estimate_fit(batch.source, plan, history=history, n_threads=threads.count)
        provision = Provision(plan, estimate, history, len(plan.terms))
        depth = self._read_depth(len(batch.encoding.names))
        prepared = Prepared(
            batch.labels, batch.encoding, batch.source, provision, depth, self._structure
        )
        self._describe_structure(prepared)
        return self._family(training, prepared)

    def _describe_structure(self, prepared: Prepared) -> None:
        """Set the attributes that tell what was chosen."""
