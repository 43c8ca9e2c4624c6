"""jax.export: the checks that the library hands out, symbolic dims, and programs for platforms that are not here."""

from __future__ import annotations

import c_library
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from c_library import operation
from conftest import library_path
from jax import export

import oxidax

RUN = """
    import sys, numpy, oxidax
    from jax import export
    oxidax.load(sys.argv[1])
    program = export.deserialize(bytearray(open(sys.argv[2], "rb").read()))
    outs = program.call(*[numpy.ones(eval(shape), numpy.float32) for shape in sys.argv[3:]])
    print(type(outs).__name__, [(y.shape, float(y.sum())) for y in (outs if isinstance(outs, tuple) else [outs])])
"""


def test_the_checks_of_an_operation_hold_the_targets_of_its_rules_and_of_theirs(rms, ops):
    def targets(operation):
        return {check.is_custom_call() for check in operation.export_checks}

    assert targets(ops.opposite) == {ops.opposite.target}
    assert targets(rms.rms_norm) == {f"rms_norm.rms_norm{rule}" for rule in ("", "_fwd", "_bwd", "_jvp")}
    assert {ops.matmul_bwd_bwd.target, ops.matmul_jvp_bwd.target} < targets(ops.matmul)
    assert targets(ops) == {operation.target for operation in ops}


def test_without_the_checks_jax_refuses_the_target(rms):
    with pytest.raises(ValueError, match="rms_norm"):
        export.export(jax.jit(rms.rms_norm))(jnp.ones(3))


def product(folder):
    """An operation for both platforms, with results of every kind of size."""
    m, n = ["dim", "m"], ["dim", "n"]
    cpu = operation("sizes", "a(m,n) -> least() product() chosen()")
    least, flat, chosen = cpu["params"][1:]
    least["shape"] = [["min", m, n], 2]
    flat["shape"] = [["*", m, n]]
    chosen["shape"] = [["if", ["attr", "full"], m, ["attr", "k"]]]
    for name, dtype, default in (("full", "pred", False), ("k", "s64", 3)):
        cpu["params"].append({"name": name, "role": "attribute"})
        cpu["instances"][0][name] = {
            "dtype": dtype, "form": "scalar", "wire": None, "optional": True, "default": default,
        }  # fmt: skip
    return c_library.build(folder, cpu, {**cpu, "id": "c::gpu::sizes", "platform": "cuda"})


def test_a_program_for_cpu_and_cuda_with_symbolic_dims_runs_in_another_process(tmp_path, run_python):
    path = product(tmp_path)
    library = oxidax.load(path)
    b, m, n = export.symbolic_shape("b, m, n")
    for full, chosen in ((True, "m"), (False, "3")):
        function = jax.jit(jax.vmap(lambda a, full=full: library.sizes(a, full=full)))
        program = export.export(function, platforms=["cpu", "cuda"], disabled_checks=library.export_checks)(
            jax.ShapeDtypeStruct((b, m, n), np.float32)
        )
        assert program.platforms == ("cpu", "cuda")
        assert [str(aval.shape[1]).replace(" ", "") for aval in program.out_avals[1:]] == ["m*n", chosen]
        (tmp_path / "program").write_bytes(program.serialize())
        for shape in ((2, 4, 5), (1, 7, 2)):
            _, rows, columns = shape
            sizes = [(shape[0], min(rows, columns), 2), (shape[0], rows * columns), (shape[0], rows if full else 3)]
            printed = run_python(RUN, path, tmp_path / "program", shape)
            assert printed.strip() == f"sizes_result {[(size, float(np.prod(size))) for size in sizes]}"


def test_a_gradient_under_vmap_runs_in_another_process(rms, tmp_path, run_python):
    b, n = export.symbolic_shape("b, n")
    function = jax.jit(jax.vmap(jax.grad(lambda x: (rms.rms_norm(x) ** 3).sum())))
    aval = jax.ShapeDtypeStruct((b, n), np.float32)
    program = export.export(function, disabled_checks=rms.rms_norm.export_checks)(aval)
    (tmp_path / "program").write_bytes(program.serialize())
    printed = run_python(RUN, library_path("rms_norm"), tmp_path / "program", (2, 5))
    assert "((2, 5)," in printed


def test_a_program_for_cuda_alone_says_where_it_runs(tmp_path):
    library = oxidax.load(product(tmp_path))
    program = export.export(jax.jit(library.sizes), platforms=["cuda"], disabled_checks=library.export_checks)(
        jax.ShapeDtypeStruct((2, 3), np.float32)
    )
    assert program.mlir_module().count("custom_call @c.sizes") == 1
    with pytest.raises(ValueError, match="cuda"):
        program.call(jnp.ones((2, 3), jnp.float32))


def test_named_results_survive_serialisation(ops):
    program = export.export(jax.jit(ops.qr_shapes), disabled_checks=ops.qr_shapes.export_checks)(jnp.ones((4, 3)))
    q, r = result = export.deserialize(program.serialize()).call(jnp.ones((4, 3)))
    assert result._fields == ("q", "r")
    assert (q.shape, r.shape) == ((4, 3), (3, 3))
