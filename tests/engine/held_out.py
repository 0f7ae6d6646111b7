"""A small training set with folds, and models on them in two ways."""

import numpy as np

from deepbroad.engine.validation import Validation, stratified_folds
from deepbroad.model.family import Family
from deepbroad.model.strengths import Strengths
from deepbroad.solvers import LBFGS
from tests import naive_hierarchy
from tests.engine.hierarchies import draw_nested, read_model, single_plan, train
from tests.engine.problems import ONE_THREAD

EXACT = LBFGS(max_iter=5000, tol=1e-12)
LEVELS = (2, 1)


class Case:
    """A training set with folds, and models on them in two ways."""

    def __init__(self, *, to_generative=False, weighted=True, min_count=1, seed=0):
        self.problem = draw_nested(seed, rows=45, weighted=weighted)
        self.levelled = self.problem.levelled(LEVELS)
        self.plan = single_plan(self.problem, self.levelled.terms)
        self.min_count = min_count
        family = Family(
            generative=True,
            strength=0.0,
            target=float(to_generative),
            by_score=True,
            backs_off=True,
        )
        self.family = family.shared_out(self.levelled.shares, 0.0)
        self.held = stratified_folds(self.problem.labels, 3, np.random.default_rng(seed))

    def validation(self, held=None, **options):
        return Validation(
            self.problem.source(),
            self.plan,
            self.family,
            self.held if held is None else held,
            smoothing=1.0,
            min_count=self.min_count,
            threads=ONE_THREAD,
            **options,
        )

    def parts(self, rows):
        """Return the rows that are trained on, and those that are held out."""
        rest = np.setdiff1d(np.arange(len(self.problem.labels)), rows)
        return self.problem.rows(rest), self.problem.rows(rows)

    def fit(self, problem, strength):
        """Return the model of some rows by a training set of its own."""
        family = self.family.shared_out(np.ones(len(strength)), strength)
        training = train(problem, self.plan, min_count=self.min_count)
        return training, training.discriminative(family, EXACT)[0]

    def by_hand(self, strengths):
        """Return the held-out loss of a model per fold, each with its strengths."""
        losses = []
        for rows, strength in zip(self.held, strengths, strict=True):
            rest, held = self.parts(rows)
            model = self.fit(rest, strength)[1]
            losses.append(naive_hierarchy.log_loss(*read_model(model), held))
        return sum(loss for loss, _ in losses) / sum(weight for _, weight in losses)

    def per_term(self, *by_order, growth=1.3):
        return Strengths(by_order, growth).per_term(self.levelled)
