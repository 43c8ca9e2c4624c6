"""Opens a library file: looks at it, maps it, finds its manifest. Nothing here knows JAX.

The process-wide table of opened files lives here. A file is never closed, because XLA keeps its function pointers.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import shutil
import tempfile
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path

from oxidax import _binary
from oxidax._errors import LoadError
from oxidax._handlers import HandlerTable

MANIFEST_VERSION = 1


@dataclass(frozen=True)
class SharedObject:
    """An opened file."""

    path: str
    sha256: str
    handle: ctypes.CDLL
    text: bytes  # the JSON of the manifest
    table: HandlerTable

    def debug_table(self, fill: int) -> HandlerTable | None:
        """The debugging twins of the handlers, which fill results with the byte `fill` from now on.

        With a negative one they do what `OXIDAX_DEBUG` says. None: the library is older than this.
        """
        function = getattr(self.handle, "oxidax_debug", None)
        if function is None:
            return None
        function.restype, function.argtypes = ctypes.c_void_p, (ctypes.c_int32,)
        address = function(fill)
        return HandlerTable(address, len(self.table)) if address else None


@dataclass(frozen=True)
class _Opened:
    """What a path held when it was opened."""

    sha256: str
    inode: tuple[int, int]


_lock = threading.RLock()
_shared_objects: dict[str, SharedObject] = {}  # by sha256 of the file
_opened: dict[str, _Opened] = {}  # by path


def open_shared_object(path: str | os.PathLike[str]) -> SharedObject:
    """Opens a file; one that holds what an opened one holds is not opened again.

    Raises:
        FileNotFoundError: there is no such file.
        LoadError: the file is not a library of ours, or is too new.
    """
    name = os.path.realpath(os.fspath(path))
    content = _read(name)
    sha256 = hashlib.sha256(content).hexdigest()
    with _lock:
        if sha256 not in _shared_objects:
            if reason := _binary.refusal(content):
                raise LoadError(f"{name}: {reason}")
            handle = _dlopen(name, content, sha256)
            _shared_objects[sha256] = SharedObject(name, sha256, handle, *_manifest_of(handle, name))
        return _shared_objects[sha256]


def refuse_abort(panic: str, path: str) -> None:
    """Refuses a library in which a panic ends the process.

    Raises:
        LoadError: it is one.
    """
    if panic != "unwind":
        raise LoadError(
            f'{path}: built with panic = "{panic}", so that a panic would end the process: '
            'remove `panic = "abort"` from its Cargo profile'
        )


def damaged(path: str, error: Exception) -> LoadError:
    """The error for a manifest that is not what its version promises."""
    return LoadError(
        f"{path}: its manifest is damaged ({type(error).__name__}: {error}); "
        "build the library again with a released version of the oxidax crate"
    )


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path}: there is no such file: build it (cargo build --release) or correct the path"
        ) from None
    except IsADirectoryError:
        raise LoadError(f"{path}: this is a directory: give the path of the .so in it") from None
    except OSError as error:
        raise LoadError(f"{path}: cannot be read ({error.strerror}): make it readable") from None


def _dlopen(path: str, content: bytes, sha256: str) -> ctypes.CDLL:
    """Opens the file, from a private copy where the loader would give us the code it has mapped before.

    The C library looks libraries up by path and by inode, and never looks at what they hold.
    """
    stat = os.stat(path)
    inode = (stat.st_dev, stat.st_ino)
    source = path
    if path in _opened or any(other.inode == inode for other in _opened.values()):
        for old, other in _opened.items():
            if other.inode == inode and other.sha256 != sha256:
                warnings.warn(
                    f"{old} was overwritten while this process had it open: its earlier operations may crash; "
                    "restart, and replace a library by moving the new file over it, as cargo does",
                    stacklevel=4,
                )
        source = _private_copy(path, content, sha256)
    try:
        handle = ctypes.CDLL(source, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    except OSError as error:
        raise LoadError(
            f"{path}: cannot be opened ({error}): a library that it needs may be missing (see `ldd`), "
            "or it was built for another system"
        ) from error
    _opened[path] = _Opened(sha256, inode)
    return handle


def _private_copy(path: str, content: bytes, sha256: str) -> str:
    folder = tempfile.mkdtemp(prefix="oxidax-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = Path(folder) / f"{sha256[:8]}-{Path(path).name}"
    copy.write_bytes(content)
    return str(copy)


class _ManifestStruct(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("json", ctypes.c_void_p),
        ("json_len", ctypes.c_size_t),
        ("handlers", ctypes.c_void_p),
        ("num_handlers", ctypes.c_size_t),
    ]


def _manifest_of(handle: ctypes.CDLL, path: str) -> tuple[bytes, HandlerTable]:
    function = getattr(handle, _binary.SYMBOL)
    function.restype = ctypes.c_void_p
    function.argtypes = ()
    address = function()
    if not address:
        raise LoadError(f"{path}: `{_binary.SYMBOL}` gave no manifest: build the library again")
    version = ctypes.c_uint32.from_address(address).value  # before any other field, for they may differ
    if version != MANIFEST_VERSION:
        newer = version > MANIFEST_VERSION
        raise LoadError(
            f"{path}: its manifest has version {version}, and this oxidax reads version {MANIFEST_VERSION}: "
            + ("upgrade it (pip install --upgrade oxidax)" if newer else "build the library with a newer oxidax crate")
        )
    manifest = _ManifestStruct.from_address(address)
    text = ctypes.string_at(manifest.json, manifest.json_len)
    return text, HandlerTable(manifest.handlers, manifest.num_handlers)
