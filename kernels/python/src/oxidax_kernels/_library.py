"""The shared library of the kernels: where it is, its handlers, and what it says of its OpenBLAS."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

import oxidax

#: Names another library than the one in this package.
VARIABLE = "OXIDAX_KERNELS_LIBRARY"


def path() -> Path:
    """Where the library is.

    Raises:
        FileNotFoundError: it is nowhere.
    """
    chosen = os.environ.get(VARIABLE)
    found = Path(chosen) if chosen else Path(__file__).with_name("liboxidax_kernels.so")
    if not found.is_file():
        where = f"the variable {VARIABLE} names" if chosen else "this installation of oxidax_kernels lacks"
        raise FileNotFoundError(
            f"{where} {found}, where there is no file: install the wheel of oxidax-kernels, or build the library "
            f"(cargo build --release -p oxidax-kernels) and set {VARIABLE} to it"
        )
    return found


@cache
def handlers() -> dict[str, oxidax.Handler]:
    """The handlers that take the place of jaxlib's, by target."""
    return oxidax.replacements(path())


def is_open() -> bool:
    """Whether the library has been opened."""
    return handlers.cache_info().currsize > 0


@cache
def symbols() -> ctypes.CDLL:
    """The library's own C functions."""
    handlers()  # opens the file, after a look at it
    library = ctypes.CDLL(os.path.realpath(path()), mode=os.RTLD_LOCAL | os.RTLD_NOW)
    library.oxidax_kernels_openblas.restype = ctypes.c_char_p
    library.oxidax_kernels_use_scipy.restype = ctypes.c_char_p
    library.oxidax_kernels_use_scipy.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return library


def openblas() -> str:
    """Version, options and processor kernels of the OpenBLAS inside."""
    return symbols().oxidax_kernels_openblas().decode()
