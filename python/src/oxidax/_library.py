"""Loads a library: looks at the file, opens it, reads its manifest, registers its handlers, makes operations.

The process-wide tables of libraries and targets live here. A library is never unloaded, because XLA keeps its
function pointers. Nothing here starts a JAX backend.
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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oxidax import _autodiff, _binary, _jax, _manifest
from oxidax._errors import LoadError
from oxidax._handlers import Handler, HandlerTable
from oxidax._manifest import Definition
from oxidax._operation import Operation


class Library:
    """The operations of one loaded library, as attributes: ``ops.rms_norm``.

    ``ops["crate.rms_norm"]`` finds one by its target, which also works where two share a name;
    ``for operation in ops`` goes over all.
    """

    def __init__(
        self, path: str, sha256: str, operations: list[Operation], replacements: dict[str, Handler] | None = None
    ) -> None:
        #: The handlers that are made to take the place of another library's, by target. `load` leaves them alone.
        self.replacements = replacements or {}
        self.__file__ = path
        self.__doc__ = f"Operations of {path}:\n\n" + "\n".join(f"  {o.__name__}{o.__signature__}" for o in operations)
        self._sha256 = sha256
        self._operations = tuple(operations)
        self._by_key: dict[str, list[Operation]] = {}
        for operation in operations:
            for key in {operation.__name__, operation.target}:
                self._by_key.setdefault(key, []).append(operation)

    def __getitem__(self, key: str) -> Operation:
        found = self._by_key.get(key, [])
        if len(found) == 1:
            return found[0]
        if found:
            targets = ", ".join(f'"{operation.target}"' for operation in found)
            raise KeyError(f"{key} is the name of several operations of {self.__file__}: choose one of {targets}")
        raise KeyError(f"{self.__file__} has no operation {key}; it has {', '.join(sorted(self._by_key))}")

    def __getattr__(self, name: str) -> Operation:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations)

    def __len__(self) -> int:
        return len(self._operations)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(o.__name__ for o in self._operations)]

    def __repr__(self) -> str:
        return f"<oxidax library {self.__file__}: {', '.join(o.__name__ for o in self._operations)}>"


@dataclass(frozen=True)
class _Opened:
    """What a path held when it was opened."""

    sha256: str
    inode: tuple[int, int]


_lock = threading.RLock()
_libraries: dict[str, Library] = {}  # by sha256 of the file
_owners: dict[tuple[str, str], str] = {}  # (target, platform) -> path of the library
_opened: dict[str, _Opened] = {}  # by path


def load(path: str | os.PathLike[str]) -> Library:
    """Opens a shared library that was built with the crate `oxidax` and registers its handlers.

    Loading a file again, from the same or another place, gives the same `Library`; loading a path whose file
    was rebuilt gives a new one, which runs the new code.

    Raises:
        FileNotFoundError: there is no such file.
        LoadError: the file is not such a library, is too new, or contradicts itself.
    """
    name = os.path.realpath(os.fspath(path))
    content = _read(name)
    sha256 = hashlib.sha256(content).hexdigest()
    with _lock:
        if sha256 not in _libraries:
            if reason := _binary.refusal(content):
                raise LoadError(f"{name}: {reason}")
            _libraries[sha256] = _open(name, content, sha256)
        return _libraries[sha256]


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


def _open(path: str, content: bytes, sha256: str) -> Library:
    handle = _dlopen(path, content, sha256)
    text, table = _manifest_of(handle, path)
    panic, definitions = _manifest.parse(text, path)
    if panic != "unwind":
        raise LoadError(
            f'{path}: built with panic = "{panic}", so that a panic would end the process: '
            'remove `panic = "abort"` from its Cargo profile'
        )
    replacements = [d for d in definitions if d.drop_in]
    groups = _by_operation([d for d in definitions if not d.drop_in], path)
    handlers = _handlers_of(groups, table, path)
    _refuse_incompatible(groups, handlers, path)
    renamed, owners = _private_names(groups, sha256)
    try:
        operations = [Operation(group, renamed.get(group[0].target, group[0].target)) for group in groups]
        _autodiff.wire(operations)
    except LoadError as error:
        raise LoadError(f"{path}: {error}") from None
    if renamed:
        warnings.warn(
            f"{path} brings targets that {' and '.join(owners)} registered before ({', '.join(renamed)}); "
            f"here they are called {', '.join(renamed.values())}, a name that exported programs should not hold",
            stacklevel=3,
        )
    for operation, group in zip(operations, groups, strict=True):
        for definition in group:
            try:
                operation.add_handler(definition.platform, handlers[definition.id])
            except Exception as error:  # of a class that depends on the version
                raise LoadError(
                    f'{path}: XLA refuses the handler "{operation.target}" for {definition.platform}: {error}'
                ) from error
            _owners[operation.target, definition.platform] = path
    drop_ins = _handlers_of([replacements], table, path)
    return Library(path, sha256, operations, {d.target: drop_ins[d.id] for d in replacements})


def _handlers_of(groups: list[list[Definition]], table: HandlerTable, path: str) -> dict[str, Handler]:
    try:
        return {d.id: table.handler(d.handler, d.target, d.platform) for group in groups for d in group}
    except LoadError as error:
        raise LoadError(f"{path}: {error}") from None


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
                    stacklevel=5,
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
    if version != _manifest.VERSION:
        newer = version > _manifest.VERSION
        raise LoadError(
            f"{path}: its manifest has version {version}, and this oxidax reads version {_manifest.VERSION}: "
            + ("upgrade it (pip install --upgrade oxidax)" if newer else "build the library with a newer oxidax crate")
        )
    manifest = _ManifestStruct.from_address(address)
    text = ctypes.string_at(manifest.json, manifest.json_len)
    return text, HandlerTable(manifest.handlers, manifest.num_handlers)


def _by_operation(definitions: list[Definition], path: str) -> list[list[Definition]]:
    """Groups handlers of one target, which are one operation on several platforms."""
    groups: dict[str, list[Definition]] = {}
    for definition in definitions:
        group = groups.setdefault(definition.target, [])
        for other in group:
            both = f"{other.id} and {definition.id}"
            if other.platform == definition.platform:
                raise LoadError(
                    f'{path}: {both} have one target "{definition.target}" on {definition.platform}: '
                    'rename one of the functions, or give it `target = ".."`'
                )
            if other.interface != definition.interface:
                raise LoadError(
                    f'{path}: {both} are one operation "{definition.target}" on two platforms, but their signatures '
                    'differ: make them equal, or give one of them `target = ".."`'
                )
        group.append(definition)
    return list(groups.values())


def _refuse_incompatible(groups: list[list[Definition]], handlers: dict[str, Handler], path: str) -> None:
    """Asks each handler for its API version, as XLA will, so that XLA never has to refuse one.

    A handler that XLA refuses in its queue makes the start of the backend fail, for the whole process.
    """
    runtime = _jax.api_version()
    lowest = (0, 1)
    for group in groups:
        for definition in group:
            answer = handlers[definition.id].probe()
            if isinstance(answer, str):
                raise LoadError(f"{path}: {definition.name}: the handler does not tell its API version: {answer}")
            accepts_newer = runtime is None or runtime >= (0, 2)
            if answer == lowest or (accepts_newer and lowest <= answer <= (runtime or answer)):
                continue
            jax, jaxlib = _jax.versions()
            raise LoadError(
                f"{path}: {definition.name}: the handler needs XLA FFI {_jax.show_version(answer)}, and "
                f"jaxlib {jaxlib} (jax {jax}) has {_jax.show_version(runtime)}: upgrade jax, or build the library with "
                "the oxidax crate"
            )


def _private_names(groups: list[list[Definition]], sha256: str) -> tuple[dict[str, str], list[str]]:
    """New names for targets that are taken, and who has taken them."""
    renamed: dict[str, str] = {}
    owners: list[str] = []
    for group in groups:
        for definition in group:
            target = definition.target
            owner = _owners.get((target, definition.platform))
            if owner is None and target in _jax.claimed_targets(definition.platform):
                owner = "another package"
            if owner is not None:
                owners.append(owner)
                renamed[target] = f"{target}@{sha256[:8]}"
    return renamed, list(dict.fromkeys(owners))
