//! The Cholesky factor of each matrix of a batch.

use fearless_simd::{Select, Simd, SimdBase, SimdFloat, dispatch};

use super::blocks;
use super::lanes::{pack, unpack};
use super::{ALONE, IN_LANES, Instructions, LARGEST, Small, Vector, index, places, settle, worth_lanes};
use crate::lapack::{Int, Uplo};

const SHORT: usize = IN_LANES[0];

/// [`Factors::potrf_work`](super::Factors::potrf_work), on these instructions.
pub(super) fn work<T: Small>(instructions: Instructions, n: usize) -> Option<usize> {
    if n <= LARGEST {
        return Some(0);
    }
    (n <= blocks::LARGEST_POTRF).then(|| blocks::potrf_work::<T>(instructions, n))
}

/// [`Factors::potrf`](super::Factors::potrf), on these instructions.
pub(super) fn potrf<T: Small>(
    instructions: Instructions,
    uplo: Uplo,
    n: usize,
    a: &mut [T],
    info: &mut [Int],
    work: &mut [T],
) {
    assert_eq!(a.len(), n * n * info.len(), "potrf: a is not a batch of n x n");
    if n == 0 {
        info.fill(0);
        return;
    }
    if n > LARGEST {
        for (a, info) in a.chunks_exact_mut(n * n).zip(info) {
            *info = blocks::potrf(instructions, uplo, n, a, work);
        }
        return;
    }
    if n <= 8 {
        dispatch!(instructions.0, s => batch::<_, T, SHORT, { ALONE[0] }>(s, uplo, n, a, info));
    } else {
        dispatch!(instructions.0, s => batch::<_, T, { IN_LANES[1] }, { ALONE[1] }>(s, uplo, n, a, info));
    }
    // A matrix with a NaN in the triangle has failed: the NaN has come to a pivot.
    for (a, _) in a.chunks_exact_mut(n * n).zip(info).filter(|(_, info)| **info > 0) {
        for (j, column) in a.chunks_exact_mut(n).enumerate() {
            match uplo {
                Uplo::Lower => settle(column[j..].iter_mut()),
                Uplo::Upper => settle(column[..=j].iter_mut()),
            }
        }
    }
}

#[inline(always)]
fn batch<S: Simd, T: Small, const IN_LANES: usize, const ALONE: usize>(
    s: S,
    uplo: Uplo,
    n: usize,
    a: &mut [T],
    info: &mut [Int],
) {
    let lanes = Vector::<S, T>::LEN;
    let mut memory = None;
    for (a, info) in a.chunks_mut(n * n * lanes).zip(info.chunks_mut(lanes)) {
        if worth_lanes::<S, T>(info.len()) {
            let (buffer, places) = memory.get_or_insert_with(|| {
                ([Vector::<S, T>::splat(s, T::zero()); IN_LANES], places(n, n, n + 1, uplo == Uplo::Upper))
            });
            let places = &places[..n * n];
            match n {
                // Known sizes make unrolled loops.
                4 if IN_LANES == SHORT => in_lanes(s, 4, a, info, buffer, places),
                8 if IN_LANES == SHORT => in_lanes(s, 8, a, info, buffer, places),
                _ => in_lanes(s, n, a, info, buffer, places),
            }
        } else {
            for (a, info) in a.chunks_exact_mut(n * n).zip(info) {
                *info = alone::<_, _, ALONE>(s, uplo, n, a);
            }
        }
    }
}

/// Up to as many matrices as there are lanes. The buffer holds the lower triangle of each, or the upper one transposed.
#[inline(always)]
fn in_lanes<S: Simd, T: Small>(
    s: S,
    n: usize,
    a: &mut [T],
    info: &mut [Int],
    buffer: &mut [Vector<S, T>],
    places: &[u16],
) {
    pack(s, n * n, a, |x, vector| buffer[usize::from(places[x])] = vector);
    let failed = factorise::<S, T>(s, n, buffer);
    unpack(s, n * n, a, |x| buffer[usize::from(places[x])]);
    for (info, failed) in info.iter_mut().zip(failed.as_slice()) {
        *info = failed.to_i32().unwrap_or(0);
    }
}

/// Column by column, each from the columns before it. Returns the column at which each matrix failed, counted from 1.
#[inline(always)]
fn factorise<S: Simd, T: Small>(s: S, n: usize, buffer: &mut [Vector<S, T>]) -> Vector<S, T> {
    let stride = n + 1;
    let splat = |x: T| Vector::<S, T>::splat(s, x);
    let (zero, one) = (splat(T::zero()), splat(T::one()));
    let mut failed = zero;
    for j in 0..n {
        let (before, column) = buffer[..n * stride].split_at_mut(j * stride);
        let mut pivot = column[j];
        for earlier in before.chunks_exact(stride) {
            pivot = (-earlier[j]).mul_add(earlier[j], pivot);
        }
        let fails = !pivot.simd_gt(zero) & failed.simd_eq(zero);
        failed = fails.select(index::<S, T>(s, j + 1), failed);
        let root = pivot.sqrt();
        let inverse = one / root;
        column[j] = root;
        let mut row = j + 1;
        while row + 8 <= n {
            reduce::<S, T, 8>(stride, before, j, inverse, &mut column[row..], row);
            row += 8;
        }
        while row + 4 <= n {
            reduce::<S, T, 4>(stride, before, j, inverse, &mut column[row..], row);
            row += 4;
        }
        while row < n {
            reduce::<S, T, 1>(stride, before, j, inverse, &mut column[row..], row);
            row += 1;
        }
    }
    failed
}

/// Finishes `ROWS` elements of column `j`, from `row` on. Their sums are independent of each other.
#[inline(always)]
fn reduce<S: Simd, T: Small, const ROWS: usize>(
    stride: usize,
    before: &[Vector<S, T>],
    j: usize,
    inverse: Vector<S, T>,
    column: &mut [Vector<S, T>],
    row: usize,
) {
    let Some(column) = column.first_chunk_mut::<ROWS>() else { return };
    let mut sums = *column;
    for earlier in before.chunks_exact(stride) {
        let factor = -earlier[j];
        for (sum, &x) in sums.iter_mut().zip(&earlier[row..row + ROWS]) {
            *sum = factor.mul_add(x, *sum);
        }
    }
    *column = sums.map(
        #[inline(always)]
        |sum| sum * inverse,
    );
}

/// One matrix, with vectors along its columns: what an element goes through is the same, in the same order.
#[inline(always)]
fn alone<S: Simd, T: Small, const ALONE: usize>(s: S, uplo: Uplo, n: usize, a: &mut [T]) -> Int {
    let lanes = Vector::<S, T>::LEN;
    let stride = n.next_multiple_of(lanes);
    let mut buffer = [T::zero(); ALONE];
    for (j, column) in a.chunks_exact(n).enumerate() {
        match uplo {
            Uplo::Lower => buffer[j * stride + j..j * stride + n].copy_from_slice(&column[j..]),
            Uplo::Upper => column[..=j].iter().enumerate().for_each(|(i, &x)| buffer[i * stride + j] = x),
        }
    }
    let mut info = 0;
    for k in 0..n {
        let (column, after) = buffer[k * stride..n * stride].split_at_mut(stride);
        let pivot = column[k];
        let definite = pivot > T::zero(); // not so for NaN
        if !definite && info == 0 {
            info = k as Int + 1;
        }
        let root = pivot.sqrt();
        let inverse = T::one() / root;
        // From the block that holds row k: what is above, in the other triangle, is not written back.
        for block in column.chunks_exact_mut(lanes).skip(k / lanes) {
            (Vector::<S, T>::from_slice(s, block) * inverse).store_slice(block);
        }
        column[k] = root;
        for (j, later) in (k + 1..n).zip(after.chunks_exact_mut(stride)) {
            let factor = Vector::<S, T>::splat(s, -column[j]);
            let blocks = later.chunks_exact_mut(lanes).zip(column.chunks_exact(lanes));
            for (block, x) in blocks.skip(j / lanes) {
                let sum = Vector::<S, T>::from_slice(s, block);
                factor.mul_add(Vector::<S, T>::from_slice(s, x), sum).store_slice(block);
            }
        }
    }
    for (j, column) in a.chunks_exact_mut(n).enumerate() {
        match uplo {
            Uplo::Lower => column[j..].copy_from_slice(&buffer[j * stride + j..j * stride + n]),
            Uplo::Upper => column[..=j].iter_mut().enumerate().for_each(|(i, x)| *x = buffer[i * stride + j]),
        }
    }
    info
}
