"""The check of `jax.export`."""

from __future__ import annotations

import numpy as np

from oxidax import _jax
from oxidax.testing._case import Case, difference, leaves
from oxidax.testing._report import Failed, Skipped


def export(case: Case) -> str:
    """Exported, serialized, read back and run again, with a symbolic batch where there are batches."""
    symbolic = case.definition.batch != "none" and bool(case.core)
    if symbolic:
        args = [np.stack([v[i] for v in case.variants[:3]]) for i in range(len(case.core))]
        shapes = [("b", *x.shape) for x in case.core]
    else:
        args, shapes = case.args, [x.shape for x in case.args]
    try:
        again = _jax.export_and_reload(case.function, case.op.export_checks, shapes, args)
    except ImportError as error:
        raise Skipped(f"jax.export needs a package that is missing: {error}") from None
    for name, x, y in zip(case.names, leaves(again(*args)), case.run(args), strict=True):
        problem = difference(name, x, y)
        if problem:
            raise Failed(f"after a round trip: {problem}")
    return "with a symbolic batch" if symbolic else "without batches"
