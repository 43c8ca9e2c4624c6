"""Every operation of `oxidax_kernels.ops` keeps the promises that `oxidax.testing.opcheck` checks."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import DTYPES, positive_definite, random
from oxidax.testing import opcheck

from oxidax_kernels import ops

#: Every operation with choices of its attributes; each on a dtype of its own, since each costs a second.
CALLS = {
    "cholesky": ("cholesky", positive_definite((5, 5), "float64"), {}),
    "cholesky, upper": ("cholesky", positive_definite((5, 5), "complex64"), {"lower": False}),
    "lu": ("lu", random((6, 4), "complex128"), {}),
    "lu, large": ("lu", random((40, 40), "float32"), {}),
    "qr": ("qr", random((4, 6), "float32"), {}),
    "qr, complete": ("qr", random((6, 4), "complex64"), {"mode": "complete"}),
    "qr, r": ("qr", random((6, 4), "float64"), {"mode": "r"}),
    "svd": ("svd", random((6, 4), "float64"), {}),
    "svd, thin": ("svd", random((4, 6), "complex128"), {"full_matrices": False}),
    "svdvals": ("svdvals", random((5, 5), "float32"), {}),
    "eig": ("eig", random((5, 5), "float64"), {}),
    "eigvals": ("eigvals", random((5, 5), "complex64"), {}),
    "cholesky_update": ("cholesky_update", (random((4, 4), "float32"), random((4,), "float32")), {}),
    "symmetric_product": (
        "symmetric_product",
        (random((4, 3), "complex64"), random((4, 4), "complex64")),
        {"alpha": 0.5, "beta": 2.0},
    ),
    "threefry2x32": ("threefry2x32", tuple(np.arange(12, dtype="uint32").reshape(4, 3)), {}),
    "csr_matmul": (
        "csr_matmul",
        (random((5,), "float64"), np.int32([0, 2, 1, 2, 0]), np.int32([0, 2, 2, 5]), random((3, 2), "float64")),
        {},
    ),
    "spsolve": (
        "spsolve",
        (np.array([4.0, 1, 3, 1, 5]), np.int32([0, 2, 1, 0, 2]), np.int32([0, 2, 3, 5]), random((3,), "float64")),
        {},
    ),
    "pivots": ("lu_pivots_to_permutation", np.array([[1, 2, 2], [0, 1, 2]], "int32"), {"permutation_size": 4}),
}


@pytest.mark.parametrize("name", CALLS)
def test_operations_keep_their_promises(name):
    operation, operands, attrs = CALLS[name]
    opcheck(getattr(ops, operation), *(operands if isinstance(operands, tuple) else (operands,)), **attrs)


def test_no_operation_and_no_dtype_is_left_out():
    assert {operation for operation, _, _ in CALLS.values()} == set(dir(ops))
    assert {str(a.dtype) for _, a, _ in CALLS.values() if not isinstance(a, tuple)} >= set(DTYPES)
