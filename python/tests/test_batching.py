"""vmap and leading axes against NumPy loops: nested, every in_axes and out_axes, unbatched operands."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import oxidax

quick = settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def numpy_outer(x, y, s):
    return np.einsum("...m,...n,...->...mn", x, y, s)


def random(shape, salt=0):
    return np.random.default_rng((*shape, salt)).standard_normal(shape)


def test_leading_axes_broadcast_as_in_numpy(ops):
    for x, y, s in [((2, 3), (4,), ()), ((5, 1, 3), (2, 4), (1,)), ((3,), (7, 4), (2, 1)), ((0, 3), (4,), (1,))]:
        arrays = random(x), random(y), random(s)
        np.testing.assert_allclose(ops.outer(*arrays), numpy_outer(*arrays), rtol=1e-12)


@st.composite
def nested_vmaps(draw):
    """The core ranks' operands under up to three vmaps, each with its own in_axes and out_axes."""
    cores = [(3,), (2,), ()]
    shapes = [list(core) for core in cores]
    levels = []
    for level in range(draw(st.integers(1, 3))):
        batched = draw(st.lists(st.booleans(), min_size=3, max_size=3).filter(any))
        in_axes = [draw(st.integers(-len(s) - 1, len(s))) if b else None for s, b in zip(shapes, batched, strict=True)]
        levels.append((in_axes, draw(st.integers(-level - 3, level + 2))))
        size = draw(st.integers(1, 3))
        for shape, axis in zip(shapes, in_axes, strict=True):
            if axis is not None:
                shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, size)
    return shapes, levels


@seed(0)
@quick
@given(nested_vmaps())
def test_nested_vmaps_equal_loops(ops, case):
    shapes, levels = case
    arrays = [random(tuple(shape), salt) for salt, shape in enumerate(shapes)]
    function, expected = ops.outer, numpy_outer
    for in_axes, out_axes in levels:
        function = jax.vmap(function, tuple(in_axes), out_axes)
        expected = loop(expected, in_axes, out_axes)
    np.testing.assert_allclose(function(*arrays), expected(*arrays), rtol=1e-12)
    np.testing.assert_allclose(jax.jit(function)(*arrays), expected(*arrays), rtol=1e-12)


def loop(function, in_axes, out_axes):
    def run(*arrays):
        size = next(a.shape[axis] for a, axis in zip(arrays, in_axes, strict=True) if axis is not None)
        rows = [
            function(*(a if axis is None else np.take(a, i, axis) for a, axis in zip(arrays, in_axes, strict=True)))
            for i in range(size)
        ]
        return np.stack(rows, out_axes)

    return run


@seed(0)
@quick
@given(nested_vmaps(), st.integers(0, 2))
def test_gradients_under_nested_vmaps_equal_those_of_einsum(ops, case, argument):
    """The gradient of a sum over everything: operands that were broadcast get summed cotangents."""
    shapes, levels = case
    arrays = [random(tuple(shape), salt) for salt, shape in enumerate(shapes)]

    def total(product):
        function = product
        for in_axes, out_axes in levels:
            function = jax.vmap(function, tuple(in_axes), out_axes)
        return lambda *a: jnp.sin(function(*a)).sum()

    def product(x, y, s):  # no rules for `outer`: two products that have some
        column = ops.matmul(x[:, None], y[None, :])
        return ops.matmul(column, s * jnp.eye(2))

    got = jax.jit(jax.grad(total(product), argument))(*arrays)
    want = jax.jit(jax.grad(total(lambda x, y, s: x[:, None] * y[None, :] * s), argument))(*arrays)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_an_unmapped_operand_is_neither_copied_nor_broadcast(ops):
    a, b = jnp.ones((5, 2, 3)), jnp.ones((3, 4))
    text = jax.jit(jax.vmap(ops.matmul, (0, None))).lower(a, b).as_text()
    assert text.count("custom_call") == 1
    assert "broadcast" not in text
    assert re.search(r"\(tensor<5x2x3xf64>, tensor<3x4xf64>\) -> tensor<5x2x4xf64>", text)


def test_nested_vmaps_over_different_operands_pad_with_axes_of_size_1(ops):
    a, b = jnp.ones((5, 2, 3)), jnp.ones((7, 3, 4))
    function = jax.vmap(jax.vmap(ops.matmul, (None, 0)), (0, None))
    text = jax.jit(function).lower(a, b).as_text()
    assert "(tensor<5x1x2x3xf64>, tensor<7x3x4xf64>) -> tensor<5x7x2x4xf64>" in text
    assert text.count("custom_call") == 1


def test_whole_sees_the_batch_axes(ops):
    x = random((2, 4, 3))
    np.testing.assert_allclose(ops.whole_sum(x), x.sum(-1))
    np.testing.assert_allclose(jax.vmap(ops.whole_sum, 1)(x), x.sum(-1).T)
    text = jax.jit(jax.vmap(ops.whole_sum)).lower(x).as_text()
    assert text.count("custom_call") == 1


def test_none_refuses_batches_with_the_way_out(ops):
    assert ops.reverse(jnp.arange(3.0)).tolist() == [2, 1, 0]
    with pytest.raises(oxidax.SignatureError, match=r"expected shape \(n\), got \(2, 3\); .*jax.lax.map.*batch = each"):
        ops.reverse(jnp.ones((2, 3)))
    with pytest.raises(oxidax.SignatureError, match=r"cannot be used under jax.vmap: .*jax.lax.map"):
        jax.vmap(ops.reverse)(jnp.ones((2, 3)))
    assert jax.lax.map(ops.reverse, jnp.array([[1.0, 2], [3, 4]])).tolist() == [[2, 1], [4, 3]]


def test_an_inout_operand_is_broadcast_to_the_full_batch(ops):
    a, x = random((3,)), random((2, 3))
    np.testing.assert_allclose(ops.add_into(a, x), a + x)
    np.testing.assert_allclose(jax.vmap(ops.add_into, (None, 0))(a, x), a + x)
    np.testing.assert_allclose(jax.vmap(ops.add_into, (0, None))(x, a), a + x)
    np.testing.assert_allclose(jax.jit(ops.add_into)(a, x), a + x)
    nested = jax.vmap(jax.vmap(ops.add_into, (None, 0)), (0, None))
    np.testing.assert_allclose(nested(x, x), x[:, None] + x[None])


def test_an_inout_operand_is_aliased_and_never_changed_for_others(ops):
    a, x = jnp.arange(3.0), jnp.ones(3)
    text = jax.jit(ops.add_into).lower(a, x).as_text()
    assert "output_operand_alias" in text

    @jax.jit
    def both(a, x):
        return ops.add_into(a, x), a + 0

    assert [v.tolist() for v in both(a, x)] == [[1, 2, 3], [0, 1, 2]]
    assert ops.add_into(a, x).tolist() == [1, 2, 3]
    assert a.tolist() == [0, 1, 2]
    donated = jax.jit(ops.add_into, donate_argnums=0)
    assert donated(jnp.arange(3.0), x).tolist() == [1, 2, 3]
