"""JAX operations from Rust functions.

``oxidax.load(path)`` opens a shared library whose functions carry ``#[ffi_handler]`` and returns one
JAX operation for each. JAX is imported with the first use of `load`, not before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from oxidax._errors import LoadError, SignatureError
from oxidax._handlers import Handler
from oxidax._replacements import replacements

if TYPE_CHECKING:
    from oxidax._library import Library, load
    from oxidax._operation import Operation

__version__ = "0.1.0"

__all__ = ["Handler", "Library", "LoadError", "Operation", "SignatureError", "load", "replacements"]

_IMPORT_JAX = {"Library": "oxidax._library", "Operation": "oxidax._operation", "load": "oxidax._library"}


def __getattr__(name: str) -> Any:
    if name not in _IMPORT_JAX:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_IMPORT_JAX[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
