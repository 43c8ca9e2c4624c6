"""Checks of memory: operands that stay as they are, results that are written, empty and non-finite operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from oxidax import _jax
from oxidax._errors import SignatureError
from oxidax._shapes import ShapeError, bare_dim, evaluate
from oxidax.testing._case import Arrays, Case, wait
from oxidax.testing._report import Failed, Skipped


def operands(case: Case) -> str:
    """Operands keep their bytes, and no result shares memory with anything."""
    if not case.args:
        raise Skipped("it has no operands")
    before = [x.tobytes() for x in case.args]
    inputs = [_jax.array(x, copy=True) for x in case.args]
    for how, function in (("a call", case.function), ("a call under jit", case.jitted)):
        results = wait(function(*inputs))
        for buffer, x, old in zip(case.definition.arguments, inputs, before, strict=True):
            if np.asarray(x).tobytes() != old:
                raise Failed(f'operand "{buffer.name}" is changed by {how}')
        for i, (name, result) in enumerate(zip(case.names, results, strict=True)):
            others = list(zip(case.names[:i], results[:i], strict=True))
            others += [(f'operand "{b.name}"', x) for b, x in zip(case.definition.arguments, inputs, strict=True)]
            for other, x in others:
                if overlap(result, x):
                    raise Failed(f"{name} shares memory with {other} after {how}")
    shared = [buffer.name for buffer in case.definition.arguments if buffer.role == "inout"]
    return f"unchanged, also {', '.join(shared)} (`InOut`)" if shared else "unchanged"


def overlap(a: Any, b: Any) -> bool:
    """Whether two arrays of one device share memory."""
    if a.nbytes == 0 or b.nbytes == 0:
        return False
    start, other = a.unsafe_buffer_pointer(), b.unsafe_buffer_pointer()
    return start < other + b.nbytes and other < start + a.nbytes


def written(case: Case) -> str:
    """Results are filled before the call: what is still there was not written."""
    if not case.has_twin:
        raise Skipped("the library was built with an older oxidax crate, which cannot fill results before a call")
    case.run_poisoned(case.args)
    if case.definition.batch == "none" or not case.core:
        return "every element"
    batched = [np.stack([v[i] for v in case.variants]) for i in range(len(case.core))]
    case.run_poisoned(batched)
    if len(batched) > 1:  # an operand that does not move with the batch
        case.run_poisoned([batched[0], *case.core[1:]])
    return "every element, also in batches"


def empty(case: Case) -> str:
    """Each dim 0 in turn, then all."""
    bound = {bare_dim(axis) for buffer in case.definition.arguments for axis in buffer.shape} - {None}
    dims = [dim for dim in case.dims if dim in bound]
    if not dims:
        raise Skipped("no operand has a named dim")
    tried, refused = [], []
    for chosen in [[dim] for dim in dims] + ([dims] if len(dims) > 1 else []):
        name = " = ".join(chosen) + " = 0"
        args = _resized(case, chosen)
        accepted = args is not None and _survives(case, args, name)
        (tried if accepted else refused).append(name)
    parts = [", ".join(tried)] if tried else []
    parts += [f"refused: {', '.join(refused)}"] if refused else []
    return "; ".join(parts)


def _resized(case: Case, dims: list[str]) -> Arrays | None:
    """The operands with some dims 0, or None where the shape rule has no place for that."""
    sizes = {**case.dims, **dict.fromkeys(dims, 0)}
    attributes = {n: v.in_shape() for n, v in case.attributes if n in case.definition.shape_attributes}
    args = []
    for x, buffer in zip(case.core, case.definition.arguments, strict=True):
        try:
            shape = tuple(evaluate(axis, sizes, attributes) for axis in buffer.shape)
        except ShapeError:
            return None
        if any(size < 0 for size in shape):
            return None
        part = x[tuple(slice(size) for size in shape)]
        args.append(part if part.shape == shape else np.resize(x, shape))
    return args


def nonfinite(case: Case) -> str:
    """NaN and infinities, in one element and in all."""
    if not case.floating:
        raise Skipped("no operand is floating")
    refused = 0
    for i in case.floating:
        if case.core[i].size == 0:
            continue
        for value in (np.nan, np.inf, -np.inf):
            for everywhere in (False, True):
                x = np.array(case.core[i])
                x[... if everywhere else (-1,) * x.ndim] = value
                args = [*case.core[:i], x, *case.core[i + 1 :]]
                where = f'{value} in operand "{case.definition.arguments[i].name}"'
                refused += not _survives(case, args, where)
    return f"{refused} calls refused" if refused else ""


def _survives(case: Case, args: Arrays, what: str) -> bool:
    """Runs a call that the operation may refuse, and nothing worse. False where it does."""
    try:
        declared = _jax.eval_shape(case.function, *args)
        got = case.run_poisoned(args)
    except SignatureError:
        return False
    except Failed as reason:
        raise Failed(f"{what}: {reason}") from None
    except _jax.RuntimeFailure as error:
        message = str(error).strip().split("\n")[0]
        if "panicked" in message:
            raise Failed(f"{what}: {message}") from None
        return False
    for name, x, aval in zip(case.names, got, declared if isinstance(declared, tuple) else (declared,), strict=True):
        if (x.shape, x.dtype) != (aval.shape, aval.dtype):
            raise Failed(f"{what}: {name}: {x.dtype}{x.shape}, declared {aval.dtype}{aval.shape}")
    return True
