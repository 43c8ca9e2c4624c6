"""`oxidax_kernels.ops`: values against references of higher precision, transformations, failures, derivatives."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import oxidax
import pytest
from jax.test_util import check_grads
from matrices import DTYPES, adjoint, check, check_lu, distance, identity, positive_definite, random, shapes, wide

from oxidax_kernels import ops

DOUBLES = ("float64", "complex128")
BAD = (np.nan, np.inf, -np.inf)
#: Empty, one, small in every batch, and around a block; wide and tall. Each costs a compilation.
SQUARE = ((0, 0), (1, 1), (5, 5), (65, 65))
RECTANGLES = (*SQUARE, (0, 3), (3, 0), (1, 5), (65, 33), (33, 65))
#: Shapes on which every choice of attributes is tested.
CHOSEN = ((3, 65, 33), (3, 33, 65), (3, 3, 0))

#: Every decomposition with every choice of its attributes, for square matrices.
CALLS = {
    "cholesky": ops.cholesky,
    "cholesky upper": lambda a: ops.cholesky(a, lower=False),
    "lu": ops.lu,
    "qr": ops.qr,
    "qr complete": lambda a: ops.qr(a, mode="complete"),
    "qr r": lambda a: ops.qr(a, mode="r"),
    "svd": ops.svd,
    "svd of parts": lambda a: ops.svd(a, full_matrices=False),
    "svdvals": ops.svdvals,
    "eig": ops.eig,
    "eigvals": ops.eigvals,
}


def cases(dtype, cores=RECTANGLES):
    """All shapes for two dtypes. For the others, which the tests in Rust put through all of them, a few."""
    few = ((5, 5), (65, 33))
    return shapes(cores if dtype in ("float32", "complex128") else [core for core in cores if core in few])


def column(x):
    """A vector as a matrix, for `distance`."""
    return wide(x)[..., None]


def is_nan(x) -> np.ndarray:
    """Where both parts are NaN."""
    return np.isnan(np.real(x)) & (np.isnan(np.imag(x)) if np.iscomplexobj(x) else True)


# Values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype):
    for shape in cases(dtype, SQUARE):
        a, n = positive_definite(shape, dtype), shape[-1]
        above = np.tri(n, k=-1, dtype=bool).T
        lower = ops.cholesky(np.where(above, np.nan, a).astype(dtype))
        upper = ops.cholesky(np.where(above.T, np.nan, a).astype(dtype), lower=False)
        check(
            dtype,
            shape,
            lower=distance(wide(lower) @ adjoint(wide(lower)), a, dtype, n),
            upper=distance(adjoint(wide(upper)) @ wide(upper), a, dtype, n),
        )
        assert lower.dtype == upper.dtype == dtype
        assert lower.shape == upper.shape == shape
        np.testing.assert_array_equal(lower, np.tril(lower))
        np.testing.assert_array_equal(upper, np.triu(upper))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_cholesky_takes_the_diagonal_for_real(dtype):
    a = positive_definite((40, 40), dtype)
    for lower in (True, False):
        found = ops.cholesky(a + 5j * np.eye(40, dtype=dtype), lower=lower)
        np.testing.assert_array_equal(found, ops.cholesky(a, lower=lower))
        assert (np.imag(np.diag(found)) == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu(dtype):
    for shape in cases(dtype):
        a, m = random(shape, dtype), shape[-2]
        lu, pivots, permutation = ops.lu(a)
        check_lu(dtype, a, lu, permutation)
        assert pivots.dtype == permutation.dtype == "int32"
        np.testing.assert_array_equal(permutation, ops.lu_pivots_to_permutation(pivots, permutation_size=m))


@pytest.mark.parametrize("dtype", DTYPES)
def test_qr(dtype):
    for shape in cases(dtype):
        a, (m, n) = random(shape, dtype), shape[-2:]
        modes = {"reduced": min(m, n), "complete": m} if shape in CHOSEN else {"reduced": min(m, n)}
        for mode, k in modes.items():
            q, r = ops.qr(a, mode=mode)
            assert (q.shape, r.shape) == ((*shape[:-2], m, k), (*shape[:-2], k, n))
            check(
                dtype,
                shape,
                product=distance(wide(q) @ wide(r), a, dtype, max(m, n)),
                orthogonal=distance(adjoint(wide(q)) @ wide(q), identity(k, a), dtype, max(m, n)),
            )
            np.testing.assert_array_equal(r, np.triu(r))
        if shape in CHOSEN:
            q, r = ops.qr(a, mode="r")
            assert q.shape == (*shape[:-2], m, 0)
            np.testing.assert_array_equal(r, ops.qr(a).r)


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd(dtype):
    for shape in cases(dtype):
        a, (m, n) = random(shape, dtype), shape[-2:]
        k = min(m, n)
        # Of float64 for the smaller types; of its own precision, and other kernels, for the larger.
        expected = np.linalg.svd(a.astype("complex128"), compute_uv=False)
        for full in (True, False) if shape in CHOSEN else (True,):
            u, s, vh = ops.svd(a, full_matrices=full)
            columns, rows = (m, n) if full else (k, k)
            assert (u.shape, vh.shape) == ((*shape[:-2], m, columns), (*shape[:-2], rows, n))
            check(
                dtype,
                shape,
                product=distance(
                    (wide(u)[..., :k] * wide(s)[..., None, :]) @ wide(vh)[..., :k, :], a, dtype, max(m, n)
                ),
                left=distance(adjoint(wide(u)) @ wide(u), identity(columns, a), dtype, max(m, n)),
                right=distance(wide(vh) @ adjoint(wide(vh)), identity(rows, a), dtype, max(m, n)),
                values=distance(column(s), column(expected), dtype, max(m, n)),
            )
            assert s.dtype == np.finfo(dtype).dtype
            assert (np.diff(s) <= 0).all()
        check(dtype, shape, alone=distance(column(ops.svdvals(a)), column(expected), dtype, max(m, n)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(dtype):
    for shape in cases(dtype, SQUARE):
        a, n = random(shape, dtype), shape[-1]
        w, v = map(wide, ops.eig(a))
        trace = np.trace(wide(a), axis1=-2, axis2=-1)
        check(
            dtype,
            shape,
            vectors=distance(a @ v, v * w[..., None, :], dtype, n, scale=wide(a)),
            trace=distance(column(w.sum(-1)[..., None]), column(trace[..., None]), dtype, n, scale=wide(a)),
        )
        np.testing.assert_allclose(np.linalg.norm(v.astype("complex128"), axis=-2), 1, atol=20 * np.finfo(dtype).eps)
        alone = ops.eigvals(a)
        assert alone.dtype == ops.eig(a).v.dtype == np.result_type(dtype, "complex64")
        # Random matrices have well-conditioned values: those of another algorithm are near, in some order.
        nearest = np.abs(column(alone) - w[..., None, :]).min(-1, initial=np.inf)
        assert (nearest < 1e3 * np.finfo(dtype).eps * n).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_matrices_which_scipy_serves(dtype):
    a = positive_definite((520, 520), dtype)
    # NumPy has no fast products of more than double precision.
    factor, (lu, _, permutation) = np.array(ops.cholesky(a), "complex128"), ops.lu(a)
    product = (np.tril(lu, -1) + np.eye(520)).astype("complex128") @ np.triu(lu)
    check(
        dtype,
        a.shape,
        cholesky=distance(factor @ adjoint(factor), a, dtype, 520),
        lu=distance(product, a[np.array(permutation)], dtype, 520),
    )


# Transformations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_jit_and_vmap_give_the_bits_of_a_loop(name, dtype):
    a, call = positive_definite((3, 2, 5, 5), dtype), CALLS[name]
    batched = jax.jit(jax.vmap(jax.vmap(call, in_axes=2), in_axes=1))(np.moveaxis(a, [0, 1], [1, 3]))
    for index in np.ndindex(3, 2):
        for found, expected in zip(jax.tree.leaves(batched), jax.tree.leaves(call(a[index])), strict=True):
            np.testing.assert_array_equal(found[index], expected)


# Failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_of_what_is_not_positive_definite(dtype):
    bad = [
        [[1, 2], [2, 1]],
        [[0, 0], [0, 1]],
        [[np.nan, 0], [0, 1]],
        [[1, np.nan], [np.nan, 1]],
        [[1, np.inf], [np.inf, 1]],
    ]
    batch = np.array([np.eye(2), *bad, 4 * np.eye(2)], dtype)
    for lower in (True, False):
        factor = np.array(ops.cholesky(batch, lower=lower))
        np.testing.assert_array_equal(factor[[0, -1]], np.array([np.eye(2), 2 * np.eye(2)], dtype))
        triangle = np.tri(2, dtype=bool) if lower else np.tri(2, dtype=bool).T
        assert is_nan(factor[1:-1])[:, triangle].all()
        assert (factor[1:-1][:, ~triangle] == 0).all()


def test_cholesky_fails_as_jaxs_does():
    bad = np.array([[4, 2, 2], [2, 1, 3], [2, 3, 9.0]])
    np.testing.assert_array_equal(ops.cholesky(bad), jnp.linalg.cholesky(bad))


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_of_singular_matrices_is_complete(dtype):
    lu, pivots, permutation = ops.lu(np.array([[1, 2], [2, 4]], dtype))
    np.testing.assert_array_equal(lu, np.array([[2, 4], [0.5, 0]], dtype))
    np.testing.assert_array_equal(pivots, [1, 1])
    np.testing.assert_array_equal(permutation, [1, 0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", CALLS)
def test_what_is_not_finite_stays_in_its_matrix(name, bad, dtype):
    a, call = positive_definite((4, 5, 5), dtype), CALLS[name]
    spoilt = np.array([False, True, False, True])
    a[1, 2, 1] = a[1, 1, 2] = a[3, 4, 4] = bad
    clean = np.where(spoilt[:, None, None], np.eye(5, dtype=dtype), a)
    results = [np.array(x) for x in jax.tree.leaves(call(a)) if x.dtype != "int32"]
    expected = [np.array(x) for x in jax.tree.leaves(call(clean)) if x.dtype != "int32"]
    for found, reference in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found[~spoilt], reference[~spoilt])
        if name.startswith(("svd", "eig")):
            assert is_nan(found[spoilt]).all()
    # The others propagate: to the factor, `lu`, or `r`.
    assert not np.isfinite(results[-1][spoilt]).reshape(2, -1).all(-1).any()


# Derivatives -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DOUBLES)
@pytest.mark.parametrize("lower", [True, False])
def test_derivatives_of_cholesky_are_those_of_finite_differences(lower, dtype):
    for shape in ((0, 0), (1, 1), (6, 6), (3, 4, 4)):
        a = positive_definite(shape, dtype) + 0
        check_grads(lambda a: ops.cholesky(a, lower=lower), (a,), order=1, modes=["fwd", "rev"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("lower", [True, False])
def test_derivatives_of_cholesky_are_jaxs(lower, dtype):
    """JAX's are those of a function that makes its argument Hermitian first."""
    a, t, ct = positive_definite((2, 33, 33), dtype), random((2, 33, 33), dtype, 1), random((2, 33, 33), dtype, 2)

    def hermitian(x):
        return (x + jnp.conj(jnp.swapaxes(x, -1, -2))) / 2

    def derivatives(call, dtype):
        function = jax.jit(lambda a, t, ct: (jax.jvp(call, (a,), (t,))[1], jax.vjp(call, a)[1](ct)[0]))
        return function(*(x.astype(dtype) for x in (a, t, ct)))

    ours = derivatives(lambda a: ops.cholesky(hermitian(a), lower=lower), dtype)
    theirs = derivatives(lambda a: jnp.linalg.cholesky(a, upper=not lower), np.result_type(dtype, "float64"))
    check(dtype, a.shape, jvp=distance(ours[0], theirs[0], dtype, 33), vjp=distance(ours[1], theirs[1], dtype, 33))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
def test_derivatives_of_cholesky_know_one_triangle(lower, dtype):
    outside = np.tri(5, k=-1, dtype=bool).T if lower else np.tri(5, k=-1, dtype=bool)
    a, t, ct = positive_definite((5, 5), dtype), random((5, 5), dtype, 1), random((5, 5), dtype, 2)

    def call(a):
        return ops.cholesky(a, lower=lower)

    tangents = [jax.jvp(call, (a,), (np.where(outside, x, t).astype(dtype),))[1] for x in (0, np.nan)]
    np.testing.assert_array_equal(*tangents)
    cotangents = [jax.vjp(call, a)[1](jnp.where(outside, x, ct).astype(dtype))[0] for x in (0, np.nan)]
    np.testing.assert_array_equal(*cotangents)
    for derivative in (tangents[0], cotangents[0]):
        assert (derivative[outside] == 0).all()
        assert (derivative[~outside] != 0).all()


def test_derivatives_of_cholesky_batch_as_it_does():
    a, t = positive_definite((4, 3, 3), "float64"), random((4, 3, 3), "float64", 1)
    tangents = jax.vmap(lambda t: jax.jvp(ops.cholesky, (a[0],), (t,))[1])(t)
    gradients = jax.vmap(jax.grad(lambda a: ops.cholesky(a).sum()))(a)
    for i in range(4):
        np.testing.assert_array_equal(tangents[i], jax.jvp(ops.cholesky, (a[0],), (t[i],))[1])
        np.testing.assert_array_equal(gradients[i], jax.grad(lambda a: ops.cholesky(a).sum())(a[i]))


@pytest.mark.parametrize("dtype", DOUBLES)
def test_derivatives_of_svdvals_are_those_of_finite_differences(dtype):
    for shape in ((0, 3), (1, 1), (6, 4), (3, 4, 6)):
        check_grads(ops.svdvals, (random(shape, dtype),), order=1, modes=["fwd", "rev"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_the_gradient_of_the_sum_of_singular_values_is_the_polar_factor(dtype):
    """Also where values are equal, as those of the identity are."""
    for a in (random((2, 33, 20), dtype), np.eye(5, dtype=dtype)):
        u, _, vh = np.linalg.svd(wide(a), full_matrices=False)
        gradient = jax.jit(jax.grad(lambda a: ops.svdvals(a).sum()))(a)
        check(dtype, a.shape, polar=distance(np.conj(gradient), u @ vh, dtype, max(a.shape)))
    assert is_nan(jax.grad(lambda a: ops.svdvals(a).sum())(np.full((2, 2), np.nan, dtype))).all()


def test_an_operation_without_a_rule_says_what_to_add():
    with pytest.raises(TypeError, match=r"eigvals: has no derivative: add `vjp\(bwd = \.\.\)`"):
        jax.grad(lambda a: jnp.abs(ops.eigvals(a)).sum())(np.eye(3))


# The module --------------------------------------------------------------------------------------


def test_the_module_lists_the_operations_and_not_their_rules():
    # Those that are tested in files of their own.
    others = {"cholesky_update", "csr_matmul", "spsolve", "symmetric_product", "threefry2x32"}
    listed = {name.split()[0] for name in CALLS} | {"lu_pivots_to_permutation"} | others
    assert dir(ops) == sorted(listed)
    with pytest.raises(AttributeError, match="has no attribute 'cholesky_bwd'"):
        _ = ops.cholesky_bwd


def test_an_operation_describes_itself():
    assert str(inspect.signature(ops.svd)) == "(a, /, *, full_matrices=True)"
    for text in (
        "a = u @ diag(s) @ vh",
        "NaN in every result",
        "INVALID_ARGUMENT",
        "f32, f64, c64 or c128 (..., m, n)",
    ):
        assert text in inspect.getdoc(ops.svd)


def test_wrong_calls_are_refused_while_tracing():
    for call, text in (
        (lambda: ops.cholesky(np.ones((2, 3))), 'argument 0 "a": expected n = 2'),
        (lambda: ops.eig(np.ones(3)), "expected shape (..., n, n), got (3,)"),
        (lambda: ops.lu(np.ones((2, 2), int)), "expected f32, f64, c64 or c128, got s64"),
        (lambda: ops.qr(np.ones((2, 2)), mode="full"), 'expected "reduced" or "complete" or "r", got str \'full\''),
        (lambda: ops.svd(np.ones((2, 2)), compute_uv=False), 'unknown keyword "compute_uv"'),
    ):
        with pytest.raises(oxidax.SignatureError) as error:
            jax.eval_shape(call)
        assert text in str(error.value)


def test_the_operations_and_jaxlibs_targets_leave_each_other_alone(run_python):
    code = """
        import sys
        import numpy as np
        import oxidax_kernels
        from oxidax_kernels import _contracts, _jaxlib, _library, ops
        assert "jax" not in sys.modules
        ops.lu  # loads the library, and so registers its operations
        assert oxidax_kernels.installed() == ()
        ours = oxidax_kernels.install()
        assert set(ours) == set(_library.handlers()) - _contracts.later_than(_jaxlib.version())
        a = 4 * np.eye(2, dtype=np.float32)
        factor = ops.cholesky(a)  # starts the backend
        assert oxidax_kernels.installed() == ours
        import jax.numpy as jnp
        assert (factor == jnp.linalg.cholesky(a)).all()
        print("done")
    """
    assert run_python(code) == "done\n"
