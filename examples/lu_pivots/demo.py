"""Rebuilds matrices from their LU decompositions with the example's operations, and compares with references.

The figures are norm-wise relative errors, |out - ref| / |ref|, in units of the dtype's machine epsilon. Permutations
move elements and round nothing, so the limit of 4 is far. Exits with status 1 if one is above it.
"""

import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import oxidax  # noqa: E402

LIMIT = 4.0
ROOT = Path(__file__).resolve().parents[2]


def permutation(pivots, rows):
    """The row swaps, one after the other."""
    result = np.arange(rows)
    for i, pivot in enumerate(pivots):
        result[[i, pivot]] = result[[pivot, i]]
    return result


def error(out, ref, dtype):
    """In float64 or better, and in units of eps of `dtype`."""
    out, ref = (np.asarray(a).astype(np.longdouble) for a in (out, ref))
    assert out.shape == ref.shape, (out.shape, ref.shape)
    return float(np.linalg.norm((out - ref).ravel()) / np.linalg.norm(ref.ravel())) / np.finfo(dtype).eps


def main():
    ops = oxidax.load(ROOT / "target/release/liblu_pivots.so")
    print(f"jax {jax.__version__}\n  {ops.lu_pivots!r}\n  {ops.permutation_matrix!r}\n")
    print(f"{'error / eps':<44}{'f32':>8}{'f64':>8}")
    rows, columns = 5, 3
    table = {}
    for dtype in (np.float32, np.float64):
        a = jnp.asarray(np.random.default_rng(0).standard_normal((4, rows, columns)), dtype)
        _, pivots, jax_permutation = jax.lax.linalg.lu(a)
        expected = np.stack([permutation(p, rows) for p in np.asarray(pivots)])

        # `rows` stands in the result alone, so the call says it.
        ours = ops.lu_pivots(pivots, rows=rows)
        one = jnp.ones((), dtype)
        # `columns` is an attribute; without it the matrix is square.
        matrix = ops.permutation_matrix(ours, one)
        wide = ops.permutation_matrix(ours, one, columns=rows + 2)
        vmapped = jax.jit(jax.vmap(lambda p: ops.lu_pivots(p, rows=rows), in_axes=1, out_axes=1))(pivots.T)
        permuted = np.take_along_axis(np.asarray(a), expected[..., None], 1)
        for name, out, ref in (
            ("lu_pivots, a batch", ours, expected),
            ("lu_pivots, against jax", ours, jax_permutation),
            ("lu_pivots, jit of vmap", vmapped, expected.T),
            ("permutation_matrix @ a", matrix @ a, permuted),
            ("permutation_matrix, columns=7", wide[..., :rows] @ a, permuted),
        ):
            table.setdefault(name, []).append(error(out, ref, dtype))
    for name, errors in table.items():
        print(f"{name:<44}" + "".join(f"{e:8.2f}" for e in errors))
    failed = not all(e <= LIMIT for errors in table.values() for e in errors)

    # The handler's own error, for one bad matrix of a batch.
    bad = jnp.array([[0, 1], [0, 9]], jnp.int32)
    try:
        jax.block_until_ready(ops.lu_pivots(bad, rows=3))
    except jax.errors.JaxRuntimeError as refusal:
        print(f"\na bad pivot: {refusal}")
    else:
        failed = True
    print("\nabove the limit" if failed else f"\nall within {LIMIT:g} eps")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
