"""The kernels as JAX operations of their own.

    from oxidax_kernels import ops

    factor = ops.cholesky(a)  # a: (..., n, n), leading axes are batch axes
    q, r = ops.qr(a, mode="complete")

They do not depend on `install`, nor it on them: their targets are this package's own. The first use of one loads the
library, which imports JAX and starts no backend. ``dir(ops)`` lists them, ``help(ops.qr)`` describes one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import oxidax

from oxidax_kernels import _library, _scipy


@cache
def _operations() -> dict[str, Any]:
    _scipy.hand_over()
    library = oxidax.load(_library.path())
    rules = {rule for operation in library for rule in operation.rules}
    return {operation.__name__: operation for operation in library if operation not in rules}


def __getattr__(name: str) -> Any:
    # Python asks modules for private names too, which is no use of an operation.
    operation = None if name.startswith("_") else _operations().get(name)
    if operation is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return operation


def __dir__() -> list[str]:
    return sorted(_operations())
