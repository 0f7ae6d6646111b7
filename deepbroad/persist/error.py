"""The error of model files."""


class ModelFileError(ValueError):
    """A file is no model that this version can read, or a model is none that a file can hold."""
