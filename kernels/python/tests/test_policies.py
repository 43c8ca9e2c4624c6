"""What comes of matrices on which the routines may fail: NaN, in every result, for those matrices alone."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matrices import DTYPES, hermitian, positive_definite, random

import oxidax_kernels

BAD = (np.nan, np.inf, -np.inf)


def all_nan(results) -> bool:
    """Whether every number of every result is NaN, in both parts."""
    parts = [
        part(x)
        for x in jax.tree.leaves(results)
        for part in (np.real, np.imag)
        if part is np.real or np.iscomplexobj(x)
    ]
    return all(np.isnan(part).all() for part in parts)


def batch_with(bad, dtype, make=random):
    """Four matrices, of which the second and the last hold one bad element."""
    a = make((4, 5, 5), dtype)
    a[1, 2, 1] = a[3, 4, 4] = bad
    return a, np.array([False, True, False, True])


def check_neighbours(function, a, bad):
    """NaN for the bad matrices, and for the others the bits that they have without them."""
    results = jax.tree.leaves(function(a))
    clean = jax.tree.leaves(function(np.where(bad[:, None, None], np.eye(5, dtype=a.dtype), a)))
    assert all_nan([x[bad] for x in results])
    for x, y in zip(results, clean, strict=True):
        np.testing.assert_array_equal(x[~bad], y[~bad])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", BAD)
def test_svd_of_what_is_not_finite(dtype, bad):
    a, where = batch_with(bad, dtype)
    check_neighbours(jnp.linalg.svd, a, where)
    check_neighbours(lambda x: jnp.linalg.svd(x, compute_uv=False), a, where)
    assert all_nan(jnp.linalg.svd(np.full((3, 3), bad, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", BAD)
def test_eig_of_what_is_not_finite(dtype, bad):
    a, where = batch_with(bad, dtype)
    check_neighbours(jnp.linalg.eig, a, where)
    check_neighbours(jnp.linalg.eigvals, a, where)
    for n in (1, 2, 3):
        assert all_nan(jnp.linalg.eig(np.full((n, n), bad, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", BAD)
def test_svd_by_qr_iterations_of_what_is_not_finite(dtype, bad):
    a, where = batch_with(bad, dtype)
    by_qr = partial(jax.lax.linalg.svd, algorithm=jax.lax.linalg.SvdAlgorithm.QR)
    check_neighbours(by_qr, a, where)
    check_neighbours(partial(by_qr, compute_uv=False), a, where)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", BAD)
def test_eigh_of_what_is_not_finite(dtype, bad):
    a, where = batch_with(bad, dtype, hermitian)
    check_neighbours(jnp.linalg.eigh, a, where)
    check_neighbours(jnp.linalg.eigvalsh, a, where)
    for n in (1, 2, 3):
        assert all_nan(jnp.linalg.eigh(np.full((n, n), bad, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", BAD)
def test_schur_of_what_is_not_finite(dtype, bad):
    a, where = batch_with(bad, dtype)
    check_neighbours(jax.lax.linalg.schur, a, where)
    check_neighbours(partial(jax.lax.linalg.schur, compute_schur_vectors=False), a, where)
    for n in (1, 2, 3):
        assert all_nan(jax.lax.linalg.schur(np.full((n, n), bad, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_that_have_kept_other_libraries_busy_for_ever(dtype):
    a = np.ones((3, 3), dtype)
    a[0, 0] = np.inf
    assert all_nan(jnp.linalg.svd(a))
    b = np.array([[np.nan, 0], [0, 1]], dtype)
    assert all_nan(jnp.linalg.svd(b))
    assert all_nan(jnp.linalg.svd(b, compute_uv=False))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_of_what_is_not_positive_definite(dtype):
    for a in ([[1, 2], [2, 1]], np.arange(9).reshape(3, 3)):
        factor = jnp.linalg.cholesky(np.array(a, dtype))
        assert np.isnan(factor[np.tril_indices(len(a))]).all()
        assert (factor[np.triu_indices(len(a), 1)] == 0).all()
    batch = np.array([np.eye(2), [[1, 2], [2, 1]], 4 * np.eye(2)], dtype)
    factor = jnp.linalg.cholesky(batch)
    np.testing.assert_array_equal(factor[::2], np.array([np.eye(2), 2 * np.eye(2)], dtype))
    assert np.isnan(factor[1][np.tril_indices(2)]).all()
    assert not np.isfinite(jnp.linalg.cholesky(np.array([[1, np.nan], [np.nan, 1]], dtype))).all()


def test_cholesky_ignores_imaginary_parts_on_the_diagonal():
    assert jnp.linalg.cholesky(np.array([[9 + 5j]])) == 3
    assert jax.lax.linalg.cholesky(np.array([[9 + 5j]]), symmetrize_input=False) == 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_reads_one_triangle(dtype):
    a = positive_definite((2, 5, 5), dtype)
    spoilt = np.where(np.tri(5, k=-1, dtype=bool).T, np.nan, a).astype(dtype)
    lower, spoilt = (jax.lax.linalg.cholesky(x, symmetrize_input=False) for x in (a, spoilt))
    np.testing.assert_array_equal(lower, spoilt)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_of_singular_matrices_is_complete(dtype):
    lu, pivots, _ = jax.lax.linalg.lu(np.zeros((2, 2), dtype))
    assert (lu == 0).all()
    np.testing.assert_array_equal(pivots, [0, 1])
    lu, _, permutation = jax.lax.linalg.lu(np.array([[1, 2], [2, 4]], dtype))
    np.testing.assert_array_equal(lu, np.array([[2, 4], [0.5, 0]], dtype))
    np.testing.assert_array_equal(permutation, [1, 0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangular_systems_that_are_singular_divide_by_zero(dtype):
    for n in (2, 40):
        a, b = np.tile(np.eye(n, dtype=dtype), (3, 1, 1)), np.ones((3, n, 2), dtype)
        a[1, 1, 1] = 0
        x = jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
        np.testing.assert_array_equal(x[::2], b[::2])
        assert not np.isfinite(x[1, 1]).any()
        np.testing.assert_array_equal(x[1, 0], b[1, 0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_systems_that_are_singular_are_nan_or_perturbed(dtype):
    d, off, b = np.ones((3, 4), dtype), np.zeros((3, 4), dtype), np.ones((3, 4, 2), dtype)
    d[1, 2] = 0
    x = jax.lax.linalg.tridiagonal_solve(off, d, off, b)
    np.testing.assert_array_equal(x[::2], b[::2])
    assert all_nan(x[1])
    if "tridiagonal_solve_perturbed_ffi" in oxidax_kernels.installed():
        x = jax.lax.linalg.tridiagonal_solve(off, d, off, b, perturb_singular=True)
        np.testing.assert_array_equal(x[::2], b[::2])
        assert np.isfinite(x).all()
        assert (np.abs(x[1, 2]) > 0.1 / np.finfo(dtype).eps).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", BAD)
def test_pivoted_qr_of_what_is_not_finite(dtype, bad):
    a, where = batch_with(bad, dtype)
    clean = np.where(where[:, None, None], np.eye(5, dtype=dtype), a)
    q, r, p = jax.lax.linalg.qr(a, pivoting=True)
    assert np.isnan(q[where]).any((-2, -1)).all()
    assert np.isnan(r[where][..., *np.triu_indices(5)]).all()
    np.testing.assert_array_equal(p[where], np.tile(np.arange(5), (2, 1)))
    for x, y in zip((q, r, p), jax.lax.linalg.qr(clean, pivoting=True), strict=True):
        np.testing.assert_array_equal(x[~where], y[~where])


@pytest.mark.parametrize("dtype", DTYPES)
def test_pivoted_qr_near_the_end_of_the_range(dtype):
    a = random((4, 4), dtype)
    a = (a / np.abs(a).max()).astype(dtype)
    large = a * dtype_max(dtype)
    q, r, p = jax.lax.linalg.qr(large, pivoting=True)
    expected = jax.lax.linalg.qr(a, pivoting=True)
    np.testing.assert_array_equal(p, expected[2])
    np.testing.assert_allclose(q, expected[0], atol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(r / dtype_max(dtype), expected[1], atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pivoted_qr_keeps_small_numbers_beside_large_ones(dtype):
    ends = np.array([1e32, 1e-32] if dtype in ("float32", "complex64") else [1e300, 1e-300])
    _, r, _ = jax.lax.linalg.qr(np.diag(ends).astype(dtype), pivoting=True)
    np.testing.assert_allclose(np.abs(np.diagonal(r)), ends, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [1, 3, 40])
def test_pivots_whose_inverses_vanish(dtype, batch):
    """Under XLA, subnormal numbers are zero."""
    large = float(np.finfo(dtype).max) / 2
    a = np.tile(np.array([[large, large / 2], [large / 2, large]], dtype), (batch, 1, 1))
    lu, _, _ = jax.lax.linalg.lu(a)
    np.testing.assert_array_equal(lu, np.tile(jax.lax.linalg.lu(a[:1])[0], (batch, 1, 1)))
    np.testing.assert_allclose(lu[:, 1, 0], 0.5, rtol=1e-6)
    np.testing.assert_allclose(lu[:, 1, 1], 0.75 * large, rtol=1e-6)
    if "lapack_strsm_ffi" in oxidax_kernels.installed():
        b = np.full((batch, 2, 3), large / 2, dtype)
        x = jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
        np.testing.assert_allclose(x[:, 0], 0.5, rtol=1e-6)
        np.testing.assert_allclose(x[:, 1], 0.25, rtol=1e-6)


def dtype_max(dtype):
    """A quarter of the largest number."""
    return np.finfo(dtype).max / 4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", BAD)
def test_direct_routines_pass_on_what_is_not_finite_and_spare_the_neighbours(dtype, bad):
    a, where = batch_with(bad, dtype)
    clean = np.where(where[:, None, None], np.eye(5, dtype=dtype), a)
    functions = (
        lambda x: jax.lax.linalg.lu(x)[0],
        lambda x: jnp.linalg.qr(x)[1],
        lambda x: jax.lax.linalg.hessenberg(x)[0],
        lambda x: jax.lax.linalg.tridiagonal(x)[0],
        lambda x: jax.lax.linalg.triangular_solve(x + 9 * np.eye(5, dtype=dtype), x, left_side=True, lower=True),
        lambda x: jax.lax.linalg.tridiagonal_solve(x[..., 0, :], x[..., 1, :] + 9, x[..., 2, :], x),
    )
    for function in functions:
        found = function(a)
        np.testing.assert_array_equal(found[~where], function(clean)[~where])
        assert not np.isfinite(found[where]).all((-2, -1)).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_empty_matrices_have_the_shapes_of_their_factors(dtype):
    for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 3)):
        a, (m, n) = np.zeros(shape, dtype), shape[-2:]
        q, r = jnp.linalg.qr(a)
        assert (q.shape[-2:], r.shape[-2:]) == ((m, min(m, n)), (min(m, n), n))
        u, s, vh = jnp.linalg.svd(a, full_matrices=True)
        np.testing.assert_array_equal(u, np.broadcast_to(np.eye(m), u.shape))
        np.testing.assert_array_equal(vh, np.broadcast_to(np.eye(n), vh.shape))
        assert s.shape[-1] == 0
    assert jnp.linalg.cholesky(np.zeros((0, 0), dtype)).shape == (0, 0)
    for shape in ((1000, 0, 0), (0, 3, 3)):
        for function in (jnp.linalg.eig, jnp.linalg.eigh):
            w, v = function(np.zeros(shape, dtype))
            assert (w.shape, v.shape) == (shape[:-1], shape)
        assert [x.shape for x in jax.lax.linalg.schur(np.zeros(shape, dtype))] == [shape, shape]
    assert jax.lax.linalg.hessenberg(np.zeros((0, 3, 3), dtype))[1].shape == (0, 2)
    assert jax.lax.linalg.tridiagonal(np.zeros((0, 3, 3), dtype))[3].shape == (0, 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_householder_products_with_few_reflectors(dtype):
    a, eye = random((5, 3), dtype), np.eye(5, 3, dtype=dtype)
    np.testing.assert_array_equal(jax.lax.linalg.householder_product(a, np.zeros((0,), dtype)), eye)
    np.testing.assert_array_equal(jax.lax.linalg.householder_product(a, np.zeros((2,), dtype)), eye)


def test_a_call_that_is_not_jaxs_is_refused_with_all_that_is_wrong():
    call = jax.ffi.ffi_call(
        "lapack_dpotrf_ffi", (jax.ShapeDtypeStruct((3, 2), np.float64), jax.ShapeDtypeStruct((), np.int64))
    )
    with pytest.raises(Exception, match=r"potrf: .*attribute \"uplo\""):
        jax.block_until_ready(call(np.zeros((3, 3))))
