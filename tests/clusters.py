"""A cluster of processes on this machine, for tests; and ways to harm it."""

import logging
import os
import signal
from contextlib import contextmanager

import pytest


@contextmanager
def local_client(n_workers=2):
    """Start worker processes and a client that is active meanwhile; skip where Dask is missing."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # any free port: the usual one may be taken
            # Lost workers are meant to be lost here, and need no lines in the log.
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def kill_worker(client):
    """End the worker that has most to lose at once, as a power loss would."""
    held = client.has_what()
    fullest = max(held, key=lambda worker: len(held[worker]))
    assert held[fullest]
    os.kill(client.run(os.getpid)[fullest], signal.SIGKILL)
