"""`ops.cholesky_update` and `ops.symmetric_product`: values, transformations, what is not finite, derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from matrices import BATCHES, DTYPES, check, distance, random, wide

from oxidax_kernels import ops

REAL = ("float32", "float64")
DOUBLES = ("float64", "complex128")
#: Empty, one, small in every batch, and more than a vector's and a block's.
SIZES = (0, 1, 2, 5, 33, 65)


def transpose(x):
    return np.swapaxes(x, -1, -2)


def cases(sizes) -> list[tuple[tuple[int, ...], int]]:
    return [(batch, size) for size in sizes for batch in (BATCHES if size == 5 else ((3,),))]


def triangular(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Upper triangular with a positive diagonal, of a small condition number."""
    n = shape[-1]
    return (np.triu(random(shape, dtype), 1) / max(n, 1) + 2 * np.eye(n)).astype(dtype)


# cholesky_update ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", REAL)
def test_cholesky_update(dtype):
    for batch, n in cases(SIZES):
        r, w = triangular((*batch, n, n), dtype), random((*batch, n), dtype)
        factor = ops.cholesky_update(r, w)
        assert (factor.shape, factor.dtype) == (r.shape, dtype)
        updated = transpose(wide(r)) @ wide(r) + wide(w)[..., :, None] * wide(w)[..., None, :]
        check(dtype, r.shape, square=distance(transpose(wide(factor)) @ wide(factor), updated, dtype, n))
        np.testing.assert_array_equal(factor, np.triu(factor))
        assert (np.diagonal(factor, axis1=-2, axis2=-1) > 0).all()


@pytest.mark.parametrize("dtype", REAL)
def test_cholesky_update_is_the_factor_that_cholesky_finds(dtype):
    r, w = triangular((4, 20, 20), dtype), random((4, 20), dtype)
    expected = ops.cholesky((transpose(r.astype(float)) @ r + w[:, :, None] * w[:, None, :]).astype(float), lower=False)
    check(dtype, r.shape, factor=distance(ops.cholesky_update(r, w), expected, dtype, 20))


@pytest.mark.parametrize("dtype", REAL)
def test_cholesky_update_is_jaxs(dtype):
    r, w = triangular((20, 20), dtype), random((20,), dtype)
    theirs = jax.lax.linalg.cholesky_update(r.astype(float), w.astype(float))
    check(dtype, r.shape, factor=distance(ops.cholesky_update(r, w), np.triu(theirs), dtype, 20))


@pytest.mark.parametrize("dtype", REAL)
def test_cholesky_update_reads_a_triangle_whatever_its_signs(dtype):
    r, w = triangular((9, 9), dtype), random((9,), dtype)
    expected = ops.cholesky_update(r, w)
    spoilt = np.where(np.tri(9, k=-1, dtype=bool), np.nan, r).astype(dtype)
    np.testing.assert_array_equal(ops.cholesky_update(spoilt, w), expected)
    signs = np.where(np.arange(9) % 2, 1, -1)[:, None]
    np.testing.assert_array_equal(ops.cholesky_update((signs * r).astype(dtype), w), expected)
    np.testing.assert_array_equal(ops.cholesky_update((signs * r).astype(dtype), 0 * w), r)


@pytest.mark.parametrize("dtype", REAL)
def test_cholesky_update_of_zeros(dtype):
    zero = np.zeros((3, 3), dtype)
    np.testing.assert_array_equal(ops.cholesky_update(zero, zero[0]), zero)
    one = np.array([0, -2, 4], dtype)
    np.testing.assert_array_equal(ops.cholesky_update(zero, one), np.array([[0] * 3, [0, 2, -4], [0] * 3], dtype))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_cholesky_update_keeps_what_is_not_finite_from_the_columns_before(bad, dtype):
    r, w = triangular((4, 6, 6), dtype), random((4, 6), dtype)
    clean = ops.cholesky_update(r, w)
    r[1, 2, 4] = r[2, 3, 3] = w[2, 3] = bad
    found = np.array(ops.cholesky_update(r, w))
    np.testing.assert_array_equal(found[[0, 3]], clean[jnp.array([0, 3])])
    np.testing.assert_array_equal(found[1, :, :4], clean[1, :, :4])
    np.testing.assert_array_equal(found[2, :, :3], clean[2, :, :3])
    assert not np.isfinite([found[1, 2, 4], found[2, 3, 3]]).any()
    assert np.isnan([found[1, 5, 5], found[2, 4, 4], found[2, 5, 5]]).all()


def test_derivatives_of_cholesky_update_are_those_of_finite_differences():
    for batch, n in cases((0, 1, 5, 12)):
        r, w = triangular((*batch, n, n), "float64"), random((*batch, n), "float64")
        r = r * np.where(np.arange(n) % 3 == 1, -1, 1)[:, None]
        check_grads(ops.cholesky_update, (r, w), order=1, modes=["fwd", "rev"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", REAL)
def test_derivatives_of_cholesky_update_are_those_of_cholesky(dtype):
    r, w, t_r, t_w = triangular((33, 33), dtype), random((33,), dtype), random((33, 33), dtype, 1), random((33,), dtype)
    ct = random((33, 33), dtype, 2)

    def slowly(r, w):
        return ops.cholesky(jnp.triu(r).T @ jnp.triu(r) + jnp.outer(w, w), lower=False)

    double = [x.astype("float64") for x in (r, w, t_r, t_w, ct)]
    tangents = [
        jax.jvp(call, (r, w), (t_r, t_w))[1]
        for call, (r, w, t_r, t_w, _) in ((ops.cholesky_update, (r, w, t_r, t_w, ct)), (slowly, double))
    ]
    (ct_r, ct_w), (slow_r, slow_w) = (
        jax.vjp(ops.cholesky_update, r, w)[1](ct),
        jax.vjp(slowly, *double[:2])[1](double[4]),
    )
    check(
        dtype,
        r.shape,
        jvp=distance(*tangents, dtype, 33),
        r=distance(ct_r, slow_r, dtype, 33),
        w=distance(ct_w[:, None], slow_w[:, None], dtype, 33),
    )
    np.testing.assert_array_equal(ct_r, np.triu(ct_r))
    np.testing.assert_array_equal(tangents[0], np.triu(tangents[0]))


def test_derivatives_of_cholesky_update_know_one_triangle():
    r, w, t = triangular((5, 5), "float64"), random((5,), "float64"), random((5, 5), "float64", 1)
    spoilt = [np.where(np.tri(5, k=-1, dtype=bool), x, t) for x in (0, np.nan)]
    np.testing.assert_array_equal(*(jax.jvp(ops.cholesky_update, (r, w), (t, w))[1] for t in spoilt))
    pull = jax.vjp(ops.cholesky_update, r, w)[1]
    for first, second in zip(*map(pull, map(jnp.array, spoilt)), strict=True):
        np.testing.assert_array_equal(first, second)


# symmetric_product -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetric_product(dtype):
    shapes = [(batch, n, k) for batch, n in cases(SIZES) for k in ((3,) if n == 5 else (0, 1, 40))]
    for batch, n, k in [*shapes, ((), 130, 9)]:
        a, c = random((*batch, n, k), dtype), random((*batch, n, n), dtype, 1)
        c = np.where(np.tri(n, k=-1, dtype=bool).T, np.nan, c).astype(dtype)
        symmetric = np.where(np.tri(n, dtype=bool), c, transpose(c))
        for attrs in ({}, {"alpha": -0.5}, {"alpha": 2.0, "beta": 0.25}, {"alpha": 0.0, "beta": 1.0}):
            if attrs and (n, k) not in ((5, 3), (65, 40), (5, 0), (130, 9)):
                continue
            found = ops.symmetric_product(a, c, **attrs)
            assert (found.shape, found.dtype) == (c.shape, dtype)
            np.testing.assert_array_equal(found, transpose(found))
            alpha, beta = attrs.get("alpha", 1), attrs.get("beta", 0)
            product = alpha * wide(a) @ transpose(wide(a))
            expected = product + beta * wide(symmetric) if beta else product
            # A sum of k products may cancel: its error is in units of their sizes.
            scale = np.abs(alpha) * np.abs(wide(a)) @ transpose(np.abs(wide(a))) + np.abs(expected)
            check(dtype, c.shape, product=distance(found, expected, dtype, max(n, k), scale=scale))


def test_symmetric_product_is_jaxs():
    a, c = random((4, 7, 5), "float32"), random((4, 7, 7), "float32", 1)
    theirs = jax.lax.linalg.symmetric_product(a, c, alpha=0.5, beta=-2.0, symmetrize_output=True)
    np.testing.assert_allclose(ops.symmetric_product(a, c, alpha=0.5, beta=-2.0), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetric_product_leaves_a_term_out_whose_factor_is_zero(dtype):
    nan, one = np.full((4, 4), np.nan, dtype), np.ones((4, 4), dtype)
    np.testing.assert_array_equal(ops.symmetric_product(one, nan), 4 * one)
    np.testing.assert_array_equal(ops.symmetric_product(nan, one, alpha=0.0, beta=2.0), 2 * one)
    _, pull = jax.vjp(lambda c: ops.symmetric_product(one, c), one)
    np.testing.assert_array_equal(pull(nan)[0], 0 * one)
    spoilt = np.array(one)
    spoilt[1, 2] = np.nan
    found = ops.symmetric_product(spoilt, one, beta=1.0)
    expected = np.zeros((4, 4), bool)
    expected[1] = expected[:, 1] = True
    np.testing.assert_array_equal(np.isnan(found), expected)


@pytest.mark.parametrize("dtype", DOUBLES)
def test_derivatives_of_symmetric_product_are_those_of_finite_differences(dtype):
    for shape in ((0, 3), (1, 1), (5, 3), (2, 4, 6), (3, 0)):
        a, c = random(shape, dtype), random((*shape[:-1], shape[-2]), dtype, 1)

        def call(a, c):
            return ops.symmetric_product(a, c, alpha=0.5, beta=-1.5)

        check_grads(call, (a, c), order=1, modes=["fwd", "rev"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_of_symmetric_product_are_jaxs(dtype):
    a, c = random((70, 9), dtype), random((70, 70), dtype, 1)
    t_a, t_c, ct = random((70, 9), dtype, 2), random((70, 70), dtype, 3), random((70, 70), dtype, 4)

    def slowly(a, c):
        return 0.5 * a @ a.T - 2 * (jnp.tril(c) + jnp.tril(c, -1).T)

    def derivatives(call, *operands):
        a, c, t_a, t_c, ct = operands
        with jax.default_matmul_precision("highest"):
            return [jax.jvp(call, (a, c), (t_a, t_c))[1], *jax.vjp(call, a, c)[1](ct)]

    ours = derivatives(lambda a, c: ops.symmetric_product(a, c, alpha=0.5, beta=-2.0), a, c, t_a, t_c, ct)
    theirs = derivatives(slowly, *(x.astype(np.result_type(dtype, "float64")) for x in (a, c, t_a, t_c, ct)))
    names = ("jvp", "a", "c")
    check(dtype, c.shape, **{n: distance(x, y, dtype, 70) for n, x, y in zip(names, ours, theirs, strict=True)})


# Both --------------------------------------------------------------------------------------------

CALLS = {
    "cholesky_update": (ops.cholesky_update, (lambda dtype: triangular((3, 2, 6, 6), dtype)), (3, 2, 6)),
    "symmetric_product": (ops.symmetric_product, (lambda dtype: random((3, 2, 6, 4), dtype)), (3, 2, 6, 6)),
}


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", CALLS)
def test_jit_and_vmap_give_the_bits_of_a_loop(name, dtype):
    call, make, other = CALLS[name]
    x, y = make(dtype), random(other, dtype, 1)
    batched = jax.jit(jax.vmap(jax.vmap(call, in_axes=(2, None)), in_axes=(1, 0)))(
        np.moveaxis(x, [0, 1], [1, 3]), y[:, 0]
    )
    for i, j in np.ndindex(3, 2):
        np.testing.assert_array_equal(batched[i, j], call(x[i, j], y[i, 0]))
