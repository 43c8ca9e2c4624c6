"""Shape expressions: on integers, in operations, and on the symbolic dims of jax.export."""

import c_library
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from c_library import operation
from conftest import library_path
from jax import export
from test_calls import mistakes

import oxidax
from oxidax._shapes import ShapeError, Undecided, broadcast, differ, evaluate, show

M, N, A = ["dim", "m"], ["dim", "n"], ["attr", "a"]


def value(expr, **names):
    return evaluate(expr, names, names)


@pytest.mark.parametrize(
    ("expr", "result"),
    [
        (3, 3),
        (["+", M, ["*", 2, N]], 14),
        (["/", ["-", 0, M], 3], -2),
        (["%", ["-", 0, M], 3], 2),
        (["min", M, N], 4),
        (["max", M, N], 5),
        (["if", [">", N, M], 1, ["/", 1, 0]], 1),
        (["if", A, 1, 0], 1),
        (["or", ["<", M, N], ["==", ["%", N, 0], 0]], True),
        (["and", ["not", A], ["==", ["%", N, 0], 0]], False),
        (["and", A, ["!=", M, N]], True),
    ],
)
def test_values(expr, result):
    assert value(expr, m=4, n=5, a=True) == result


@pytest.mark.parametrize(
    "expr", [["/", M, 0], ["%", M, 0], ["*", M, 2**62], ["-", ["-", 0, 2**63 - 1], 2], ["attr", "b"]]
)
def test_expressions_without_value(expr):
    with pytest.raises(ShapeError):
        value(expr, m=4)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (["*", 2, ["+", M, N]], "2 * (m + n)"),
        (["-", M, ["-", N, 1]], "m - (n - 1)"),
        (["if", ["and", [">", M, 0], ["not", A]], M, ["min", M, N]], "if m > 0 && !a { m } else { min(m, n) }"),
        (["if", A, M, ["if", ["<", M, N], N, 0]], "if a { m } else if m < n { n } else { 0 }"),
        (["if", ["==", ["attr", "mode"], 2], 2, M], 'if mode == "thin" { 2 } else { m }'),
        (["or", ["!=", 1, ["attr", "mode"]], ["==", A, 2]], '"full" != mode || a == 2'),
    ],
)
def test_expressions_are_shown_as_written(expr, text):
    assert show(expr, {"mode": {1: "full", 2: "thin"}}) == text


def test_batch_axes_broadcast_as_in_numpy():
    for shapes in ([(2, 1), (3,)], [(), (4,)], [(0,), (1,)], [(2, 3), (1, 1), (3,)], []):
        assert broadcast(shapes) == np.broadcast_shapes(*shapes)
    assert broadcast([(2,), (3,)]) is None
    assert broadcast([(0,), (2,)]) is None


def test_symbolic_comparisons_have_three_answers():
    a, b = export.symbolic_shape("a, b", constraints=["a >= 3"])
    assert differ(a, a + 1)
    assert differ(a, 2)
    assert not differ(a, b)
    assert evaluate([">=", M, 3], {"m": a}, {}) is True
    assert evaluate(["<", M, 3], {"m": a}, {}) is False
    assert evaluate(["or", [">=", N, 7], [">=", M, 3]], {"m": a, "n": b}, {}) is True
    with pytest.raises(Undecided):
        evaluate([">=", M, 7], {"m": a}, {})
    assert str(evaluate(["min", M, 2], {"m": a}, {})) == "2"


# Operations -------------------------------------------------------------------------------------


def test_conditional_shapes(ops):
    for full, shapes in ((False, [(4, 3), (3, 3)]), (True, [(4, 4), (4, 3)])):
        q, r = ops.qr_shapes(jnp.ones((2, 4, 3)), full=full)
        assert [q.shape[1:], r.shape[1:]] == shapes
        assert (q == q[0].size).all()
        assert (r == r[0].size).all()


def test_arithmetic_on_attributes(ops):
    x = jnp.arange(7, dtype=jnp.float32)
    assert ops.windows(x, size=3).tolist() == [3, 6, 9, 12, 15]
    assert ops.windows(x, size=3, stride=2).tolist() == [3, 9, 15]
    assert ops.windows(jnp.stack([x, x]), size=7).tolist() == [[21], [21]]


def test_requirements_say_what_they_are(ops, lu):
    x = jnp.ones(3, jnp.float32)
    assert mistakes(ops.windows, x, size=4) == (
        "the window is longer than the array (requires size <= n, got n = 3, size = 4)"
    )
    assert "windows and strides are positive (requires size >= 1 && stride >= 1" in mistakes(
        ops.windows, x, size=1, stride=0
    )
    assert "there are more pivots than rows" in mistakes(lu.lu_pivots, jnp.ones(3, jnp.int32), rows=2)


def test_a_negative_size_is_refused(ops):
    assert mistakes(ops.shrink, jnp.ones(3, jnp.float32)) == 'result "y": n - 4 = -1 is negative'
    assert ops.shrink(jnp.ones(4, jnp.float32)).shape == (0,)


# Export -----------------------------------------------------------------------------------------


def exported(function, *avals, **options):
    targets = [export.DisabledSafetyCheck.custom_call(t) for t in options.pop("targets")]
    program = export.export(jax.jit(function), disabled_checks=targets, **options)(*avals)
    return export.deserialize(program.serialize())


def test_export_with_fixed_shapes(rms):
    program = exported(rms.rms_norm, jax.ShapeDtypeStruct((2, 3), np.float32), targets=[rms.rms_norm.target])
    x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    np.testing.assert_array_equal(program.call(x), rms.rms_norm(x))


def test_an_exported_program_runs_in_another_process_after_load(rms, tmp_path, run_python):
    program = export.export(
        jax.jit(rms.rms_norm), disabled_checks=[export.DisabledSafetyCheck.custom_call(rms.rms_norm.target)]
    )(jax.ShapeDtypeStruct((3,), np.float32))
    (tmp_path / "program").write_bytes(program.serialize())
    printed = run_python(
        """
        import sys, jax, numpy, oxidax
        from jax import export
        oxidax.load(sys.argv[1])
        program = export.deserialize(bytearray(open(sys.argv[2], "rb").read()))
        print(program.call(numpy.ones(3, numpy.float32)).shape)
        """,
        library_path("rms_norm"),
        tmp_path / "program",
    )
    assert printed.strip() == "(3,)"


def test_export_for_a_platform_that_is_not_here(tmp_path):
    cpu = operation("everywhere", "x(n) -> y(n)")
    path = c_library.build(tmp_path, cpu, {**cpu, "id": "c::gpu::everywhere", "platform": "cuda"})
    everywhere = oxidax.load(path).everywhere
    checks = [export.DisabledSafetyCheck.custom_call(everywhere.target)]
    for platforms in (["cuda"], ["cpu", "cuda"]):
        program = export.export(jax.jit(everywhere), platforms=platforms, disabled_checks=checks)
        text = program(jax.ShapeDtypeStruct((3,), np.float32)).mlir_module()
        assert text.count("custom_call @c.everywhere") == len(platforms)


def test_export_with_symbolic_batch_and_core_dims(rms):
    b, n = export.symbolic_shape("b, n")
    program = exported(rms.rms_norm, jax.ShapeDtypeStruct((b, 2, n), np.float32), targets=[rms.rms_norm.target])
    for shape in ((3, 2, 5), (1, 2, 1)):
        x = jnp.arange(np.prod(shape), dtype=jnp.float32).reshape(shape)
        np.testing.assert_array_equal(program.call(x), rms.rms_norm(x))


def test_export_of_a_gradient_under_vmap(rms):
    (b,) = export.symbolic_shape("b")
    function = jax.vmap(jax.grad(lambda x: (rms.rms_norm(x) ** 2).sum()))
    targets = [rms[name].target for name in ("rms_norm", "rms_norm_fwd", "rms_norm_bwd")]
    program = exported(function, jax.ShapeDtypeStruct((b, 3), np.float32), targets=targets)
    x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    np.testing.assert_allclose(program.call(x), function(x), rtol=1e-6)


def test_export_with_symbolic_sizes_of_results(ops):
    (n,) = export.symbolic_shape("n", constraints=["n >= 4"])
    x = jnp.arange(9, dtype=jnp.float32)
    aval = jax.ShapeDtypeStruct((n,), np.float32)
    program = exported(ops.shrink, aval, targets=[ops.shrink.target])
    assert program.call(x).tolist() == [2, 3, 4, 5, 6]
    program = exported(lambda x: ops.repeat(2.0, k=x.shape[0]), aval, targets=[ops.repeat.target])
    assert program.call(x).tolist() == [2] * 9
    program = exported(
        lambda a: ops.qr_shapes(a).q, jax.ShapeDtypeStruct((n, 3), np.float32), targets=[ops.qr_shapes.target]
    )
    assert program.call(jnp.ones((5, 3), jnp.float32)).shape == (5, 3)


def test_a_requirement_that_symbols_cannot_decide_is_left_to_run_time(lu):
    (k,) = export.symbolic_shape("k")
    aval = jax.ShapeDtypeStruct((k,), np.int32)
    program = exported(lambda p: lu.lu_pivots(p, rows=3), aval, targets=[lu.lu_pivots.target])
    assert program.call(jnp.array([2, 1], jnp.int32)).tolist() == [2, 1, 0]
    with pytest.raises(jax.errors.JaxRuntimeError, match="there are more pivots than rows"):
        jax.block_until_ready(program.call(jnp.zeros(4, jnp.int32)))


def test_unequal_symbols_are_left_to_run_time_and_certain_ones_are_not(ops):
    k, j = export.symbolic_shape("k, j")
    product = jax.jit(ops.matmul)
    both = [jax.ShapeDtypeStruct((2, k), np.float32), jax.ShapeDtypeStruct((j, 3), np.float32)]
    program = exported(product, *both, targets=[ops.matmul.target])
    a, b = jnp.ones((2, 4), jnp.float32), jnp.ones((4, 3), jnp.float32)
    assert program.call(a, b).tolist() == [[4] * 3] * 2
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"matmul: .*k"):
        jax.block_until_ready(program.call(a, b[:3]))
    with pytest.raises(oxidax.SignatureError, match=r"expected k = k as in .* got k = k \+ 1"):
        exported(product, both[0], jax.ShapeDtypeStruct((k + 1, 3), np.float32), targets=[ops.matmul.target])
