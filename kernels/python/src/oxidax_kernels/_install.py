"""Puts our handlers in the place of jaxlib's: when JAX asks for them, or in the queue where they wait for XLA."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable
from typing import Any

from oxidax_kernels import _contracts, _jaxlib, _library, _scipy

_lock = threading.RLock()
_chosen: dict[str, Any] = {}  # by target, as XLA takes them; replaced, never changed, so that reading needs no lock
_decided = False


def install(only: str | Iterable[str] | None = None, skip: str | Iterable[str] | None = None) -> tuple[str, ...]:
    """Makes JAX's linear algebra on CPU run on our kernels, in this process.

    Call it before the first JAX computation; before or after ``import jax`` does not matter. The last of several calls
    counts. A target that this jaxlib does not have, or whose contract is not known, stays jaxlib's, with a warning; one
    that came with a later jaxlib, with a warning if `only` names it. For programs that cannot be edited, set
    ``OXIDAX_KERNELS=1`` instead: see `python -m oxidax_kernels --help`.

    Args:
        only: replace these alone: operations (``"cholesky"``), routines (``"potrf"``), routines of one type
            (``"dpotrf"``) or targets (``"lapack_dpotrf_ffi"``).
        skip: replace all but these.

    Returns:
        The targets that are ours, sorted.

    Raises:
        ValueError: a name is unknown.
        RuntimeError: a JAX backend has started with other handlers, and XLA does not let go of them.
        OSError: the library of the kernels is missing or damaged.
    """
    global _decided
    wanted = _contracts.select(only, skip)
    known = _known(wanted, named=only is not None)
    with _lock:
        if _jaxlib.started():
            return _settled(known)
        _choose(known)
        _decided = True
    _jaxlib.wait_for_jax()
    with _lock:
        if not _edit_queue():
            return _settled(known)
        return installed()


def uninstall() -> None:
    """Gives JAX its own handlers back, as long as no backend has started.

    Raises:
        RuntimeError: one has started with ours, and XLA does not let go of them.
    """
    global _chosen, _decided
    with _lock:
        _decided = True
        if _jaxlib.started() and not _late().issuperset(installed()):
            raise RuntimeError(
                "a JAX backend has started with the handlers of oxidax_kernels, and XLA does not let go of them: "
                "start a new process, without install() and without the variable OXIDAX_KERNELS"
            )
        _chosen = {}
        _jaxlib.restore_registrations()
    _jaxlib.wait_for_jax()
    with _lock:
        _edit_queue()


def installed() -> tuple[str, ...]:
    """The targets that are ours, sorted: those that XLA has, or will get when JAX asks for them or a backend starts."""
    registered, ours = _jaxlib.registered(), _addresses()
    present = {target for target in ours if registered.get(target) == ours[target]}
    return tuple(sorted(present | (_late() & _chosen.keys())))


def decided() -> bool:
    """Whether the program has called `install` or `uninstall`."""
    return _decided


def _late() -> frozenset[str]:
    """The targets that JAX has not asked for: all before it is imported, one until `jax.experimental.sparse` is."""
    return frozenset(_addresses()) - _jaxlib.registered().keys()


def _choose(targets: frozenset[str]) -> None:
    """Gives JAX our handlers of the targets, and no others, from when it asks."""
    global _chosen
    handlers = _library.handlers()
    ours = {target: handlers[target].capsules() for target in targets}
    _scipy.hand_over()
    _chosen = ours
    _jaxlib.replace_registrations(lambda target: _chosen.get(target))


def _addresses() -> dict[str, int]:
    """Where our handlers are: nowhere before the first `install`, which opens the library."""
    if not _library.is_open():
        return {}
    return {target: handler.stages["execute"] for target, handler in _library.handlers().items()}


def _known(wanted: frozenset[str], *, named: bool) -> frozenset[str]:
    """Those of the targets whose contracts are known; warns of the others, and of younger ones if they were `named`."""
    first, end = _contracts.JAXLIBS
    if not first <= _jaxlib.version() < end:
        words = [".".join(map(str, part)) for part in (first, end)]
        _warn(
            f"oxidax_kernels knows the contracts of jaxlib {words[0]} and newer, before {words[1]}, and this is "
            f"{_jaxlib.VERSION}: everything stays jaxlib's own; upgrade oxidax-kernels"
        )
        return frozenset()
    later = wanted & _contracts.later_than(_jaxlib.version())
    if later and named:
        _warn(f"{', '.join(sorted(later))}: not taken, jaxlib {_jaxlib.VERSION} lacks it or has another contract")
    wanted = wanted - later
    unknown = wanted - _jaxlib.stock().keys()
    if unknown:
        _warn(f"jaxlib {_jaxlib.VERSION} has no {', '.join(sorted(unknown))}: nothing is replaced there")
    missing = wanted - _library.handlers().keys()
    if missing:
        _warn(f"{_library.path()} has no {', '.join(sorted(missing))}: it stays jaxlib's own")
    return wanted - unknown - missing


def _settled(known: frozenset[str]) -> tuple[str, ...]:
    """What is installed, if that is what is asked for; what JAX has not asked for yet can still be chosen.

    Raises:
        RuntimeError: it is not.
    """
    present, late = frozenset(installed()), _late()
    stock, extra = sorted(known - present - late), sorted(present - known - late)
    if not stock and not extra:
        _choose(known)
        return installed()
    states = [f"{', '.join(stock)} stays jaxlib's"] if stock else []
    states += [f"{', '.join(extra)} stays replaced"] if extra else []
    raise RuntimeError(
        "a JAX backend has started, and XLA does not let go of its handlers: call oxidax_kernels.install() before the "
        "first JAX computation and before jax.devices(), best beside `import jax`, or start the program with the "
        f"environment variable OXIDAX_KERNELS=1 ({'; '.join(states)})"
    )


def _edit_queue() -> bool:
    """Makes the queue agree with what is chosen; False if XLA has emptied it."""
    stock, ours, foreign = _jaxlib.stock(), _addresses(), []

    def edit(target: str, value: Any) -> Any:
        if target not in ours or target not in stock:
            return value
        address = _jaxlib.execute_address(value)
        if address not in (ours[target], _jaxlib.address(stock[target])):
            if target in _chosen:
                foreign.append(target)
            return value
        return _chosen.get(target, value if address != ours[target] else stock[target])

    edited = _jaxlib.edit_queue(edit)
    if foreign:
        _warn(f"another package has replaced {', '.join(foreign)}: they stay as they are")
    return edited


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=4)
