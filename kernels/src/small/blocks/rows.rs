//! Matrices from columns into rows and back: LAPACK's order is by columns, and these kernels have vectors along rows.

use fearless_simd::{Simd, SimdBase};

use crate::small::lanes::{MOST, transpose};
use crate::small::{Small, Vector};

/// The distance between rows of `n` elements: whole vectors, and an odd number of them, because at a power of two the
/// elements of a column meet in few places of the cache.
pub(super) fn stride<S: Simd, T: Small>(n: usize) -> usize {
    let lanes = Vector::<S, T>::LEN;
    (n.div_ceil(lanes) | 1) * lanes
}

/// The places at which blocks of `lanes` begin that cover `size`. The last two may overlap.
fn blocks(size: usize, lanes: usize) -> impl Iterator<Item = usize> {
    (0..size.div_ceil(lanes)).map(move |block| (block * lanes).min(size - lanes))
}

/// Copies `m x n` with leading dimension `ld` into rows that are `stride` apart, filled up to whole vectors with zeros.
#[inline(always)]
pub(super) fn to_rows<S: Simd, T: Small>(
    s: S,
    [m, n]: [usize; 2],
    columns: &[T],
    ld: usize,
    rows: &mut [T],
    stride: usize,
) {
    let lanes = Vector::<S, T>::LEN;
    let zero = Vector::<S, T>::splat(s, T::zero());
    if m < lanes {
        for (i, row) in rows.chunks_exact_mut(stride).enumerate().take(m) {
            row.fill(T::zero());
            for (x, column) in row.iter_mut().zip(columns.chunks(ld)).take(n) {
                *x = column[i];
            }
        }
        return;
    }
    for first in (0..n).step_by(lanes) {
        for start in blocks(m, lanes) {
            let mut block = [zero; MOST];
            for (j, vector) in block[..lanes].iter_mut().enumerate().take(n - first) {
                *vector = Vector::<S, T>::from_slice(s, &columns[(first + j) * ld + start..][..lanes]);
            }
            transpose::<S, T>(&mut block);
            for (i, vector) in block[..lanes].iter().enumerate() {
                vector.store_slice(&mut rows[(start + i) * stride + first..][..lanes]);
            }
        }
    }
}

/// Copies the rows back.
#[inline(always)]
pub(super) fn to_columns<S: Simd, T: Small>(
    s: S,
    [m, n]: [usize; 2],
    rows: &[T],
    stride: usize,
    columns: &mut [T],
    ld: usize,
) {
    let lanes = Vector::<S, T>::LEN;
    if m < lanes {
        for (j, column) in columns.chunks_mut(ld).enumerate().take(n) {
            for (x, row) in column.iter_mut().zip(rows.chunks_exact(stride)).take(m) {
                *x = row[j];
            }
        }
        return;
    }
    for first in (0..n).step_by(lanes) {
        for start in blocks(m, lanes) {
            let mut block = [Vector::<S, T>::splat(s, T::zero()); MOST];
            for (i, vector) in block[..lanes].iter_mut().enumerate() {
                *vector = Vector::<S, T>::from_slice(s, &rows[(start + i) * stride + first..][..lanes]);
            }
            transpose::<S, T>(&mut block);
            for (j, vector) in block[..lanes].iter().enumerate().take(n - first) {
                vector.store_slice(&mut columns[(first + j) * ld + start..][..lanes]);
            }
        }
    }
}
