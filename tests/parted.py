"""A source of several parts in this process: what a cluster does, without one."""

from itertools import pairwise

from deepbroad.data.parts import Facts, PartedSource, join_pairwise


class Parts(PartedSource):
    def __init__(self, parts):
        super().__init__([Facts.of(part) for part in parts])
        self.parts = parts

    @classmethod
    def of(cls, source, bounds):
        """Cut a source in memory before each of `bounds`."""
        edges = [0, *bounds, source.n_rows]
        rows = [range(a, b) for a, b in pairwise(edges)]
        return cls([source.take(list(some)) for some in rows])

    def each(self, function, own):
        return [function(part, *args) for part, args in zip(self.parts, own, strict=True)]

    def reduce(self, function, *arguments, join, threads):
        return join_pairwise([function(p, *arguments, threads) for p in self.parts], join)

    def hold(self, make, *arguments, threads):
        return HeldParts([make(part, *arguments, threads) for part in self.parts])

    def convert(self, function, *arguments, threads):
        return Parts([function(part, *arguments, threads) for part in self.parts])


class HeldParts:
    def __init__(self, things):
        self.things = things

    def reduce(self, *arguments, join):
        return join_pairwise([thing(*arguments) for thing in self.things], join)
