"""Tables in, small integer codes out: columns, categories, cut points, labels, blocks of rows.

Nothing here knows of a model. The public way in is `read_table`, then `Encoding.fit`.
"""
