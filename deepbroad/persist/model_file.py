"""Models into files and out of them again, each part checked before anything is built of it."""

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

import deepbroad
from deepbroad.data.encoding import Encoding
from deepbroad.data.frequencies import Frequencies
from deepbroad.data.labels import Labels
from deepbroad.data.printable import printable
from deepbroad.engine.memory import format_bytes, parse_limit
from deepbroad.engine.tensor_file import parse_json
from deepbroad.estimators import (
    AnDEClassifier,
    AnJEClassifier,
    DBLClassifier,
    KDBClassifier,
    LRClassifier,
    TANClassifier,
)
from deepbroad.estimators.base import TableClassifier
from deepbroad.estimators.read_only import read_only
from deepbroad.estimators.selection import Selection
from deepbroad.kernels.vector import lane_count
from deepbroad.model.plan import Plan
from deepbroad.model.recipe import Recipe
from deepbroad.persist import values
from deepbroad.persist.cells import MAX_GROWTH, as_bits, pack_cells, unpack_cells
from deepbroad.persist.container import Stamp, pack_file, unpack_file, write_file
from deepbroad.persist.error import ModelFileError
from deepbroad.persist.plans import SPARE_BYTES, pack_plan, prediction_bytes, unpack_plan
from deepbroad.persist.tensors import Tensors


class Kind(NamedTuple):
    """An estimator that files may hold, and what its fit sets beside the model itself.

    `optional`: a fit that only counts sets none of that.
    """

    estimator: type[TableClassifier]
    facts: Mapping[str, type] = {}
    curves: tuple[str, ...] = ()
    optional: bool = False
    # What an automatic choice leaves, or None; files of versions that had no such thing lack it.
    reports: Mapping[str, type] = {}

    def of_fit(self, is_solved: bool) -> "Kind":
        """Return the kind of one fit, by whether it had a solver."""
        return self if is_solved or not self.optional else Kind(self.estimator)


_FACTS = {
    "n_iter_": int,
    "n_evaluations_": int,
    "loss_": float,
    "status_": str,
    "temperature_": float,
}
_CURVES = ("loss_curve_", "evaluation_curve_")
# Nothing but these is ever built, whatever a file asks for.
KINDS = {
    "AnDEClassifier": Kind(AnDEClassifier),
    "AnJEClassifier": Kind(AnJEClassifier),
    "DBLClassifier": Kind(
        DBLClassifier, _FACTS, _CURVES, reports={"selection_": Selection, "recipe_": Recipe}
    ),
    "KDBClassifier": Kind(KDBClassifier, _FACTS, _CURVES, optional=True),
    "LRClassifier": Kind(LRClassifier, _FACTS, _CURVES),
    "TANClassifier": Kind(TANClassifier, _FACTS, _CURVES, optional=True),
}
# Functions, which no file can hold, and a folder of the machine that fitted.
_LEFT_OUT = ("callbacks", "checkpoint")
# What reading a file that is no model may raise.
_UNREADABLE = (ValueError, TypeError, OverflowError, SyntaxError, RecursionError)


def save(model: TableClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    The file is a safetensors file: arrays and JSON, no code. It is smaller than a pickle, holds
    everything that predictions, `tables_` and another fit need, and appears whole or not at all.

    Parameters
    ----------
    model : a classifier of this package
        Fitted. Its `callbacks`, `checkpoint` and metadata requests are left out.
    path : str or os.PathLike
        Any name; ``.dbl`` is the custom. An older file of that name is replaced.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If the model is of another class.
    ModelFileError
        If the model has labels or parameters of types that cannot be written, such as intervals;
        or if what was written is not the same model when it is read back. The older file stays.

    See Also
    --------
    load : Read the model back.

    Examples
    --------
    >>> import deepbroad, tempfile, pathlib
    >>> X = [["sunny", "hot"], ["sunny", "cool"], ["rain", "cool"], ["rain", "hot"]]
    >>> model = deepbroad.DBLClassifier(n=2).fit(X, ["no", "yes", "yes", "no"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "weather.dbl"
    ...     deepbroad.save(model, path)
    ...     deepbroad.load(path).predict([["rain", "cool"]])
    array(['yes'], dtype='<U3')
    """
    name = type(model).__name__
    if name not in KINDS or type(model) is not KINDS[name].estimator:
        raise TypeError(f"deepbroad.save writes {', '.join(KINDS)}; got {name}.")
    check_is_fitted(model, "classes_")
    kind = KINDS[name].of_fit(hasattr(model, "loss_"))
    try:
        arrays = _describe(model, kind)
        data = pack_file(Stamp(deepbroad.__version__, name), arrays)
        _bytes_needed(model._scorer.model.plan, len(model.classes_), len(data))
        write_file(Path(path), data, partial(_check_written, kind=kind, arrays=arrays))
    except ModelFileError as error:
        raise ModelFileError(f"This {name} cannot be saved: {error}.") from None


def load(path: str | os.PathLike[str]) -> TableClassifier:
    """Read a model from a file that `save` wrote.

    Nothing in a file is ever run, so that files of strangers do no harm. Every part is checked
    first; a checksum tells whether a single bit changed.

    Parameters
    ----------
    path : str or os.PathLike
        The file.

    Returns
    -------
    model : a classifier of this package
        Fitted, with the same parameters (but `callbacks` and `checkpoint`) and, to the bit, the
        same predictions.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    IsADirectoryError
        If it is a folder.
    ModelFileError
        If it is no model file, truncated, damaged, changed, or of a format of another version.
    MemoryError
        If the model needs more memory than is free.

    See Also
    --------
    save : Write a model, with an example.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give a model file")
    try:
        return _read_model(path, parse_limit(None))
    except _UNREADABLE as error:
        raise ModelFileError(f"{path} cannot be loaded: {_clause(error)}.") from None


def _read_model(path: Path, free: float) -> TableClassifier:
    """Return the model of a file; MemoryError if it needs more than the `free` bytes."""
    data = path.read_bytes()
    stamp, arrays = unpack_file(data, version=deepbroad.__version__)
    if stamp.class_name not in KINDS:
        raise ModelFileError(
            f"it holds a {stamp.class_name:.60}, and this version knows {', '.join(KINDS)}"
        )
    return _build(stamp, Tensors(arrays), len(data), free)


def _check_written(path: Path, kind: Kind, arrays: dict[str, np.ndarray]) -> None:
    """Raise ModelFileError if the file of a model does not give a model of the same arrays.

    A model that does not fit into memory twice is saved all the same: its checksum must do.
    """
    try:
        again = _describe(_read_model(path, parse_limit(None)), kind)
    except MemoryError:
        return
    except _UNREADABLE as error:
        raise ModelFileError(f"what was written does not load again: {_clause(error)}") from None
    for name in arrays.keys() | again.keys():
        ours, theirs = arrays.get(name), again.get(name)
        if ours is None or theirs is None or not _is_same(ours, theirs):
            raise ModelFileError(f"{name!r} is not the same after it was read back")


def _clause(error: Exception) -> str:
    """Return what an error says, as a part of a sentence that is free of a file's own controls."""
    return printable(str(error)).removesuffix(".")


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two arrays are of the same type and shape, and of the same bits."""
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and np.array_equal(as_bits(one), as_bits(other))


def _describe(model: TableClassifier, kind: Kind) -> dict[str, np.ndarray]:
    """Return the arrays of a model, its description in JSON among them."""
    tables = model._scorer.model
    plan, tensors = pack_plan(tables.plan)
    facts = {name: to(getattr(model, name)) for name, to in kind.facts.items()}
    facts |= {name: getattr(model, name) for name in kind.reports}
    description = {
        "parameters": _write_parameters(model),
        "labels": _write_labels(model._labels),
        "encoding": model._encoding.to_dict(),
        "named": hasattr(model, "feature_names_in_"),
        "plan": plan,
        "fit": {name: values.to_json(fact) for name, fact in facts.items()},
    }
    text = json.dumps(description, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for curve in kind.curves:
        tensors[curve] = np.asarray(getattr(model, curve), np.float64)
    if model.term_gains_ is not None:
        tensors["term_gains"] = model.term_gains_
    known = model._frequencies
    tensors["frequencies"] = np.empty(0) if known is None else known.flat
    if not np.isfinite(tables.class_scores).all() or not np.isfinite(tables.scores).all():
        raise ModelFileError("its scores are not finite numbers")
    return {
        "json": np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8),
        "class_scores": tables.class_scores.astype(np.float64),
        **tensors,
        **pack_cells(tables),
    }


def _write_parameters(model: TableClassifier) -> dict[str, Any]:
    """Return the constructor's parameters as JSON."""
    written = {}
    for name, value in model.get_params(deep=False).items():
        try:
            if name not in _LEFT_OUT:
                written[name] = values.to_json(value)
        except ModelFileError as error:
            raise ModelFileError(f"its parameter {name!r}: {error}") from None
    return written


def _write_labels(labels: Labels) -> dict[str, Any]:
    """Return the classes as JSON that is known to give the same classes back."""
    try:
        data = labels.to_dict()
        again = Labels.from_dict(data).classes
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    ours = labels.classes
    same_types = [type(a) is type(b) for a, b in zip(ours, again, strict=True)]
    if ours.dtype != again.dtype or not all(same_types) or not np.array_equal(ours, again):
        kinds = ", ".join(sorted({type(label).__name__ for label in ours}))
        raise ModelFileError(
            f"class labels of type {kinds} cannot be written exactly; strings, numbers, booleans "
            "and dates to the microsecond can"
        )
    return data


def _build(stamp: Stamp, tensors: Tensors, file_size: int, free: float) -> TableClassifier:
    """Return the model of a file's arrays; MemoryError if it needs more than the `free` bytes."""
    kind = KINDS[stamp.class_name]
    match parse_json(tensors.take("json", ["uint8"], (None,)).tobytes()):
        case {
            "parameters": dict(parameters),
            "labels": dict(labels_data),
            "encoding": dict(encoding_data),
            "named": bool(named),
            "plan": dict(plan_data),
            "fit": dict(fit),
            **rest,
        } if not rest:
            pass
        case _:
            raise ModelFileError("its description has missing or unknown parts")
    model = _construct(kind, parameters)
    labels, encoding = Labels.from_dict(labels_data), Encoding.from_dict(encoding_data)
    if any(column.name != encoding.names[column.attribute] for column in encoding.columns):
        raise ModelFileError("its columns do not have the names of its attributes")
    if labels.n_classes < 2:
        raise ModelFileError("it has fewer than two classes")
    allowed_cells = MAX_GROWTH * file_size / (4 * labels.n_classes)
    plan = unpack_plan(plan_data, tensors, encoding.cardinalities, allowed_cells)
    needed = _bytes_needed(plan, labels.n_classes, file_size)
    if needed > free:
        raise MemoryError(
            f"This model needs {format_bytes(needed)}, but {format_bytes(free)} are free."
        )
    class_scores = tensors.take("class_scores", ["float64"], (labels.n_classes,))
    tables = unpack_cells(tensors, plan, class_scores)
    _set_fit(model, kind.of_fit(bool(fit)), fit, tensors)
    model.term_gains_ = None
    if "term_gains" in tensors:
        gains = tensors.take("term_gains", ["float64"], (len(plan.terms),))
        model.term_gains_ = read_only(gains)
    if stamp.format > 1:
        flat = tensors.take("frequencies", ["float64"], (None,))
        model._frequencies = Frequencies.from_flat(flat, encoding) if len(flat) else None
    tensors.finish()
    model.n_features_in_ = len(encoding.names)
    if named:
        model.feature_names_in_ = np.array(encoding.names, dtype=object)
    model._keep(labels, encoding, tables)
    return model


def _construct(kind: Kind, parameters: dict[str, Any]) -> TableClassifier:
    """Return the estimator, not fitted; parameters that an older version had not have defaults."""
    known = set(kind.estimator._get_param_names()) - {*_LEFT_OUT}
    if unknown := set(parameters) - known:
        raise ModelFileError(f"it has an unknown parameter {min(unknown)!r:.60}")
    return kind.estimator(**{name: values.from_json(data) for name, data in parameters.items()})


def _set_fit(model: TableClassifier, kind: Kind, fit: dict[str, Any], tensors: Tensors) -> None:
    """Set what the solver reported."""
    if not {*kind.facts} <= fit.keys() <= {*kind.facts, *kind.reports}:
        raise ModelFileError("what it says of its fit has missing or unknown parts")
    for name, wanted in kind.facts.items():
        fact = values.from_json(fit[name])
        if type(fact) is not wanted:
            raise ModelFileError(f"its {name} is no {wanted.__name__}")
        setattr(model, name, fact)
    for name, wanted in kind.reports.items():
        report = values.from_json(fit.get(name))
        if wanted is Selection and isinstance(report, dict):
            report = Selection(report)
        if not isinstance(report, wanted | None):
            raise ModelFileError(f"its {name} is no {wanted.__name__.lower()}")
        setattr(model, name, report)
    for name in kind.curves:
        setattr(model, name, tensors.take(name, ["float64"], (None,), finite=False).tolist())


def _bytes_needed(plan: Plan, n_classes: int, file_size: int) -> float:
    """Return the memory that a model needs at least; ModelFileError if its file is too small."""
    needed = prediction_bytes(plan, 4 * lane_count(n_classes - 1))
    if needed > SPARE_BYTES + MAX_GROWTH * file_size:
        raise ModelFileError(
            f"its file has {format_bytes(file_size)}, yet would need {format_bytes(needed)} to "
            "predict"
        )
    return needed + 4.0 * n_classes * plan.terms.n_cells
