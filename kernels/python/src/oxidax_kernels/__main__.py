"""``python -m oxidax_kernels``: what the package replaces in this environment, and with which LAPACK.

Exit code: 0 if XLA has every handler that was asked for, 1 if not, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

import oxidax_kernels
from oxidax_kernels import _contracts, _jaxlib, _library, _plugin, _scipy

_EPILOG = f"""\
A NAME is an operation ({", ".join(_contracts.OPERATIONS)}), a routine (potrf), a routine of one type (dpotrf) or a
target (lapack_dpotrf_ffi).

In a program: oxidax_kernels.install(), before the first JAX computation.
For a program that cannot be edited, the environment variable {_plugin.VARIABLE}:
  {_plugin.VARIABLE}=1             replaces everything
  {_plugin.VARIABLE}=cholesky,svd  replaces these alone
  {_plugin.VARIABLE}=-eig          replaces all but this
{_library.VARIABLE}=FILE names another library of kernels.

Exit code: 0 if XLA has every handler that was asked for, 1 if not, 2 for wrong usage."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m oxidax_kernels",
        description="Installs the kernels in a JAX of its own and says what XLA then has.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="replace these alone; may be repeated")
    parser.add_argument("--skip", action="append", metavar="NAME", help="replace all but these; may be repeated")
    parser.add_argument("--version", action="version", version=f"oxidax-kernels {oxidax_kernels.__version__}")
    options = parser.parse_args(arguments)
    if options.only is options.skip is None:
        options.only, options.skip = _from_environment(parser)
    try:
        wanted = _contracts.select(options.only, options.skip)
    except ValueError as error:
        parser.error(str(error))
    if options.only is None:
        wanted -= _contracts.later_than(_jaxlib.version())
    return _report(wanted)


def _from_environment(parser: argparse.ArgumentParser) -> tuple[list[str] | None, list[str] | None]:
    asked = _plugin.request(os.environ.get(_plugin.VARIABLE, "1")) or {"only": [], "skip": None}
    return asked["only"], asked["skip"]


def _report(wanted: frozenset[str]) -> int:
    print(f"oxidax-kernels {oxidax_kernels.__version__}, jaxlib {_jaxlib.VERSION}")
    try:
        path = _library.path()
        print(f"library   {path}, {path.stat().st_size / 1e6:.1f} MB")
        print(f"OpenBLAS  {_library.openblas().removeprefix('OpenBLAS ')}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            oxidax_kernels.install(only=wanted)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"SciPy     {_scipy.hand_over() or 'serves large matrices, with its threads'}")
    print(f"variable  {_plugin.VARIABLE}={os.environ.get(_plugin.VARIABLE, '')}")
    for warning in caught:
        print(f"warning: {warning.message}")
    _start_backend()
    present = frozenset(oxidax_kernels.installed())
    width = max(map(len, _contracts.OPERATIONS))
    inner = max(len(routine) for routines in _contracts.OPERATIONS.values() for routine in routines)
    for operation, routines in _contracts.OPERATIONS.items():
        for routine in routines:
            targets = sorted(_contracts.select(routine))
            print(f"{operation:{width}} {routine:{inner}} {'; '.join(_states(targets, present, wanted))}")
    return int(not wanted <= present)


def _states(targets: Sequence[str], present: frozenset[str], wanted: frozenset[str]) -> list[str]:
    """Such as `s, d ours` and `c, z jaxlib's`; of a target for every type, `ours`."""
    letters: dict[str, list[str]] = {}
    for target in targets:
        state = "ours" if target in present else "jaxlib's, NOT REPLACED" if target in wanted else "jaxlib's"
        state = state if target in _jaxlib.stock() else "not in this jaxlib"
        letters.setdefault(state, []).append(target[7] if target.startswith("lapack_") else "")
    return [f"{', '.join(found)} {state}".strip() for state, found in letters.items()]


def _start_backend() -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"  # whatever the programs are told: this is about CPUs alone
    import jax

    jax.devices("cpu")


if __name__ == "__main__":
    sys.exit(main())
