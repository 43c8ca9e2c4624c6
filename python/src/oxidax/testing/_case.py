"""One call of an operation, and what the checks make of it: other operands, its poisoned twin, comparisons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from oxidax import _jax
from oxidax._dtypes import INEXACT, name_of
from oxidax._operation import Operation
from oxidax._primitive import infer_call
from oxidax.testing._report import Failed, Skipped

Arrays = list[np.ndarray[Any, Any]]

#: What fills results before a call, in the first and in the second run.
_FILLS = (0xA5, 0x5A)


class Case:
    """The call that the user gave."""

    def __init__(self, op: Operation, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        self.op = op
        self.definition = op.definition
        self.attrs = attrs
        call = op.check(args, attrs)
        self.sizes, self.attributes = call.sizes, call.attributes
        self.instance = self.definition.instances[call.instance]
        self.args: Arrays = [np.array(operand) for operand in call.operands]
        self.jitted = _jax.jit(self.function)
        self.works = True  # until a check finds that the call itself fails
        inferred = infer_call(self.definition, [x.shape for x in self.args], self.sizes, self.attributes)
        self.batch = inferred.batch
        self.dims = inferred.dims
        #: The operands of the first batch element.
        self.core: Arrays = []
        for x, buffer in zip(self.args, self.definition.arguments, strict=True):
            extra = x.ndim - len(buffer.shape)
            if 0 in x.shape[:extra]:
                raise ValueError(f"opcheck: {op.__name__}: the batch is empty: give at least one element")
            self.core.append(x[(0,) * extra])
        self.names = [f'result "{buffer.name}"' for buffer in self.definition.results]

    @property
    def title(self) -> str:
        """The call in words."""
        words = [f"{name_of(x.dtype)}[{','.join(map(str, x.shape))}]" for x in self.args]
        words += [f"{name}={value!r}" for name, value in self.attrs.items()]
        return f"{self.op.target}({', '.join(words)})"

    # Calls --------------------------------------------------------------------------------------

    def function(self, *args: Any) -> Any:
        """The operation with its attributes."""
        return _call(self.op, args, self.attrs)

    def run(self, args: Sequence[Any]) -> Arrays:
        """The results of a call."""
        return leaves(self.function(*args))

    def run_poisoned(self, args: Sequence[Any]) -> Arrays:
        """The results of a call whose results were filled before it, once with each pattern.

        Where the library cannot do that, those of an ordinary call.

        Raises:
            Failed: elements were not written, or depend on what was there.
        """
        twin = _twin(self.op)
        if twin is None:
            return self.run(args)
        shared = self.op.shared_object
        assert shared is not None
        runs = []
        try:
            for fill in (*_FILLS, _FILLS[0]):
                shared.debug_table(fill)
                runs.append(leaves(_call(twin, args, self.attrs)))  # which waits for them
        finally:
            shared.debug_table(-1)
        for name, first, second, again in zip(self.names, *runs, strict=True):
            one, two, three = (_bytes(x) for x in (first, second, again))
            unwritten = ((one == _FILLS[0]) & (two == _FILLS[1])).all(-1)
            if unwritten.any():
                place = np.unravel_index(unwritten.argmax(), first.shape)
                raise Failed(
                    f"{name} of shape {first.shape}: {unwritten.sum()} of {first.size} elements are not "
                    f"written, the first at {_tuple(place)}"
                )
            if (one == three).all() and difference(name, second, first):
                raise Failed(f"{name} depends on what its memory held before the call")
        return runs[0]

    @property
    def has_twin(self) -> bool:
        """Whether results can be poisoned."""
        return _twin(self.op) is not None

    # Operands -----------------------------------------------------------------------------------

    @cached_property
    def variants(self) -> list[Arrays]:
        """The operands of four elements: those of the call, then others like them where it takes them."""
        found = [self.core]
        for k in range(1, 4):
            operands = [_variant(x, k) for x in self.core]
            for i, x in enumerate(operands):
                if not self._accepts([*self.core[:i], x, *self.core[i + 1 :]]):
                    operands[i] = self.core[i]
            found.append(operands if self._accepts(operands) else self.core)
        return found

    @property
    def elements_are_equal(self) -> bool:
        """Whether the operation takes no other operands than those of the call, so that batches show less."""
        return all(x.tobytes() == y.tobytes() for v in self.variants for x, y in zip(v, self.core, strict=True))

    def _accepts(self, args: Arrays) -> bool:
        """Whether a call succeeds."""
        try:
            self.run(args)
        except _jax.RuntimeFailure:
            return False
        return True

    def need_batches(self) -> None:
        """Raises `Skipped` where there are none."""
        if self.definition.batch == "none":
            raise Skipped("it is declared with `batch = none`")
        if not self.core:
            raise Skipped("it has no operands")

    @property
    def floating(self) -> list[int]:
        """The places of the floating operands."""
        dtypes = self.instance.dtypes
        return [i for i, buffer in enumerate(self.definition.arguments) if dtypes[buffer.name] in INEXACT]


@cache
def _twin(op: Operation) -> Operation | None:
    """The operation through debugging entry points, under a target of its own; None in an older library."""
    platform = "cpu"
    shared, definition = op.shared_object, op.definitions.get(platform)
    table = shared.debug_table(-1) if shared and definition else None
    if table is None:
        return None
    twin = Operation([definition], f"{op.target}!poisoned")
    twin.add_handler(platform, table.handler(definition.handler, definition.target, platform))
    return twin


def _variant(x: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
    """Like `x`: floating numbers of the same sign and order of size, integers of the same set."""
    if k == 0 or x.size == 0:
        return x
    if not np.issubdtype(x.dtype, np.integer) and x.dtype != np.bool_:
        return (x * (1 - k / 8)).astype(x.dtype)
    if x.min() != x.max():
        return np.roll(x, k, -1)
    return ~x if x.dtype == np.bool_ and k % 2 else (x + k).astype(x.dtype)


def _call(op: Operation, args: Sequence[Any], attrs: dict[str, Any]) -> Any:
    try:
        return op(*args, **attrs)
    except ValueError as error:
        # What JAX makes of an INVALID_ARGUMENT where the call is over before it returns, on 0.12.
        if re.match(r"[A-Z_]+: ", str(error)):
            raise _jax.RuntimeFailure(str(error)) from error
        raise


# Comparisons ------------------------------------------------------------------------------------


def leaves(out: Any) -> Arrays:
    """The results of a call as copies, when they are there."""
    return [np.array(x) for x in wait(out)]


def wait(out: Any) -> list[Any]:
    """The results of a call, when they are there."""
    # One by one: for a list of arrays, JAX raises a ValueError instead of its own class.
    return [x.block_until_ready() for x in (out if isinstance(out, tuple) else (out,))]


def difference(name: str, got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], rtol: float = 0) -> str | None:
    """What tells two results apart, or None. With `rtol` 0 every bit counts, but for those of a NaN."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{name}: {got.dtype}{got.shape} and not {want.dtype}{want.shape}"
    if got.tobytes() == want.tobytes():
        return None
    if is_floating(want) and rtol:
        finite = np.abs(want[np.isfinite(want)]).astype(float)
        with np.errstate(all="ignore"):
            near = np.abs(got - want).astype(float) <= rtol * finite.max(initial=0)
        same = near | (got == want) | (np.isnan(got) & np.isnan(want))
    else:
        same = (_bytes(got) == _bytes(want)).all(-1).reshape(got.shape)
        if is_floating(want):
            same |= np.isnan(got) & np.isnan(want)
    if same.all():
        return None
    place = np.unravel_index(np.argmin(same), same.shape)
    where = f" at {_tuple(place)}" if place else ""
    return f"{name}: {got[place]} and not {want[place]}{where}"


def _bytes(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """One row for each element."""
    return np.frombuffer(x.tobytes(), np.uint8).reshape(x.size, x.dtype.itemsize)


def is_floating(x: np.ndarray[Any, Any]) -> bool:
    """Real or complex floating."""
    return name_of(x.dtype) in INEXACT


def epsilon(dtype: Any) -> float:
    """The machine epsilon."""
    bits = {"f16": 10, "bf16": 7, "f32": 23, "c64": 23}.get(name_of(dtype), 52)
    return 2.0**-bits


def _tuple(place: Sequence[Any]) -> str:
    return f"({', '.join(str(int(i)) for i in place)})"
