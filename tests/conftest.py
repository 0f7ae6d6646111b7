"""Settings that every test shares."""

import pytest
import scipy.optimize  # noqa: F401 (its BLAS must be loaded before threads are limited)
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from deepbroad.engine.cost_cache import FOLDER_VARIABLE, store_costs
from deepbroad.model.cost import TYPICAL

# The same examples in every run, so that a failure is never a matter of luck; no deadline, since
# the first example compiles kernels.
settings.register_profile(
    "deepbroad",
    derandomize=True,
    deadline=None,
    max_examples=40,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("deepbroad")


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread():
    """Keep BLAS from waiting for threads of its own on a busy machine, over tiny vectors."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _typical_machine(tmp_path_factory):
    """Have every machine be the typical one: nothing is measured, nor written to anyone's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        store_costs(TYPICAL)
        yield
