"""The rows of the matrix: the operations of the test libraries, with arguments, keywords and a reference in JAX.

Those that are derivative rules of others have no rows: they run in the rows of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True, eq=False)
class Row:
    """An operation, on what it is called, and the same function without Oxidax."""

    library: str
    name: str
    reference: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)


def _floats(*shape: int, salt: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng((salt, *shape)).uniform(0.5, 2.0, shape)


def _rms(x):
    return x / jnp.sqrt((x * x).mean() + 1e-5)


def _lu_pivots(pivots):
    order = jnp.arange(4, dtype=jnp.int32)
    for i in range(pivots.shape[0]):
        a, b = order[i], order[pivots[i]]
        order = order.at[i].set(b).at[pivots[i]].set(a)
    return order


def _permutation_matrix(permutation, one):
    return one * (permutation[:, None] == jnp.arange(5))


def _windows(x):
    return jnp.stack([x[i : i + 3].sum() for i in (0, 2, 4)])


def _qr_shapes(a):
    (m, n), k = a.shape, min(a.shape)
    return jnp.full((m, k), m * k, a.dtype), jnp.full((k, n), k * n, a.dtype)


X, Y, S, N = _floats(4), _floats(4, salt=1), _floats(), np.int32(3)
A, B = _floats(2, 3), _floats(3, 2)
F = np.float32(0.75)
ONE, SINGLE, LIST = np.float64(1.5), _floats(7).astype(np.float32), np.array([1, -2], np.int16)
PIVOTS, ORDER = np.array([2, 1, 3], np.int32), np.array([2, 0, 1], np.int32)
WAVE = {"frequency": 1.5, "amplitude": 2.0}
DEFAULTS = np.array([7, -np.inf, np.inf, np.nan, 1, -2, 6, 0.5, -1])
GREETING = np.frombuffer("grüße".encode(), np.uint8)

ROWS = [
    Row("rms_norm", "rms_norm", _rms, (X,)),
    Row("rms_norm", "gained_rms_norm", lambda x, g: _rms(x) * g, (X, Y)),
    Row("lu_pivots", "lu_pivots", _lu_pivots, (PIVOTS,), {"rows": 4}),
    Row("lu_pivots", "permutation_matrix", _permutation_matrix, (ORDER, ONE), {"columns": 5}),
    Row("oxidax_testlib", "scalar", lambda: np.int8(-3), (), {"value": -3, "dtype": "s8"}),
    Row("oxidax_testlib", "array", lambda: LIST, (), {"values": LIST, "n": 2, "dtype": "s16"}),
    Row("oxidax_testlib", "text", lambda: GREETING, (), {"n": 7}),
    Row("oxidax_testlib", "defaults", lambda: DEFAULTS, ()),
    Row("oxidax_testlib", "multiply", lambda x: x * 0.5, (X,), {"by": 0.5}),
    Row("oxidax_testlib", "whole_sum", lambda x: x.sum(), (X,)),
    Row("oxidax_testlib", "reverse", lambda x: x[::-1], (X,)),
    Row("oxidax_testlib", "add_into", lambda a, x: a + x, (X, Y)),
    Row("oxidax_testlib", "outer", lambda x, y, s: x[:, None] * y * s, (X, Y[:3], S)),
    Row("oxidax_testlib", "square", lambda x: x**2, (S,)),
    Row("oxidax_testlib", "cube", lambda x: x**3, (S,)),
    Row("oxidax_testlib", "opposite", lambda x: -x, (S,)),
    Row("oxidax_testlib", "scale", lambda x, k: (x * k, 10 * k), (X, N)),
    Row("oxidax_testlib", "ignore", lambda x, k: x + 0 * k, (S, N)),
    Row("oxidax_testlib", "sum", lambda x: x.sum(), (X,)),
    Row("oxidax_testlib", "wave", lambda x: 2 * jnp.sin(1.5 * x), (S,), WAVE),
    Row("oxidax_testlib", "copy", lambda x: x, (np.array([True, False]),)),
    Row("oxidax_testlib", "take", lambda x, i: x[i], (X, np.array([3, -4, 0]))),
    Row("oxidax_testlib", "count", lambda: np.arange(3, dtype=np.int32), (), {"n": 3, "dtype": "s32"}),
    Row("oxidax_testlib", "largest", lambda x: x.argmax().astype(np.int32), (X,), {"dtype": "s32"}),
    Row("oxidax_testlib", "times", lambda x, k: x * k, (S, N)),
    Row("oxidax_testlib", "double_only", lambda x: x, (X,)),
    Row("oxidax_testlib", "widen", lambda x: x.astype(np.float64), (SINGLE,)),
    Row("oxidax_testlib", "negate", lambda x: ~x, (np.array([True, False]),)),
    Row("oxidax_testlib", "checked_sqrt", jnp.sqrt, (F,)),
    Row("oxidax_testlib", "panics", lambda x: x, (F,)),
    Row("oxidax_testlib", "wants_a_device", lambda x: x, (F,)),
    Row("oxidax_testlib", "triangle", lambda a: (jnp.tril(a), a.T.reshape(-1)), (A,)),
    Row("oxidax_testlib", "extent", lambda a: jnp.ones((3, 3)), (B,), {"extent": "full"}),
    Row("oxidax_testlib", "matmul", lambda a, b: a @ b, (A, B)),
    Row("oxidax_testlib", "quartic", lambda x: x**4, (S,)),
    Row("oxidax_testlib", "qr_shapes", _qr_shapes, (A,)),
    Row("oxidax_testlib", "windows", _windows, (SINGLE,), {"size": 3, "stride": 2}),
    Row(
        "oxidax_testlib", "pairs", lambda x, b, f: x + b[::2] * b[1::2] + f.sum(), (SINGLE[:2], SINGLE[:4], SINGLE[4:])
    ),
    Row("oxidax_testlib", "evens", lambda x: x[::2], (SINGLE[:4],), {"k": 2}),
    Row("oxidax_testlib", "repeat", lambda x: jnp.broadcast_to(x, (3,)), (F,), {"k": 3}),
    Row("oxidax_testlib", "shrink", lambda x: x[2:-2], (SINGLE,)),
]
