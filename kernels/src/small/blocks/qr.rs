//! The QR factors of one matrix, and Q out of its reflectors.

use fearless_simd::{Simd, SimdBase, dispatch};

use super::panel::factorise;
use super::reflectors::{Form, apply, complete, triangle, width};
use super::rows::{stride, to_columns, to_rows};
use super::{Instructions, Small};
use crate::small::Vector;

/// The length of the work memory of a matrix: its rows, and those of a block.
pub(in super::super) fn work<T: Small>(instructions: Instructions, m: usize, n: usize) -> usize {
    #[inline(always)]
    fn length<S: Simd, T: Small>(_: S, m: usize, n: usize) -> usize {
        m * (stride::<S, T>(n) + width::<S, T>())
    }
    dispatch!(instructions.0, s => length::<_, T>(s, m, n))
}

/// As LAPACK's `geqrf`; `tau` has `min(m, n)` elements.
pub(in super::super) fn geqrf<T: Small>(
    instructions: Instructions,
    m: usize,
    n: usize,
    a: &mut [T],
    tau: &mut [T],
    work: &mut [T],
) {
    dispatch!(instructions.0, s => into_factors(s, [m, n], a, tau, work));
}

/// As LAPACK's `orgqr`; `tau` has no more than `n` elements.
pub(in super::super) fn orgqr<T: Small>(
    instructions: Instructions,
    m: usize,
    n: usize,
    a: &mut [T],
    tau: &[T],
    work: &mut [T],
) {
    dispatch!(instructions.0, s => into_q(s, [m, n], a, tau, work));
}

/// As LAPACK's `ormqr` from the left; `a` has as many columns of length `m` as `tau` elements.
pub(in super::super) fn ormqr<T: Small>(
    instructions: Instructions,
    transpose: bool,
    [m, n]: [usize; 2],
    a: &[T],
    tau: &[T],
    c: &mut [T],
    work: &mut [T],
) {
    dispatch!(instructions.0, s => multiply(s, transpose, [m, n], a, tau, c, work));
}

#[inline(always)]
fn into_factors<S: Simd, T: Small>(s: S, [m, n]: [usize; 2], a: &mut [T], tau: &mut [T], work: &mut [T]) {
    let (lanes, width, stride) = (Vector::<S, T>::LEN, width::<S, T>(), stride::<S, T>(n));
    let (rows, block) = work.split_at_mut(m * stride);
    to_rows(s, [m, n], a, m, rows, stride);
    for (index, tau) in tau.chunks_mut(width).enumerate() {
        let first = index * width;
        let columns = first..(first + width).min(stride);
        let rows = &mut rows[first * stride..];
        let v = &mut block[..(m - first) * width];
        // By vectors: a copy of so few elements is not worth the call of a function.
        for (row, v) in rows.chunks_exact(stride).zip(v.chunks_exact_mut(width)) {
            for (x, v) in row[columns.clone()].chunks_exact(lanes).zip(v.chunks_exact_mut(lanes)) {
                Vector::<S, T>::from_slice(s, x).store_slice(v);
            }
        }
        let t = factorise(s, v, tau);
        for (row, v) in rows.chunks_exact_mut(stride).zip(v.chunks_exact(width)) {
            for (x, v) in row[columns.clone()].chunks_exact_mut(lanes).zip(v.chunks_exact(lanes)) {
                Vector::<S, T>::from_slice(s, v).store_slice(x);
            }
        }
        complete::<S, T>(v, tau.len());
        apply(s, Form::Transposed, rows, stride, first + width..n, v, &t);
    }
    to_columns(s, [m, n], rows, stride, a, m);
}

#[inline(always)]
fn into_q<S: Simd, T: Small>(s: S, [m, n]: [usize; 2], a: &mut [T], tau: &[T], work: &mut [T]) {
    let (width, stride) = (width::<S, T>(), stride::<S, T>(n));
    let (rows, block) = work.split_at_mut(m * stride);
    rows.fill(T::zero());
    for (i, row) in rows.chunks_exact_mut(stride).enumerate().take(n) {
        row[i] = T::one();
    }
    // From the last block to the first: columns before a block are the identity's where it is multiplied in.
    for (index, tau) in tau.chunks(width).enumerate().rev() {
        let first = index * width;
        let v = &mut block[..(m - first) * width];
        to_rows(s, [m - first, tau.len()], &a[first * m + first..], m, v, width);
        complete::<S, T>(v, tau.len());
        let t = triangle(s, v, tau);
        apply(s, Form::Plain, &mut rows[first * stride..], stride, first..n, v, &t);
    }
    to_columns(s, [m, n], rows, stride, a, m);
}

#[inline(always)]
fn multiply<S: Simd, T: Small>(
    s: S,
    transpose: bool,
    [m, n]: [usize; 2],
    a: &[T],
    tau: &[T],
    c: &mut [T],
    work: &mut [T],
) {
    let (width, stride) = (width::<S, T>(), stride::<S, T>(n));
    let (rows, block) = work.split_at_mut(m * stride);
    to_rows(s, [m, n], c, m, rows, stride);
    let blocks = tau.len().div_ceil(width);
    for step in 0..blocks {
        let (form, index) = if transpose { (Form::Transposed, step) } else { (Form::Plain, blocks - 1 - step) };
        let first = index * width;
        let tau = &tau[first..tau.len().min(first + width)];
        let v = &mut block[..(m - first) * width];
        to_rows(s, [m - first, tau.len()], &a[first * m + first..], m, v, width);
        complete::<S, T>(v, tau.len());
        let t = triangle(s, v, tau);
        apply(s, form, &mut rows[first * stride..], stride, 0..n, v, &t);
    }
    to_columns(s, [m, n], rows, stride, c, m);
}
