"""The paper's figures and some more, one small file each: results in, a matplotlib `Figure` out.

Only here is matplotlib imported, and only when a figure is drawn: it is an extra.
"""
