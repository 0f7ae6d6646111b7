"""A table in files, larger than memory if it must be: fit, go on after a kill, predict in batches.

python examples/big_files.py [ROWS]
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from deepbroad import DBLClassifier
from deepbroad.datasets import poker_hand

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
folder = Path("hands")
folder.mkdir(exist_ok=True)
for part in range(4):
    X, y = poker_hand(rows // 4, seed=part, return_X_y=True)
    pq.write_table(X.append_column("hand", [y]), folder / f"part-{part}.parquet")

# Tables and strengths are chosen on some of the rows. One file has enough of them.
recipe = DBLClassifier(n=2).fit(folder / "part-0.parquet", y="hand").recipe_
print(recipe)

# A few passes of stochastic descent, as many as held-out rows allow. After a kill, the fit goes on
# from its checkpoint when it is run again.
model = DBLClassifier(
    recipe=recipe, solver="sgd", memory_limit="512MB", checkpoint="hands.checkpoint"
)
model.fit(folder, y="hand")
print(f"{model.n_iter_} passes, held-out loss {model.loss_:.4f}, {model.status_}")

# L-BFGS goes on from there to the minimum itself.
model.set_params(solver="lbfgs", warm_start=True, max_iter=200).fit(folder, y="hand")
print(f"{model.n_iter_} iterations, loss {model.loss_:.4f}, {model.status_}")

sure = sum(int((batch.max(axis=1) > 0.9).sum()) for batch in model.iter_proba(folder))
print(f"{sure:,} of {rows:,} hands have a class with a probability above 0.9")
assert np.isfinite(model.loss_)
