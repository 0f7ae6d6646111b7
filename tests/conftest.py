"""Settings that every test shares."""

from hypothesis import HealthCheck, settings

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
