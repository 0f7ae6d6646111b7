"""Deep broad learning: exact, fast, explainable classification of tables."""

__version__ = "0.1.0.dev0"
