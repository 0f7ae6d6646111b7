"""Tables of typed columns, as files hold them, and what the route of memory makes of them."""

import datetime
import shutil
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
from hypothesis import strategies as st

from deepbroad.data.encoding import Encoding
from deepbroad.data.labels import Labels
from deepbroad.data.table import read_table
from deepbroad.data.weights import count_rows
from deepbroad.estimators.parameters import class_factors, ignored_classes, weigh_classes

DAY = datetime.date(2020, 2, 28)
# CSV, too, reads them as these types, and as missing what is None here.
PLAIN = {
    pa.string(): ["red", "green", "blue", "ä,b", None],
    pa.int64(): [1, 2, 3, -4, None],
    pa.float64(): [0.5, 1.5, 2.25, -3.5, 1e300, None],
    pa.bool_(): [True, False, None],
    pa.date32(): [DAY + datetime.timedelta(days=i) for i in (0, 1, 40)] + [None],
}
OTHERS = {
    pa.int8(): [0, 1, 7],
    pa.float32(): [0.5, 1.0, float("nan"), float("inf"), None],
    pa.null(): [None],
    pa.dictionary(pa.int8(), pa.string()): ["a", "b", "never", None],
    pa.timestamp("ms"): [datetime.datetime(2021, 5, 1, hour) for hour in (0, 3, 9)] + [None],
}
LABELS = {pa.string(): ["no", "yes", "maybe"], pa.int64(): [3, 1, 2], pa.bool_(): [False, True]}


class Case(NamedTuple):
    """A table with its labels and weights, and settings of a fit."""

    table: pa.Table  # with the columns "class", the last but one, and "weight", the last
    weighted: bool
    class_weight: Any
    categorical: Any
    levels: int

    @property
    def names(self) -> list[str]:
        return self.table.column_names[:-2]

    @property
    def ignored(self) -> list[Any]:
        return ignored_classes(self.class_weight)

    @property
    def weights(self) -> np.ndarray | None:
        return self.table["weight"].to_numpy() if self.weighted else None

    @property
    def finishing(self) -> dict[str, Any]:
        """What `TableSketch.finish` takes."""
        return {
            "weigh": partial(class_factors, self.class_weight),
            "count_levels": lambda rows: self.levels and 1 + rows % 3,
        }

    def in_memory(self):
        """Return labels, encoding, codes, class codes and weights of the whole table."""
        y, weights = self.table["class"], self.weights
        labels, codes = Labels.fit(y, weights)
        weights = weigh_classes(self.class_weight, labels, codes, weights)
        if weights is not None and not weights.all():
            labels, codes = Labels.fit(y, weights)
        rows = count_rows(weights, len(codes))
        encoding, columns = Encoding.fit(
            read_table(self.table.select(self.names)),
            codes,
            labels.n_classes,
            weights,
            categorical_features=self.categorical,
            levels=self.finishing["count_levels"](rows),
        )
        return labels, encoding, columns, codes, weights


@st.composite
def cases(draw, kinds=None, min_rows=1, max_rows=14):
    """Tables of a few typed columns."""
    kinds = {**PLAIN, **OTHERS} if kinds is None else kinds
    n = draw(st.integers(min_rows, max_rows))
    columns = {}
    for i, kind in enumerate(draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=4))):
        cells = draw(st.lists(st.sampled_from(kinds[kind]), min_size=n, max_size=n))
        columns[f"c{i}"] = pa.array(cells, kind)
    names = list(columns)
    kind = draw(st.sampled_from(list(LABELS)))
    labels = draw(st.lists(st.sampled_from(LABELS[kind]), min_size=n, max_size=n))
    weights = draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0]), min_size=n, max_size=n))
    weights[0] = 2.0
    columns |= {"class": pa.array(labels, kind), "weight": pa.array(weights)}
    class_weight = draw(
        st.sampled_from(
            [None, "balanced", {labels[0]: 2.0, "unseen": 3.0}]
            # Were no class of weight among them, both routes would refuse.
            + [{labels[0]: 1.0, label: 0.0} for label in LABELS[kind] if label != labels[0]]
        )
    )
    categorical = draw(st.sampled_from(["auto", None, names[:1], names]))
    return Case(
        pa.table(columns),
        draw(st.booleans()),
        class_weight,
        categorical,
        draw(st.sampled_from([0, 0, 1])),
    )


def write(folder, table, suffix, sizes, rows):
    """Write a table to files of the given sizes, the last of which has the rest; return a path.

    Blocks within a file have `rows` rows. One file is returned by itself, several as their folder.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    bounds = [0, *np.minimum(np.cumsum(sizes, dtype=int), len(table)).tolist(), len(table)]
    parts = [table.slice(low, high - low) for low, high in pairwise(bounds) if low < high]
    for i, part in enumerate(parts):
        path = folder / f"part-{i}.{suffix}"
        match suffix:
            case "parquet":
                pq.write_table(part, path, row_group_size=rows)
            case "feather":
                feather.write_feather(part, path, chunksize=rows)
            case "arrow":
                with pa.ipc.new_stream(path, part.schema) as writer:
                    writer.write_table(part, max_chunksize=rows)
            case _:
                with (
                    pa.CompressedOutputStream(path, "gzip")
                    if suffix.endswith("gz")
                    else (pa.OSFile(str(path), "wb")) as stream
                ):
                    separator = "\t" if suffix == "tsv" else ","
                    pa.csv.write_csv(part, stream, pa.csv.WriteOptions(delimiter=separator))
    return folder if len(parts) > 1 else path
