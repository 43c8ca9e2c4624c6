//! Householder reflectors in blocks: `q = i - v t v^T`, with the vectors along the rows of a matrix.
//!
//! `v` has [`width`] columns, one reflector each, and one row for each row of the matrix from the block's first one on.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase, SimdFloat};

use crate::small::{Small, Vector};

/// The most columns of a block: one vector, where that has more than 8 elements.
pub(super) const MOST: usize = 16;
/// The columns of a tile, in vectors: with `4 x 2` sums, no register is wanting.
const TILE: usize = 2;

/// The columns of a block.
pub(super) const fn width<S: Simd, T: Small>() -> usize {
    if Vector::<S, T>::LEN > 8 { Vector::<S, T>::LEN } else { 8 }
}

/// `t` of one block, upper triangular.
pub(super) type Triangle<T> = [[T; MOST]; MOST];

/// How a block is multiplied into a matrix.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// `q`.
    Plain,
    /// `q^T`, which has the transpose of `t`.
    Transposed,
}

/// Column `k` of `t`, from the products of reflector `k` with those before it.
#[inline(always)]
pub(super) fn extend<T: Small>(t: &mut Triangle<T>, k: usize, tau: T, products: &[T]) {
    for (i, row) in t[..k].iter_mut().enumerate() {
        let sum = row[i..k].iter().zip(&products[i..k]).fold(T::zero(), |sum, (&t, &product)| sum + t * product);
        row[k] = -tau * sum;
    }
    t[k][k] = tau;
}

/// `t` of a block whose `v` is complete.
#[inline(always)]
pub(super) fn triangle<S: Simd, T: Small>(s: S, v: &[T], tau: &[T]) -> Triangle<T> {
    let (lanes, width) = (Vector::<S, T>::LEN, width::<S, T>());
    let mut t = [[T::zero(); MOST]; MOST];
    let mut products = [[T::zero(); MOST]; MOST];
    for k in (0..width).step_by(4) {
        for first in (0..width).step_by(lanes) {
            let sums = gather::<S, T, 1>(s, v, width, first, v, k);
            for (row, [sum]) in products[k..k + 4].iter_mut().zip(sums) {
                sum.store_slice(&mut row[first..first + lanes]);
            }
        }
    }
    for (k, &tau) in tau.iter().enumerate() {
        extend(&mut t, k, tau, &products[k]);
    }
    t
}

/// Makes `v` of what LAPACK stores: reflector `k` is 0 above row `k` and 1 there, and one that does not exist is 0
/// everywhere.
#[inline(always)]
pub(super) fn complete<S: Simd, T: Small>(v: &mut [T], reflectors: usize) {
    for (i, row) in v.chunks_exact_mut(width::<S, T>()).enumerate() {
        row[reflectors..].fill(T::zero());
        if i < reflectors {
            row[i] = T::one();
            row[i + 1..].fill(T::zero());
        }
    }
}

/// The products of four columns of `v`, from `k` on, with a tile of the matrix.
#[inline(always)]
fn gather<S: Simd, T: Small, const J: usize>(
    s: S,
    rows: &[T],
    stride: usize,
    first: usize,
    v: &[T],
    k: usize,
) -> [[Vector<S, T>; J]; 4] {
    let lanes = Vector::<S, T>::LEN;
    let mut sums = [[Vector::<S, T>::splat(s, T::zero()); J]; 4];
    for (row, v) in rows.chunks_exact(stride).zip(v.chunks_exact(width::<S, T>())) {
        let row = &row[first..first + J * lanes];
        for (sums, &v) in sums.iter_mut().zip(&v[k..k + 4]) {
            let v = Vector::<S, T>::splat(s, v);
            for (sum, x) in sums.iter_mut().zip(row.chunks_exact(lanes)) {
                *sum = v.mul_add(Vector::<S, T>::from_slice(s, x), *sum);
            }
        }
    }
    sums
}

/// Adds `v w` to a tile of `R` rows.
#[inline(always)]
fn add<S: Simd, T: Small, const R: usize, const J: usize>(
    s: S,
    rows: &mut [T],
    stride: usize,
    first: usize,
    v: &[T],
    w: &[[Vector<S, T>; J]; MOST],
) {
    let (lanes, width) = (Vector::<S, T>::LEN, width::<S, T>());
    let mut sums = [[Vector::<S, T>::splat(s, T::zero()); J]; R];
    for (i, sums) in sums.iter_mut().enumerate() {
        let row = &rows[i * stride + first..][..J * lanes];
        for (sum, x) in sums.iter_mut().zip(row.chunks_exact(lanes)) {
            *sum = Vector::<S, T>::from_slice(s, x);
        }
    }
    for (k, w) in w[..width].iter().enumerate() {
        for (i, sums) in sums.iter_mut().enumerate() {
            let v = Vector::<S, T>::splat(s, v[i * width + k]);
            for (sum, &w) in sums.iter_mut().zip(w) {
                *sum = v.mul_add(w, *sum);
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        let row = &mut rows[i * stride + first..][..J * lanes];
        for (sum, x) in sums.iter().zip(row.chunks_exact_mut(lanes)) {
            sum.store_slice(x);
        }
    }
}

/// `J` vectors of columns.
#[inline(always)]
fn tile<S: Simd, T: Small, const J: usize>(
    s: S,
    form: Form,
    rows: &mut [T],
    stride: usize,
    first: usize,
    v: &[T],
    t: &Triangle<T>,
) {
    let width = width::<S, T>();
    let zero = Vector::<S, T>::splat(s, T::zero());
    let mut w = [[zero; J]; MOST];
    for k in (0..width).step_by(4) {
        w[k..k + 4].copy_from_slice(&gather::<S, T, J>(s, rows, stride, first, v, k));
    }
    let mut product = [[zero; J]; MOST];
    for (k, product) in product[..width].iter_mut().enumerate() {
        for (l, w) in w[..width].iter().enumerate() {
            let t = match form {
                Form::Plain if k <= l => t[k][l],
                Form::Transposed if l <= k => t[l][k],
                _ => continue,
            };
            let t = Vector::<S, T>::splat(s, -t);
            for (sum, &w) in product.iter_mut().zip(w) {
                *sum = t.mul_add(w, *sum);
            }
        }
    }
    let mut fours = rows.chunks_exact_mut(4 * stride);
    let mut fours_of_v = v.chunks_exact(4 * width);
    for (rows, v) in (&mut fours).zip(&mut fours_of_v) {
        add::<S, T, 4, J>(s, rows, stride, first, v, &product);
    }
    let ones = fours.into_remainder().chunks_exact_mut(stride);
    for (row, v) in ones.zip(fours_of_v.remainder().chunks_exact(width)) {
        add::<S, T, 1, J>(s, row, stride, first, v, &product);
    }
}

/// Multiplies columns of the rows by the block, from the left. Compiled once for all callers.
#[inline(always)]
pub(super) fn apply<S: Simd, T: Small>(
    s: S,
    form: Form,
    rows: &mut [T],
    stride: usize,
    columns: Range<usize>,
    v: &[T],
    t: &Triangle<T>,
) {
    s.vectorize(
        #[inline(always)]
        || {
            let lanes = Vector::<S, T>::LEN;
            let mut first = columns.start;
            while first + (TILE - 1) * lanes < columns.end {
                tile::<S, T, TILE>(s, form, rows, stride, first, v, t);
                first += TILE * lanes;
            }
            if first < columns.end {
                tile::<S, T, 1>(s, form, rows, stride, first, v, t);
            }
        },
    );
}
