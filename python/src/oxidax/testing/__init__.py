"""Tests an operation against what it declares: `opcheck`.

    from oxidax.testing import opcheck

    def test_rms_norm():
        opcheck(ops.rms_norm, x, eps=1e-6)

It raises `OpcheckError`, which lists what failed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from oxidax._operation import Operation
from oxidax.testing import _derivatives, _export, _memory, _values
from oxidax.testing._case import Case
from oxidax.testing._report import Check, Failed, OpcheckError, Report, Skipped

__all__ = ["CHECKS", "Check", "OpcheckError", "Report", "opcheck"]

_CHECKS: dict[str, Callable[[Case], str]] = {
    "shapes": _values.shapes,
    "operands": _memory.operands,
    "written": _memory.written,
    "batches": _values.batches,
    "independent": _values.independent,
    "devices": _values.devices,
    "empty": _memory.empty,
    "nonfinite": _memory.nonfinite,
    "jvp": _derivatives.jvp,
    "vjp": _derivatives.vjp,
    "transpose": _derivatives.transpose,
    "export": _export.export,
}

#: The names of the checks, in the order in which they run.
CHECKS: tuple[str, ...] = tuple(_CHECKS)


def opcheck(
    op: Operation, /, *args: Any, raise_on_failure: bool = True, skip: Collection[str] = (), **attrs: Any
) -> Report:
    """Checks that an operation does what its signature promises, on the CPU, starting from one call of it.

    The call is one that a user would make, with leading axes or without. From its operands others are made: floating
    ones are scaled down by up to a half, integers are moved within their array. What the checks find:

    - ``shapes``: shapes and dtypes that are not the declared ones.
    - ``operands``: operands that a call changes, and results that share memory with something.
    - ``written``: elements of results that are never written, and results that depend on what was there before.
    - ``batches``: batches that differ from a loop, with each operand batched or not, leading axes and nested
      `jax.vmap`, and batches of 0 and 1.
    - ``independent``: results that are not the same bits on every call, alone and in a batch, whatever was called
      before and however threads shared the work.
    - ``devices``: a batch over two devices that is gathered, or differs from that on one. It needs two CPU devices
      (``jax_num_cpu_devices``).
    - ``empty``: a panic, a wrong shape or an unwritten element where a dim is 0 and the shape rule admits that.
    - ``nonfinite``: the same for NaN and infinities.
    - ``jvp``, ``vjp``: derivatives that differ from central differences, in double precision where the operation has
      it, and from themselves under `jax.vmap`; a forward pass with other results.
    - ``transpose``: forward and reverse mode that contradict each other.
    - ``export``: an exported program, with a symbolic batch, that does not compute the same after a round trip.

    An error that the operation returns for such operands is no failure, a panic is one. What cannot be checked is
    skipped, with the reason. It takes a second or so, most of it compilation. One thread at a time may call it: what
    results are filled with before a call is a setting of the library.

    Args:
        op: the operation, from `oxidax.load`.
        *args: its operands.
        raise_on_failure: whether a failed check raises; a test wants that. Else the report tells.
        skip: names of checks to leave out, of `CHECKS`.
        **attrs: its attributes and keyword sizes.

    Returns:
        The report, which is printed too.

    Raises:
        OpcheckError: a check failed. It is an `AssertionError` and holds the report.
        SignatureError: the call itself does not fit the signature.
    """
    unknown = set(skip) - set(CHECKS)
    if unknown:
        raise ValueError(f"opcheck: skip: {', '.join(sorted(unknown))} is none of {', '.join(CHECKS)}")
    case = Case(op, args, attrs)
    checks: list[Check] = []
    for name, check in _CHECKS.items():
        if name in skip:
            checks.append(Check(name, "skipped", "left out by the caller"))
        elif not case.works:
            checks.append(Check(name, "skipped", "the call itself fails"))
        else:
            checks.append(_run(name, check, case))
    report = Report(case.title, tuple(checks))
    print(report)
    if raise_on_failure and report.failed:
        raise OpcheckError(report)
    return report


def _run(name: str, check: Callable[[Case], str], case: Case) -> Check:
    try:
        return Check(name, "passed", check(case))
    except Skipped as reason:
        return Check(name, "skipped", str(reason))
    except Failed as reason:
        return Check(name, "failed", str(reason))
    except Exception as error:  # whatever JAX makes of an operation that is wrong
        message = str(error).strip().split("\n")[0]
        return Check(name, "failed", f"{type(error).__name__}: {message}")
