"""Column-major buffers, enums, XLA's threads, and handlers that replace another library's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oxidax
from oxidax.__main__ import main

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def matrices(dtype, *shape):
    rng = np.random.default_rng(0)
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if np.issubdtype(dtype, np.complexfloating) else a).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (1, 1), (0, 3), (5, 3, 4), (0, 2, 2), (2, 3, 2, 2), (600, 8, 8)])
def test_columns_come_first_in_the_handlers_memory_and_nowhere_else(ops, dtype, shape):
    a = matrices(dtype, *shape)
    for uplo, keep in (("lower", np.tril), ("upper", np.triu)):
        for call in (ops.triangle, jax.jit(ops.triangle, static_argnames="uplo")):
            out, flat = call(jnp.asarray(a), uplo=uplo)
            np.testing.assert_array_equal(out, keep(a))
            np.testing.assert_array_equal(flat, np.swapaxes(a, -1, -2).reshape(*shape[:-2], shape[-2] * shape[-1]))


def test_columns_come_first_under_vmap(ops):
    a = jnp.asarray(matrices(np.float32, 3, 5, 4))
    out, flat = jax.vmap(ops.triangle, in_axes=1, out_axes=1)(a)
    moved = np.moveaxis(a, 1, 0)
    np.testing.assert_array_equal(out, np.moveaxis(np.tril(moved), 0, 1))
    np.testing.assert_array_equal(flat, np.swapaxes(moved, 1, 2).reshape(5, 12).T)


def test_what_is_empty_is_not_transposed(ops):
    for shape, columns_first in (((2, 3), True), ((0, 3), False), ((2, 3, 0), False), ((0, 3, 3), False)):
        text = jax.jit(ops.triangle).lower(jnp.ones(shape)).as_text()
        assert ("dense<[0, 1]>" in text or "dense<[1, 2, 0]>" in text) is columns_first


def test_a_variant_is_given_by_name_or_by_what_travels(ops):
    a = jnp.asarray(matrices(np.float64, 3, 3))
    upper = ops.triangle(a, uplo="upper").a
    np.testing.assert_array_equal(ops.triangle(a, uplo=ord("U")).a, upper)
    np.testing.assert_array_equal(ops.triangle(a, uplo=np.uint8(85)).a, upper)
    assert "uplo='lower'" in str(ops.triangle.__signature__)


def test_a_wrong_variant_is_an_error_with_the_right_ones(ops):
    a = jnp.ones((2, 2))
    for wrong, received in (("up", "str 'up'"), (3, "int 3"), (True, "bool True"), (None, "NoneType")):
        with pytest.raises(oxidax.SignatureError) as error:
            ops.triangle(a, uplo=wrong)
        assert f'attribute "uplo": expected "lower" or "upper", got {received}' in str(error.value)
    with pytest.raises(oxidax.SignatureError, match='expected "full" or "thin", got int 0'):
        ops.extent(a, extent=0)


def test_a_variant_is_shown_by_name(ops):
    assert '(m, n) -> (m, if extent == "full" { m } else { n })' in repr(ops.extent)
    assert 'q: f64 (..., m, if extent == "full" { m } else { n })' in ops.extent.__doc__


def test_a_variant_chooses_a_shape(ops):
    a = jnp.ones((4, 2))
    assert ops.extent(a).shape == (4, 2)
    assert jax.jit(lambda a: ops.extent(a, extent="full"))(a).shape == (4, 4)
    assert jax.eval_shape(lambda a: ops.extent(a, extent="thin"), a).shape == (4, 2)


def test_the_handler_refuses_a_wrong_variant_too(ops):
    a = jnp.ones((2, 2))
    call = jax.ffi.ffi_call(ops.extent.target, jax.ShapeDtypeStruct((2, 2), np.float64))
    with pytest.raises(jax.errors.JaxRuntimeError, match='expected "full" or "thin", got string "wide"'):
        jax.block_until_ready(call(a, extent="wide"))


def test_the_doctor_tells_of_replacements(ops, capsys):
    assert main([ops.__file__]) == 0
    assert "in the place of other libraries': somebody_elses_any, somebody_elses_d" in capsys.readouterr().out


def test_replacements_are_handed_out_and_not_registered(ops):
    assert set(ops.replacements) == {"somebody_elses_s", "somebody_elses_d", "somebody_elses_any"}
    assert "replacement" not in ops
    assert "somebody_elses_any" not in ops
    assert "somebody_elses_s" not in ops
    handler = ops.replacements["somebody_elses_s"]
    jax.ffi.register_ffi_target("somebody_elses_s", handler.capsules(), platform="cpu")
    x = jnp.arange(3, dtype=jnp.float32)
    y = jax.ffi.ffi_call("somebody_elses_s", jax.ShapeDtypeStruct((3,), np.float32))(x)
    np.testing.assert_array_equal(y, x)
    jax.ffi.register_ffi_target("somebody_elses_any", ops.replacements["somebody_elses_any"].capsules(), platform="cpu")
    y = jax.ffi.ffi_call("somebody_elses_any", jax.ShapeDtypeStruct((3,), np.float32))(x, np.int64(1))
    np.testing.assert_array_equal(y, x)
