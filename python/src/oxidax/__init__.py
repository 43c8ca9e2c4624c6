"""JAX operations from Rust functions.

``oxidax.load(path)`` opens a shared library whose functions carry ``#[ffi_handler]`` and returns one
JAX operation for each.
"""

from oxidax._errors import LoadError, SignatureError
from oxidax._library import Library, load
from oxidax._operation import Operation

__version__ = "0.1.0"

__all__ = ["Library", "LoadError", "Operation", "SignatureError", "load"]
