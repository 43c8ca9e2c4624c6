"""Every name of jaxlib on which the package relies, and nothing of JAX, which is not imported here.

Importing `jax` asks `jaxlib.lapack.registrations()` for handlers, once, and puts them into the queue
`jaxlib.xla_client._custom_callback["Host"]`. The first use of a backend hands the queue to XLA, which never lets a
handler go. So it was in every jaxlib from 0.5.3 to 0.12.0.1. Importing `jax.experimental.sparse`, at any time, does the
same with `jaxlib.cpu_sparse`, which is younger; once a backend has started, its handler goes to XLA at once.
"""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
from collections.abc import Callable
from typing import Any

from jaxlib import lapack, xla_client
from jaxlib.version import __version__

try:
    from jaxlib import cpu_sparse
except ImportError:  # before 0.6.2
    cpu_sparse = None

_Registrations = dict[str, list[tuple[str, Any, int]]]

VERSION = __version__
_PLATFORM = "Host"  # XLA's name for "cpu"

#: The modules that JAX asks for handlers, and what they answer by themselves.
_stock_registrations = {module: module.registrations for module in (lapack, cpu_sparse) if module is not None}
# Functions of our own: those of `ctypes.pythonapi` belong to all of the process, and others set their types.
_name = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def version() -> tuple[int, ...]:
    """Jaxlib's version as numbers."""
    return tuple(int(part) for part in re.findall(r"\d+", VERSION))


def address(capsule: Any) -> int:
    """What a capsule points to, whatever its name."""
    return _pointer(capsule, _name(capsule))


def stock() -> dict[str, Any]:
    """The capsules of the handlers that jaxlib would register, by target: only those of XLA's typed interface."""
    answers = [registrations().get("cpu", ()) for registrations in _stock_registrations.values()]
    return {name: value for answer in answers for name, value, api in answer if api == 1}


def started() -> bool:
    """Whether XLA has the handlers, so that nothing can be changed."""
    return _PLATFORM in xla_client._custom_callback_handler


def wait_for_jax() -> None:
    """Where another thread is importing JAX, or its sparse part, waits until it has done so."""
    for module in ("jax", "jax.experimental.sparse"):
        if module in sys.modules:
            importlib.import_module(module)


def replace_registrations(replacement: Callable[[str], Any | None]) -> None:
    """Makes an import of JAX take, for each target, what `replacement` returns, or jaxlib's own for None."""

    def replaced(stock: Callable[[], _Registrations]) -> Callable[[], _Registrations]:
        def registrations() -> _Registrations:
            found = stock()
            rows = [(name, value, api, replacement(name) if api == 1 else None) for name, value, api in found["cpu"]]
            return found | {"cpu": [(name, value if ours is None else ours, api) for name, value, api, ours in rows]}

        return registrations

    for module, stock in _stock_registrations.items():
        module.registrations = replaced(stock)


def restore_registrations() -> None:
    """Undoes `replace_registrations`."""
    for module, stock in _stock_registrations.items():
        module.registrations = stock


def edit_queue(edit: Callable[[str, Any], Any]) -> bool:
    """Replaces each handler that waits by what `edit` makes of target and handler.

    Returns:
        False where XLA has the handlers already; then nothing has changed.
    """
    with xla_client._custom_callback_lock:
        if started():
            return False
        queue = xla_client._custom_callback.get(_PLATFORM, [])
        queue[:] = [(row[0], edit(row[0], row[1]), *row[2:]) for row in queue]
        return True


def registered() -> dict[str, int]:
    """The address of the handler of each target, in XLA or waiting for it; none before `import jax`."""
    with xla_client._custom_callback_lock:
        found = dict(xla_client.custom_call_targets(_PLATFORM)) if started() else {}
        found |= {row[0]: row[1] for row in xla_client._custom_callback.get(_PLATFORM, ())}
    return {target: execute_address(value) for target, value in found.items()}


def execute_address(value: Any) -> int:
    """The address of a handler's last stage; a handler is a capsule, or a capsule for each stage."""
    return address(value["execute"] if isinstance(value, dict) else value)
