//! The tridiagonal form of one symmetric matrix. A reflector takes every column behind its own through the cache once:
//! what the one before it makes of the column, and the column's part in the next product.
//!
//! The whole matrix is kept, not one triangle: a column needs no other one. The upper triangle is the lower one of the
//! matrix with rows and columns in reverse.

use std::mem::swap;

use fearless_simd::{Simd, SimdBase, SimdFloat, dispatch};

use super::columns::{Step, TOGETHER, dot, elements, length, split, sum, take};
use super::{Instructions, Small};
use crate::lapack::Uplo;
use crate::small::Vector;

/// As LAPACK's `sytrd`; `d` has `n` elements, `e` and `tau` have `n - 1`.
pub(in super::super) fn sytrd<T: Small>(
    instructions: Instructions,
    uplo: Uplo,
    a: &mut [T],
    [d, e, tau]: [&mut [T]; 3],
    work: &mut [T],
) {
    dispatch!(instructions.0, s => reduce(s, uplo, a, [d, e, tau], work));
}

/// A reflector makes `a - v w^T - w v^T` of the matrix; `step.w` is zero before the row of its 1, as `step.v` is.
#[inline(always)]
fn reduce<S: Simd, T: Small>(s: S, uplo: Uplo, a: &mut [T], [d, e, tau]: [&mut [T]; 3], work: &mut [T]) {
    let n = d.len();
    let (lanes, length) = (Vector::<S, T>::LEN, length::<S, T>(n));
    // Of one of so many, in the order of the reflectors.
    let place = |of: usize, i: usize| if uplo == Uplo::Lower { i } else { of - 1 - i };
    let (columns, column, [mut step, mut next]) = split::<S, T>(n, work);
    let at =
        |i: usize, j: usize| (j / TOGETHER * length + i / lanes * lanes) * TOGETHER + j % TOGETHER * lanes + i % lanes;
    for j in 0..n {
        let a = &a[place(n, j) * n..][..n];
        for i in j..n {
            let x = a[place(n, i)];
            columns[at(i, j)] = x;
            columns[at(j, i)] = x;
        }
    }
    for i in 0..n {
        let four = &mut columns[i / TOGETHER * TOGETHER * length..];
        take(s, i % TOGETHER, &mut four[..TOGETHER * length], column);
        if step.tau != T::zero() {
            let (v, w) = (step.v[i], step.w[i]);
            for ((x, &of_v), &of_w) in column.iter_mut().zip(&*step.v).zip(&*step.w) {
                *x -= w * of_v + v * of_w;
            }
        }
        d[place(n, i)] = column[i];
        if i + 1 < n {
            let row = i + 1;
            next.reflect(s, &mut column[..n], row);
            tau[place(n - 1, i)] = next.tau;
            e[place(n - 1, i)] = column[row];
            for (first, four) in (0..).step_by(TOGETHER).zip(columns.chunks_exact_mut(TOGETHER * length)) {
                if first + TOGETHER > row {
                    apply(s, &step, row, first, four, &mut next);
                }
            }
            finish(s, &mut next, row);
        }
        let a = &mut a[place(n, i) * n..][..n];
        for (j, &x) in column[..n].iter().enumerate().skip(i) {
            a[place(n, j)] = x;
        }
        swap(&mut step, &mut next);
    }
}

/// Applies a reflector to four columns, `first` and those behind it, and adds their part in the product of the matrix with
/// the reflector of `next`, which has its 1 in `row`, to `next.w`.
#[inline(always)]
fn apply<S: Simd, T: Small>(
    s: S,
    step: &Step<'_, T>,
    row: usize,
    first: usize,
    four: &mut [T],
    next: &mut Step<'_, T>,
) {
    let lanes = Vector::<S, T>::LEN;
    let factors = elements::<S, T>(s, T::one(), next.v, first, row);
    let start = row / lanes * lanes;
    let (four, sums) = (&mut four[start * TOGETHER..], &mut next.w[start..]);
    if step.tau == T::zero() {
        return sum(s, four, factors, sums);
    }
    let of_v = elements::<S, T>(s, -T::one(), step.v, first, row);
    let of_w = elements::<S, T>(s, -T::one(), step.w, first, row);
    let vectors = step.v[start..].chunks_exact(lanes).zip(step.w[start..].chunks_exact(lanes));
    let rows = four.chunks_exact_mut(TOGETHER * lanes).zip(vectors);
    for ((x, (v, w)), sum) in rows.zip(sums.chunks_exact_mut(lanes)) {
        let (v, w) = (Vector::<S, T>::from_slice(s, v), Vector::<S, T>::from_slice(s, w));
        let mut total = Vector::<S, T>::from_slice(s, sum);
        for (((x, of_v), of_w), factor) in x.chunks_exact_mut(lanes).zip(of_v).zip(of_w).zip(factors) {
            let new = of_v.mul_add(w, of_w.mul_add(v, Vector::<S, T>::from_slice(s, x)));
            new.store_slice(x);
            total = factor.mul_add(new, total);
        }
        total.store_slice(sum);
    }
}

/// Makes `w` of the product of the matrix with `v`, whose 1 is in `row`.
#[inline(always)]
fn finish<S: Simd, T: Small>(s: S, step: &mut Step<'_, T>, row: usize) {
    step.w[..row].fill(T::zero());
    let half = T::one() / (T::one() + T::one());
    let along = -half * step.tau * step.tau * dot(s, step.w, step.v);
    for (w, &v) in step.w.iter_mut().zip(&*step.v) {
        *w = step.tau * *w + along * v;
    }
}
