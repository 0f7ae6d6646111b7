"""The paper's tables and some more, one small file each: results in, a `Table` out."""
