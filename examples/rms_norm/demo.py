"""Runs the example's operations in JAX and compares them with references of higher precision.

The figures are norm-wise relative errors, |out - ref| / |ref|, in units of the dtype's machine epsilon. The reference
is float64 for f32 and NumPy's extended precision for f64. Exits with status 1 if one is above 4.
"""

import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import oxidax  # noqa: E402

LIMIT = 4.0
EPS = 1e-6
ROOT = Path(__file__).resolve().parents[2]


def rms_norm(x, gain=1):
    return gain * x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(EPS))


def pullback(x, ct, gain=1):
    """The cotangent of `x` for a cotangent `ct` of the result. The derivative of `rms_norm` is symmetric."""
    inv = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(EPS))
    normal, ct = x * inv, gain * ct
    return inv * (ct - normal * np.mean(normal * ct, axis=-1, keepdims=True))


def cases(ops, dtype, wide):
    """Yields (name, result, reference) for everything that the example shows."""
    rng = np.random.default_rng(0)
    x, ct = (jnp.asarray(rng.standard_normal((3, 4, 5)), dtype) for _ in range(2))
    gain = jnp.asarray(rng.standard_normal(5), dtype)
    X, CT, GAIN = (np.asarray(a).astype(wide) for a in (x, ct, gain))

    def f(x):
        return ops.rms_norm(x, eps=EPS)

    def gained(x, gain):
        return ops.gained_rms_norm(x, gain, eps=EPS)

    def inner(x, ct):
        return jnp.sum(f(x) * ct)

    yield "call", f(x), rms_norm(X)
    yield "jit", jax.jit(f)(x), rms_norm(X)
    for axis in range(3):
        # What is left of each element has its last axis normalised.
        yield f"vmap over axis {axis}", jax.vmap(f, axis)(x), rms_norm(np.moveaxis(X, axis, 0))
    nested = jax.vmap(jax.vmap(f, in_axes=1), in_axes=0)
    yield "vmap of vmap, axes 0 and 1", nested(x), rms_norm(np.swapaxes(X, 1, 2))
    yield "unbatched second operand", jax.vmap(gained, (0, None))(x, gain), rms_norm(X, GAIN)
    yield "grad", jax.grad(inner)(x, ct), pullback(X, CT)
    yield "jvp", jax.jvp(f, (x,), (ct,))[1], pullback(X, CT)
    yield "vmap of grad", jax.vmap(jax.grad(inner))(x, ct), pullback(X, CT)
    yield "grad of vmap", jax.grad(lambda x: jnp.sum(jax.vmap(f)(x) * ct))(x), pullback(X, CT)
    # The gain was broadcast over 12 rows: its gradient has its own shape.
    by_gain = jax.grad(lambda gain: jnp.sum(gained(x, gain) * ct))(gain)
    yield "grad of the broadcast operand", by_gain, (CT * rms_norm(X)).sum((0, 1))


def main():
    ops = oxidax.load(ROOT / "target/release/librms_norm.so")
    print(f"jax {jax.__version__}, {ops.rms_norm!r}\n")
    print(f"{'error / eps':<32}{'f32':>8}{'f64':>8}")
    dtypes = ((np.float32, np.float64), (np.float64, np.longdouble))
    failed = False
    for single, double in zip(*(cases(ops, *pair) for pair in dtypes), strict=True):
        errors = []
        for (name, out, ref), (dtype, wide) in zip((single, double), dtypes, strict=True):
            assert out.dtype == dtype and out.shape == ref.shape, (name, out.dtype, out.shape, ref.shape)
            difference = np.asarray(out).astype(wide) - ref
            errors.append(float(np.linalg.norm(difference.ravel()) / np.linalg.norm(ref.ravel())) / np.finfo(dtype).eps)
        failed |= not max(errors) <= LIMIT
        print(f"{name:<32}{errors[0]:8.2f}{errors[1]:8.2f}")

    # An operation without a rule says which one is missing.
    x = jnp.ones(3)
    try:
        jax.jvp(ops.gained_rms_norm, (x, x), (x, x))
    except TypeError as error:
        print(f"\njvp of gained_rms_norm: {error}")
    else:
        failed = True
    print("\nabove the limit" if failed else f"\nall within {LIMIT:g} eps")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
