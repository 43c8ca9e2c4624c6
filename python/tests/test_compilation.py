"""Ahead of time and caching: compiled, serialised and cached programs, and how often JAX traces."""

from __future__ import annotations

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import library_path
from jax.experimental import serialize_executable

x3 = jnp.arange(1.0, 4.0)


def test_lowered_programs_compile_and_run(rms):
    compiled = jax.jit(rms.rms_norm, static_argnames="eps").lower(x3, eps=0.5).compile()
    np.testing.assert_array_equal(compiled(x3), rms.rms_norm(x3, eps=0.5))


def test_executables_can_be_serialised(rms):
    compiled = jax.jit(jax.vmap(jax.grad(lambda x: rms.rms_norm(x).sum()))).lower(jnp.ones((2, 3))).compile()
    # Newer versions take a program for one of all devices, unless they are told its own.
    known = inspect.signature(serialize_executable.deserialize_and_load).parameters
    own = {"execution_devices": jax.devices()[:1]} if "execution_devices" in known else {}
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled), **own)
    np.testing.assert_array_equal(loaded(jnp.ones((2, 3))), compiled(jnp.ones((2, 3))))


def test_the_second_process_takes_its_programs_from_the_persistent_cache(tmp_path, run_python):
    code = """
        import sys, jax, oxidax
        jax.config.update("jax_compilation_cache_dir", sys.argv[2])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        hits = []
        jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if "cache_hits" in event else None)
        ops = oxidax.load(sys.argv[1])
        x = jax.numpy.arange(3.0)
        print(jax.jit(jax.grad(lambda x: ops.rms_norm(x).sum())).lower(x).compile()(x))
        before = len(hits)
        jax.jit(lambda x: ops.rms_norm(x, eps=float(sys.argv[3]))).lower(x).compile()
        print(len(hits) - before)
    """
    (first, missed), (second, hit), (third, other) = (
        run_python(code, library_path("rms_norm"), tmp_path, eps).strip().split("\n") for eps in (0.1, 0.1, 0.2)
    )
    assert first == second == third
    assert [missed, hit, other] == ["0", "1", "0"]


def test_operations_outlive_the_clearing_of_caches(rms):
    before = rms.rms_norm(x3), jax.grad(lambda x: rms.rms_norm(x).sum())(x3)
    jax.clear_caches()
    after = rms.rms_norm(x3), jax.grad(lambda x: rms.rms_norm(x).sum())(x3)
    jax.tree.map(np.testing.assert_array_equal, before, after)


@pytest.fixture
def traces(monkeypatch):
    """The calls whose shape rule JAX has asked for since, which it does once a trace."""
    from oxidax import _primitive

    seen = []

    def infer(*args):
        seen.append(args)
        return original(*args)

    original = _primitive.infer_call
    monkeypatch.setattr(_primitive, "infer_call", infer)
    return seen


def test_an_eager_call_is_traced_once_for_each_value_of_an_attribute(ops, traces):
    jax.clear_caches()
    counts = []
    for x, by in ((x3, 2), (x3, 2), (x3 + 1, 2), (x3, 0.0), (x3, -0.0), (x3, 0.0), (x3[:2], 2), (x3, 2)):
        ops.multiply(x, by=by)
        counts.append(len(traces))
        traces.clear()
    assert [bool(count) for count in counts] == [True, False, False, True, True, False, True, False]


def test_jit_traces_again_exactly_when_a_static_attribute_or_a_type_changes(rms):
    traced = []

    def call(x, eps):
        traced.append(eps)
        return rms.rms_norm(x, eps=eps)

    jitted = jax.jit(call, static_argnames="eps")
    for x, eps in ((x3, 1e-3), (x3 + 1, 1e-3), (x3, 1e-4), (x3, 1e-3), (x3[:2], 1e-3), (x3.astype(np.float32), 1e-3)):
        jitted(x, eps=eps)
    assert traced == [1e-3, 1e-4, 1e-3, 1e-3]


def test_the_value_that_arrives_is_that_of_the_call_whatever_was_compiled_before(ops):
    """`-0.0 == 0.0` and `1 == 1.0 == True`: for a cache that compares values they would be one."""
    calls = [(1, "s32"), (1.0, "f32"), (1, "f64"), (True, "pred"), (0.0, "f64"), (-0.0, "f64"), (1, "u8")]

    def all_of_them():
        return [ops.scalar(value=value, dtype=dtype) for value, dtype in calls]

    for results in (all_of_them(), jax.jit(all_of_them)()):
        for got, (value, _) in zip(map(np.asarray, results), calls, strict=True):
            assert got.tobytes() == np.asarray(value, got.dtype).tobytes()

    def jaxpr(value):
        return str(jax.make_jaxpr(lambda x: ops.multiply(x, by=value))(x3))

    assert jaxpr(1) == jaxpr(1.0)  # cast first: one float, however it was written
    assert jaxpr(0.0) != jaxpr(-0.0)


# The program ------------------------------------------------------------------------------------


def optimised(function, *args) -> str:
    """The optimised program without what only names its parts or says where they come from."""
    text = jax.jit(function).lower(*args).compile().as_text()
    body = re.sub(r", metadata=\{[^}]*\}", "", text[text.index("ENTRY") :].split("\n", 1)[1])
    names: dict[str, str] = {}
    return re.sub(r"%[\w.-]+", lambda found: names.setdefault(found[0], f"%{len(names)}"), body)


def test_the_compiled_program_is_that_of_a_raw_ffi_call(rms, ops):
    def raw(operation, result, **options):
        def call(*args):
            program = jax.ffi.ffi_call(operation.target, result, **options.get("call", {}))
            return program(*args, **options.get("attributes", {}))

        call.target = operation.target
        return call

    def array(*shape):
        return jax.ShapeDtypeStruct(shape, np.float64)

    x, a, b = jnp.ones((2, 3)), jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))
    eps = {"attributes": {"eps": np.float64(1e-5)}}
    cases = [
        (rms.rms_norm, raw(rms.rms_norm, array(2, 3), **eps), (x,)),
        (jax.vmap(rms.rms_norm), raw(rms.rms_norm, array(2, 3), **eps), (x,)),
        (jax.vmap(ops.matmul), raw(ops.matmul, array(5, 2, 4)), (a, b)),
        (ops.add_into, raw(ops.add_into, array(3), call={"input_output_aliases": {0: 0}}), (x[0], x[1])),
    ]
    for ours, theirs, args in cases:
        text = optimised(ours, *args)
        assert f'custom_call_target="{theirs.target}"' in text
        assert text == optimised(theirs, *args)
