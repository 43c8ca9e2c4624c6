"""The shape rule of an operation: from the shapes of its operands to those of its results.

It serves the checks of a call, abstract evaluation and the lowering; it knows no dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oxidax._manifest import Buffer, Definition
from oxidax._shapes import (
    ShapeError,
    Size,
    Undecided,
    bare_dim,
    broadcast,
    differ,
    evaluate,
    is_symbolic,
    names,
)

Shape = tuple[Size, ...]


@dataclass
class Inferred:
    """What follows from the operands; incomplete where there are mistakes."""

    batch: Shape = ()
    dims: dict[str, Size] = field(default_factory=dict)
    results: list[Shape] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)


def label(index: int, buffer: Buffer) -> str:
    """How messages call an operand."""
    return f'argument {index} "{buffer.name}"'


def show_shape(shape: Shape) -> str:
    """A shape as NumPy prints it."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def show_rule(definition: Definition, buffer: Buffer) -> str:
    """The declared shape of a buffer, with `...` for the batch axes."""
    axes = [definition.show(axis) for axis in buffer.shape]
    return f"({', '.join(axes if definition.batch == 'none' else ['...', *axes])})"


def infer(
    definition: Definition,
    shapes: list[Shape | None],
    dims: Mapping[str, Size],
    attributes: Mapping[str, Any],
) -> Inferred:
    """Applies the shape rule.

    Args:
        definition: the operation.
        shapes: of the operands; None for one that is wrong in itself and was reported.
        dims: the keyword dims.
        attributes: Python values of those that stand in shapes; the wrong ones are missing.
    """
    out = Inferred(dims=dict(dims))
    _bind_dims(definition, shapes, out)
    if not out.mistakes and None not in shapes:
        _check_axes(definition, shapes, attributes, out)
        _broadcast_batch(definition, shapes, out)
    complete = len(out.dims) == len(definition.dims) and None not in shapes
    if complete and not out.mistakes and all(a in attributes for a in definition.shape_attributes):
        _check_requirements(definition, attributes, out)
        _infer_results(definition, attributes, out)
    return out


def _bind_dims(definition: Definition, shapes: list[Shape | None], out: Inferred) -> None:
    sources: dict[str, str] = {}
    for index, (buffer, shape) in enumerate(zip(definition.arguments, shapes, strict=True)):
        if shape is None:
            continue
        core = len(buffer.shape)
        if len(shape) < core or (definition.batch == "none" and len(shape) != core):
            out.mistakes.append(_rank_mistake(definition, index, buffer, shape))
            continue
        for size, axis in zip(buffer.split(shape)[1], buffer.shape, strict=True):
            dim = bare_dim(axis)
            if dim is None:
                continue
            if dim not in sources:
                sources[dim], out.dims[dim] = label(index, buffer), size
            elif differ(size, out.dims[dim]):
                out.mistakes.append(
                    f"{label(index, buffer)}: expected {dim} = {out.dims[dim]} as in {sources[dim]}, "
                    f"got {dim} = {size} in shape {show_shape(shape)}"
                )


def _rank_mistake(definition: Definition, index: int, buffer: Buffer, shape: Shape) -> str:
    text = f"{label(index, buffer)}: expected shape {show_rule(definition, buffer)}, got {show_shape(shape)}"
    if definition.batch == "none" and len(shape) > len(buffer.shape):
        text += f"; {NO_BATCH}"
    return text


NO_BATCH = (
    "it is declared with `batch = none`: call it under jax.lax.map, "
    "or declare `batch = each` or `batch = whole` in its #[ffi_handler]"
)


def _check_axes(
    definition: Definition, shapes: list[Shape | None], attributes: Mapping[str, Any], out: Inferred
) -> None:
    for index, (buffer, shape) in enumerate(zip(definition.arguments, shapes, strict=True)):
        assert shape is not None
        for axis, expr in enumerate(buffer.shape, -len(buffer.shape)):
            known = all(a in attributes for a in names(expr, "attr")) and all(d in out.dims for d in names(expr, "dim"))
            if bare_dim(expr) is not None or not known:
                continue
            try:
                size = evaluate(expr, out.dims, attributes)
            except ShapeError as error:
                out.mistakes.append(f"{label(index, buffer)}: {definition.show(expr)}: {error}")
                continue
            except Undecided:
                continue
            if differ(size, shape[axis]):
                text = definition.show(expr) if isinstance(expr, int) else f"{definition.show(expr)} = {size}"
                out.mistakes.append(
                    f"{label(index, buffer)}: expected {text} in axis {axis}, got {shape[axis]} in shape "
                    f"{show_shape(shape)}"
                )


def _broadcast_batch(definition: Definition, shapes: list[Shape | None], out: Inferred) -> None:
    batches = [
        buffer.split(shape)[0] for buffer, shape in zip(definition.arguments, shapes, strict=True) if shape is not None
    ]
    batch = broadcast(batches)
    if batch is not None:
        out.batch = batch
        return
    parts = [
        f"{show_shape(b)} of {label(i, buffer)}"
        for i, (buffer, b) in enumerate(zip(definition.arguments, batches, strict=True))
        if b
    ]
    out.mistakes.append(f"batch axes {', '.join(parts)} do not broadcast")


def _check_requirements(definition: Definition, attributes: Mapping[str, Any], out: Inferred) -> None:
    for condition, message in definition.require:
        try:
            if not evaluate(condition, out.dims, attributes):
                used = [f"{dim} = {out.dims[dim]}" for dim in dict.fromkeys(names(condition, "dim"))]
                used += [definition.show_attribute(a, attributes[a]) for a in dict.fromkeys(names(condition, "attr"))]
                out.mistakes.append(f"{message} (requires {definition.show(condition)}, got {', '.join(used)})")
        except ShapeError as error:
            out.mistakes.append(f"{message} (requires {definition.show(condition)}: {error})")
        except Undecided:
            pass  # left to the handler


def _infer_results(definition: Definition, attributes: Mapping[str, Any], out: Inferred) -> None:
    for buffer in definition.results:
        shape: list[Size] = []
        for expr in buffer.shape:
            try:
                size = evaluate(expr, out.dims, attributes)
            except ShapeError as error:
                out.mistakes.append(f'result "{buffer.name}": {definition.show(expr)}: {error}')
                continue
            except Undecided:
                out.mistakes.append(
                    f'result "{buffer.name}": {definition.show(expr)} depends on a comparison that the symbolic dims '
                    "do not decide: add a constraint to jax.export.symbolic_shape"
                )
                continue
            if not is_symbolic(size) and size < 0:
                out.mistakes.append(f'result "{buffer.name}": {definition.show(expr)} = {size} is negative')
            shape.append(size)
        out.results.append((*out.batch, *shape))
