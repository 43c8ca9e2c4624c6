"""Checks of values: the declared shapes, batches against loops, and results that depend on nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from oxidax import _jax
from oxidax._errors import SignatureError
from oxidax.testing._case import Arrays, Case, difference, epsilon, is_floating, leaves, wait
from oxidax.testing._report import Failed, Skipped

#: The most patterns of batched and unbatched operands; each costs a compilation.
_PATTERNS = 7
#: How many elements, and bytes, a batch has that is large enough for threads to share.
_MANY, _MEMORY = 1024, 1 << 21


def shapes(case: Case) -> str:
    """Abstract evaluation against the results, with and without `jit`."""
    declared = _jax.eval_shape(case.function, *case.args)
    declared = declared if isinstance(declared, tuple) else (declared,)
    try:
        runs = [wait(function(*case.args)) for function in (case.function, case.jitted)]
    except (_jax.RuntimeFailure, SignatureError):
        case.works = False
        raise
    for how, run in zip(("", " under jit"), runs, strict=True):
        for name, x, aval in zip(case.names, run, declared, strict=True):
            if (x.shape, x.dtype) != (aval.shape, aval.dtype):
                raise Failed(f"{name}{how}: {x.dtype}{x.shape}, declared {aval.dtype}{aval.shape}")
    return ", ".join(f"{x.dtype}{x.shape}" for x in declared)


# Batches ----------------------------------------------------------------------------------------


def batches(case: Case) -> str:
    """Every way to batch against a loop."""
    case.need_batches()
    count = 0
    patterns = list(_patterns(len(case.core)))
    for pattern in patterns:
        args, elements = _batch(case, pattern, 3)
        want = [case.run(element) for element in elements]
        _compare(case, f"operands {_show(case, pattern)} batched", case.run(args), want)
        count += 1
    everything = (True,) * len(case.core)
    args, elements = _batch(case, everything, 2)
    _compare(case, "jax.vmap", leaves(_jax.vmap(case.function)(*args)), [case.run(element) for element in elements])
    for size in (0, 1):
        args, elements = _batch(case, everything, size)
        _compare(case, f"a batch of {size}", case.run(args), [case.run(element) for element in elements])
        count += 1
    _nested(case)
    weak = "; all elements are equal, for it takes no others" if case.elements_are_equal else ""
    return f"{count + 2} batches, {len(patterns)} patterns of batched operands{weak}"


def devices(case: Case) -> str:
    """A batch over two devices, of all operands and of the first one alone, against one device."""
    case.need_batches()
    patterns = dict.fromkeys([(True,) * len(case.core), tuple(i == 0 for i in range(len(case.core)))])
    for pattern in patterns:
        args, _ = _batch(case, pattern, 4)
        found = _jax.over_two_devices(case.function, args, pattern)
        if found is None:
            raise Skipped('there is one CPU device; jax.config.update("jax_num_cpu_devices", 2) makes two')
        outs, gathered = found
        what = f"over two devices, with {_show(case, pattern)} batched"
        _match(case, what, leaves(outs), case.run(args), "on one device")
        if gathered:
            raise Failed(f"{what}: the batch is gathered on each")
    return "nothing is gathered"


def _patterns(count: int) -> Iterator[tuple[bool, ...]]:
    """All operands batched, each one alone, each one not; then other subsets, up to a limit."""
    sizes = [count, 1, count - 1, *range(2, count - 1)]
    found = dict.fromkeys(
        tuple(i in chosen for i in range(count))
        for size in sizes
        if size > 0
        for chosen in combinations(range(count), size)
    )
    return iter(list(found)[:_PATTERNS])


def _batch(case: Case, pattern: tuple[bool, ...], size: int) -> tuple[Arrays, list[Arrays]]:
    """Operands of one call with a leading axis where `pattern` says so, and those of each element."""
    variants = case.variants
    elements = [
        [variants[k % len(variants)][i] if mapped else case.core[i] for i, mapped in enumerate(pattern)]
        for k in range(size)
    ]
    args = [
        np.stack([element[i] for element in elements]) if mapped and size else _empty(x) if mapped else x
        for i, (mapped, x) in enumerate(zip(pattern, case.core, strict=True))
    ]
    return args, elements


def _empty(x: Any) -> Any:
    return np.zeros((0, *x.shape), x.dtype)


def _nested(case: Case) -> None:
    """Two levels of vmap, over the last axis outside, over different operands where there are several."""
    count, variants = len(case.core), case.variants
    outer = [count == 1 or i % 2 == 0 for i in range(count)]
    inner = [count == 1 or i % 2 == 1 for i in range(count)]
    args: Arrays = []
    for i in range(count):
        if outer[i] and inner[i]:
            grid = [[variants[(j + k) % len(variants)][i] for k in range(2)] for j in range(3)]
            args.append(np.moveaxis(np.array(grid), 1, -1))
        else:
            args.append(np.stack([v[i] for v in variants[: 3 if inner[i] else 2]], 0 if inner[i] else -1))
    function = _jax.vmap(case.function, tuple(0 if mapped else None for mapped in inner))
    function = _jax.vmap(function, tuple(-1 if mapped else None for mapped in outer))
    got = leaves(function(*args))
    for j in range(2):
        for k in range(3):
            element = [
                (variants[(k + j) % len(variants)] if outer[i] and inner[i] else variants[j if outer[i] else k])[i]
                for i in range(count)
            ]
            _match(case, f"nested jax.vmap, element ({j}, {k})", [x[j, k] for x in got], case.run(element))


def _compare(case: Case, what: str, got: Arrays, want: list[Arrays]) -> None:
    for name, x in zip(case.names, got, strict=True):
        if x.shape[0] != len(want):
            raise Failed(f"{what}: {name} has shape {x.shape}, expected {len(want)} elements")
    for k, element in enumerate(want):
        _match(case, f"{what}, element {k}", [x[k] for x in got], element)


def _match(case: Case, what: str, got: Arrays, want: Arrays, where: str = "alone") -> None:
    for name, x, y in zip(case.names, got, want, strict=True):
        # Rounding is the business of `independent`.
        problem = difference(name, x, y, 1e3 * epsilon(y.dtype) if is_floating(y) else 0)
        if problem:
            raise Failed(f"{what}: {problem} as {where}")


def _show(case: Case, pattern: tuple[bool, ...]) -> str:
    chosen = [f'"{b.name}"' for b, mapped in zip(case.definition.arguments, pattern, strict=True) if mapped]
    return " and ".join(chosen)


# Nothing else -----------------------------------------------------------------------------------


def independent(case: Case) -> str:
    """The same bits on every call, after other calls, and for each element of a large batch."""
    alone = [case.run(element) for element in case.variants]
    for k in (0, 0, 2, 1, 3, 0, 1):
        _identical(case, "the same call again", case.run(case.variants[k]), alone[k])
    if case.definition.batch == "none" or not case.core:
        return "equal calls"
    size = sum(x.nbytes for x in (*case.core, *alone[0]))
    count = max(4, min(_MANY, _MEMORY // max(size, 1))) // 4 * 4
    args = [np.stack([v[i] for v in case.variants] * (count // 4)) for i in range(len(case.core))]
    got = case.run(args)
    for k, want in enumerate(alone):
        for name, x, y in zip(case.names, got, want, strict=True):
            problem = difference(name, x[k::4], np.broadcast_to(y, (count // 4, *y.shape)))
            if problem:
                raise Failed(f"in a batch of {count}, of which every fourth element is the same: {problem} as alone")
    return f"equal calls, a batch of {count}"


def _identical(case: Case, what: str, got: Arrays, want: Arrays) -> None:
    for name, x, y in zip(case.names, got, want, strict=True):
        problem = difference(name, x, y)
        if problem:
            raise Failed(f"{what}: {problem}")
