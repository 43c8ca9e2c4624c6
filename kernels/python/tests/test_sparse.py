"""`ops.csr_matmul`, and the target under `jax.experimental.sparse`: values, places that are none, derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import sparse
from jax.test_util import check_grads
from matrices import BATCHES, DTYPES, check, distance, random, wide

from oxidax_kernels import _jaxlib, ops

TARGET = "cpu_csr_sparse_dense_ffi"
needs_target = pytest.mark.skipif(TARGET not in _jaxlib.stock(), reason=f"this jaxlib has no {TARGET}")
DOUBLES = ("float64", "complex128")
INTEGERS = ("int32", "int64")
#: Rows, columns and columns of the dense matrix: empty, one, small, and more than a thread's part.
SHAPES = ((0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (5, 4, 3), (5, 9, 1), (300, 200, 1), (300, 200, 33))


def csr(shape: tuple[int, int], dtype: str, index: str = "int32", batch=(), padding: int = 3, seed: int = 0):
    """Data, indices and indptr: unsorted, with repeated columns, empty rows, a full row, and padding."""
    rows, columns = shape
    rng = np.random.default_rng([seed, rows, columns])
    counts = rng.integers(0, max(columns, 1), rows) * (rng.random(rows) < 0.8) * (columns > 0)
    if rows > 1 and columns:
        counts[1] = 3 * columns
    indptr = np.append(0, np.cumsum(counts)).astype(index)
    indices = rng.integers(0, max(columns, 1), indptr[-1])
    indices = np.append(indices, np.full(padding, columns)).astype(index)
    return random((*batch, len(indices)), dtype, seed), indices, indptr


def dense(data, indices, indptr, columns: int) -> np.ndarray:
    """The same matrix, with more precision."""
    rows = len(indptr) - 1
    found = np.zeros((*data.shape[:-1], rows, columns), wide(data).dtype)
    for i in range(rows):
        for entry in range(indptr[i], indptr[i + 1]):
            found[..., i, indices[entry]] += data[..., entry]
    return found


# csr_matmul --------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", INTEGERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_csr_matmul(dtype, index):
    for (m, n, k), batch in [*((shape, ()) for shape in SHAPES), *(((5, 4, 3), batch) for batch in BATCHES)]:
        a, rhs = csr((m, n), dtype, index, batch), random((*batch, n, k), dtype, 1)
        found = ops.csr_matmul(*a, rhs)
        matrix = dense(*a, n)
        assert (found.shape, found.dtype) == ((*batch, m, k), dtype)
        sizes = np.abs(matrix) @ np.abs(wide(rhs))
        check(dtype, (*batch, m, n, k), product=distance(found, matrix @ wide(rhs), dtype, n, scale=sizes))


def test_csr_matmul_broadcasts_every_operand():
    data, indices, indptr = csr((5, 4), "float64", batch=(2, 1))
    rhs = random((3, 4, 2), "float64")
    shuffled = np.stack([indices, np.where(indices < 4, (indices + 1) % 4, 4)])[:, None]
    found = ops.csr_matmul(data, shuffled, indptr, rhs)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(found[i, j], ops.csr_matmul(data[i, 0], shuffled[i, 0], indptr, rhs[j]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_jit_and_vmap_give_the_bits_of_a_loop(dtype):
    data, indices, indptr = csr((30, 20), dtype, batch=(3,))
    rhs = random((2, 20, 5), dtype)
    call = jax.jit(jax.vmap(jax.vmap(ops.csr_matmul, (None, None, None, 0)), (0, None, None, None)))
    for i, j in np.ndindex(3, 2):
        np.testing.assert_array_equal(
            call(data, indices, indptr, rhs)[i, j], ops.csr_matmul(data[i], indices, indptr, rhs[j])
        )


@pytest.mark.parametrize(
    ("indices", "indptr", "text"),
    [
        ([0, 1, 2, 3], [0, 2, 4], "indices[3] is 3, which is none of 3 columns"),
        ([0, -1, 2, 2], [0, 2, 4], "indices[1] is -1"),
        ([0, 1, 2, 2], [0, 2, 5], "indptr[2] is 5, and there are 4 entries"),
        ([0, 1, 2, 2], [0, 2, 1], "indptr[2] is 1, less than 2"),
        ([0, 1, 2, 2], [-1, 2, 4], "indptr[0] is -1, less than 0"),
    ],
)
@pytest.mark.parametrize("index", INTEGERS)
def test_places_that_are_none_are_refused(index, indices, indptr, text):
    data, rhs = np.ones(4, np.float32), np.ones((3, 2), np.float32)
    places = np.array(indices, index), np.array(indptr, index)
    for call in (ops.csr_matmul, lambda *x: jax.grad(lambda rhs: ops.csr_matmul(*x[:3], rhs).sum())(x[3])):
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError)) as error:
            jax.block_until_ready(call(data, *places, rhs))
        assert text in str(error.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_goes_where_an_entry_meets_it(bad):
    data, indices, indptr = np.array([1.0, 2, 3, np.nan]), np.array([0, 1, 2, 5]), np.array([0, 1, 2, 3])
    rhs = np.array([[1.0, 1], [bad, 1], [1, 1]])
    found = ops.csr_matmul(data, indices, indptr, rhs)
    np.testing.assert_array_equal(found, [[1, 1], [2 * bad, 2], [3, 3]])


@pytest.mark.parametrize("dtype", DOUBLES)
def test_derivatives_are_those_of_finite_differences(dtype):
    for (m, n, k), batch in [((0, 3, 2), ()), ((5, 4, 3), ()), ((5, 9, 1), ()), ((4, 5, 2), (3,))]:
        data, indices, indptr = csr((m, n), dtype, batch=batch)

        def call(data, rhs, indices=indices, indptr=indptr):
            return ops.csr_matmul(data, indices, indptr, rhs)

        rhs = random((*batch, n, k), dtype, 1)
        check_grads(call, (data, rhs), order=1, modes=["fwd", "rev"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_are_those_of_the_dense_product(dtype):
    data, indices, indptr = csr((40, 30), dtype)
    rhs, ct = random((30, 7), dtype, 1), random((40, 7), dtype, 2)
    ct_data, ct_rhs = jax.vjp(lambda data, rhs: ops.csr_matmul(data, indices, indptr, rhs), data, rhs)[1](ct)
    matrix, row = dense(data, indices, indptr, 30), np.repeat(np.arange(40), np.diff(indptr))
    used = len(row)
    expected = (wide(ct)[row] * wide(rhs)[indices[:used]]).sum(-1)
    check(
        dtype,
        rhs.shape,
        data=distance(ct_data[None, :used], expected[None], dtype, 30),
        rhs=distance(ct_rhs, matrix.T @ wide(ct), dtype, 40),
    )
    assert (ct_data[used:] == 0).all()


# cpu_csr_sparse_dense_ffi ------------------------------------------------------------------------


def bcsr(shape, dtype, index):
    data, indices, indptr = csr(shape, "float64", index)
    data = (10 * data).astype(dtype) if dtype in INTEGERS else csr(shape, dtype, index)[0]
    return (data, indices, indptr), sparse.BCSR(tuple(map(jnp.array, (data, indices, indptr))), shape=shape)


@needs_target
@pytest.mark.parametrize("index", INTEGERS)
@pytest.mark.parametrize("dtype", [*DTYPES, *INTEGERS])
def test_bcsr_times_vectors_and_matrices(dtype, index):
    for m, n, k in ((5, 4, 3), (5, 9, 1), (300, 200, 33)):
        arrays, matrix = bcsr((m, n), dtype, index)
        for shape in ((n,), (n, k)):
            rhs = (10 * random(shape, "float64")).astype(dtype) if dtype in INTEGERS else random(shape, dtype, 1)
            lowered = jax.jit(lambda a, b: a @ b).lower(matrix, rhs).as_text()
            assert TARGET in lowered
            found = jax.jit(lambda a, b: a @ b)(matrix, rhs)
            exact = dense(*arrays, n)
            if dtype in INTEGERS:
                np.testing.assert_array_equal(found, (exact @ rhs.astype(exact.dtype)).astype(dtype))
                continue
            columns = rhs.reshape(n, -1)
            sizes, expected = np.abs(exact) @ np.abs(wide(columns)), exact @ wide(columns)
            check(dtype, shape, product=distance(found.reshape(m, -1), expected, dtype, n, scale=sizes))


@needs_target
def test_integers_wrap_around():
    matrix = sparse.BCSR((jnp.int32([2**30]), jnp.int32([0]), jnp.int32([0, 1])), shape=(1, 1))
    np.testing.assert_array_equal(matrix @ jnp.int32([6]), np.int32([-(2**31)]))


@needs_target
def test_bcsr_places_that_are_none_are_refused():
    for indices, indptr in (([0, 2**31 - 1], [0, 1, 2]), ([0, 1], [0, 1, 2**31 - 1]), ([0, 1], [2, 1, 0])):
        matrix = sparse.BCSR((jnp.ones(2), jnp.array(indices), jnp.array(indptr)), shape=(2, 2))
        for rhs in (jnp.ones(2), jnp.ones((2, 3))):
            with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=r"csr_sparse_dense: ind"):
                jax.block_until_ready(matrix @ rhs)


@needs_target
def test_the_target_refuses_shapes_that_do_not_fit():
    operands = (jnp.ones(2), jnp.int32([0, 1, 2]), jnp.int32([0, 1]))
    for rhs, out in (((2,), (2, 1)), ((2, 3), (2, 2)), ((2, 3, 1), (2, 3, 1)), ((2,), (3,))):
        call = jax.ffi.ffi_call(TARGET, jax.ShapeDtypeStruct(out, "float64"))
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=r"both are vectors|expected \(p - 1"):
            jax.block_until_ready(call(*operands, jnp.ones(rhs)))
