"""The columns of the matrix: each applies a transformation to a function and evaluates it.

Columns that should give the same name one of them, which alone is applied to the reference. Every column takes every
function: what is derived is the sum of the sines of the floating results, by the floating arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

Function = Callable[..., Any]
Arguments = Sequence[Any]
Column = Callable[[Function, Arguments], Any]
COLUMNS: dict[str, Column] = {}
REFERENCES: dict[str, str] = {}
EAGER: set[str] = set()


def column(like: str = "", eager: bool = False) -> Callable[[Column], Column]:
    """Puts a function into the table under its name.

    Args:
        like: the column that gives the same.
        eager: it is not evaluated under jit, which saves time elsewhere and would change its meaning here.
    """

    def add(apply: Column) -> Column:
        name = apply.__name__
        COLUMNS[name], REFERENCES[name] = apply, like or name
        EAGER.update([name] if eager else [])
        return apply

    return add


def inexact(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


def batched(x: Any, size: int = 2) -> Any:
    """A batch in front: floats differ between its elements; integers, which may be indices, do not."""
    x = np.stack([x] * size)
    return x * (1 + np.arange(size).reshape(size, *[1] * (x.ndim - 1)) / 8).astype(x.dtype) if inexact(x) else x


def batch(f: Function, args: Arguments) -> tuple[Function, list[Any]]:
    """Batched arguments; one that is ignored where there is none, for transformations ask for one."""
    return (f, [batched(x) for x in args]) if args else (lambda _: f(), [np.ones(2)])


def scalar(f: Function, args: Arguments) -> tuple[Function, list[Any]]:
    """A scalar function of the floating arguments, and these; of one that is ignored where there is none."""
    places = [i for i, x in enumerate(args) if inexact(x)]

    def sines(*floats: Any) -> Any:
        full = list(args)
        for i, x in zip(places, floats, strict=False):
            full[i] = x
        return sum((jnp.sin(y).sum() for y in jax.tree.leaves(f(*full)) if inexact(y)), 0.0 * jnp.sum(floats[0]))

    return sines, [args[i] for i in places] or [np.float64(1)]


def by_all(transform: Callable[..., Function], f: Function, floats: Arguments) -> Function:
    return transform(f, tuple(range(len(floats))))


def gradient(f: Function, floats: Arguments) -> Function:
    return by_all(jax.grad, f, floats)


def tangents(args: Arguments) -> tuple[Any, ...]:
    return tuple(jnp.cos(x) if inexact(x) else np.zeros(np.shape(x), jax.dtypes.float0) for x in args)


def zeros(f: Function, args: Arguments) -> Any:
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(f, *args))


# Evaluation and control flow --------------------------------------------------------------------


@column(eager=True)
def eager(f, args):
    return f(*args)


@column("eager")
def jit(f, args):
    return jax.jit(f)(*args)


@column("eager", eager=True)
def disable_jit(f, args):
    with jax.disable_jit():
        return f(*args)


@column("eager", eager=True)
def ahead_of_time(f, args):
    return jax.jit(f).lower(*args).compile()(*args)


@column(eager=True)
def shape(f, args):
    return jax.eval_shape(f, *args)


@column("vmap", eager=True)
def pmap(f, args):
    f, args = batch(f, args)
    return jax.pmap(f)(*args)


@column("vmap")
def scan(f, args):
    f, args = batch(f, args)
    return jax.lax.scan(lambda carry, x: (carry + 1, f(*x)), 0, args)[1]


@column("eager")
def while_loop(f, args):
    return jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(*args)), (0, zeros(f, args)))[1]


@column("eager")
def cond(f, args):
    return jax.jit(lambda yes: jax.lax.cond(yes, lambda: f(*args), lambda: zeros(f, args)))(True)


@column("eager")
def checkpoint(f, args):
    return jax.checkpoint(f)(*args)


@column("eager", eager=True)
def exported(f, args):
    program = export.export(jax.jit(f), disabled_checks=f.export_checks)(*args)
    return export.deserialize(program.serialize()).call(*args)


# Batches ----------------------------------------------------------------------------------------


@column(eager=True)
def vmap(f, args):
    f, args = batch(f, args)
    return jax.vmap(f)(*args)


@column("vmap")
def jit_vmap_jit(f, args):
    f, args = batch(f, args)
    return jax.jit(jax.vmap(jax.jit(f)))(*args)


@column("vmap")
def vmap_last_axes(f, args):
    f, args = batch(f, args)
    outs = jax.vmap(f, in_axes=-1, out_axes=-1)(*[np.moveaxis(x, 0, -1) for x in args])
    return jax.tree.map(lambda y: np.moveaxis(y, -1, 0), outs)


@column()
def vmap_one_operand(f, args):
    f, stacked = batch(f, args)
    return jax.vmap(f, (0, *[None] * len(args[1:])))(stacked[0], *args[1:])


@column()
def vmap_axis_size(f, args):
    return jax.vmap(lambda _: f(*args), None, axis_size=3)(0)


@column()
def vmap_vmap(f, args):
    """Two batches: the first operand has both, the others have one of them in turn."""
    f, args = batch(f, args)
    inner = [0 if i == 0 or i % 2 else None for i in range(len(args))]
    outer = [0 if i % 2 == 0 else None for i in range(len(args))]
    arrays = [x if i % 2 else batched(x if i == 0 else x[0], 3) for i, x in enumerate(args)]
    return jax.vmap(jax.vmap(f, inner, -1), outer)(*arrays)


@column("vmap")
def vmap_cond(f, args):
    f, args = batch(f, args)
    which = np.array([True, True])
    return jax.vmap(lambda yes, x: jax.lax.cond(yes, lambda x: f(*x), lambda x: zeros(f, x), x))(which, args)


# Forward mode -----------------------------------------------------------------------------------


@column(eager=True)
def jvp(f, args):
    return jax.jvp(f, tuple(args), tangents(args))


@column("jvp", eager=True)
def linearize(f, args):
    out, derivative = jax.linearize(f, *args)
    return out, derivative(*tangents(args))


@column("grad")
def jacfwd(f, args):
    f, floats = scalar(f, args)
    return by_all(jax.jacfwd, f, floats)(*floats)


@column()
def jvp_vmap(f, args):
    f, args = batch(f, args)
    return jax.jvp(jax.vmap(f), tuple(args), tangents(args))


@column("grad")
def jacfwd_while(f, args):
    f, floats = scalar(f, args)

    def loop(*x: Any) -> Any:
        return jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + f(*x) / 2), (0, 0 * f(*x)))[1]

    return by_all(jax.jacfwd, loop, floats)(*floats)


# Reverse mode -----------------------------------------------------------------------------------


@column(eager=True)
def vjp(f, args):
    out, pull = jax.vjp(f, *args)
    return out, pull(jax.tree.map(lambda y: tangents([y])[0], out))


@column(eager=True)
def grad(f, args):
    f, floats = scalar(f, args)
    return gradient(f, floats)(*floats)


@column("grad")
def jacrev(f, args):
    f, floats = scalar(f, args)
    return by_all(jax.jacrev, f, floats)(*floats)


@column("grad")
def jit_grad_jit(f, args):
    f, floats = scalar(f, args)
    return jax.jit(gradient(jax.jit(f), floats))(*floats)


@column()
def vmap_grad(f, args):
    f, floats = scalar(f, args)
    return jax.vmap(gradient(f, floats))(*[batched(x) for x in floats])


@column()
def grad_vmap(f, args):
    f, floats = scalar(*batch(f, args)) if not args else scalar(jax.vmap(f), [batched(x) for x in args])
    return gradient(f, floats)(*floats)


@column("grad")
def grad_checkpoint(f, args):
    f, floats = scalar(f, args)
    return gradient(jax.checkpoint(f), floats)(*floats)


@column("grad")
def grad_scan(f, args):
    f, floats = scalar(f, args)

    def loop(*x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (c + f(*x) / 2, None), 0 * f(*x), length=2)[0]

    return gradient(loop, floats)(*floats)


@column("grad")
def grad_cond(f, args):
    f, floats = scalar(f, args)
    return gradient(lambda *x: jax.lax.cond(jnp.sum(x[0]) > 0, f, lambda *y: 0 * f(*y), *x), floats)(*floats)


@column("vmap_grad", eager=True)
def exported_vmap_grad(f, args):
    checks = f.export_checks
    f, floats = scalar(f, args)
    floats = [batched(x) for x in floats]
    program = export.export(jax.jit(jax.vmap(gradient(f, floats))), disabled_checks=checks)(*floats)
    return export.deserialize(program.serialize()).call(*floats)


@column()
def custom_jvp(f, args):
    f, floats = scalar(f, args)
    ours = jax.custom_jvp(lambda *x: f(*x))
    ours.defjvp(lambda x, t: (f(*x), sum(jnp.sum(y) for y in t).astype(f(*x).dtype)))
    return jax.jvp(ours, tuple(floats), tangents(floats)), gradient(ours, floats)(*floats)


@column()
def custom_vjp(f, args):
    f, floats = scalar(f, args)
    ours = jax.custom_vjp(lambda *x: f(*x))
    ours.defvjp(lambda *x: (f(*x), x), lambda x, ct: tuple(jnp.multiply(ct, y) for y in x))
    return ours(*floats), gradient(ours, floats)(*floats)


# Second order -----------------------------------------------------------------------------------


@column()
def grad_grad(f, args):
    f, floats = scalar(f, args)
    return gradient(scalar(gradient(f, floats), floats)[0], floats)(*floats)


@column()
def jacfwd_grad(f, args):
    f, floats = scalar(f, args)
    return by_all(jax.jacfwd, gradient(f, floats), floats)(*floats)


@column("grad_grad")
def grad_jacfwd(f, args):
    f, floats = scalar(f, args)
    return gradient(scalar(by_all(jax.jacfwd, f, floats), floats)[0], floats)(*floats)


@column("jacfwd_grad")
def jacfwd_jacfwd(f, args):
    f, floats = scalar(f, args)
    return by_all(jax.jacfwd, by_all(jax.jacfwd, f, floats), floats)(*floats)
