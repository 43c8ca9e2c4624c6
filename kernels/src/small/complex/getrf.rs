//! The LU factors of each matrix of a batch.

use bytemuck::cast_slice_mut;
use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask, dispatch};
use num_complex::Complex;

use super::super::getrf::swap;
use super::super::lanes::{pack, unpack};
use super::super::{Instructions, Small, Vector, index, lanes_divide};
use super::{BUFFER, LARGEST_ALONE, Number, places};
use crate::lapack::Int;

/// [`Factors::getrf`](super::Factors::getrf), on these instructions.
pub(super) fn getrf<T: Small>(
    instructions: Instructions,
    m: usize,
    n: usize,
    a: &mut [Complex<T>],
    pivots: &mut [Int],
    info: &mut [Int],
) {
    assert!(m.max(n) <= LARGEST_ALONE, "getrf: {m} x {n} is not a small size");
    assert_eq!(a.len(), m * n * info.len(), "getrf: a is not a batch of m x n");
    assert_eq!(pivots.len(), m.min(n) * info.len(), "getrf: there are not min(m, n) pivots for each matrix");
    let a = cast_slice_mut(a);
    if m == 0 || n == 0 {
        info.fill(0);
    } else if m <= 8 && n <= 8 {
        dispatch!(instructions.0, s => batch::<_, T, { BUFFER[0] }>(s, [m, n], a, pivots, info));
    } else {
        dispatch!(instructions.0, s => batch::<_, T, { BUFFER[1] }>(s, [m, n], a, pivots, info));
    }
}

#[inline(always)]
fn batch<S: Simd, T: Small, const BUFFER: usize>(
    s: S,
    [m, n]: [usize; 2],
    a: &mut [T],
    pivots: &mut [Int],
    info: &mut [Int],
) {
    let (lanes, k) = (Vector::<S, T>::LEN, m.min(n));
    let zero = Vector::<S, T>::splat(s, T::zero());
    let (mut buffer, mut rows) = ([zero; BUFFER], [zero; LARGEST_ALONE]);
    let (size, places) = (2 * m * n, places(m, n, false));
    let int = |x: T| x.to_i32().unwrap_or(0);
    for ((a, pivots), info) in a.chunks_mut(size * lanes).zip(pivots.chunks_mut(k * lanes)).zip(info.chunks_mut(lanes))
    {
        pack(s, size, a, |x, vector| buffer[usize::from(places[x])] = vector);
        let failed = factorise::<S, T>(s, [m, n], &mut buffer[..2 * n * (m + 1)], &mut rows);
        unpack(s, size, a, |x| buffer[usize::from(places[x])]);
        for (lane, (info, pivots)) in info.iter_mut().zip(pivots.chunks_exact_mut(k)).enumerate() {
            *info = int(failed[lane]);
            for (pivot, row) in pivots.iter_mut().zip(&rows) {
                *pivot = int(row[lane]) + 1;
            }
        }
    }
}

/// Writes the row that each step swaps with to `rows`; returns the step whose pivot is zero, counted from 1.
#[inline(always)]
fn factorise<S: Simd, T: Small>(
    s: S,
    [m, n]: [usize; 2],
    buffer: &mut [Vector<S, T>],
    rows: &mut [Vector<S, T>; LARGEST_ALONE],
) -> Vector<S, T> {
    let stride = m + 1;
    let index = |i: usize| index::<S, T>(s, i);
    let zero = Vector::<S, T>::splat(s, T::zero());
    let mut failed = zero;
    for k in 0..m.min(n) {
        let (re, im) = buffer[2 * k * stride..2 * (k + 1) * stride].split_at(stride);
        let (mut largest, mut row) = (re[k].abs() + im[k].abs(), index(k));
        for (i, (re, im)) in re[..m].iter().zip(im).enumerate().skip(k + 1) {
            let size = re.abs() + im.abs();
            let larger = size.simd_gt(largest);
            largest = larger.select(size, largest);
            row = larger.select(index(i), row);
        }
        rows[k] = row;
        // Real and imaginary parts of a row are in two columns there.
        swap::<S, T>(s, k, row, buffer, stride);

        let (before, after) = buffer.split_at_mut(2 * (k + 1) * stride);
        let (re, im) = before[2 * k * stride..].split_at_mut(stride);
        let pivot = Number::<S, T> { re: re[k], im: im[k] };
        let is_zero = pivot.re.simd_eq(zero) & pivot.im.simd_eq(zero);
        failed = (is_zero & failed.simd_eq(zero)).select(index(k + 1), failed);
        let (re, im) = (&mut re[k + 1..m], &mut im[k + 1..m]);
        divide::<S, T>(s, is_zero, pivot, re, im);
        for later in after.chunks_exact_mut(2 * stride) {
            let (x, y) = later.split_at_mut(stride);
            let factor = Number::<S, T> { re: x[k], im: y[k] }.negate();
            let parts = x[k + 1..m].iter_mut().zip(&mut y[k + 1..m]).zip(re.iter().zip(im.iter()));
            for ((x, y), (&re, &im)) in parts {
                let sum = factor.mul_add(Number { re, im }, Number { re: *x, im: *y });
                (*x, *y) = (sum.re, sum.im);
            }
        }
    }
    failed
}

/// Divides by a pivot, but for lanes in which it is zero.
///
/// The pivot is one of its larger part, which is a factor of its own: its square may be infinite, or lose all digits.
#[inline(always)]
fn divide<S: Simd, T: Small>(
    s: S,
    is_zero: <Vector<S, T> as SimdBase<S>>::Mask,
    pivot: Number<S, T>,
    re: &mut [Vector<S, T>],
    im: &mut [Vector<S, T>],
) {
    let (zero, one) = (Vector::<S, T>::splat(s, T::zero()), Vector::<S, T>::splat(s, T::one()));
    let (size, other) = (pivot.re.abs(), pivot.im.abs());
    let scale = is_zero.select(one, size.simd_gt(other).select(size, other));
    let scaled = pivot.over(scale);
    let square = scaled.re.mul_add(scaled.re, scaled.im * scaled.im);
    let quotient = Number { re: scaled.re / square, im: -(scaled.im / square) };
    let quotient = Number { re: one, im: zero }.only(is_zero, quotient);
    let inverse = quotient.over(scale);
    let divides = lanes_divide::<S, T>(s, scale);
    let any_divides = divides.to_bitmask() != 0;
    for (re, im) in re.iter_mut().zip(im) {
        let x = Number::<S, T> { re: *re, im: *im };
        let mut result = x.times(inverse);
        if any_divides {
            result = x.over(scale).times(quotient).only(divides, result);
        }
        (*re, *im) = (result.re, result.im);
    }
}
