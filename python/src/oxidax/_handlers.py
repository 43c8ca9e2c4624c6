"""The function pointers of a library, as XLA takes them. Nothing here knows JAX."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from oxidax._errors import LoadError

_STAGES = ("instantiate", "prepare", "initialize", "execute")


class _HandlerStruct(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_char_p),
        ("platform", ctypes.c_char_p),
        *((stage, ctypes.c_void_p) for stage in _STAGES),
    ]


# A function of our own: `ctypes.pythonapi.PyCapsule_New` belongs to all of the process, and others set its types.
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def _capsule(address: int) -> Any:
    return _new_capsule(address, None, None)


@dataclass(frozen=True)
class Handler:
    """The stages of one handler; a stage that it does not use is absent."""

    stages: dict[str, int]

    def capsules(self) -> dict[str, Any]:
        """The stages as `jax.ffi.register_ffi_target` takes them."""
        return {stage: _capsule(address) for stage, address in self.stages.items()}

    def probe(self) -> tuple[int, int] | str:
        """The API version that the handler declares, or what is wrong with its answer."""
        return _declared_version(self.stages["execute"])


class HandlerTable:
    """The array of handlers of a manifest."""

    def __init__(self, address: int, count: int) -> None:
        self._rows = (_HandlerStruct * count).from_address(address) if count else ()

    def __len__(self) -> int:
        return len(self._rows)

    def handler(self, index: int, target: str, platform: str) -> Handler:
        """The handler of an operation.

        Raises:
            LoadError: the row is not that of the operation, or has nothing to execute.
        """
        row: Any = self._rows[index] if 0 <= index < len(self._rows) else None
        if row is None or (row.target, row.platform) != (target.encode(), platform.encode()):
            raise LoadError(
                f'the manifest has no handler "{target}" for {platform} at {index}: build the library again'
            )
        stages = {stage: getattr(row, stage) for stage in _STAGES}
        if not stages["execute"]:
            raise LoadError(f'the handler "{target}" for {platform} has nothing to execute: build the library again')
        return Handler({stage: address for stage, address in stages.items() if address})


# The frame with which XLA asks for a handler's version, as XLA up to 0.8.0 fills it (`api` is null).
# Fields: XLA's c_api.h; these never changed.


class _Base(ctypes.Structure):
    pass


_Base._fields_ = [("size", ctypes.c_size_t), ("type", ctypes.c_int32), ("next", ctypes.POINTER(_Base))]


class _Version(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("major", ctypes.c_int32),
        ("minor", ctypes.c_int32),
    ]


class _Metadata(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("version", _Version),
        ("traits", ctypes.c_uint32),
        ("state_type_id", ctypes.c_int64),
    ]


class _Extension(ctypes.Structure):
    _fields_ = [("base", _Base), ("metadata", ctypes.POINTER(_Metadata))]


class _Arguments(ctypes.Structure):  # of args, rets and attrs: the longest of the three
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("count", ctypes.c_int64)]


class _Frame(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.POINTER(_Base)),
        ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int32),
        ("args", _Arguments),
        ("args_rest", ctypes.c_void_p * 2),
        ("rets", _Arguments),
        ("rets_rest", ctypes.c_void_p * 2),
        ("attrs", _Arguments),
        ("attrs_rest", ctypes.c_void_p * 3),
        ("future", ctypes.c_void_p),
    ]


def _declared_version(address: int) -> tuple[int, int] | str:
    metadata = _Metadata(size=36, version=_Version(size=24))
    base = _Base(size=32, type=1)
    extension = _Extension(base, ctypes.pointer(metadata))
    frame = _Frame(size=168, stage=3)
    frame.extension = ctypes.cast(ctypes.pointer(extension), ctypes.POINTER(_Base))
    frame.args.size = frame.rets.size = 40
    frame.attrs.size = 48
    error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)(ctypes.addressof(frame))
    if error:
        return "it answers with an error"
    return metadata.version.major, metadata.version.minor
