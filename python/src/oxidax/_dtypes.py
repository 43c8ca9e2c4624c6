"""The dtypes that cross the boundary, under XLA's names."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

NUMPY: dict[str, np.dtype[Any]] = {
    "pred": np.dtype(np.bool_),
    "s8": np.dtype(np.int8),
    "s16": np.dtype(np.int16),
    "s32": np.dtype(np.int32),
    "s64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
NAMES: dict[np.dtype[Any], str] = {dtype: name for name, dtype in NUMPY.items()}
FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
COMPLEX = frozenset({"c64", "c128"})
INEXACT = FLOATS | COMPLEX


def name_of(dtype: Any) -> str:
    """XLA's name of a dtype, or its own where it cannot cross the boundary."""
    return NAMES.get(dtype, str(dtype)) if isinstance(dtype, np.dtype) else str(dtype)


def is_integer(name: str) -> bool:
    """True for signed and unsigned integers."""
    return name[0] in "su"
