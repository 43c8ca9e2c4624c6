//! Matrices into lanes and back.

use fearless_simd::{Simd, SimdBase};

use super::{Small, Vector};

/// The most lanes that a vector has.
pub(super) const MOST: usize = 16;

/// The positions of an element, counted through a matrix, at which blocks of one vector's length begin that cover the
/// matrix. The last two may overlap. None where the matrix is shorter.
fn blocks(size: usize, lanes: usize) -> impl Iterator<Item = usize> {
    let last = (size >= lanes && !size.is_multiple_of(lanes)).then(|| size - lanes);
    (0..size / lanes).map(move |block| block * lanes).chain(last)
}

/// Transposes as many vectors as they have lanes, by perfect shuffles.
#[inline(always)]
pub(super) fn transpose<S: Simd, T: Small>(rows: &mut [Vector<S, T>; MOST]) {
    let lanes = Vector::<S, T>::LEN;
    for _ in 0..lanes.ilog2() {
        let before = *rows;
        for i in 0..lanes / 2 {
            (rows[2 * i], rows[2 * i + 1]) = before[i].interleave(before[i + lanes / 2]);
        }
    }
}

/// Passes element `x` of each matrix, as one vector, to `store(x, _)`. Lanes without a matrix hold zeros.
#[inline(always)]
pub(super) fn pack<S: Simd, T: Small>(s: S, size: usize, matrices: &[T], mut store: impl FnMut(usize, Vector<S, T>)) {
    let lanes = Vector::<S, T>::LEN;
    let zero = Vector::<S, T>::splat(s, T::zero());
    for start in blocks(size, lanes) {
        let mut rows = [zero; MOST];
        if matrices.len() == lanes * size {
            // No lane is empty: a loop of known length.
            for (lane, row) in rows[..lanes].iter_mut().enumerate() {
                *row = Vector::<S, T>::from_slice(s, &matrices[lane * size + start..][..lanes]);
            }
        } else {
            for (row, matrix) in rows.iter_mut().zip(matrices.chunks_exact(size)) {
                *row = Vector::<S, T>::from_slice(s, &matrix[start..start + lanes]);
            }
        }
        transpose::<S, T>(&mut rows);
        for (x, &row) in rows[..lanes].iter().enumerate() {
            store(start + x, row);
        }
    }
    if size < lanes {
        for x in 0..size {
            let element = |lane| matrices.get(lane * size + x).copied().unwrap_or(T::zero());
            store(x, Vector::<S, T>::from_fn(s, element));
        }
    }
}

/// Writes the vector `load(x)` to element `x` of the matrices.
#[inline(always)]
pub(super) fn unpack<S: Simd, T: Small>(
    s: S,
    size: usize,
    matrices: &mut [T],
    mut load: impl FnMut(usize) -> Vector<S, T>,
) {
    let lanes = Vector::<S, T>::LEN;
    for start in blocks(size, lanes) {
        let mut rows = [Vector::<S, T>::splat(s, T::zero()); MOST];
        for (x, row) in rows[..lanes].iter_mut().enumerate() {
            *row = load(start + x);
        }
        transpose::<S, T>(&mut rows);
        if matrices.len() == lanes * size {
            for (lane, row) in rows[..lanes].iter().enumerate() {
                row.store_slice(&mut matrices[lane * size + start..][..lanes]);
            }
        } else {
            for (row, matrix) in rows.iter().zip(matrices.chunks_exact_mut(size)) {
                row.store_slice(&mut matrix[start..start + lanes]);
            }
        }
    }
    if size < lanes {
        for x in 0..size {
            let vector = load(x);
            for (matrix, &element) in matrices.chunks_exact_mut(size).zip(vector.as_slice()) {
                matrix[x] = element;
            }
        }
    }
}
