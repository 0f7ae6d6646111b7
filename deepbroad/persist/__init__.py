"""Model files: arrays and JSON with a format number; nothing in them can run."""

from deepbroad.persist.error import ModelFileError
from deepbroad.persist.model_file import load, save

__all__ = ["ModelFileError", "load", "save"]
