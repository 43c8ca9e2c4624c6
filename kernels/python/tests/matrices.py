"""Test matrices, and distances in units of a dtype's machine epsilon."""

from __future__ import annotations

import numpy as np

# In units of sqrt(n) eps, over the norm of the matrix. Backward-stable algorithms stay at a few.
LIMIT = 10
DTYPES = ("float32", "float64", "complex64", "complex128")
#: None at all, none, one and many.
BATCHES = ((), (0,), (1,), (2, 3))
#: Empty, one, small, and around a block.
SQUARE = ((0, 0), (1, 1), (2, 2), (5, 5), (33, 33), (65, 65))
#: Empty, thin, wide, and one past a block.
RECTANGLES = (*SQUARE, (0, 3), (3, 0), (1, 5), (5, 1), (65, 33), (33, 65))


def shapes(cores=RECTANGLES) -> list[tuple[int, ...]]:
    """Core shapes in batches: every shape in one, and the small square in all. Each costs a compilation."""
    return [batch + core for core in cores for batch in (BATCHES if core == (5, 5) else ((3,),))]


def random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Normally distributed elements."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def hermitian(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Hermitian, and indefinite."""
    x = random(shape, dtype)
    return x + adjoint(x)


def positive_definite(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Hermitian matrices of a small condition number."""
    x, n = random(shape, dtype), shape[-1]
    return (x @ adjoint(x) / max(n, 1) + np.eye(n)).astype(dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def wide(x) -> np.ndarray:
    """The same numbers with at least float64, and more where numpy has more."""
    x = np.asarray(x)
    return x.astype(
        {"float32": "float64", "complex64": "complex128"}.get(str(x.dtype), np.result_type(x, "longdouble"))
    )


def distance(found, expected, dtype: str, size: int, scale=None) -> float:
    """The largest norm of a difference of matrices over that of `scale` (else `expected`), in units of sqrt(size) eps.

    0 where there are none.
    """
    difference, scale = wide(found) - wide(expected), wide(expected if scale is None else scale)
    above, below = ((np.abs(x) ** 2).sum((-2, -1)) ** 0.5 for x in (difference, scale))
    relative = above / np.maximum(below, np.finfo(dtype).tiny)
    return float(relative.max(initial=0) / (np.finfo(dtype).eps * max(size, 1) ** 0.5))


def check(dtype: str, shape: tuple[int, ...], **distances: float) -> None:
    """Fails where a distance is above `LIMIT`."""
    assert all(found < LIMIT for found in distances.values()), (dtype, shape, distances)


def check_lu(dtype: str, a: np.ndarray, lu, permutation) -> None:
    """Fails where the factors that `lu` holds are not those of `a`, or pivots were not chosen."""
    m, n = a.shape[-2:]
    k = min(m, n)
    lower = np.tril(wide(lu), -1)[..., :k] + np.eye(m, k)
    upper = np.triu(wide(lu))[..., :k, :]
    permuted = np.take_along_axis(a, np.asarray(permutation)[..., None], -2)
    check(dtype, a.shape, product=distance(lower @ upper, permuted, dtype, max(m, n)))
    assert np.abs(lower).max(initial=0) < 1.42  # complex pivots are chosen by |re| + |im|


def hessenberg(a, tau) -> tuple[np.ndarray, np.ndarray]:
    """The orthonormal matrix and the Hessenberg form that `jax.lax.linalg.hessenberg` gives."""
    a, n = wide(a), np.shape(a)[-1]
    return _product(np.tril(a, -2)[..., :-1] + np.eye(n, n - 1, k=-1), wide(tau)), np.triu(a, -1)


def tridiagonal(a, d, e, tau, lower: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The orthonormal matrix and the tridiagonal form that `jax.lax.linalg.tridiagonal` gives."""
    a, d, e, tau, n = wide(a), wide(d), wide(e), wide(tau), np.shape(a)[-1]
    below = np.eye(n, n - 1, k=-1) * e[..., None, :] @ np.eye(n - 1, n)
    form = d[..., None] * np.eye(n) + below + below.swapaxes(-1, -2)
    if lower:
        return _product(np.tril(a, -2)[..., :-1] + np.eye(n, n - 1, k=-1), tau), form
    return _product((np.triu(a, 2)[..., 1:] + np.eye(n, n - 1))[..., ::-1], tau[..., ::-1]), form


def _product(vectors: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Of reflectors, one a column."""
    q = identity(vectors.shape[-2], vectors)
    for i in range(vectors.shape[-1]):
        v = vectors[..., i : i + 1]
        q = q - tau[..., i, None, None] * (q @ v) @ adjoint(v)
    return q


def identity(n: int, like: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.eye(n), (*like.shape[:-2], n, n))
