"""Values of JAX's linear algebra on the kernels, against references of higher precision."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matrices import (
    DTYPES,
    SQUARE,
    adjoint,
    check,
    check_lu,
    distance,
    hermitian,
    hessenberg,
    identity,
    positive_definite,
    random,
    shapes,
    tridiagonal,
    wide,
)


def same_alone(function, x, results):
    """A matrix gives the same bits alone as in a batch."""
    if x.shape not in ((2, 3, 5, 5), (3, 65, 65)):
        return
    index = tuple(n - 1 for n in x.shape[:-2])
    for alone, batched in zip(jax.tree.leaves(function(x[index])), jax.tree.leaves(results), strict=True):
        np.testing.assert_array_equal(alone, batched[index])


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype):
    for shape in shapes(SQUARE):
        a = positive_definite(shape, dtype)
        lower = jnp.linalg.cholesky(a)
        check(dtype, shape, product=distance(wide(lower) @ adjoint(wide(lower)), a, dtype, shape[-1]))
        np.testing.assert_array_equal(lower, np.tril(lower))
        assert lower.dtype == dtype
        same_alone(jnp.linalg.cholesky, a, lower)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_of_one_triangle(dtype):
    a = positive_definite((2, 5, 5), dtype)
    spoilt = np.where(np.tri(5, k=-1, dtype=bool).T, np.nan, a)
    lower = jax.lax.linalg.cholesky(spoilt, symmetrize_input=False)
    upper = jnp.linalg.cholesky(a, upper=True)
    check(
        dtype,
        a.shape,
        lower=distance(wide(lower) @ adjoint(wide(lower)), a, dtype, 5),
        upper=distance(adjoint(wide(upper)) @ wide(upper), a, dtype, 5),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu(dtype):
    for shape in shapes():
        a = random(shape, dtype)
        lu, pivots, permutation = jax.lax.linalg.lu(a)
        check_lu(dtype, a, lu, permutation)
        assert pivots.shape == (*shape[:-2], min(shape[-2:]))
        assert pivots.dtype == permutation.dtype == "int32"
        same_alone(jax.lax.linalg.lu, a, (lu, pivots, permutation))


@pytest.mark.parametrize("dtype", DTYPES)
def test_qr(dtype):
    for shape in shapes():
        a, (m, n) = random(shape, dtype), shape[-2:]
        for mode in ("reduced", "complete") if shape in ((3, 65, 33), (3, 33, 65), (3, 3, 0)) else ("reduced",):
            q, r = jnp.linalg.qr(a, mode=mode)
            k = m if mode == "complete" else min(m, n)
            assert (q.shape, r.shape) == ((*shape[:-2], m, k), (*shape[:-2], k, n))
            check(
                dtype,
                shape,
                product=distance(wide(q) @ wide(r), a, dtype, max(m, n)),
                orthogonal=distance(adjoint(wide(q)) @ wide(q), identity(k, a), dtype, max(m, n)),
            )
            np.testing.assert_array_equal(r, np.triu(r))
        same_alone(jnp.linalg.qr, a, jnp.linalg.qr(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd(dtype):
    for shape in shapes():
        a, (m, n) = random(shape, dtype), shape[-2:]
        k = min(m, n)
        # Of float64 for the smaller types; of its own precision, and other kernels, for the larger.
        expected = np.linalg.svd(a.astype("complex128"), compute_uv=False)
        alone = jnp.linalg.svd(a, compute_uv=False)
        for full in (False, True) if shape in ((2, 3, 5, 5), (3, 65, 33), (3, 33, 65), (3, 0, 3)) else (False,):
            u, s, vh = jnp.linalg.svd(a, full_matrices=full)
            check(
                dtype,
                shape,
                product=distance(
                    (wide(u)[..., :k] * wide(s)[..., None, :]) @ wide(vh)[..., :k, :], a, dtype, max(m, n)
                ),
                left=distance(adjoint(wide(u)) @ wide(u), identity(m if full else k, a), dtype, max(m, n)),
                right=distance(wide(vh) @ adjoint(wide(vh)), identity(n if full else k, a), dtype, max(m, n)),
                values=distance(s[..., None], expected[..., None], dtype, max(m, n)),
                values_alone=distance(alone[..., None], expected[..., None], dtype, max(m, n)),
            )
            assert s.dtype == np.finfo(dtype).dtype
            assert (np.diff(s) <= 0).all()
        same_alone(jnp.linalg.svd, a, jnp.linalg.svd(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(dtype):
    for shape in shapes(SQUARE):
        a, n = random(shape, dtype), shape[-1]
        w, left, right = map(wide, jax.lax.linalg.eig(a, compute_left_eigenvectors=True))
        check(
            dtype,
            shape,
            right=distance(a @ right, right * w[..., None, :], dtype, n, scale=wide(a)),
            left=distance(adjoint(left) @ a, w[..., None] * adjoint(left), dtype, n, scale=wide(a)),
            trace=distance(
                w.sum(-1)[..., None, None],
                np.trace(wide(a), axis1=-2, axis2=-1)[..., None, None],
                dtype,
                n,
                scale=wide(a),
            ),
        )
        for vectors in (left, right):
            np.testing.assert_allclose(
                np.linalg.norm(vectors.astype("complex128"), axis=-2), 1, atol=20 * np.finfo(dtype).eps
            )
        assert jax.lax.linalg.eig(a)[0].dtype == np.result_type(dtype, "complex64")
        same_alone(jax.lax.linalg.eig, a, jax.lax.linalg.eig(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd_by_qr_iterations(dtype):
    def svd(a, **options):
        return jax.lax.linalg.svd(a, algorithm=jax.lax.linalg.SvdAlgorithm.QR, **options)

    for shape in shapes():
        a, (m, n) = random(shape, dtype), shape[-2:]
        k = min(m, n)
        expected = np.linalg.svd(a.astype("complex128"), compute_uv=False)
        alone = svd(a, compute_uv=False)
        for full in (False, True) if shape in ((2, 3, 5, 5), (3, 65, 33), (3, 33, 65), (3, 0, 3)) else (False,):
            u, s, vh = svd(a, full_matrices=full)
            check(
                dtype,
                shape,
                product=distance(
                    (wide(u)[..., :k] * wide(s)[..., None, :]) @ wide(vh)[..., :k, :], a, dtype, max(m, n)
                ),
                left=distance(adjoint(wide(u)) @ wide(u), identity(m if full else k, a), dtype, max(m, n)),
                right=distance(wide(vh) @ adjoint(wide(vh)), identity(n if full else k, a), dtype, max(m, n)),
                values=distance(s[..., None], expected[..., None], dtype, max(m, n)),
                values_alone=distance(alone[..., None], expected[..., None], dtype, max(m, n)),
            )
            assert (np.diff(s) <= 0).all()
        same_alone(svd, a, svd(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigh(dtype):
    for shape in shapes(SQUARE):
        a, n = hermitian(shape, dtype), shape[-1]
        expected = np.linalg.eigvalsh(a.astype("complex128"))
        for lower in (True, False):
            other = np.tri(n, k=-1, dtype=bool).T if lower else np.tri(n, k=-1, dtype=bool)
            spoilt = np.where(other, np.nan, a).astype(dtype)
            v, w = jax.lax.linalg.eigh(spoilt, lower=lower, symmetrize_input=False)
            check(
                dtype,
                shape,
                product=distance((wide(v) * wide(w)[..., None, :]) @ adjoint(wide(v)), a, dtype, n),
                orthonormal=distance(adjoint(wide(v)) @ wide(v), identity(n, a), dtype, n),
                values=distance(w[..., None], expected[..., None], dtype, n),
            )
            assert w.dtype == np.finfo(dtype).dtype
            assert (np.diff(w) >= 0).all()
        same_alone(jnp.linalg.eigh, a, jnp.linalg.eigh(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_schur(dtype):
    for shape in shapes(SQUARE):
        a, n = random(shape, dtype), shape[-1]
        t, vs = map(wide, jax.lax.linalg.schur(a))
        check(
            dtype,
            shape,
            product=distance(vs @ t @ adjoint(vs), a, dtype, n),
            orthonormal=distance(adjoint(vs) @ vs, identity(n, a), dtype, n),
            alone=distance(jax.lax.linalg.schur(a, compute_schur_vectors=False)[0], t, dtype, n),
        )
        np.testing.assert_array_equal(np.tril(t, -2), 0)
        below = np.diagonal(t, -1, -2, -1) != 0
        assert not (below[..., 1:] & below[..., :-1]).any()  # blocks of two on the diagonal at most
        assert not (below.any() and np.iscomplexobj(a))
        same_alone(jax.lax.linalg.schur, a, jax.lax.linalg.schur(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_hessenberg(dtype):
    for shape in shapes(SQUARE):
        a, n = random(shape, dtype), shape[-1]
        if n == 0:
            continue  # JAX does not lower it
        q, h = hessenberg(*jax.lax.linalg.hessenberg(a))
        check(
            dtype,
            shape,
            product=distance(q @ h @ adjoint(q), a, dtype, n),
            orthonormal=distance(adjoint(q) @ q, identity(n, a), dtype, n),
        )
        same_alone(jax.lax.linalg.hessenberg, a, jax.lax.linalg.hessenberg(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_tridiagonal(dtype, lower):
    for shape in shapes(SQUARE):
        a, n = hermitian(shape, dtype), shape[-1]
        if n == 0:
            continue  # JAX refuses it
        other = np.tri(n, k=-1, dtype=bool).T if lower else np.tri(n, k=-1, dtype=bool)
        spoilt = np.where(other, np.nan, a).astype(dtype)
        packed, d, e, tau = jax.lax.linalg.tridiagonal(spoilt, lower=lower)
        q, t = tridiagonal(packed, d, e, tau, lower)
        check(
            dtype,
            shape,
            product=distance(q @ t @ adjoint(q), a, dtype, n),
            orthonormal=distance(adjoint(q) @ q, identity(n, a), dtype, n),
        )
        np.testing.assert_array_equal(np.isnan(packed), np.broadcast_to(other, shape))
        assert d.dtype == e.dtype == np.finfo(dtype).dtype
        same_alone(jax.lax.linalg.tridiagonal, a, jax.lax.linalg.tridiagonal(a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_matrices_which_scipy_serves(dtype):
    a = random((400, 390), dtype)
    q, r = jnp.linalg.qr(a)
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    lower = jnp.linalg.cholesky(positive_definite((600, 600), dtype))
    check(
        dtype,
        a.shape,
        qr=distance(wide(q) @ wide(r), a, dtype, 400),
        svd=distance((wide(u) * wide(s)) @ wide(vh), a, dtype, 400),
        cholesky=distance(wide(lower) @ adjoint(wide(lower)), positive_definite((600, 600), dtype), dtype, 600),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_built_on_them(dtype):
    a, b = random((3, 9, 9), dtype), random((3, 9, 2), dtype)
    condition = np.linalg.cond(a).max()
    for found in (jnp.linalg.solve(a, b), jnp.linalg.inv(a) @ b):
        check(dtype, 9, solve=distance(found, np.linalg.solve(a.astype("complex128"), b), dtype, 9) / condition)
    check(dtype, 9, pinv=distance(jnp.linalg.pinv(a), np.linalg.pinv(a.astype("complex128")), dtype, 9) / condition)
    np.testing.assert_allclose(jnp.linalg.det(a), np.linalg.det(a.astype("complex128")), rtol=1e3 * np.finfo(dtype).eps)
