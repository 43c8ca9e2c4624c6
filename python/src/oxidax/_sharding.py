"""Batch axes over several devices: each device computes the elements that it has, and nothing is gathered.

XLA divides a call whose target it knows as batch-partitionable along its leading axes. The call says how many those
are, and each operand and result has them in full. Before that, Shardy decides which device has what: it asks the call
which axes belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oxidax import _jax
from oxidax._manifest import Buffer, Definition
from oxidax._shapes import is_symbolic

Shape = tuple[int, ...]


def lower_divided(
    ctx: Any,
    definition: Definition,
    operands: Sequence[Any],
    call: Callable[[Any, Sequence[Any], dict[str, Any]], Sequence[Any]],
) -> Sequence[Any]:
    """Lowers by `call`, which is given a context, operands, and attributes for XLA.

    On one device, without batch axes and with symbolic ones, the context and the operands stay as they are.
    """
    sizes = [size for aval in (*ctx.avals_in, *ctx.avals_out) for size in aval.shape]
    if _jax.device_count(ctx) == 1 or any(map(is_symbolic, sizes)):
        return call(ctx, operands, {})
    inputs, outputs = _cores(ctx.avals_in, definition.arguments), _cores(ctx.avals_out, definition.results)
    batch = definition.results[0].split(ctx.avals_out[0].shape)[0]
    if not batch or 0 in batch:
        return call(ctx, operands, {})
    # XLA divides where the first operand has an axis behind those that it divides: scalars get one of size 1.
    depth, all_batch = len(batch), batch if inputs[0] else (*batch, 1)
    leading = _jax.leading_sharding(ctx.avals_out, list(map(len, outputs)), batch)

    def full(avals: Sequence[Any], cores: Sequence[Shape]) -> list[Any]:
        like = _jax.on_mesh(ctx.avals_out)
        return [_jax.result_aval(like, all_batch + c, a.dtype, leading) for a, c in zip(avals, cores, strict=True)]

    full_in, full_out = full(ctx.avals_in, inputs), full(ctx.avals_out, outputs)

    def spread(*arrays: Any) -> list[Any]:
        cores = map(len, inputs)
        return [_spread(x, full.shape, depth, core) for x, full, core in zip(arrays, full_in, cores, strict=True)]

    def squeeze(*arrays: Any) -> list[Any]:
        return [_jax.squeeze(x, [depth]) for x in arrays]

    operands = _jax.lower_by(spread, ctx, operands, full_in)
    extra = _jax.batch_partition(depth, sharding_rule(all_batch, inputs, outputs))
    results = call(ctx.replace(avals_in=full_in, avals_out=full_out), operands, extra)
    if all_batch == batch:
        return results
    return _jax.lower_by(squeeze, ctx.replace(avals_in=full_out), results, ctx.avals_out)


def _spread(array: Any, shape: Shape, depth: int, core: int) -> Any:
    """An array in all batch axes, of which the first `depth` may be its own, and its last axes at the end."""
    if tuple(array.shape) == shape:
        return array
    own = array.ndim - core
    return _jax.broadcast_in_dim(array, shape, [*range(depth - own, depth), *range(len(shape) - core, len(shape))])


def _cores(avals: Sequence[Any], buffers: Sequence[Buffer]) -> list[Shape]:
    return [buffer.split(aval.shape)[1] for aval, buffer in zip(avals, buffers, strict=True)]


def sharding_rule(batch: Shape, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> str:
    """Shardy's notation of it: all have the batch axes in common, and each other axis is of its own."""
    factors = _factors()
    leading = {next(factors): size for size in batch}
    sizes = dict(leading)

    def side(cores: Sequence[Shape]) -> str:
        texts = []
        for core in cores:
            own = {next(factors): size for size in core}
            sizes.update(own)
            texts.append(f"[{', '.join([*leading, *own])}]")
        return f"({', '.join(texts)})"

    return (
        f"#sdy.op_sharding_rule<{side(inputs)}->{side(outputs)} {{{', '.join(f'{k}={n}' for k, n in sizes.items())}}}>"
    )


def _factors() -> Iterator[str]:
    """The names that Shardy gives to axes."""
    yield from "ijklmnopqrstuvwxyz"
    count = 0
    while True:
        count += 1
        yield f"z_{count}"
