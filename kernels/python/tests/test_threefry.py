"""`ops.threefry2x32`: the bits of JAX's own, for every shape."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry2x32_p, threefry_2x32

from oxidax_kernels import ops

#: Empty, one, around a vector, a block and a thread's share.
LENGTHS = (0, 1, 2, 7, 8, 9, 127, 128, 129, 1000, 4095, 4096, 4097, 100_001)


def words(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).integers(0, 2**32, shape, np.uint32)


@pytest.mark.parametrize("length", LENGTHS)
def test_it_is_jaxs_under_one_key(length):
    key, count = words(2), words(length, seed=1)
    even = np.append(count, np.zeros(length % 2, np.uint32))
    x0, x1 = even.reshape(2, -1)
    ours = np.concatenate(ops.threefry2x32(*key, x0, x1))[:length]
    np.testing.assert_array_equal(ours, threefry_2x32(tuple(jnp.array(key)), jnp.array(count)))


@pytest.mark.parametrize(
    "shapes",
    [
        ((), (), (), ()),
        ((5,), (5,), (5,), (5,)),
        ((3, 1), (3, 1), (1, 200), (200,)),
        ((), (2, 1, 1), (1, 3, 1), (70,)),
        ((2, 3, 4), (4,), (3, 1), (1, 1, 1)),
        ((0,), (), (), (1,)),
        ((4, 1, 300), (1, 2, 1), (), (300,)),
    ],
)
def test_it_broadcasts_as_jaxs_primitive(shapes):
    operands = [words(*shape, seed=i) for i, shape in enumerate(shapes)]
    expected = threefry2x32_p.bind(*np.broadcast_arrays(*operands))
    for ours, theirs in zip(ops.threefry2x32(*operands), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_it_is_what_jax_random_is_made_of():
    key, n = jax.random.key(7, impl="threefry2x32"), 1001
    with jax.threefry_partitionable(True):
        expected = jax.random.bits(key, (n,), "uint32")
    y0, y1 = ops.threefry2x32(*jax.random.key_data(key), np.uint32(0), np.arange(n, dtype=np.uint32))
    np.testing.assert_array_equal(y0 ^ y1, expected)


def test_jit_and_vmap():
    keys, x = words(4, 2), words(6, 2, seed=1)
    call = jax.jit(jax.vmap(jax.vmap(lambda k, x: ops.threefry2x32(*k, *x), (None, 0)), (0, None)))
    for ours, theirs in zip(call(keys, x), ops.threefry2x32(keys[:, :1], keys[:, 1:], *x.T), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError, match="u32"):
        ops.threefry2x32(np.int32(1), np.uint32(1), np.uint32(1), np.uint32(1))
