"""Handlers of crates that the final library only names are registered, however hard the linker tries."""

from __future__ import annotations

import warnings

import jax.numpy as jnp
import numpy as np
import pytest
from conftest import LIBRARIES

import oxidax

EXPECTED = {
    "rms_norm.rms_norm",
    "rms_norm.rms_norm_fwd",
    "rms_norm.rms_norm_bwd",
    "rms_norm.rms_norm_jvp",
    "rms_norm.gained_rms_norm",
    "rms_norm.gained_rms_norm_fwd",
    "rms_norm.gained_rms_norm_bwd",
    "lu_pivots.lu_pivots",
    "lu_pivots.permutation_matrix",
}


@pytest.mark.parametrize("profile", ["debug", "release", "lto"])
def test_handlers_of_crates_that_are_only_named_are_there(profile):
    path = LIBRARIES.parent / profile / "liblinked.so"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make libraries` first")
    with warnings.catch_warnings():
        # The libraries of the examples bring the same targets; here the private names are welcome.
        warnings.simplefilter("ignore")
        ops = oxidax.load(path)
    assert {operation.target.split("@")[0] for operation in ops} == EXPECTED
    x = jnp.asarray([[3.0, 4.0], [1.0, 0.0]])
    expected = x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(ops.rms_norm(x), expected, rtol=1e-14)
    np.testing.assert_array_equal(ops.lu_pivots(jnp.array([1], jnp.int32), rows=2), [1, 0])
