"""`ops.spsolve`: residuals, orders, singular matrices, derivatives."""

from __future__ import annotations

import jax
import numpy as np
import pytest
import scipy.sparse
from jax.test_util import check_grads
from matrices import BATCHES, DTYPES, check, distance, random, wide
from test_sparse import INTEGERS, dense

from oxidax_kernels import ops

DOUBLES = ("float64", "complex128")
ORDERS = (0, 1, 2, 3)


def system(n: int, dtype: str, index: str = "int32", batch=(), each: int = 3):
    """A matrix with some entries in each row, in disorder and some of them twice, and a larger diagonal; padding."""
    rng = np.random.default_rng([n, each])
    rows = [np.append(rng.integers(0, n, each), i) for i in range(n)] if n else []
    order = rng.permutation(each + 1)
    indices = np.concatenate([*(row[order] for row in rows), [n, n]]).astype(index)
    indptr = (np.arange(n + 1) * (each + 1)).astype(index)
    data = random((*batch, len(indices)), dtype)
    diagonal = np.tile(order == each, n)
    data[..., : len(diagonal)] += 8 * diagonal.astype(dtype)
    return data, indices, indptr


def laplacian(side: int, dtype: str):
    """Of a grid whose points are numbered in disorder."""
    one = scipy.sparse.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(side, side))
    eye = scipy.sparse.identity(side)
    a = scipy.sparse.csr_matrix(scipy.sparse.kron(one, eye) + scipy.sparse.kron(eye, one))
    order = np.random.default_rng(0).permutation(side * side)
    a = a[order][:, order].tocsr()
    return a.data.astype(dtype), a.indices, a.indptr


def residual(dtype, arrays, x, b) -> float:
    """The norm of `a x - b` over those of `a` and `x`, in units of eps."""
    n = b.shape[-1]
    matrix = dense(*arrays, n)
    sizes = np.linalg.norm(matrix.astype(complex), axis=(-2, -1)) * np.linalg.norm(np.asarray(x), axis=-1)
    difference = np.abs((matrix @ wide(x)[..., None])[..., 0] - wide(b)).max(-1, initial=0)
    return float((difference / np.maximum(sizes, np.finfo(dtype).tiny)).max(initial=0) / np.finfo(dtype).eps)


@pytest.mark.parametrize("index", INTEGERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_spsolve(dtype, index):
    for n, batch in [*((n, ()) for n in (0, 1, 2, 33, 120)), *((5, batch) for batch in BATCHES)]:
        arrays, b = system(n, dtype, index, batch), random((*batch, n), dtype, 1)
        for reorder in ORDERS if n == 33 else (1,):
            x = ops.spsolve(*arrays, b, reorder=reorder)
            assert (x.shape, x.dtype) == (b.shape, dtype)
            assert residual(dtype, arrays, x, b) < 10, (n, batch, reorder)


@pytest.mark.parametrize("dtype", DOUBLES)
def test_spsolve_is_scipys(dtype):
    data, indices, indptr = laplacian(12, dtype)
    b = random((144,), dtype)
    expected = scipy.sparse.linalg.spsolve(scipy.sparse.csr_matrix((data, indices, indptr)), b)
    for reorder in ORDERS:
        x = ops.spsolve(data, indices, indptr, b, reorder=reorder)
        check(dtype, b.shape, x=distance(x[None], expected[None], dtype, 144))


def test_jit_and_vmap_give_the_bits_of_a_loop():
    data, indices, indptr = system(20, "float32", batch=(3,))
    b = random((2, 20), "float32")
    x = jax.jit(jax.vmap(jax.vmap(ops.spsolve, (None, None, None, 0)), (0, None, None, None)))(data, indices, indptr, b)
    for i, j in np.ndindex(3, 2):
        np.testing.assert_array_equal(x[i, j], ops.spsolve(data[i], indices, indptr, b[j]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reorder", [0, 1])
def test_a_singular_matrix_is_nan_and_its_neighbours_are_not(reorder, dtype):
    indices, indptr = np.int32([0, 1, 0, 1]), np.int32([0, 2, 4])
    data = np.array([[1, 2, 3, 4], [1, 2, 2, 4], [0, 0, 0, 0], [1, 2, np.nan, 4], [2, 0, 0, 2]], dtype)
    x = np.array(ops.spsolve(data, indices, indptr, np.array([3, 7], dtype), reorder=reorder))
    assert np.isnan(x[1:4]).all()
    np.testing.assert_allclose(x[[0, 4]], [[1, 1], [1.5, 3.5]], rtol=1e-5)
    # An empty row or column.
    assert np.isnan(ops.spsolve(data[0, :2], indices[:2], np.int32([0, 2, 2]), np.ones(2, dtype))).all()
    assert np.isnan(ops.spsolve(data[0, :2], np.int32([0, 0]), np.int32([0, 1, 2]), np.ones(2, dtype))).all()


def test_the_tolerance_is_absolute():
    diagonal, places = np.array([1.0, 1e-8]), np.int32([0, 1, 2])
    assert np.isnan(ops.spsolve(diagonal, places[:2], places, np.ones(2))).all()
    np.testing.assert_allclose(ops.spsolve(diagonal, places[:2], places, np.ones(2), tol=1e-9), [1, 1e8])


def test_numbers_whose_squares_overflow_or_vanish():
    for dtype, scale in (("float32", 1e30), ("float32", 1e-30), ("complex64", 1e30), ("complex64", 1e-30)):
        data, indices, indptr = system(9, dtype)
        b = random((9,), dtype, 1)
        x = ops.spsolve((data * scale).astype(dtype), indices, indptr, (b * scale).astype(dtype), tol=0.0)
        check(dtype, b.shape, x=distance(x[None], ops.spsolve(data, indices, indptr, b)[None], dtype, 9))


def test_numbers_whose_inverses_vanish():
    """Under XLA, subnormal numbers are zero."""
    places = np.arange(3, dtype=np.int32)
    for dtype, large in (("float32", 2e38), ("complex64", 2e38), ("float64", 1e308), ("complex128", 1e308)):
        one = np.array([large], dtype)
        np.testing.assert_allclose(ops.spsolve(one, places[:1], places[:2], one), [1], rtol=1e-6)
        data = np.array([large / 2] * 3, dtype)
        indices, indptr = np.array([0, 0, 1], np.int32), np.array([0, 1, 3], np.int32)
        b = np.array([large / 2, large], dtype)
        np.testing.assert_allclose(ops.spsolve(data, indices, indptr, b, reorder=0), [1, 1], rtol=1e-5)


def test_wrong_calls_are_refused():
    data, indices, indptr = system(4, "float32")
    b = np.ones(4, np.float32)
    for call, text in (
        (lambda: ops.spsolve(data, indices, indptr[:-1], b), "indptr has a number more"),
        (lambda: ops.spsolve(data, indices, indptr, b, reorder=4), "reorder is 0, 1, 2 or 3"),
        (lambda: ops.spsolve(data, indices + 1, indptr, b).block_until_ready(), "is none of 4 columns"),
        (lambda: ops.spsolve(data, indices, indptr[::-1], b).block_until_ready(), "cannot end before it begins"),
    ):
        with pytest.raises(Exception, match=text.replace("(", r"\(")):
            call()


@pytest.mark.parametrize("dtype", DOUBLES)
def test_derivatives_are_those_of_finite_differences(dtype):
    for n, batch in ((0, ()), (1, ()), (7, ()), (4, (2,))):
        data, indices, indptr = system(n, dtype, batch=batch)

        def call(data, b, indices=indices, indptr=indptr):
            return ops.spsolve(data, indices, indptr, b)

        check_grads(call, (data, random((*batch, n), dtype, 1)), order=1, modes=["fwd", "rev"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_are_those_of_the_dense_solution(dtype):
    data, indices, indptr = system(30, dtype)
    b, ct = random((30,), dtype, 1), random((30,), dtype, 2)
    x, pull = jax.vjp(lambda data, b: ops.spsolve(data, indices, indptr, b), data, b)
    ct_data, ct_b = pull(ct)
    exact = dense(data, indices, indptr, 30).astype(np.result_type(dtype, "float64"))
    y = np.linalg.solve(exact.T, ct)
    x, row, used = np.linalg.solve(exact, b), np.repeat(np.arange(30), np.diff(indptr)), indptr[-1]
    check(
        dtype,
        b.shape,
        b=distance(ct_b[None], y[None], dtype, 30),
        data=distance(ct_data[None, :used], (-y[row] * x[indices[:used]])[None], dtype, 30),
    )
    assert (ct_data[used:] == 0).all()


def test_the_reverse_rule_refuses_the_matrix_that_the_solution_refused_and_no_other():
    indices, indptr = np.array([0, 0, 1], np.int32), np.array([0, 1, 3], np.int32)

    def solve(data, b):
        return ops.spsolve(data, indices, indptr, b)

    # R of the transpose has 1e-7 on its diagonal, and that of the matrix has not.
    data, b = np.array([1.0, 1e7, 1.0]), np.ones(2)
    reverse, forward = (jacobian(solve, argnums=1)(data, b) for jacobian in (jax.jacrev, jax.jacfwd))
    np.testing.assert_allclose(reverse, [[1, 0], [-1e7, 1]], rtol=1e-8)
    np.testing.assert_allclose(forward, reverse, rtol=1e-8)
    singular = np.array([1.0, 1.0, 1e-9])
    _, pull = jax.vjp(solve, singular, b)
    assert all(np.isnan(ct).all() for ct in pull(np.ones(2)))


def test_a_matrix_that_fills_all_memory_is_an_error(run_python):
    """An arrow: its first row and column, and the diagonal. In this order every row of R is full."""
    code = """
    import resource
    import numpy as np
    from oxidax_kernels import ops

    def solve(n):
        rest = np.arange(1, n)
        indices = np.concatenate([np.arange(n), np.stack([0 * rest, rest], axis=1).ravel()]).astype(np.int32)
        indptr = np.concatenate([[0], n + 2 * np.arange(n)]).astype(np.int32)
        data = np.where(indices == 0, 1.0, 2.0).astype(np.float32)
        return np.asarray(ops.spsolve(data, indices, indptr, np.ones(n, np.float32), reorder=0))

    assert np.isfinite(solve(30)).all()
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + 2**28, before[1]))
    try:
        solve(100_000)
    except Exception as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_AS, before)
    assert np.isfinite(solve(30)).all()
    """
    assert "spsolve: there is no memory for a row of 100000 elements: the matrix fills" in run_python(code)
