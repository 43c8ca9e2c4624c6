"""Hands SciPy's LAPACK and BLAS routines to the kernels, which use their threads for large matrices."""

from __future__ import annotations

import ctypes
from functools import cache

from oxidax_kernels import _library
from oxidax_kernels._jaxlib import address


class _NamedRoutine(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


@cache
def hand_over() -> str | None:
    """Hands them over, once a process.

    Returns:
        None where SciPy serves large matrices from now on, else why not; the kernels then use their own OpenBLAS.
    """
    try:
        from scipy.linalg import cython_blas, cython_lapack
    except ImportError as error:
        return f"SciPy cannot be imported ({error})"
    # SciPy says the size, in bytes, where it may be another than 4: from 1.18 on.
    size = getattr(cython_lapack, "_blas_int_size", lambda: 4)()
    try:
        routines = cython_blas.__pyx_capi__ | cython_lapack.__pyx_capi__
    except AttributeError:
        return "SciPy does not say where its routines are"
    capsules = [(name.encode(), capsule) for name, capsule in routines.items()]
    named = (_NamedRoutine * len(capsules))(*((name, address(capsule)) for name, capsule in capsules))
    refusal = _library.symbols().oxidax_kernels_use_scipy(named, len(named), size)
    return None if refusal is None else refusal.decode()
