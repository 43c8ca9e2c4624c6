"""Attributes: Python values cast to the declared type without loss, and their form on the wire.

A `Value` is keyed by dtype and bytes, so that 1, 1.0, True and -0.0 never stand for one another in a cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oxidax import _jax
from oxidax._dtypes import COMPLEX, FLOATS, NUMPY, is_integer, name_of


class Mismatch(Exception):
    """What was received instead; the caller knows what was expected."""


class Value(NamedTuple):
    """An attribute after the cast: hashable, compared by type and bytes."""

    dtype: str | None  # None: a string
    shape: tuple[int, ...]
    data: bytes
    variant: tuple[str, int] | None = None  # of an enum: its name, and what it is in shapes

    def array(self) -> np.ndarray[Any, Any]:
        """The value of a scalar or an array, as NumPy has it."""
        assert self.dtype is not None
        return np.frombuffer(self.data, NUMPY[self.dtype]).reshape(self.shape)

    def python(self) -> Any:
        """The value for people: a number, a list, a string, or the name of a variant."""
        if self.variant is not None:
            return self.variant[0]
        return self.data.decode() if self.dtype is None else self.array().tolist()

    def in_shape(self) -> Any:
        """The value for shape expressions."""
        return self.python() if self.variant is None else self.variant[1]

    def __repr__(self) -> str:
        return f"{self.python()!r}:{self.dtype or 'str'}"


@dataclass(frozen=True)
class AttributeSpec:
    """The type of an attribute in one instance."""

    name: str
    dtype: str | None
    form: str  # "scalar", "array" or "string"
    wire: str | None
    optional: bool
    default: Value | None
    variants: tuple[tuple[str, int], ...] = ()  # of an enum

    @property
    def expected(self) -> str:
        """The type as prose."""
        if self.variants:
            return " or ".join(f'"{name}"' for name, _ in self.variants)
        if self.form == "string":
            return "str"
        return f"1-D array of {self.dtype}" if self.form == "array" else str(self.dtype)

    @property
    def same_as(self) -> tuple[Any, ...]:
        """What has to agree with the attribute of the same name in a rule."""
        return self.dtype, self.form, self.wire, self.variants, self.optional and self.default is None

    def cast(self, value: Any) -> Value | None:
        """The value in the declared type, or None for an absent `Option`.

        Raises:
            Mismatch: the type does not fit, or the value would change.
        """
        if value is None and self.optional and self.default is None:
            return None
        if isinstance(value, _jax.Tracer):
            raise Mismatch(
                f"a traced array {value.aval.str_short()}: attributes are constants of the compiled program; "
                "pass a Python value (static_argnames under jit) or make it an array argument in Rust"
            )
        if isinstance(value, _jax.Array) and not _jax.is_key(value.dtype):
            value = np.asarray(value)
        if self.variants:
            return self._cast_variant(value)
        if self.form == "string":
            return Value(None, (), _text(value))
        assert self.dtype is not None
        if self.form == "scalar":
            return Value(self.dtype, (), cast_scalar(value, self.dtype).tobytes())
        return _cast_array(value, self.dtype)

    def _cast_variant(self, value: Any) -> Value:
        """A variant by its name or, where numbers travel, by its number."""
        for variant in self.variants:
            name, number = variant
            is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and self.dtype is not None
            if (isinstance(value, str) and value == name) or (is_number and value == number):
                data = name.encode() if self.dtype is None else np.array(number, NUMPY[self.dtype]).tobytes()
                return Value(self.dtype, (), data, variant)
        raise Mismatch(_received(value))

    def lowered(self, value: Value) -> Any:
        """What goes into the custom call: a NumPy scalar or 1-D array, or a string."""
        if value.dtype is None:
            return value.data.decode()
        array = value.array()
        if self.wire is not None:
            return np.ascontiguousarray(np.atleast_1d(array)).view(NUMPY[self.wire])
        if self.form == "array":
            return array
        return bool(array) if value.dtype == "pred" else array[()]


def cast_scalar(value: Any, dtype: str) -> np.ndarray[Any, Any]:
    """A number as a rank-0 array of `dtype`.

    Floats may be rounded, since 0.1 is no binary number; nothing else may change.
    """
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise Mismatch(f"array of shape {value.shape}")
        value = value[()]
    if isinstance(value, np.generic) and name_of(value.dtype) in ("f16", "bf16"):
        value = float(value)
    if isinstance(value, (bool, np.bool_)):
        fits = dtype == "pred"
    elif isinstance(value, (int, np.integer)):
        fits, value = dtype != "pred", int(value)
    elif isinstance(value, (float, np.floating)):
        fits, value = dtype in FLOATS or dtype in COMPLEX, float(value)
    elif isinstance(value, (complex, np.complexfloating)):
        fits, value = dtype in COMPLEX, complex(value)
    else:
        fits = False
    if not fits:
        raise Mismatch(_received(value))
    if is_integer(dtype):
        info = np.iinfo(NUMPY[dtype])
        if not info.min <= value <= info.max:
            raise Mismatch(f"{value}, which is outside {info.min}..={info.max}")
        return np.array(value, NUMPY[dtype])
    return np.array(value, NUMPY[dtype]) if dtype == "pred" else _round(value, dtype)


def _round(value: Any, dtype: str) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        try:
            result = np.array(value, np.complex128 if dtype in COMPLEX else np.float64)
        except OverflowError:
            raise Mismatch(f"{value}, which is too large") from None
        result = result.astype(NUMPY[dtype])
    if isinstance(value, int):
        if complex(result) != value:
            raise Mismatch(f"{value}, which {dtype} cannot hold exactly")
        return result
    parts = (value.real, value.imag), (complex(result).real, complex(result).imag)
    for before, after in zip(*parts, strict=True):
        if math.isfinite(before) and (not math.isfinite(after) or (before != 0) != (after != 0)):
            raise Mismatch(f"{value}, which is outside the range of {dtype}")
    return result


def _cast_array(value: Any, dtype: str) -> Value:
    if isinstance(value, (str, bytes)) or not isinstance(value, (np.ndarray, list, tuple)):
        raise Mismatch(_received(value))
    if isinstance(value, np.ma.MaskedArray):
        raise Mismatch("a masked array: pass its data")
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise Mismatch(f"array of shape {value.shape}")
        if value.dtype == NUMPY[dtype]:
            return Value(dtype, value.shape, value.tobytes())
    items = []
    for index, item in enumerate(value):
        try:
            items.append(cast_scalar(item, dtype))
        except Mismatch as mismatch:
            raise Mismatch(f"{mismatch} at index {index}") from None
    return Value(dtype, (len(items),), np.array(items, NUMPY[dtype]).tobytes())


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise Mismatch(_received(value))
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise Mismatch(f"{value!r}, which is not valid UTF-8") from None


def _received(value: Any) -> str:
    if isinstance(value, (bool, int, float, complex, str)):
        text = repr(value)
        return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{name_of(value.dtype)} array" if value.ndim else f"{name_of(value.dtype)} {value}"
    return type(value).__name__


def default_value(spec: AttributeSpec, json: Any) -> Value | None:
    """The default of the manifest: numbers, "inf", "-inf", "nan", [re, im], lists of these, or a string."""
    if json is None:
        return None
    if spec.form == "string" or spec.variants:
        return spec.cast(json)
    if spec.form == "array":
        return spec.cast([_number(item, spec.dtype) for item in json])
    return spec.cast(_number(json, spec.dtype))


def _number(json: Any, dtype: str | None) -> Any:
    if isinstance(json, list):
        return complex(*(_number(part, "f64") for part in json))
    if isinstance(json, str):
        return float(json)
    return float(json) if dtype in FLOATS else json
