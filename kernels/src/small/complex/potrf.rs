//! The Cholesky factor of each matrix of a batch.

use bytemuck::cast_slice_mut;
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, dispatch};
use num_complex::Complex;

use super::super::lanes::{pack, unpack};
use super::super::{Instructions, Small, Vector, index};
use super::{BUFFER, LARGEST_ALONE, Number, places};
use crate::lapack::{Int, Uplo};

/// [`Factors::potrf`](super::Factors::potrf), on these instructions.
pub(super) fn potrf<T: Small>(
    instructions: Instructions,
    uplo: Uplo,
    n: usize,
    a: &mut [Complex<T>],
    info: &mut [Int],
) {
    assert_eq!(a.len(), n * n * info.len(), "potrf: a is not a batch of n x n");
    assert!(n <= LARGEST_ALONE, "potrf: {n} is not a small size");
    let a = cast_slice_mut(a);
    if n == 0 {
        info.fill(0);
    } else if n <= 8 {
        dispatch!(instructions.0, s => batch::<_, T, { BUFFER[0] }>(s, uplo, n, a, info));
    } else {
        dispatch!(instructions.0, s => batch::<_, T, { BUFFER[1] }>(s, uplo, n, a, info));
    }
}

/// The buffer holds the lower triangle of each matrix, or the upper one transposed: the same is computed of both.
#[inline(always)]
fn batch<S: Simd, T: Small, const BUFFER: usize>(s: S, uplo: Uplo, n: usize, a: &mut [T], info: &mut [Int]) {
    let lanes = Vector::<S, T>::LEN;
    let mut buffer = [Vector::<S, T>::splat(s, T::zero()); BUFFER];
    let (size, places) = (2 * n * n, places(n, n, uplo == Uplo::Upper));
    for (a, info) in a.chunks_mut(size * lanes).zip(info.chunks_mut(lanes)) {
        pack(s, size, a, |x, vector| buffer[usize::from(places[x])] = vector);
        let failed = factorise::<S, T>(s, n, &mut buffer);
        unpack(s, size, a, |x| buffer[usize::from(places[x])]);
        for (info, failed) in info.iter_mut().zip(failed.as_slice()) {
            *info = failed.to_i32().unwrap_or(0);
        }
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
        let (before, column) = buffer.split_at_mut(2 * j * stride);
        let (re, im) = column[..2 * stride].split_at_mut(stride);
        let mut pivot = re[j];
        for earlier in before.chunks_exact(2 * stride) {
            for x in [earlier[j], earlier[stride + j]] {
                pivot = (-x).mul_add(x, pivot);
            }
        }
        let fails = !pivot.simd_gt(zero) & failed.simd_eq(zero);
        failed = fails.select(index::<S, T>(s, j + 1), failed);
        let root = pivot.sqrt();
        let inverse = one / root;
        (re[j], im[j]) = (root, zero);
        let mut row = j + 1;
        while row + 4 <= n {
            reduce::<S, T, 4>(before, [j, row], inverse, re, im);
            row += 4;
        }
        while row < n {
            reduce::<S, T, 1>(before, [j, row], inverse, re, im);
            row += 1;
        }
    }
    failed
}

/// Finishes `ROWS` elements of column `j`, from `row` on. Their sums are independent of each other.
#[inline(always)]
fn reduce<S: Simd, T: Small, const ROWS: usize>(
    before: &[Vector<S, T>],
    [j, row]: [usize; 2],
    inverse: Vector<S, T>,
    re: &mut [Vector<S, T>],
    im: &mut [Vector<S, T>],
) {
    let stride = re.len();
    let (Some(re), Some(im)) = (re[row..].first_chunk_mut::<ROWS>(), im[row..].first_chunk_mut::<ROWS>()) else {
        return;
    };
    let (mut real, mut imaginary) = (*re, *im);
    for earlier in before.chunks_exact(2 * stride) {
        let (x, y) = earlier.split_at(stride);
        let factor = Number::<S, T> { re: x[j], im: y[j] }.conj().negate();
        let parts = real.iter_mut().zip(&mut imaginary).zip(x[row..row + ROWS].iter().zip(&y[row..row + ROWS]));
        for ((real, imaginary), (&re, &im)) in parts {
            let sum = factor.mul_add(Number { re, im }, Number { re: *real, im: *imaginary });
            (*real, *imaginary) = (sum.re, sum.im);
        }
    }
    for (to, sum) in re.iter_mut().chain(im).zip(real.into_iter().chain(imaginary)) {
        *to = sum * inverse;
    }
}
