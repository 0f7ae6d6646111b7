"""The paper's experiments, again: data sets, methods, protocol, rows, tables and figures.

Everything here uses the public API of the library only.
"""
