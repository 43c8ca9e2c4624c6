"""Raw `jax.ffi.ffi_call`, past our checks: the handler answers with the same facts. And errors at run time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oxidax


def raw(operation, result, *args, **attributes):
    call = jax.ffi.ffi_call(operation.target, result)
    return jax.block_until_ready(call(*args, **attributes))


def fails(operation, result, *args, **attributes) -> str:
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        raw(operation, result, *args, **attributes)
    return str(caught.value)


def result(*shape, dtype=np.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


x3 = jnp.ones(3, jnp.float32)


def test_a_raw_call_works_and_fills_in_defaults(rms):
    np.testing.assert_array_equal(raw(rms.rms_norm, result(3), x3, eps=1e-5), rms.rms_norm(x3))
    np.testing.assert_array_equal(raw(rms.rms_norm, result(3), x3), rms.rms_norm(x3))
    np.testing.assert_array_equal(raw(rms.rms_norm, result(2, 3), x3), np.stack([rms.rms_norm(x3)] * 2))


@pytest.mark.parametrize(
    ("args", "out", "attributes", "facts"),
    [
        ((jnp.ones(3, jnp.int32),), result(3), {}, ["rms_norm: ", '"x"', "f32 or f64", "s32"]),
        ((x3,), result(4), {}, ["rms_norm: ", "n", "3", "4"]),
        ((x3[0],), result(3), {}, ["rms_norm: ", '"x"']),
        ((x3,), result(3, dtype=np.float64), {}, ["rms_norm: ", '"y"', "f32", "f64"]),
        ((x3,), result(3), {"eps": np.float32(1)}, ["rms_norm: ", '"eps"', "f64", "f32"]),
        ((x3,), result(3), {"eps": "small"}, ["rms_norm: ", '"eps"', "f64"]),
        ((x3, x3), result(3), {}, ["rms_norm: ", "1", "2"]),
        ((jnp.ones((2, 3), jnp.float32),), result(5, 3), {}, ["rms_norm: ", "2", "5"]),
        ((jnp.ones(3, jnp.int32),), result(3), {"eps": 7}, ["s32", '"eps"', "s64"]),
    ],
)
def test_wrong_raw_calls_are_answered_with_the_facts(rms, args, out, attributes, facts):
    text = fails(rms.rms_norm, out, *args, **attributes)
    for fact in facts:
        assert fact in text


def test_shapes_requirements_and_sizes_are_checked_by_the_handler_too(ops, lu):
    assert "k" in fails(ops.matmul, result(2, 4), jnp.ones((2, 3), jnp.float32), jnp.ones((2, 4), jnp.float32))
    text = fails(lu.lu_pivots, result(2, dtype=np.int32), jnp.zeros(3, jnp.int32))
    assert "lu_pivots: " in text
    assert "there are more pivots than rows" in text
    assert "2" in fails(ops.pairs, result(3), x3, x3, x3)
    assert "windows" in fails(ops.windows, result(2), x3, size=0, stride=1)
    assert '"size"' in fails(ops.windows, result(2), x3)


def test_an_error_of_the_function_names_operation_and_batch_element(ops):
    x = jnp.array([[1.0, 4.0], [-9.0, 4.0]], jnp.float32)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"INVALID_ARGUMENT.*checked_sqrt.*-9 has no root") as caught:
        jax.block_until_ready(ops.checked_sqrt(x))
    assert "2" in str(caught.value) or "[1, 0]" in str(caught.value) or "(1, 0)" in str(caught.value)
    assert ops.checked_sqrt(x[0]).tolist() == [1, 2]


def test_a_panic_is_an_error_and_the_process_goes_on(ops):
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"panics.*x is -1"):
        jax.block_until_ready(ops.panics(jnp.float32(-1)))
    assert ops.panics(jnp.float32(2)) == 2


def test_the_cpu_refuses_device_memory_and_lives(ops):
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"RESOURCE_EXHAUSTED.*8 elements of f64.*on the device"):
        jax.block_until_ready(ops.wants_a_device(jnp.float32(-1)))
    assert ops.wants_a_device(jnp.float32(2)) == 2


def test_out_of_range_values_are_errors_of_the_function(ops, lu):
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"OUT_OF_RANGE.*take: .*no element 4"):
        jax.block_until_ready(ops.take(x3, jnp.array([4])))
    assert lu.permutation_matrix(jnp.array([1, 0], jnp.int32), 1.0, columns=3).tolist() == [[0, 1, 0], [1, 0, 0]]


def test_booleans_of_any_byte(ops):
    x = np.frombuffer(bytes([0, 1, 2, 255]), np.bool_)
    assert ops.negate(x).tolist() == [True, False, False, False]
    assert np.asarray(ops.negate(x)).tobytes() == bytes([1, 0, 0, 0])


def test_strided_and_reversed_numpy_arrays(rms):
    x = np.arange(24.0).reshape(4, 6)
    for view in (x.T, x[::2, ::-1], x[:, 1:4], np.asfortranarray(x)):
        np.testing.assert_allclose(rms.rms_norm(view), rms.rms_norm(view.copy()))


def test_programs_from_the_compilation_cache(rms, tmp_path, run_python):
    from conftest import library_path

    code = """
        import sys, jax, oxidax
        jax.config.update("jax_compilation_cache_dir", sys.argv[2])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        ops = oxidax.load(sys.argv[1])
        print(jax.jit(jax.grad(lambda x: ops.rms_norm(x).sum()))(jax.numpy.arange(3.0)))
    """
    runs = {run_python(code, library_path("rms_norm"), tmp_path) for _ in range(2)}
    assert len(runs) == 1


def test_shard_map_keeps_varying_axes(rms):
    if hasattr(jax, "shard_map"):
        shard_map = jax.shard_map
    else:
        from jax.experimental.shard_map import shard_map
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
    spec = jax.sharding.PartitionSpec
    x = jnp.arange(6.0).reshape(2, 3)
    body = shard_map(
        lambda x, y: rms.rms_norm(x) * y.sum(), mesh=mesh, in_specs=(spec("i"), spec()), out_specs=spec("i")
    )
    np.testing.assert_allclose(body(x, jnp.ones(1)), rms.rms_norm(x))
    gradient = jax.grad(lambda x: jnp.sin(body(x, jnp.ones(1))).sum())(x)
    np.testing.assert_allclose(gradient, jax.grad(lambda x: jnp.sin(rms.rms_norm(x)).sum())(x), rtol=1e-9)


def test_the_primitive_is_public(rms):
    assert isinstance(rms.rms_norm, oxidax.Operation)
    jaxpr = jax.make_jaxpr(rms.rms_norm)(x3)
    assert jaxpr.eqns[0].primitive is rms.rms_norm.primitive
