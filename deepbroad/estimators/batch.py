"""A batch of rows on its way into a stream: checked, and coded together with those before."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from deepbroad.data.cuts import Edges
from deepbroad.data.encoding import Encoding
from deepbroad.data.encoding_union import encode_more, unite_labels
from deepbroad.data.labels import Labels
from deepbroad.data.names import list_names, suggest
from deepbroad.data.table import Table
from deepbroad.data.weights import count_rows, read_weights
from deepbroad.engine.stream import Batch, Stream
from deepbroad.estimators.parameters import check_total, weigh_classes


class Given(NamedTuple):
    """A batch as users give it; `count_levels` or `edges` cut the numbers of a first."""

    table: Table
    y: Any
    classes: Any
    sample_weight: Any
    class_weight: Any
    categorical_features: Any
    count_levels: Callable[[int], int]
    edges: Edges | None = None


def read_batch(given: Given, stream: Stream | None) -> tuple[Batch, bool] | None:
    """Return the batch in codes, and whether the classes were announced by now.

    None for rows without any weight, which are as if absent; ValueError if they are the first.
    """
    table = given.table
    weights = read_weights(given.sample_weight, table.n_rows, is_part=stream is not None)
    known, announced = read_classes(given.classes, stream)
    if weights is not None and not weights.any():
        return None
    seen, codes = Labels.fit(given.y, weights)
    if given.class_weight:
        all_labels = seen if known is None else unite_labels(known, seen)
        if not announced:
            # Classes that have weights of their own may be yet to come.
            all_labels = unite_labels(all_labels, Labels.fit(list(given.class_weight))[0])
        codes = all_labels.encode(seen.classes)[codes]
        weights = weigh_classes(given.class_weight, all_labels, codes, weights)
        if stream is not None and weights is not None and not weights.any():
            return None
        # A class of weight 0 is as if absent.
        seen, codes = Labels.fit(given.y, weights)
    if weights is not None:
        check_total(weights, is_part=stream is not None)
    labels = join_classes(known, seen, announced=announced)
    codes = labels.encode(seen.classes)[codes]
    counted = None if weights is None or weights.all() else weights > 0
    if stream is None:
        encoding, columns = Encoding.fit(
            table,
            codes,
            labels.n_classes,
            weights,
            categorical_features=given.categorical_features,
            levels=given.count_levels(count_rows(weights, table.n_rows)),
            edges=given.edges,
        )
    else:
        encoding, columns = encode_more(
            stream.encoding, table, counted, categorical_features=given.categorical_features
        )
    if counted is not None and weights is not None:
        columns = np.ascontiguousarray(columns[:, counted])
        codes, weights = codes[counted], weights[counted]
    source = encoding.as_source(columns, codes, weights, labels.n_classes)
    return Batch(labels, encoding, source), announced


def read_classes(classes: Any, stream: Stream | None) -> tuple[Labels | None, bool]:
    """Return the classes known before a batch, and whether they are all that may come."""
    known = None if stream is None else stream.labels
    announced = stream is not None and stream.announced
    if classes is None:
        return known, announced
    given, _ = Labels.fit(classes)
    if known is not None:
        same = all(given.code_of(label) is not None for label in known.classes)
        if not same or (announced and given.n_classes != known.n_classes):
            # In the words of scikit-learn.
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{known.classes!r}"
            )
    return given, True


def join_classes(known: Labels | None, seen: Labels, *, announced: bool) -> Labels:
    """Return the classes with those of a batch; ValueError for what was not announced."""
    labels = seen if known is None else known
    if known is not None and not announced:
        labels = unite_labels(known, seen)
    new = [label for label in seen.classes.tolist() if labels.code_of(label) is None]
    if new:
        raise ValueError(
            f"y has the classes {list_names(new, 5)}, which `classes` did not announce. "
            f"{suggest(new[0], labels.classes.tolist(), 'announced classes')}"
        )
    if labels.n_classes < 2:
        raise ValueError(
            "A classifier needs at least 2 classes, and the batches so far have one class: "
            f"{labels.classes.tolist()[0]!r}. Announce all with `classes`."
        )
    return labels
