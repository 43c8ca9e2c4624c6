"""A plugin of pytest (`-p with_kernels`) that installs the kernels before anything imports JAX."""

import oxidax_kernels

_WANTED = oxidax_kernels.install()
assert _WANTED, "this jaxlib's contracts are not known, so that there is nothing to test"


def pytest_sessionfinish() -> None:
    """Refuses a run that was not on our kernels."""
    assert oxidax_kernels.installed() == _WANTED
