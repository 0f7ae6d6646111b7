"""All compiled code: arrays in, arrays out; NumPy and Numba only.

Kernels run over a range of rows, tables or steps that the caller chooses and never start threads
themselves: the engine hands out disjoint ranges, so the number of threads cannot change a bit.
"""
