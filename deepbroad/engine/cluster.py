"""Rows on the workers of a Dask cluster: functions go to the parts, and joined results come back.

Every task is a function of its inputs alone, and results are joined by a tree whose shape depends
on the number of parts: so neither the number of workers nor the loss of some changes a bit.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

from deepbroad.data.parts import Facts, PartedSource
from deepbroad.data.source import ArraySource, Join
from deepbroad.kernels.threads import Threads

Result = TypeVar("Result")

logger = logging.getLogger("deepbroad")

# How often work is sent again after it was lost with a worker; Dask itself recomputes what it can.
ATTEMPTS = 5


def find_client(client: Any = None) -> Any:
    """Return a `distributed.Client`: the given one, or the active one."""
    try:
        import distributed
    except ImportError:
        raise ImportError(
            'Dask is needed to fit on a cluster: pip install "deepbroad[dask]"'
        ) from None
    if client is not None:
        return client
    try:
        return distributed.get_client()
    except ValueError:
        raise RuntimeError(
            "There is no cluster to work on: start a dask.distributed.Client first, for instance "
            "Client() for the cores of this machine."
        ) from None


class Cluster:
    """Tasks on the workers of a client.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def send(self, *things: Any) -> Any:
        """Return the future of a tuple of things that lie here.

        It is the result of a task, which can be run again: what is merely scattered can get lost,
        and to scatter to all workers can hang if one of them ends meanwhile.
        """
        return self.map(Parcel.open, [Parcel(things)])[0]

    def map(
        self, function: Callable[..., Any], *columns: Sequence[Any], **options: Any
    ) -> list[Any]:
        """Return futures of a function of the first of each column, of the second, and so on."""
        import dask

        # Keys that never come again: a task would get the result, or the failure, of its namesake.
        name = f"{getattr(function, '__name__', 'task')}-{uuid4().hex}"
        keys = [f"{name}-{i}" for i in range(len(columns[0]))]
        # Dask warns of large tasks, since it cannot know that there are few of them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            return list(self.client.map(function, *columns, key=keys, **options))

    def map_beside(self, function: Callable[..., Any], futures: Sequence[Any], *things: Any) -> Any:
        """Return futures of function(the future's result, things) of each.

        Each task goes to a worker that has the result, if there is one: things can be larger than
        parts are, and Dask would move all parts to the one worker that has the things first.
        """
        sent = self.send(*things)
        places = self.client.who_has(futures)
        groups: dict[tuple[str, ...], list[int]] = {}
        for i, future in enumerate(futures):
            groups.setdefault(tuple(places.get(future.key, ())), []).append(i)
        found: dict[int, Any] = {}
        for workers, some in groups.items():
            results = self.map(
                function,
                [futures[i] for i in some],
                [sent] * len(some),
                workers=list(workers) or None,
                allow_other_workers=bool(workers),
            )
            found.update(zip(some, results, strict=True))
        return [found[i] for i in range(len(futures))]

    def reduce(
        self, call: Callable[..., Any], futures: Sequence[Any], *things: Any, join: Join
    ) -> Any:
        """Return call(the future's result, things) of each, joined like `join_pairwise` does."""
        return self.insist(
            lambda: self.join(self.map_beside(call, futures, *things), join).result()
        )

    def join(self, futures: Sequence[Any], join: Join) -> Any:
        """Return the future of what `join_pairwise` would make of results."""
        level = list(futures)
        while len(level) > 1:
            pairs = self.map(join, level[:-1:2], level[1::2])
            level = pairs + level[len(pairs) * 2 :]
        return level[0]

    def insist(self, run: Callable[[], Result]) -> Result:
        """Return what a function returns, which is called again if its results got lost."""
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        for _ in range(ATTEMPTS - 1):
            try:
                return run()
            except (CancelledError, KilledWorker, CommClosedError, TimeoutError) as error:
                logger.warning("Work on the cluster was lost, and is sent again: %s", error)
        return run()


class ClusterSource(PartedSource):
    """Rows on the workers of a cluster, which come to the driver only if taken.

    Parameters
    ----------
    cluster : Cluster
    parts : sequence of futures of ArraySource
        Made from a graph that can be computed again. Empty ones are left out.
    """

    def __init__(self, cluster: Cluster, parts: Sequence[Any]) -> None:
        facts = cluster.insist(lambda: cluster.client.gather(cluster.map(Facts.of, parts)))
        some = [i for i, known in enumerate(facts) if known.n_rows]
        super().__init__([facts[i] for i in some])
        self.cluster, self.parts = cluster, [parts[i] for i in some]

    def each(self, function: Callable[..., Result], own: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Return function(part, *its own arguments) of each part."""

        def run() -> list[Result]:
            columns = [list(column) for column in zip(*own, strict=True)]
            return list(
                self.cluster.client.gather(self.cluster.map(function, self.parts, *columns))
            )

        return self.cluster.insist(run)

    def reduce(
        self, function: Callable[..., Result], *arguments: Any, join: Join, threads: Threads
    ) -> Result:
        """Return function(part, *arguments, threads) of each part, joined in their order.

        Threads are the driver's own: a worker has several parts to work on side by side instead.
        """
        found: Result = self.cluster.reduce(call, self.parts, function, *arguments, join=join)
        return found

    def hold(self, make: Callable[..., Any], *arguments: Any, threads: Threads) -> "HeldThere":
        """Make an object of each part, and keep it there."""
        objects = self.cluster.map_beside(make_kept, self.parts, make, *arguments)
        return HeldThere(self.cluster, objects)

    def convert(
        self, function: Callable[..., ArraySource], *arguments: Any, threads: Threads
    ) -> "ClusterSource":
        """Return the source whose parts are function(part, *arguments, threads)."""
        parts = self.cluster.map_beside(call, self.parts, function, *arguments)
        return ClusterSource(self.cluster, parts)


class HeldThere:
    """Objects on the workers, futures of `Kept`."""

    def __init__(self, cluster: Cluster, objects: Sequence[Any]) -> None:
        self._cluster, self._objects = cluster, objects

    def reduce(self, *arguments: Any, join: Join) -> Any:
        """Call each object with the arguments, and join the results in the order of the parts."""
        return self._cluster.reduce(Kept.__call__, self._objects, *arguments, join=join)


class Parcel:
    """Things on their way to workers, which Dask does not look into."""

    def __init__(self, things: tuple[Any, ...]) -> None:
        self.things = things

    def open(self) -> tuple[Any, ...]:
        """Return the things."""
        return self.things


class Kept:
    """An object on a worker, called once at a time: it may have buffers that serve one call only.

    Two calls can meet where one was given up for lost by the driver, but not by a worker.
    """

    def __init__(self, thing: Callable[..., Any]) -> None:
        self.thing = thing
        self._lock = Lock()

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """Call the object."""
        with self._lock:
            return self.thing(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, (self.thing,)

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.thing)


def call(part: ArraySource, known: tuple[Any, ...]) -> Any:
    """Call a function of a part with further arguments, on a worker."""
    function, *arguments = known
    return function(part, *arguments, Threads(1))


def make_kept(part: ArraySource, known: tuple[Any, ...]) -> Kept:
    """Make an object of a part, on a worker."""
    return Kept(call(part, known))
