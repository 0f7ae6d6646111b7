"""Settings of the automatic choice changed one at a time: log loss, fit time, number of tables.

A variant is text such as `shifted=False` or `rows=8000,folds=2`: fields of
`deepbroad.engine.choice.Settings` with the values that replace their defaults. Each data set and
seed has a process of its own, in which the choice as it is, called "all on", and every variant are
fitted once in turn, after an uncounted fit. Half of the rows train and half test; the splits have
seeds from 101 on, on which no setting was settled. Every fit adds a row to the file `--rows`; rows
that are there already are not computed again, so that another version needs another file.

The report has a line for each variant. Ratios are of the variant over "all on": below 1 in log loss
means that the variant is better. 1/(2N) of N test rows is added to both log losses, so that a loss
near 0 does not decide. A data set counts once: its seeds are averaged. Wins of the variant, draws
(log losses equal at four decimals) and losses come with a two-tailed sign test over data sets.

    python benchmarks/ablation.py --rows ablation.jsonl
    python benchmarks/ablation.py --rows ablation.jsonl --seeds 101 102 103
    python benchmarks/ablation.py --rows ablation.jsonl --variants share=1.0 rows=8000,folds=2
    python benchmarks/ablation.py --rows ablation.jsonl --report-only
"""

import argparse
import ast
import dataclasses
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from common import THREADS, append_line, geometric_mean, read_lines, split
from numpy.typing import NDArray
from peer_models import categorical_names
from peer_report import Tally, tally
from process import run_in_child

from deepbroad import DBLClassifier
from deepbroad.measures import measure

ALL_ON = "all on"
VARIANTS = (
    "shifted=False",
    "share=1.0",
    "start=1.0",
    "rounds=0",
    "orders=1",
    "orders=2",
    "orders=4",
    "folds=2",
    "rows=8000",
    "kept=50",
    "false_share=0.1",
    "unscreened=0.0",
    "certainty=0.0",
)
# Of all kinds: 300 to 67,557 rows; categories, numbers and both; 2 to 47 classes; with missing
# values; columns of thousands of values.
DATA = (
    "heart-cleveland",
    "dermatology",
    "primary-tumor",
    "house-votes-84",
    "cylinder-bands",
    "crx",
    "vehicle",
    "annealing",
    "tic-tac-toe",
    "vowel",
    "german",
    "cmc",
    "yeast",
    "car",
    "segment",
    "splice",
    "kr-vs-kp",
    "sick-euthyroid",
    "abalone",
    "spambase",
    "waveform-5000",
    "nettalk",
    "page-blocks",
    "satellite",
    "pendigits",
    "nursery",
    "magic",
    "letter",
    "amazon-employee-access",
    "bank-marketing-full",
    "electricity",
    "adult",
    "connect-4",
)
FEW_ROWS = 3_000  # training rows
SEEDS = (101, 102)

Key = tuple[str, int, str]
Rows = dict[Key, dict[str, Any]]


def default_settings() -> Any:
    """Return the settings of the default choice."""
    try:
        from deepbroad.engine.choice import Settings
    except ImportError:
        sys.exit("deepbroad.engine.choice has no Settings in this version: nothing to vary.")
    return Settings()


def fit_with(settings: Any, X: Any, y: NDArray[Any]) -> DBLClassifier:
    """Fit the default model with other settings of its choice."""
    from deepbroad.engine.choice import EFFORTS

    with patch.dict(EFFORTS, {"fast": settings}):
        return DBLClassifier(n_jobs=THREADS).fit(X, y)


def parse_variant(text: str) -> dict[str, Any]:
    """Return the fields of a variant and their values; "all on" has none."""
    if text == ALL_ON:
        return {}
    fields = {}
    # A comma within brackets is part of a value.
    call = ast.parse(f"f({text})", mode="eval").body
    if not isinstance(call, ast.Call) or call.args or not call.keywords:
        raise ValueError(f"{text!r} is no variant: give field=value, several with commas.")
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ValueError(f"{text!r} is no variant: give field=value, several with commas.")
        fields[keyword.arg] = ast.literal_eval(keyword.value)
    return fields


def apply_variant(settings: Any, text: str) -> Any:
    """Return the settings with the fields of a variant replaced."""
    variant = parse_variant(text)
    known = [field.name for field in dataclasses.fields(settings)]
    unknown = sorted(set(variant) - set(known))
    if unknown:
        raise ValueError(f"Settings has no field {unknown[0]!r}. All fields: {', '.join(known)}.")
    return dataclasses.replace(settings, **variant)


def run(name: str, seed: int, variants: Sequence[str], path: str) -> None:
    """Fit the variants to one split in this process and add their rows to the file."""
    warnings.simplefilter("ignore")
    data, settings = split(name, seed=seed), default_settings()
    n_text, n_features = len(categorical_names(data.X_train)), data.X_train.num_columns
    kinds = {0: "numeric", n_features: "categorical"}
    fit_with(settings, data.X_train, data.y_train)
    for variant in variants:
        row: dict[str, Any] = {"data": name, "seed": seed, "variant": variant, "status": "done"}
        row["train_rows"], row["test_rows"] = data.y_train.size, data.y_test.size
        row["kind"] = kinds.get(n_text, "mixed")
        try:
            start = perf_counter()
            model = fit_with(apply_variant(settings, variant), data.X_train, data.y_train)
            row["seconds"] = perf_counter() - start
            found = measure(
                data.y_test,
                model.predict_proba(data.X_test),
                classes=model.classes_,
                labels=data.labels,
            )
            row |= found._asdict() | {"tables": len(model.terms_)}
            row["depth"] = max((len(term) for term in model.terms_), default=0)
        except Exception as error:
            row |= {"status": "error", "note": f"{type(error).__name__}: {error}"[:200]}
        append_line(Path(path), row)


def read_rows(path: Path) -> Rows:
    """Return the rows of a file by data set, seed and variant; a later one replaces an earlier."""
    return {(row["data"], row["seed"], row["variant"]): row for row in read_lines(path)}


class Line(NamedTuple):
    """A variant against "all on", over data sets: ratios and the tally of its log losses."""

    n_sets: int
    log_loss: float
    seconds: float
    tables: float
    tally: Tally


def compare(rows: Rows, variant: str, names: Iterable[str]) -> Line:
    """Compare a variant with "all on" over the splits that both have finished."""
    ratios: dict[str, list[float]] = {"log_loss": [], "seconds": [], "tables": []}
    losses = []
    for name in names:
        pairs = [
            (row, base)
            for (data, seed, other), row in rows.items()
            if (data, other, row["status"]) == (name, variant, "done")
            and (base := rows.get((name, seed, ALL_ON), {})).get("status") == "done"
        ]
        if not pairs:
            continue
        for what, found in ratios.items():
            found.append(
                geometric_mean(figure(row, what) / figure(base, what) for row, base in pairs)
            )
        sides = zip(*pairs, strict=True)
        losses.append(tuple(float(np.mean([r["log_loss"] for r in side])) for side in sides))
    means = (geometric_mean(found) for found in ratios.values())
    return Line(len(losses), *means, tally(losses))


def figure(row: dict[str, Any], what: str) -> float:
    """Return what a ratio is taken of."""
    if what == "log_loss":
        return row[what] + 0.5 / row["test_rows"]
    # A model without tables, of class terms alone, has a ratio as well.
    return max(row[what], 1) if what == "tables" else row[what]


def group_names(rows: Rows) -> dict[str, list[str]]:
    """Return the data sets of each group: all, by kind of features, by number of rows."""
    about = {data: row for (data, _, _), row in rows.items()}
    groups = {"all": list(about)}
    for kind in ("categorical", "mixed", "numeric"):
        groups[kind] = [name for name, row in about.items() if row["kind"] == kind]
    for label, is_few in ((f"up to {FEW_ROWS:,} rows", True), ("more", False)):
        groups[label] = [
            name for name, row in about.items() if (row["train_rows"] <= FEW_ROWS) == is_few
        ]
    return groups


def format_report(rows: Rows) -> str:
    """Return the tables of all variants."""
    variants = list(dict.fromkeys(v for _, _, v in rows if v != ALL_ON))
    groups = group_names(rows)
    lines = [
        "| variant | sets | log loss | seconds | tables | wins-draws-losses |",
        "|---|---|---|---|---|---|",
    ]
    for variant in variants:
        found = compare(rows, variant, groups["all"])
        ratios = f"{found.log_loss:.4f} | {found.seconds:.2f} | {found.tables:.2f}"
        # A setting that reaches no fit would look like one that is worth nothing.
        idle = ", no model changed" if found.log_loss == found.tables == 1 else ""
        lines.append(f"| {variant} | {found.n_sets} | {ratios} | {found.tally}{idle} |")
    lines += ["", "Log loss by groups of data sets", "", "| variant | " + " | ".join(groups) + " |"]
    lines.append("|---" * (len(groups) + 1) + "|")
    for variant in variants:
        cells = []
        for names in groups.values():
            found = compare(rows, variant, names)
            count = f"{found.tally.wins}-{found.tally.draws}-{found.tally.losses}"
            cells.append(f"{found.log_loss:.4f} ({count})" if found.n_sets else "")
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    failed = [key for key, row in rows.items() if row["status"] != "done"]
    lines += [f"failed: {name}, seed {seed}, {variant}" for name, seed, variant in failed]
    return "\n".join(lines)


def main() -> None:
    """Compute the rows that are missing, then print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, required=True, help="file of JSON lines")
    parser.add_argument("--variants", nargs="+", default=VARIANTS, metavar="FIELD=VALUE")
    parser.add_argument("--datasets", nargs="+", default=DATA, metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds of each split")
    parser.add_argument("--report-only", action="store_true")
    chosen = parser.parse_args()
    wanted = [ALL_ON, *chosen.variants]
    if not chosen.report_only:
        settings = default_settings()
        for variant in wanted:
            try:
                apply_variant(settings, variant)
            except (SyntaxError, ValueError) as error:
                parser.error(str(error))
        for name in chosen.datasets:
            for seed in chosen.seeds:
                done = read_rows(chosen.rows)
                missing = [
                    v for v in wanted if done.get((name, seed, v), {}).get("status") != "done"
                ]
                if missing:
                    arguments = (name, seed, missing, str(chosen.rows))
                    outcome = run_in_child(run, *arguments, timeout=chosen.timeout)
                    print(f"{name:<26}{seed:>6} {outcome.status} {outcome.message}", flush=True)
    rows = read_rows(chosen.rows)
    shown = {k: r for k, r in rows.items() if k[0] in chosen.datasets and k[1] in chosen.seeds}
    print(format_report(shown))


if __name__ == "__main__":
    main()
