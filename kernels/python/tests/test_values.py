"""Values of JAX's linear algebra on the kernels, against references of higher precision."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from matrices import (
    BATCHES,
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

import oxidax_kernels

OUTPUT = {"f": "real", "c": "complex"}  # of SciPy's Schur form, by the kind of the matrix's type


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


def triangles(shape, dtype):
    """Matrices whose triangles are of small condition numbers."""
    return (random(shape, dtype) / max(shape[-1], 1) + 2 * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left_side", [True, False])
def test_triangular_solve(dtype, left_side):
    for shape in shapes():
        m, n = shape[-2:]
        order = m if left_side else n
        a, b = triangles((*shape[:-2], order, order), dtype), random(shape, dtype)
        # Each form with and without a diagonal of ones in turn: each costs a compilation.
        forms = [(lower, *form) for form in ((0, 0), (1, 0), (1, 1), (0, 1)) for lower in (True, False)]
        for place, (lower, transpose_a, conjugate_a) in enumerate(forms if shape == (2, 3, 5, 5) else forms[:1]):
            unit_diagonal = place % 4 in (1, 2)
            options = {
                "left_side": left_side, "lower": lower, "transpose_a": bool(transpose_a),
                "conjugate_a": bool(conjugate_a), "unit_diagonal": unit_diagonal,
            }  # fmt: skip
            spoilt = np.where(np.tri(order, dtype=bool) if lower else np.tri(order, dtype=bool).T, a, np.nan)
            function = functools.partial(jax.lax.linalg.triangular_solve, **options)
            x = function(spoilt, b)
            op = np.tril(wide(a)) if lower else np.triu(wide(a))
            op = np.where(np.eye(order, dtype=bool), 1, op) if unit_diagonal else op
            op = np.swapaxes(op, -1, -2) if transpose_a else op
            op = np.conj(op) if conjugate_a else op
            product = op @ wide(x) if left_side else wide(x) @ op
            check(dtype, (shape, options), product=distance(product, b, dtype, order))
        if shape in ((2, 3, 5, 5), (3, 65, 65)):
            alone = function(spoilt[(-1,) * (a.ndim - 2)], b[(-1,) * (b.ndim - 2)])
            np.testing.assert_array_equal(alone, x[(-1,) * (b.ndim - 2)])


def tridiagonal_system(shape, dtype):
    """Diagonals, as JAX takes them, and the matrices of them."""
    dl, d, du = (random(shape, dtype, seed) for seed in range(3))
    d = (d + 4).astype(dtype)
    dl[..., :1] = du[..., -1:] = 0
    index = np.arange(shape[-1])
    matrix = np.zeros((*shape, shape[-1]), dtype)
    matrix[..., index, index] = d
    matrix[..., index[1:], index[:-1]] = dl[..., 1:]
    matrix[..., index[:-1], index[1:]] = du[..., :-1]
    return (dl, d, du), matrix


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_solve(dtype):
    solve = jax.lax.linalg.tridiagonal_solve
    later = "tridiagonal_solve_perturbed_ffi" in oxidax_kernels.installed()
    functions = [solve, functools.partial(solve, perturb_singular=True)] if later else [solve]
    # No unknowns, one, two, and swaps of rows; one right-hand side, and several.
    for shape in [(*batch, n) for n in (0, 1, 2, 5, 33) for batch in (BATCHES if n == 5 else ((3,),))]:
        for sides, function in itertools.product((1, 4) if shape == (2, 3, 5) else (4,), functions):
            diagonals, matrix = tridiagonal_system(shape, dtype)
            b = random((*shape, sides), dtype)
            x = function(*diagonals, b)
            check(dtype, b.shape, product=distance(wide(matrix) @ wide(x), b, dtype, shape[-1]))
            if shape == (2, 3, 5):
                np.testing.assert_array_equal(function(*(y[1, 2] for y in diagonals), b[1, 2]), x[1, 2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_solve_swaps_rows(dtype):
    (dl, d, du), matrix = tridiagonal_system((7,), dtype)
    dl[1:] *= 100
    matrix = matrix + 99 * np.tril(matrix, -1)
    b = random((7, 2), dtype)
    x = jax.lax.linalg.tridiagonal_solve(dl, d, du, b)
    allowed = np.linalg.norm(matrix) * wide(x)
    check(dtype, b.shape, product=distance(wide(matrix) @ wide(x), b, dtype, 7, scale=allowed))


@pytest.mark.parametrize("dtype", DTYPES)
def test_qr_with_pivots(dtype):
    for shape in shapes():
        a, (m, n) = random(shape, dtype), shape[-2:]
        if m == 0:  # no matter of a kernel
            continue
        q, r, p = jax.lax.linalg.qr(a, pivoting=True, full_matrices=False)
        np.testing.assert_array_equal(np.sort(p, -1), np.broadcast_to(np.arange(n), p.shape))
        permuted = np.take_along_axis(a, np.asarray(p)[..., None, :], -1)
        check(
            dtype,
            shape,
            product=distance(wide(q) @ wide(r), permuted, dtype, max(m, n)),
            orthogonal=distance(adjoint(wide(q)) @ wide(q), identity(min(m, n), a), dtype, max(m, n)),
        )
        sizes = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
        assert (sizes[..., 1:] <= sizes[..., :-1] * (1 + 100 * np.finfo(dtype).eps)).all()
        pivoted = functools.partial(jax.lax.linalg.qr, pivoting=True, full_matrices=False)
        same_alone(pivoted, a, (q, r, p))


@pytest.mark.skipif(not hasattr(jax.lax.linalg, "ormqr"), reason="this jax has no ormqr")
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_with_q(dtype):
    for rows, reflectors, others in ((1, 1, 1), (5, 3, 4), (9, 9, 1), (65, 40, 33)):
        for batch in BATCHES if rows == 5 else ((3,),):
            packed, taus = np.linalg.qr(random((*batch, rows, reflectors), dtype), mode="raw")
            packed = np.swapaxes(packed, -1, -2)
            padded = np.concatenate([packed, np.zeros((*batch, rows, rows - packed.shape[-1]), dtype)], -1)
            q = wide(jax.lax.linalg.householder_product(padded, taus))
            for left, transpose in itertools.product((True, False), (False, True)):
                c = random((*batch, *((rows, others) if left else (others, rows))), dtype)
                found = jax.lax.linalg.ormqr(packed, taus, c, left=left, transpose=transpose)
                op = adjoint(q) if transpose else q
                expected = op @ wide(c) if left else wide(c) @ op
                check(dtype, (rows, reflectors, c.shape), product=distance(found, expected, dtype, rows))


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


@pytest.mark.parametrize("n", [76, 100, 128])
@pytest.mark.parametrize("dtype", DTYPES)
def test_schur_where_rounding_decides_signs(dtype, n):
    a = random((3, n, n), dtype)
    results = jax.lax.linalg.schur(a)
    expected = zip(*(scipy.linalg.schur(x, output=OUTPUT[a.dtype.kind]) for x in a), strict=True)
    for result, of_scipy in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, np.stack(of_scipy))


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
