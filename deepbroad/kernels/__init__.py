"""All compiled code: arrays in, arrays out; NumPy and Numba only.

Kernels run over a range of rows, tables or steps that the caller chooses and never start threads
themselves: callers hand out disjoint ranges (`threads`), so that their number changes no bit.
"""
