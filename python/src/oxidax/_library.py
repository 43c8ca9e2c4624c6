"""Loads a library: reads its manifest, registers its handlers, makes operations.

The process-wide tables of libraries and targets live here. Nothing here starts a JAX backend.
"""

from __future__ import annotations

import copyreg
import os
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from oxidax import _autodiff, _jax, _manifest
from oxidax._errors import LoadError
from oxidax._handlers import Handler, HandlerTable
from oxidax._manifest import Definition
from oxidax._operation import Operation
from oxidax._shared_object import SharedObject, open_shared_object, refuse_abort


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

    @property
    def export_checks(self) -> list[Any]:
        """What `jax.export.export` has to be given as ``disabled_checks`` for programs with these operations."""
        return [_jax.export_check(operation.target) for operation in self]

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


_lock = threading.RLock()
_libraries: dict[str, Library] = {}  # by sha256 of the file
_owners: dict[tuple[str, str], tuple[str, str]] = {}  # (target, platform) -> path and sha256 of the library


def load(path: str | os.PathLike[str]) -> Library:
    """Opens a shared library that was built with the crate `oxidax` and registers its handlers.

    Loading a file again, from the same or another place, gives the same `Library`; loading a path whose file
    was rebuilt gives a new one, which runs the new code.

    Raises:
        FileNotFoundError: there is no such file.
        LoadError: the file is not such a library, is too new, or contradicts itself.
    """
    opened = open_shared_object(path)
    with _lock:
        if opened.sha256 not in _libraries:
            _libraries[opened.sha256] = _make(opened)
        return _libraries[opened.sha256]


def _operation(path: str, identifier: str) -> Operation:
    found = [operation for operation in load(path) if operation.definition.id == identifier]
    if not found:
        raise LoadError(f"{path} has no operation {identifier}, which was pickled: was the library rebuilt without it?")
    return found[0]


# A pickle holds the library's path: whoever reads it loads the library.
copyreg.pickle(Library, lambda library: (load, (library.__file__,)))
copyreg.pickle(Operation, lambda operation: (_operation, (operation.shared_object.path, operation.definition.id)))


def _make(opened: SharedObject) -> Library:
    path, sha256, table = opened.path, opened.sha256, opened.table
    panic, definitions = _manifest.parse(opened.text, path)
    refuse_abort(panic, path)
    replacements = [d for d in definitions if d.drop_in]
    groups = _by_operation([d for d in definitions if not d.drop_in], path)
    handlers = _handlers_of([*groups, replacements], table, path)
    _refuse_incompatible([*groups, replacements], handlers, path)
    renamed, owners = _private_names(groups, path, sha256)
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
        operation.shared_object = opened
        for definition in group:
            try:
                operation.add_handler(definition.platform, handlers[definition.id])
            except Exception as error:  # of a class that depends on the version
                raise LoadError(
                    f'{path}: XLA refuses the handler "{operation.target}" for {definition.platform}: {error}'
                ) from error
            _owners[operation.target, definition.platform] = path, sha256
    return Library(path, sha256, operations, {d.target: handlers[d.id] for d in replacements})


def _handlers_of(groups: list[list[Definition]], table: HandlerTable, path: str) -> dict[str, Handler]:
    try:
        return {d.id: table.handler(d.handler, d.target, d.platform) for group in groups for d in group}
    except LoadError as error:
        raise LoadError(f"{path}: {error}") from None


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


def _private_names(groups: list[list[Definition]], path: str, sha256: str) -> tuple[dict[str, str], list[str]]:
    """New names for targets that are taken, and who has taken them.

    A library takes nothing from itself: XLA may have refused one of its handlers before, after it took others.
    """
    renamed: dict[str, str] = {}
    owners: list[str] = []
    for group in groups:
        for definition in group:
            target = definition.target
            owner = _owners.get((target, definition.platform))
            if owner == (path, sha256):
                continue
            if owner is not None or target in _jax.claimed_targets(definition.platform):
                owners.append(owner[0] if owner else "another package")
                renamed[target] = f"{target}@{sha256[:8]}"
    return renamed, list(dict.fromkeys(owners))
