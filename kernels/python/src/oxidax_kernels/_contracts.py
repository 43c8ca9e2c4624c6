"""The targets of jaxlib whose contracts this package knows, and how people name them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: The jaxlib versions whose contracts were compared with ours: from the first up to, and without, the second.
JAXLIBS = ((0, 5, 3), (0, 13))

# Of the routines that do not have all four.
_TYPES = {
    "orgqr": "sd", "ungqr": "cz", "ormqr": "sd", "unmqr": "cz",
    "syevd": "sd", "heevd": "cz", "sytrd": "sd", "hetrd": "cz",
}  # fmt: skip

#: An operation's routines, as LAPACK names them without the type; those of no type, as their target without `_ffi`.
OPERATIONS = {
    "cholesky": ("potrf",),
    "lu": ("getrf",),
    "qr": ("geqrf", "geqp3", "orgqr", "ungqr", "ormqr", "unmqr"),
    "svd": ("gesdd", "gesvd"),
    "eig": ("geev",),
    "eigh": ("syevd", "heevd"),
    "schur": ("gees",),
    "hessenberg": ("gehrd",),
    "tridiagonal": ("sytrd", "hetrd"),
    "triangular_solve": ("trsm",),
    "tridiagonal_solve": ("gtsv", "tridiagonal_solve_perturbed"),
    "sparse": ("cpu_csr_sparse_dense",),
}

#: Routines whose target serves every type, and is called after them.
_UNTYPED = ("tridiagonal_solve_perturbed", "cpu_csr_sparse_dense")

#: The jaxlib from which on a routine's contract is ours, if not the first. Before, programs that JAX exported
#: called `trsm` with a factor, and the others did not exist.
_SINCE = {
    "cpu_csr_sparse_dense": (0, 6, 2),
    "trsm": (0, 8),
    "ormqr": (0, 10),
    "unmqr": (0, 10),
    "tridiagonal_solve_perturbed": (0, 10),
}


def _named() -> dict[str, frozenset[str]]:
    """Every name that `select` takes, and the targets that it stands for."""
    found: dict[str, set[str]] = {}
    for operation, routines in OPERATIONS.items():
        for routine in routines:
            if routine in _UNTYPED:
                names = [(operation, routine, f"{routine}_ffi")]
            else:
                letters = _TYPES.get(routine, "sdcz")
                names = [(operation, routine, x + routine, f"lapack_{x}{routine}_ffi") for x in letters]
            for row in names:
                for name in row:
                    found.setdefault(name, set()).add(row[-1])
    return {name: frozenset(targets) for name, targets in found.items()}


_NAMED = _named()

#: Every target, by operation and then by type.
TARGETS = tuple(name for name in _NAMED if name.endswith("_ffi"))


def later_than(version: tuple[int, ...]) -> frozenset[str]:
    """The targets that a jaxlib of this version, which is known otherwise, lacks, or has with another contract."""
    return frozenset().union(*(_NAMED[routine] for routine, since in _SINCE.items() if version < since))


def select(only: str | Iterable[str] | None = None, skip: str | Iterable[str] | None = None) -> frozenset[str]:
    """The targets that two lists of names leave.

    A name is an operation (``cholesky``), a routine (``potrf``), a routine of one type (``dpotrf``) or a target.

    Raises:
        ValueError: there is no such name.
    """
    chosen = frozenset(TARGETS) if only is None else _targets(only, "only")
    return chosen - _targets(() if skip is None else skip, "skip")


def _targets(names: str | Iterable[str], parameter: str) -> frozenset[str]:
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in _NAMED:
            close = difflib.get_close_matches(str(name), _NAMED, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"operations are {', '.join(OPERATIONS)}"
            raise ValueError(f"{parameter}: there is no operation, routine or target {name!r}; {hint}")
    return frozenset().union(*(_NAMED[name] for name in names))
