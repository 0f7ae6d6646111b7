"""How methods, measures and groups of data sets are written in tables and figures."""

METHODS = {
    "DBL1": "DBL¹",
    "DBL2": "DBL²",
    "DBL3": "DBL³",
    "LR1": "LR¹",
    "LR2": "LR²",
    "LR3": "LR³",
    "NB": "naive Bayes",
    "KDB1": "KDB k=1",
    "KDB5": "KDB k=5",
    "RF-raw": "RF (numbers)",
    "DBL2-generative": "DBL² to 1/p",
    "DBL": "DBL (default)",
}

MEASURES = {
    "error": "0-1 loss",
    "rmse": "RMSE",
    "log_loss": "log loss",
    "bias": "bias",
    "variance": "variance",
    "train_seconds": "training time",
    "predict_seconds": "classification time",
    "iterations": "iterations",
}

GROUPS = {
    "little": "Little",
    "big": "Big",
    "all": "all",
    "small": "under 1,000 rows",
    "little-times": "Little, without the nine",
    "big-times": "the paper's nine",
    "largest": "over 100,000 rows",
}


def method_label(name: str) -> str:
    """Write a method as the paper does.

    >>> method_label("DBL2"), method_label("A2JE")
    ('DBL²', 'A2JE')
    """
    return METHODS.get(name, name)


def measure_label(name: str) -> str:
    """Write a measure as the paper does."""
    return MEASURES[name]


def group_label(name: str) -> str:
    """Write a group of data sets as the paper does."""
    return GROUPS[name]


def p_label(p: float) -> str:
    """Write a p value with three decimals, in bold where it is significant (at most 0.05).

    >>> p_label(0.0004), p_label(0.07031)
    ('**<0.001**', '0.070')
    """
    text = "<0.001" if p < 0.0005 else f"{p:.3f}"
    return f"**{text}**" if p <= 0.05 else text
