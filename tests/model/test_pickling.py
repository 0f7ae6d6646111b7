import pickle

import numpy as np

from deepbroad.model.groups import Group
from deepbroad.model.plan import Plan
from deepbroad.model.terms import Terms


def test_a_pickle_leaves_out_what_was_only_cached():
    terms = Terms.of_order(2, np.array([2, 3, 4]))
    groups = tuple(Group.single(c, v) for c, v in enumerate((2, 3, 4)))
    plan = Plan.of(terms, groups)
    before = len(pickle.dumps(plan))
    joint, missing = np.empty(4, np.uint8), np.zeros(4, bool)
    groups[0].encode(np.zeros((3, 4), np.uint8), joint, missing)
    assert plan.program.steps.size > 0
    assert plan.index.offsets.size > 0
    assert len(pickle.dumps(plan)) == before
    copy = pickle.loads(pickle.dumps(plan))
    np.testing.assert_array_equal(copy.program.steps, plan.program.steps)
