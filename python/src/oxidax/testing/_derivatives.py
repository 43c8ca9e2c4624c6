"""Checks of derivative rules, first order: against central differences, under vmap, and against one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oxidax import _jax
from oxidax._dtypes import NUMPY, name_of
from oxidax._errors import SignatureError
from oxidax._wiring import differentiable, inexact
from oxidax.testing._case import Arrays, Case, difference, epsilon, is_floating
from oxidax.testing._report import Failed, Skipped

_WIDE = {"f16": "f64", "bf16": "f64", "f32": "f64", "c64": "c128"}
#: How far derivatives may be from central differences, relative to the largest number involved.
_TOLERANCE = {"f64": 1e-6, "c128": 1e-6, "f32": 2e-2, "c64": 2e-2}
_DIRECTIONS = 3


class _Smooth:
    """The operation as a function of its floating operands alone, to its floating results alone."""

    def __init__(self, case: Case, args: Arrays) -> None:
        self.case, self.args, self.places = case, args, case.floating
        self.kept = inexact(case.definition.results, case.instance)
        self.point = [args[i] for i in self.places]
        self.names = [case.names[i] for i in self.kept]

    def __call__(self, *floating: Any) -> list[Any]:
        args: list[Any] = list(self.args)
        for i, x in zip(self.places, floating, strict=True):
            args[i] = x
        out = self.case.function(*args)
        outs = out if isinstance(out, tuple) else (out,)
        return [outs[i] for i in self.kept]

    def values(self, point: Arrays) -> Arrays:
        """The results at a point."""
        return arrays(self(*point))

    def random(self, like: Arrays, seed: int) -> Arrays:
        """A direction in the space of some arrays."""
        rng = np.random.default_rng(seed)
        out = []
        for x in like:
            v = rng.standard_normal(x.shape)
            out.append((v + 1j * rng.standard_normal(x.shape) if np.iscomplexobj(x) else v).astype(x.dtype))
        return out

    def difference(self, direction: Arrays) -> Arrays:
        """The central difference along a direction."""
        largest = max((float(np.abs(x).max(initial=0)) for x in self.point), default=0)
        step = max(epsilon(x.dtype) for x in self.point) ** (1 / 3) * (largest or 1)
        ahead, behind = (
            self.values([(x + sign * step * v).astype(x.dtype) for x, v in zip(self.point, direction, strict=True)])
            for sign in (1, -1)
        )
        return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


def arrays(outs: Any) -> Arrays:
    """JAX's arrays as NumPy's."""
    return [np.asarray(x) for x in outs]


def _smooth(case: Case, *rules: str, wide: bool = True) -> _Smooth:
    """The function to differentiate, in double precision where the operation has it and `wide` asks for it."""
    if not differentiable(case.definition, case.instance):
        raise Skipped("there is nothing to differentiate")
    for rule in rules:
        if getattr(case.definition, rule) is None:
            raise Skipped(f"it has no `{rule}` rule")
    args = case.args
    if wide and _jax.x64():
        casts = [x.astype(NUMPY[_WIDE.get(name_of(x.dtype), name_of(x.dtype))]) for x in args]
        try:
            _jax.eval_shape(case.function, *casts)
            args = casts
        except SignatureError:
            pass  # it has no such instance
    function = _Smooth(case, args)
    if wide and any(name_of(x.dtype) not in _TOLERANCE for x in function.point):
        raise Skipped("its precision is too low for differences, and it has no double precision")
    return function


def jvp(case: Case) -> str:
    """Forward mode."""
    f = _smooth(case, "jvp")
    want = f.values(f.point)
    for seed in range(_DIRECTIONS):
        direction = f.random(f.point, seed)
        out, tangents = map(arrays, _jax.jvp(f, tuple(f.point), tuple(direction)))
        _same_results(f, out, want)
        for name, x, y, value in zip(f.names, tangents, _differences(f, direction), want, strict=True):
            scale = max(float(np.abs(z).max(initial=0)) for z in (x, y, value))
            _near(f"tangent of {name}", x, y, scale * _tolerance(f))
    return _finish(f, lambda *point: _jax.jvp(f, point, tuple(f.random(f.point, 0)))[1])


def vjp(case: Case) -> str:
    """Reverse mode."""
    f = _smooth(case, "vjp")
    want = f.values(f.point)
    out, pull = _jax.vjp(f, *f.point)
    _same_results(f, arrays(out), want)
    for seed in range(_DIRECTIONS):
        direction, cotangents = f.random(f.point, seed), f.random(want, seed + 10)
        gradient = arrays(pull([_jax.asarray(ct) for ct in cotangents]))
        for name, x, g in zip([case.definition.arguments[i].name for i in f.places], f.point, gradient, strict=True):
            if g.shape != x.shape or g.dtype != x.dtype:
                raise Failed(f'cotangent of "{name}": {g.dtype}{g.shape}, expected {x.dtype}{x.shape}')
        _inner(f, "the gradient along a direction", gradient, direction, cotangents, _differences(f, direction))
    cotangents = f.random(want, 0)
    return _finish(f, lambda *point: _jax.vjp(f, *point)[1]([_jax.asarray(ct) for ct in cotangents]))


def transpose(case: Case) -> str:
    """<ct, jvp(v)> = <vjp(ct), v>, in the dtype of the call."""
    f = _smooth(case, "jvp", "vjp", wide=False)
    out, pull = _jax.vjp(f, *f.point)
    for seed in range(_DIRECTIONS):
        direction, cotangents = f.random(f.point, seed), f.random(arrays(out), seed + 10)
        tangents = arrays(_jax.jvp(f, tuple(f.point), tuple(direction))[1])
        gradient = arrays(pull([_jax.asarray(ct) for ct in cotangents]))
        tolerance = 1e3 * max(epsilon(x.dtype) for x in f.point)
        _inner(f, "<vjp(ct), v> and <ct, jvp(v)>", gradient, direction, cotangents, tangents, tolerance)
    return ""


def _differences(f: _Smooth, direction: Arrays) -> Arrays:
    try:
        return f.difference(direction)
    except _jax.RuntimeFailure as error:
        raise Skipped(f"it refuses operands beside those of the call: {str(error).strip()}") from None


def _tolerance(f: _Smooth) -> float:
    return max(_TOLERANCE[name_of(x.dtype)] for x in f.point)


def _same_results(f: _Smooth, got: Arrays, want: Arrays) -> None:
    for name, x, y in zip(f.names, got, want, strict=True):
        problem = difference(name, x, y, 1e3 * epsilon(y.dtype))
        if problem:
            raise Failed(f"the forward pass returns other results than the operation: {problem}")


def _inner(
    f: _Smooth, what: str, left: Arrays, right: Arrays, cts: Arrays, tangents: Arrays, tolerance: float | None = None
) -> None:
    """Compares two inner products. As in JAX, nothing is conjugated."""
    one, two = (
        sum(float(np.sum(a.astype(complex) * b.astype(complex)).real) for a, b in zip(*pair, strict=True))
        for pair in ((left, right), (cts, tangents))
    )
    scale = max(_norm(left) * _norm(right), _norm(cts) * _norm(tangents))
    if not abs(one - two) <= (_tolerance(f) if tolerance is None else tolerance) * scale:
        raise Failed(f"{what}: {one} and {two}")


def _norm(xs: Arrays) -> float:
    return float(np.sqrt(sum(np.sum(np.abs(x.astype(complex)) ** 2) for x in xs)))


def _near(what: str, got: Any, want: Any, tolerance: float) -> None:
    bad = ~(np.abs(got - want) <= tolerance)
    if bad.any():
        place = np.unravel_index(np.argmax(bad), bad.shape)
        raise Failed(f"{what}: {got[place]}, and {want[place]} by central differences")


def _finish(f: _Smooth, derivative: Callable[..., Any]) -> str:
    """Compares a derivative under vmap with a loop; says in which dtype all was done."""
    dtypes = ", ".join(dict.fromkeys(name_of(x.dtype) for x in f.point))
    if f.case.definition.batch != "none":
        points = [f.point, [(x * 0.75).astype(x.dtype) for x in f.point]]
        stacked = [np.stack(pair) for pair in zip(*points, strict=True)]
        batched = arrays(_jax.vmap(derivative)(*stacked))
        for k, point in enumerate(points):
            for x, y in zip(batched, arrays(derivative(*point)), strict=True):
                assert is_floating(y)
                problem = difference("the derivative", x[k], y, 1e3 * epsilon(y.dtype))
                if problem:
                    raise Failed(f"under jax.vmap, element {k}: {problem} as alone")
    return f"in {dtypes}"
