"""The paper's claims, one by one: held or not, with counts and p."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from deepbroad.experiments.learning_curves import Point
from deepbroad.experiments.results import Results
from deepbroad.experiments.tables.claim import (
    ALIKE,
    FEWEST,
    HELD,
    LEANING,
    NOT_HELD,
    TOO_FEW,
    UNKNOWN,
    Alike,
    Check,
    Crossing,
    Evidence,
    Growing,
    Lower,
)
from deepbroad.experiments.tables.table import Table

_FAMILIES = {"AnJE": ("A2JE", "A3JE"), "AnDE": ("A1DE", "A2DE"), "RF": ("RF", "RF")}
_DBL = ("DBL2", "DBL3")
_LR = ("LR2", "LR3")


class Claim(NamedTuple):
    """What the paper says, and the comparisons that it rests on."""

    text: str
    checks: tuple[Check, ...]


def _lower(
    ours: Sequence[str], theirs: Sequence[str], measures: Sequence[str], group: str = "little"
) -> tuple[Lower, ...]:
    """List one comparison for each pair and measure."""
    pairs = zip(ours, theirs, strict=True)
    return tuple(Lower(*pair, measure, group) for pair, measure in product(pairs, measures))


def _against_families() -> list[Claim]:
    """List the claims on bias, variance and Big data sets, family by family."""
    claims = []
    for name, others in _FAMILIES.items():
        claims.append(Claim(f"DBL has lower bias than {name}", _lower(_DBL, others, ["bias"])))
        claims.append(
            Claim(f"DBL has higher variance than {name}", _lower(others, _DBL, ["variance"]))
        )
    for name, others in _FAMILIES.items():
        checks = _lower(_DBL, others, ["error", "rmse"], "big")
        claims.append(Claim(f"DBL wins on Big against {name}", checks))
    return claims


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "A low-bias learner (KDB k=5) loses to naive Bayes on less data and wins on more",
        (Crossing("NB", "KDB5"),),
    ),
    *_against_families(),
    Claim("RF has lower RMSE on Little", _lower(("RF", "RF"), _DBL, ["rmse"])),
    Claim(
        "DBL and LR have about the same loss, wall-following excepted",
        tuple(
            Alike(*pair, measure, apart=("wall-following",))
            for measure in ("error", "rmse")
            for pair in zip(_DBL, _LR, strict=True)
        ),
    ),
    Claim("DBL takes fewer iterations than LR", _lower(_DBL, _LR, ["iterations"], "all")),
    Claim("DBL trains faster than LR", _lower(_DBL, _LR, ["train_seconds"], "all")),
    Claim(
        "DBL's advantage over LR grows with n",
        tuple(
            Growing("DBL", "LR", measure, n)
            for measure in ("iterations", "train_seconds")
            for n in (2, 3)
        ),
    ),
    Claim(
        "AnJE is worse than A(n-1)DE",
        _lower(("A1DE", "A2DE"), ("A2JE", "A3JE"), ["bias", "error", "rmse"]),
    ),
    Claim(
        "AnJE classifies faster than A(n-1)DE",
        _lower(("A2JE", "A3JE"), ("A1DE", "A2DE"), ["predict_seconds"], "all"),
    ),
    Claim(
        "AnJE and AnDE train faster than DBL",
        _lower(("A2JE", "A3JE", "A1DE", "A2DE"), _DBL * 2, ["train_seconds"], "all"),
    ),
    Claim("DBL trains slower than RF", _lower(("RF", "RF"), _DBL, ["train_seconds"], "all")),
    Claim("DBL classifies faster than RF", _lower(_DBL, ("RF", "RF"), ["predict_seconds"], "all")),
    Claim("ELR (TAN) is more biased than DBL", _lower(_DBL, ("ELR", "ELR"), ["bias"])),
    Claim(
        "Pulling weights to the generative model helps on small data",
        _lower(("DBL2-generative",), ("DBL2",), ["error", "rmse", "log_loss"], "small"),
    ),
)


def tabulate_claims(results: Results, points: Sequence[Point]) -> Table:
    """Judge every claim; under each stand the comparisons that it rests on."""
    lines: list[tuple[str, ...]] = []
    verdicts = []
    for claim in CLAIMS:
        found = [check.judge(results, points) for check in claim.checks]
        verdicts.append(_sum_up(found))
        lines.append((f"{claim.text}: {verdicts[-1]}",))
        lines += [tuple(evidence) for evidence in found]
    note = (
        f"{verdicts.count(HELD)} of {len(CLAIMS)} claims are held by every comparison. "
        "A comparison holds if more data sets say so than not and the sign test's p is at most "
        f"0.05; two losses are alike if at least nine of ten data sets differ by no more than "
        f"{ALIKE}. Fewer than {FEWEST} data sets that disagree tell nothing. Wins are data sets "
        "that say what the claim says."
    )
    return Table(("comparison", "W/D/L", "p", "paper's W/D/L", "verdict"), lines, note)


def _sum_up(found: Sequence[Evidence]) -> str:
    """Sum the comparisons of a claim up."""
    known = [evidence.verdict for evidence in found if evidence.verdict not in (UNKNOWN, TOO_FEW)]
    if not known:
        return TOO_FEW if any(evidence.verdict == TOO_FEW for evidence in found) else UNKNOWN
    held, leaning = known.count(HELD), known.count(LEANING)
    if held == len(known):
        return HELD
    if held + leaning == 0:
        return NOT_HELD
    if not leaning:
        return f"held in {held} of {len(known)} comparisons"
    return f"held in {held} of {len(known)} comparisons, and in {leaning} without significance"
