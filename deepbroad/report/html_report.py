"""One HTML file about a model and some rows: how good it is, where it is weak, and why."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepbroad.engine.tensor_file import write_atomically
from deepbroad.report import canvas
from deepbroad.report.effect_data import choose_rows, describe_effects, describe_rows
from deepbroad.report.label import cut
from deepbroad.report.quality import reliabilities, thin, trace_curves
from deepbroad.report.scored_rows import ScoredRows, score_rows
from deepbroad.report.summary import (
    is_training_table,
    summarise_confusions,
    summarise_data,
    summarise_measures,
    summarise_settings,
    summarise_slices,
)
from deepbroad.report.web_page import fill_page

MOST_CLASSES = 20


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
) -> Path:
    """Write a report on a model, measured on some rows, as one HTML file.

    It has a summary of the data, the settings and what an automatic choice tried, the loss curve,
    the confusion matrix, a reliability diagram, ROC and precision-recall curves of two classes,
    the values of attributes at which the model is weak, the effects to look through class by class,
    and some rows with what each effect adds. Nothing is loaded from anywhere: it works offline, in
    print and on a phone. Its size is bounded, and it says what was left out.

    Parameters
    ----------
    model : a classifier of this package
        Fitted. An AnDE has no effects, and its report neither.
    X : table of shape (n_samples, n_features), or path
        Rows to measure on, as for `predict`: better not the training rows, whose measures flatter;
        the report says so if it recognises them.
    y : array-like of shape (n_samples,), or str
        Their classes; the name of a column where X is in files.
    path : str or os.PathLike
        The file to write, such as "report.html".
    title : str, optional
        Heading of the page.

    Returns
    -------
    path : pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from deepbroad import LRClassifier
    >>> from deepbroad.report import write_report
    >>> X = [["a", "p"], ["a", "q"], ["b", "p"], ["b", "q"]] * 10
    >>> y = ["same", "other", "other", "same"] * 10
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(LRClassifier(n=2).fit(X, y), X, y, folder + "/report.html")
    ...     "reliability" in page.read_text(encoding="utf-8")
    True
    """
    check_is_fitted(model, "classes_")
    rows = score_rows(model, X, y)
    shown = _most_frequent_classes(rows, len(model.classes_))
    names = [cut(label) for label in model.classes_.tolist()]
    own = [names[c] for c in shown]
    title = title or f"{type(model).__name__}: report"
    sections = {
        "measures": summarise_measures(rows, len(names)),
        "data_summary": summarise_data(model, rows, own, shown),
        "settings": summarise_settings(model),
        "confusions": summarise_confusions(rows, shown, own, len(names)),
        "slices": summarise_slices(model, rows),
    }
    data = {
        "look": {"up": canvas.UP, "down": canvas.DOWN, "grey": canvas.GREY, "pale": canvas.PALE}
        | {"colours": canvas.COLOURS},
        "names": names,
        "classes": shown.tolist(),
        "loss": _loss_curve(model),
        "reliability": reliabilities(rows, shown, own),
        "curves": trace_curves(rows),
        **_explain(model, rows, shown),
    }
    page = fill_page(title, _introduce(model, rows), sections, data)
    path = Path(path)
    text = page.encode("utf-8", errors="replace")  # lone surrogates are no text
    write_atomically(path, lambda file: file.write(text))
    return path


def _most_frequent_classes(rows: ScoredRows, n_classes: int) -> np.ndarray:
    """Return the numbers of the classes that the page shows, ascending."""
    counts = np.bincount(rows.y, minlength=n_classes)
    return canvas.most_frequent(counts, MOST_CLASSES)


def _introduce(model: Any, rows: ScoredRows) -> list[str]:
    """Return what to know before reading: which model, which rows, and whether it knew them."""
    said = (
        f"{type(model).__name__} with {len(model.classes_):,} classes and "
        f"{model.n_features_in_:,} attributes, measured on {len(rows):,} rows."
    )
    if rows.stride > 1:
        said += f" They are every {rows.stride}th of the {rows.n_total:,} rows of the table."
    notes = [said]
    if is_training_table(model, rows):
        notes.append(
            "Caution: these seem to be the rows that the model was trained on, since every value "
            "is just as frequent. Its measures on new rows will be worse; see them by a report on "
            "rows that were held out, or by cross-validation (deepbroad evaluate)."
        )
    return notes


def _loss_curve(model: Any) -> list[list[float]]:
    """Return points of iteration and loss, none if the model was only counted."""
    curve = np.asarray(getattr(model, "loss_curve_", None) or [], np.float64)
    curve = curve[np.isfinite(curve)]
    return thin(np.column_stack([np.arange(len(curve)), curve])) if len(curve) > 1 else []


def _explain(model: Any, rows: ScoredRows, shown: np.ndarray) -> dict[str, Any]:
    """Return effects and explained rows; why there are none if the model has none."""
    # Model files of older versions do not know how frequent values were.
    background = "training" if model._frequencies is not None else "uniform"
    try:
        explanation = model.explain(background=background)
        described = describe_effects(explanation, shown)
        places = choose_rows(rows, 1 + len(explanation.effects), shown)
        explained = model._explain_codes(explanation, rows.codes[:, places])
    except (TypeError, MemoryError) as error:
        return {"unexplained": str(error)}
    return {
        **described,
        "attributes": [cut(name) for name in explained.names],
        "rows": describe_rows(explained, rows, places, shown),
        "n_rows": len(rows),
    }
