"""Batch axes over several devices: the values, and that each device computes its own elements, without a gather."""

from __future__ import annotations

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import library_path
from jax.sharding import Mesh, NamedSharding, PartitionSpec

#: Whether the types of arrays may say how they are divided.
EXPLICIT = hasattr(jax.sharding, "AxisType") and hasattr(jax, "set_mesh")
X = np.arange(24.0).reshape(4, 2, 3)


@pytest.fixture(scope="module")
def mesh():
    return Mesh(np.array(jax.devices()), ("i",))


def over(mesh, array, *names):
    """The array over the devices, its axes as named."""
    return jax.device_put(array, NamedSharding(mesh, PartitionSpec(*names)))


def compare(function, *operands):
    """Checks the values against those on one device; says how results are divided, and whether anything is gathered."""
    program = jax.jit(function).lower(*operands).compile()
    results = jax.tree.leaves(program(*operands))
    expected = jax.tree.leaves(jax.jit(function)(*map(np.asarray, operands)))
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-12)
    return [result.sharding.spec for result in results], "all-gather" in program.as_text()


def first_axis_is_divided(function, *operands):
    specs, gathered = compare(function, *operands)
    assert not gathered
    assert all(spec[0] == "i" for spec in specs)


def test_one_operand(rms, ops, mesh):
    first_axis_is_divided(rms.rms_norm, over(mesh, X, "i"))
    first_axis_is_divided(ops.whole_sum, over(mesh, X, "i"))
    specs, gathered = compare(rms.rms_norm, over(mesh, X, None, "i"))
    assert (specs, gathered) == ([PartitionSpec(None, "i")], False)


def test_scalars(ops, mesh):
    first_axis_is_divided(ops.square, over(mesh, X[:, 0, 0], "i"))
    first_axis_is_divided(ops.square, over(mesh, X, "i"))
    first_axis_is_divided(ops.outer, over(mesh, X[:, 0], "i"), over(mesh, X[:, 1], "i"), over(mesh, X[:, 0, 0], "i"))


def test_columns_first_and_several_results(ops, mesh):
    first_axis_is_divided(ops.triangle, over(mesh, X, "i"))


@pytest.mark.parametrize("other", [X, X[:1], X[:, :1], X[0], X[0, 0]], ids=lambda x: str(x.shape))
def test_operands_without_all_batch_axes(rms, ops, mesh, other):
    x = over(mesh, X, "i")
    first_axis_is_divided(rms.gained_rms_norm, x, other)
    first_axis_is_divided(ops.add_into, x, other)
    first_axis_is_divided(ops.add_into, other, x)


def test_derivatives_and_vmap(rms, ops, mesh):
    x = over(mesh, X, "i")
    first_axis_is_divided(jax.grad(lambda x: jnp.sin(rms.rms_norm(x)).sum()), x)
    first_axis_is_divided(lambda x: jax.jvp(rms.rms_norm, (x,), (x,)), x)
    first_axis_is_divided(jax.vmap(rms.rms_norm), x)
    _, gathered = compare(jax.grad(lambda gain, x: rms.gained_rms_norm(x, gain).sum()), X[0, 0], x)
    # The gradient of what all share is a sum over the devices, if the partitioner looks at all operands.
    assert not (gathered and jax.config.jax_use_shardy_partitioner)


def test_a_batch_that_devices_cannot_share_evenly(rms, mesh):
    divided = NamedSharding(mesh, PartitionSpec("i"))
    function = jax.jit(lambda x: rms.rms_norm(jax.lax.with_sharding_constraint(x, divided)))
    np.testing.assert_allclose(function(X[:3]), rms.rms_norm(X[:3]), rtol=1e-12)


def test_what_is_no_batch_axis_is_gathered(rms, ops, mesh):
    x = over(mesh, np.arange(8.0).reshape(2, 4), None, "i")
    assert compare(rms.rms_norm, x)[1]
    assert compare(ops.reverse, over(mesh, np.arange(4.0), "i"))[1]


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (2, 0, 3), (2, 1, 0)])
def test_arrays_without_elements(rms, mesh, shape):
    compare(rms.rms_norm, over(mesh, np.zeros(shape), "i"))


def test_eager_calls_keep_the_division(rms, mesh):
    assert rms.rms_norm(over(mesh, X, "i")).sharding.spec == PartitionSpec("i")


def test_shard_map_and_exported_programs(rms, mesh):
    if hasattr(jax, "shard_map"):
        shard_map = jax.shard_map
    else:
        from jax.experimental.shard_map import shard_map
    x, gain = over(mesh, X, "i"), over(mesh, X[0, 0])
    specs = PartitionSpec("i"), PartitionSpec()
    first_axis_is_divided(shard_map(rms.gained_rms_norm, mesh=mesh, in_specs=specs, out_specs=specs[0]), x, gain)
    program = jax.export.export(jax.jit(rms.gained_rms_norm), disabled_checks=rms.export_checks)(x, gain)
    again = jax.jit(jax.export.deserialize(program.serialize()).call).lower(x, gain).compile()
    np.testing.assert_allclose(again(x, gain), rms.gained_rms_norm(X, X[0, 0]), rtol=1e-12)
    assert "all-gather" not in again.as_text()


@pytest.mark.parametrize("shardy", [False, True])
def test_both_partitioners(run_python, shardy):
    code = """
        import sys, jax, numpy as np, oxidax
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
        jax.config.update("jax_num_cpu_devices", 2)
        jax.config.update("jax_use_shardy_partitioner", sys.argv[2] == "True")
        ops = oxidax.load(sys.argv[1])
        divided = NamedSharding(Mesh(np.array(jax.devices()), ("i",)), PartitionSpec("i"))
        x = jax.device_put(np.ones((4, 3)), divided)
        program = jax.jit(ops.gained_rms_norm).lower(x, np.ones(3, x.dtype)).compile()
        print("all-gather" in program.as_text(), program(x, np.ones(3, x.dtype)).sharding.spec)
    """
    assert run_python(code, library_path("rms_norm"), shardy).splitlines() == [f"False {PartitionSpec('i')}"]


@pytest.mark.skipif(not EXPLICIT, reason="this JAX has no meshes with explicit axes")
def test_explicit_axes(rms, ops):
    mesh = jax.make_mesh((2,), ("i",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(mesh):
        x = jax.device_put(X, NamedSharding(mesh, PartitionSpec("i")))
        for function in (rms.rms_norm, ops.triangle, jax.grad(lambda x: rms.rms_norm(x).sum())):
            for result in jax.tree.leaves(jax.eval_shape(function, x)):
                assert result.sharding.spec[0] == "i"
            first_axis_is_divided(function, x)
        first_axis_is_divided(lambda x: jax.jvp(rms.rms_norm, (x,), (x,)), x)
        first_axis_is_divided(ops.add_into, x, X[0])
        assert jax.typeof(rms.rms_norm(x)).sharding.spec[0] == "i"
