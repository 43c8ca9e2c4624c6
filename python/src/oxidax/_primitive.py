"""The JAX primitive of an operation: abstract evaluation, batching and lowering, all from the manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from oxidax import _jax
from oxidax._attributes import Value
from oxidax._dtypes import NUMPY, name_of
from oxidax._errors import SignatureError
from oxidax._inference import NO_BATCH, Inferred, infer, label
from oxidax._manifest import Buffer, Definition
from oxidax._shapes import Size, broadcast, equal, evaluate
from oxidax._sharding import lower_divided

if TYPE_CHECKING:
    from oxidax._operation import Operation

Attributes = tuple[tuple[str, Value], ...]
Sizes = tuple[tuple[str, Size], ...]


def make_primitive(operation: Operation) -> Any:
    """Builds the primitive; the autodiff rule is added by `_autodiff.wire`, the lowering by each handler."""
    definition = operation.definition
    primitive = _jax.Primitive(definition.name)
    primitive.multiple_results = True
    primitive.def_abstract_eval(lambda *avals, **params: _abstract_eval(definition, avals, **params))
    primitive.def_impl(eager(primitive))

    def batch(args: Sequence[Any], axes: Sequence[int | None], **params: Any) -> tuple[list[Any], list[int]]:
        if definition.batch == "none":
            raise SignatureError(definition.name, [f"cannot be used under jax.vmap: {NO_BATCH}"])
        moved = spread_inouts(definition, move_batch_axes(args, axes, definition.ranks))
        outs = bind(primitive, moved, **params)
        return outs, [0] * len(outs)

    _jax.batching.primitive_batchers[primitive] = batch
    _jax.register_lowering(primitive, {"": _no_handler(operation)})
    _jax.prepare_for_shard_map(primitive)
    return primitive


def bind(primitive: Any, operands: Sequence[Any], **params: Any) -> list[Any]:
    """Binds a primitive to operands that may vary over different manual axes of `shard_map`."""
    return primitive.bind(*_jax.vary_together(operands), **params)


def infer_call(definition: Definition, shapes: list[Any], sizes: Sizes, attributes: Attributes) -> Inferred:
    """The shape rule on the parameters of the primitive."""
    used = definition.shape_attributes
    values = {name: value.in_shape() for name, value in attributes if name in used} if used else {}
    return infer(definition, shapes, dict(sizes), values)


def core_shape(definition: Definition, buffer: Buffer, sizes: Sizes, attributes: Attributes) -> tuple[Size, ...]:
    """The shape of a buffer without batch axes, where every dim is known."""
    values = {name: value.in_shape() for name, value in attributes if name in definition.shape_attributes}
    return tuple(evaluate(axis, dict(sizes), values) for axis in buffer.shape)


def _abstract_eval(
    definition: Definition, avals: Sequence[Any], *, instance: int, sizes: Sizes, attributes: Attributes
) -> list[Any]:
    dtypes = definition.instances[instance].dtypes
    mistakes = [
        f"{label(index, buffer)}: expected {dtypes[buffer.name]}, got {name_of(aval.dtype)}"
        for index, (buffer, aval) in enumerate(zip(definition.arguments, avals, strict=True))
        if aval.dtype != NUMPY[dtypes[buffer.name]]
    ]
    inferred = infer_call(definition, [tuple(aval.shape) for aval in avals], sizes, attributes)
    mistakes += inferred.mistakes
    if mistakes:
        raise SignatureError(definition.name, mistakes)
    like = _jax.on_mesh(avals)
    leading = _jax.leading_sharding(avals, definition.ranks, inferred.batch)
    return [
        _jax.result_aval(like, shape, NUMPY[dtypes[buffer.name]], leading)
        for buffer, shape in zip(definition.results, inferred.results, strict=True)
    ]


def eager(primitive: Any) -> Callable[..., Any]:
    """Evaluation outside of jit: one compiled program for each set of parameters.

    JAX's own eager path would compile on every call; `disable_jit` has to be off, or this would recurse.
    """
    programs: dict[Any, Any] = {}

    def evaluate(*args: Any, **params: Any) -> Any:
        key = tuple(sorted(params.items()))
        program = programs.get(key)
        if program is None:

            def call(*operands: Any) -> Any:
                return primitive.bind(*operands, **params)

            _jax.name_as_primitive(call, primitive.name)
            program = remember(programs, key, _jax.jit(call))
        with _jax.disable_jit(False):
            return program(*args)

    return evaluate


def remember(cache: dict[Any, Any], key: Any, value: Any, limit: int = 1024) -> Any:
    """Stores a compiled program, and forgets the oldest one where there are too many."""
    if len(cache) >= limit:
        cache.pop(next(iter(cache)), None)
    cache[key] = value
    return value


# Batching ---------------------------------------------------------------------------------------


def move_batch_axes(args: Sequence[Any], axes: Sequence[int | None], cores: Sequence[int], depth: int = 0) -> list[Any]:
    """Puts the mapped axis of each operand in front of all batch axes; unmapped operands stay as they are.

    A mapped operand with fewer batch axes than the others, or than `depth`, gets axes of size 1 behind the
    mapped one.
    """
    for arg, axis, core in zip(args, axes, cores, strict=True):
        depth = max(depth, arg.ndim - (axis is not None) - core)
    moved = []
    for arg, axis, core in zip(args, axes, cores, strict=True):
        if axis is not None:
            arg = _jax.moveaxis(arg, axis, 0)
            missing = depth - (arg.ndim - 1 - core)
            if missing:
                arg = _jax.expand_dims(arg, range(1, 1 + missing))
        moved.append(arg)
    return moved


def spread_inouts(definition: Definition, args: Sequence[Any]) -> list[Any]:
    """Broadcasts each `InOut` operand to the full batch, since its memory becomes the result's."""
    if not definition.aliases:
        return list(args)
    batches = [buffer.split(arg.shape)[0] for arg, buffer in zip(args, definition.arguments, strict=True)]
    full = broadcast(batches)
    if full is None:  # abstract evaluation reports it
        return list(args)
    out = list(args)
    for index in definition.aliases:
        have = batches[index]
        if len(have) != len(full) or not all(map(equal, have, full)):
            out[index] = _jax.broadcast_to(out[index], full + tuple(out[index].shape[len(have) :]))
    return out


# Lowering ---------------------------------------------------------------------------------------


def lowering(operation: Operation, platform: str) -> Callable[..., Any]:
    """The lowering rule for a platform on which the operation has a handler."""
    definition = operation.definition

    def lower(ctx: Any, *operands: Any, instance: int, sizes: Sizes, attributes: Attributes) -> Any:
        del sizes  # the shapes of the results tell
        operation.check_registration(platform)
        specs = definition.instances[instance].attributes
        values = {name: specs[name].lowered(value) for name, value in attributes}
        columns, aliases = definition.layouts, definition.aliases
        return lower_divided(
            ctx, definition, operands, partial(_jax.custom_call, operation.target, values, aliases, columns)
        )

    return lower


def _no_handler(operation: Operation) -> Callable[..., Any]:
    def refuse(ctx: Any, *_: Any, **__: Any) -> Any:
        platforms = getattr(ctx.module_context, "platforms", ("this platform",))
        raise NotImplementedError(
            f"{operation.__name__}: has a handler for {' and '.join(operation.platforms)}, and none for "
            f"{' or '.join(platforms)}: run it on jax.devices({operation.platforms[0]!r}), or add a handler with "
            "`platform = ..` to the library"
        )

    return refuse
