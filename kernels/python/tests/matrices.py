"""Test matrices, and distances in units of a dtype's machine epsilon."""

from __future__ import annotations

import numpy as np

DTYPES = ("float32", "float64", "complex64", "complex128")
SQUARE = (0, 1, 2, 3, 5, 16, 33, 64, 65)
#: Empty, thin, wide, and one past a block.
RECTANGLES = ((0, 3), (3, 0), (1, 5), (5, 1), (3, 4), (65, 33), (33, 65), (64, 65))
#: None at all, none, one and many: for small and for larger matrices.
BATCHES = ((), (0,), (1,), (2, 3))


def shapes(square: bool = False) -> list[tuple[int, ...]]:
    """Core shapes in batches: every shape alone and in a batch, two of them in every batch."""
    cores = [(n, n) for n in SQUARE] + ([] if square else list(RECTANGLES))
    all_batches = [(3, 3), (33, 33)] if square else [(3, 4), (33, 65)]
    return [batch + core for core in cores for batch in (BATCHES if core in all_batches else ((), (3,)))]


def random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Normally distributed elements."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


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
    """The largest norm of a difference over the norm of `scale` (`expected`), in units of sqrt(size) eps; 0 if empty."""
    difference, scale = wide(found) - wide(expected), wide(expected if scale is None else scale)
    assert difference.shape == scale.shape[:-2] + difference.shape[scale.ndim - 2 :] if scale.ndim > 1 else True
    if difference.size == 0:
        return 0.0
    axes = (-2, -1) if difference.ndim > 1 else None
    above = np.sqrt((np.abs(difference) ** 2).sum(axes))
    below = np.sqrt((np.abs(scale) ** 2).sum((-2, -1) if scale.ndim > 1 else None))
    return float((above / np.maximum(below, np.finfo(dtype).tiny)).max() / (np.finfo(dtype).eps * max(size, 1) ** 0.5))


def identity(n: int, like: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.eye(n), (*like.shape[:-2], n, n))
