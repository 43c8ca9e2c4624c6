"""Derivatives, batching, compilation and threads over the replaced targets."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from matrices import DTYPES, positive_definite, random

DOUBLES = ("float64", "complex128")

FUNCTIONS = {
    "cholesky": lambda x: jnp.linalg.cholesky(x @ x.T.conj() + jnp.eye(4)),
    "lu": lambda x: jax.lax.linalg.lu(x)[0],
    "qr": lambda x: jnp.linalg.qr(x),
    "svd": lambda x: jnp.linalg.svd(x, full_matrices=False, compute_uv=False),
    "eig": lambda x: jnp.abs(jnp.linalg.eigvals(x)).sum(),
    "solve": lambda x: jnp.linalg.solve(x, jnp.ones(4)),
    "det": lambda x: jnp.linalg.det(x),
}


@pytest.mark.parametrize("dtype", DOUBLES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name, dtype):
    x = random((4, 4), dtype) + 3 * np.eye(4)
    modes = ["rev"] if name == "eig" else ["fwd", "rev"]
    check_grads(FUNCTIONS[name], (x,), order=1, modes=modes, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_and_jit_agree_with_a_loop(name, dtype):
    x = random((3, 2, 4, 4), dtype)
    function = FUNCTIONS[name]
    batched = jax.jit(jax.vmap(jax.vmap(function, in_axes=2), in_axes=1))(np.moveaxis(x, [0, 1], [1, 3]))
    for i in np.ndindex(3, 2):
        eps = np.finfo(dtype).eps
        jax.tree.map(
            partial(np.testing.assert_allclose, rtol=1e3 * eps, atol=1e3 * eps), at(batched, i), function(x[i])
        )


def at(tree, index):
    return jax.tree.map(lambda x: x[index], tree)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_operand_that_is_used_again_is_not_overwritten(dtype):
    @jax.jit
    def function(x):
        lu, lower, (q, _) = jax.lax.linalg.lu(x)[0], jnp.linalg.cholesky(x), jnp.linalg.qr(x)
        return lu, lower, q, jnp.linalg.svd(x), jnp.linalg.eig(x), x

    x = positive_definite((3, 6, 6), dtype)
    np.testing.assert_array_equal(function(x)[-1], x)


def test_eight_threads_get_what_one_gets():
    functions = {
        name: jax.jit(function)
        for name, function in {
            "cholesky": jnp.linalg.cholesky,
            "lu": lambda x: jax.lax.linalg.lu(x)[:2],
            "qr": jnp.linalg.qr,
            "svd": lambda x: jnp.linalg.svd(x, full_matrices=False),
            "eig": jnp.linalg.eig,
        }.items()
    }
    inputs = [positive_definite((20, n, n), dtype) for n in (8, 40) for dtype in DTYPES]
    calls = [(function, x) for function in functions.values() for x in inputs]
    expected = [jax.tree.map(np.asarray, function(x)) for function, x in calls]
    start = threading.Barrier(8)

    def work(seed: int) -> None:
        start.wait()
        for i in np.random.default_rng(seed).permutation(3 * len(calls)) % len(calls):
            function, x = calls[i]
            jax.tree.map(np.testing.assert_array_equal, function(x), expected[i])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
