"""The entry point in the group `jax_plugins`: JAX calls `initialize` before it starts its first backend.

Without the variable, nothing happens. An error here is logged by JAX, and the program runs on jaxlib's own kernels.
"""

from __future__ import annotations

import os

from oxidax_kernels import _install

#: `1` for everything, `0` or nothing for nothing, else names as `install` takes them, with commas: `cholesky,svd` for
#: these alone, `-eig` for all but this.
VARIABLE = "OXIDAX_KERNELS"


def initialize() -> None:
    """Installs what the variable asks for, unless the program has chosen for itself."""
    asked = request(os.environ.get(VARIABLE, ""))
    if asked is not None and not _install.decided():
        _install.install(**asked)


def request(value: str) -> dict[str, list[str] | None] | None:
    """The arguments of `install` for a value of the variable; None for nothing."""
    names = [name for name in (part.strip() for part in value.split(",")) if name]
    if names in ([], ["0"]):
        return None
    if names == ["1"]:
        return {"only": None, "skip": None}
    only = [name for name in names if not name.startswith("-")]
    return {"only": only or None, "skip": [name[1:] for name in names if name.startswith("-")]}
