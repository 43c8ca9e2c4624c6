"""Attributes: every kind end to end, what is cast, and what is refused."""

import enum
import math

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from test_calls import mistakes

import oxidax
from oxidax._dtypes import NUMPY

DTYPES = list(NUMPY)
VALUES = {
    "pred": [True, False],
    "s8": [-128, 127],
    "s16": [-(2**15), 2**15 - 1],
    "s32": [-(2**31), 2**31 - 1],
    "s64": [-(2**63), 2**63 - 1],
    "u8": [0, 255],
    "u16": [0, 2**16 - 1],
    "u32": [0, 2**32 - 1],
    "u64": [0, 2**64 - 1],
    "f16": [0.1, -65504.0, math.inf],
    "bf16": [0.1, 3e38, -math.inf],
    "f32": [0.1, 1e-5, 5, -0.0, math.nan],
    "f64": [0.1, 1e300, 5, -0.0, math.nan],
    "c64": [0.1 - 2j, 3, 1.5],
    "c128": [0.1 - 2j, 3, complex(0.0, -0.0)],
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_of_every_dtype_arrive(ops, dtype):
    for value in VALUES[dtype]:
        got = np.asarray(ops.scalar(value=value, dtype=dtype))
        want = np.array(value).astype(NUMPY[dtype])
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_dtype_and_length_arrive(ops, dtype):
    values = VALUES[dtype]
    for length in (0, 1, len(values)):
        want = np.array(values[:length], NUMPY[dtype])
        for given in (values[:length], tuple(values[:length]), want, jnp.asarray(want)):
            got = np.asarray(ops.array(values=given, n=length, dtype=dtype))
            assert got.tobytes() == want.tobytes()


def test_texts_arrive(ops):
    assert bytes(np.asarray(ops.text(n=7))) == "grüße".encode()
    assert bytes(np.asarray(ops.text(text="", n=2))) == b"\0\0"
    assert bytes(np.asarray(ops.text(text="a\0b", n=3))) == b"a\0b"


def test_defaults_are_filled_in(ops):
    assert str(ops.defaults.__signature__) == (
        "(*, int=7, zero=-0.0, inf=inf, nan=nan, flag=True, complex=(1-2j), list=[1, 2, 3], lambda_=0.5, option=None)"
    )
    np.testing.assert_array_equal(np.asarray(ops.defaults()), [7, -math.inf, math.inf, math.nan, 1, -2, 6, 0.5, -1])


def test_names_that_python_cannot_spell_have_two_spellings(ops):
    assert ops.defaults(lambda_=2.0)[7] == 2
    assert ops.defaults(**{"lambda": 2.0})[7] == 2


def test_options_may_be_absent(ops):
    assert ops.defaults(option=3.0)[8] == 3
    assert ops.defaults(option=None)[8] == -1
    assert "expected s64, got NoneType" in mistakes(ops.defaults, int=None)


@pytest.mark.parametrize(
    ("dtype", "value", "received"),
    [
        ("s64", 2.5, "float 2.5"),
        ("s64", 5.0, "float 5.0"),
        ("s8", 300, "300, which is outside -128..=127"),
        ("u64", -1, "-1, which is outside"),
        ("s32", True, "bool True"),
        ("f32", True, "bool True"),
        ("pred", 1, "int 1"),
        ("f32", "1", "str '1'"),
        ("f32", 1e300, "outside the range of f32"),
        ("f32", 1e-60, "outside the range of f32"),
        ("f32", 2**24 + 1, "which f32 cannot hold exactly"),
        ("f64", 10**400, "too large"),
        ("f64", 1j, "complex 1j"),
        ("f64", [1.0], "list"),
        ("f64", np.ones(2), "array of shape (2,)"),
        ("f64", None, "NoneType"),
        ("s32", np.float32(1), "float 1.0"),
    ],
)
def test_what_would_change_is_refused(ops, dtype, value, received):
    text = mistakes(ops.scalar, value=value, dtype=dtype)
    assert text.startswith(f'attribute "value": expected {dtype}, got ')
    assert received in text


def test_numpy_and_jax_scalars_are_taken_where_they_fit(ops):
    class Mode(enum.IntEnum):
        TWO = 2

    assert ops.scalar(value=np.float32(0.1), dtype="f64") == np.float64(np.float32(0.1))
    assert ops.scalar(value=np.int8(5), dtype="f16") == 5
    assert ops.scalar(value=ml_dtypes.bfloat16(0.5), dtype="f32") == 0.5
    assert ops.scalar(value=np.array(5), dtype="s32") == 5
    assert ops.scalar(value=jnp.int32(5), dtype="s64") == 5
    assert ops.scalar(value=Mode.TWO, dtype="s32") == 2


def test_arrays_are_cast_item_by_item(ops):
    assert ops.array(values=[1, 2.5], n=2, dtype="f32").tolist() == [1, 2.5]
    assert "300, which is outside -128..=127 at index 1" in mistakes(ops.array, values=[1, 300], n=2, dtype="s8")
    assert "expected 1-D array of s8, got array of shape (2, 2)" in mistakes(
        ops.array, values=np.ones((2, 2), np.int8), n=4, dtype="s8"
    )
    assert "got int 3" in mistakes(ops.array, values=3, n=1, dtype="s8")
    masked = np.ma.masked_array([1.0, 2.0], [0, 1])
    assert "got a masked array: pass its data" in mistakes(ops.array, values=masked, n=2, dtype="f64")
    assert "got str 'ab'" in mistakes(ops.array, values="ab", n=2, dtype="u8")


def test_texts_must_be_texts(ops):
    assert 'attribute "text": expected str, got bytes' in mistakes(ops.text, text=b"a", n=1)
    assert "not valid UTF-8" in mistakes(ops.text, text="\ud800", n=1)


def test_traced_attributes_are_refused_with_the_way_out(rms):
    with pytest.raises(
        oxidax.SignatureError, match=r'attribute "eps": expected f64, got a traced array .*static_argnames'
    ):
        jax.jit(lambda e: rms.rms_norm(jnp.ones(3), eps=e))(0.1)


def test_equal_values_of_other_types_do_not_share_a_program(ops):
    x = jnp.ones(2)
    with pytest.raises(oxidax.SignatureError):
        ops.multiply(x, by=True)
    assert ops.multiply(x, by=1).tolist() == [1, 1]
    with pytest.raises(oxidax.SignatureError):
        ops.multiply(x, by=True)
    assert math.copysign(1, ops.scalar(value=0.0, dtype="f64")) == 1
    assert math.copysign(1, ops.scalar(value=-0.0, dtype="f64")) == -1

    @jax.jit
    def both():
        return ops.scalar(value=0.0, dtype="f64"), ops.scalar(value=-0.0, dtype="f64")

    assert [math.copysign(1, v) for v in both()] == [1, -1]


def test_an_attribute_may_have_the_dtype_of_an_argument(ops):
    assert ops.multiply(np.array([2], np.int8), by=3).tolist() == [6]
    assert ops.multiply(jnp.array([2.0]), by=0.5).tolist() == [1]
    assert 'attribute "by": expected s8, got 300' in mistakes(ops.multiply, np.array([2], np.int8), by=300)


def test_a_mutable_attribute_is_read_at_the_call(ops):
    values = np.array([1, 2], np.int32)
    assert ops.array(values=values, n=2, dtype="s32").tolist() == [1, 2]
    values[0] = 9
    assert ops.array(values=values, n=2, dtype="s32").tolist() == [9, 2]
    assert ops.array(values=[1, 2], n=2, dtype="s32").tolist() == [1, 2]
