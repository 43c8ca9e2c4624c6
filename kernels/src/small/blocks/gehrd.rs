//! The Hessenberg form of one matrix. A reflector takes every column behind its own through the cache once: what the
//! one before it makes of the column, from the right and from the left, and the column's part in the next product.

use std::mem::swap;

use fearless_simd::{Simd, SimdBase, SimdFloat, dispatch};

use super::columns::{Step, TOGETHER, add_and_sum, dot, elements, length, split, sum, take};
use super::{Instructions, Small};
use crate::small::Vector;

/// As LAPACK's `gehrd` of all rows and columns; `tau` has `n - 1` elements.
pub(in super::super) fn gehrd<T: Small>(
    instructions: Instructions,
    n: usize,
    a: &mut [T],
    tau: &mut [T],
    work: &mut [T],
) {
    dispatch!(instructions.0, s => reduce(s, n, a, tau, work));
}

/// `step.w` is the matrix times `step.v`.
#[inline(always)]
fn reduce<S: Simd, T: Small>(s: S, n: usize, a: &mut [T], tau: &mut [T], work: &mut [T]) {
    let (lanes, length) = (Vector::<S, T>::LEN, length::<S, T>(n));
    let (columns, column, [mut step, mut next]) = split::<S, T>(n, work);
    for (columns, a) in columns.chunks_exact_mut(TOGETHER * length).zip(a.chunks(TOGETHER * n)) {
        for (k, a) in a.chunks_exact(n).enumerate() {
            for (x, a) in columns[k * lanes..].chunks_mut(TOGETHER * lanes).zip(a.chunks(lanes)) {
                x[..a.len()].copy_from_slice(a);
            }
        }
    }
    for (i, a) in a.chunks_exact_mut(n).enumerate() {
        let four = &mut columns[i / TOGETHER * TOGETHER * length..];
        take(s, i % TOGETHER, &mut four[..TOGETHER * length], column);
        if step.tau != T::zero() {
            apply_to(s, &step, i, column);
        }
        if i + 1 < n {
            let row = i + 1;
            next.reflect(s, &mut column[..n], row);
            tau[i] = next.tau;
            for (first, four) in (0..).step_by(TOGETHER).zip(columns.chunks_exact_mut(TOGETHER * length)) {
                if first + TOGETHER > row {
                    apply(s, &step, row, first, four, &mut next);
                }
            }
        }
        a.copy_from_slice(&column[..n]);
        swap(&mut step, &mut next);
    }
}

/// Applies a reflector, from both sides, to column `i` of the matrix, in whose row it has its 1.
#[inline(always)]
fn apply_to<S: Simd, T: Small>(s: S, step: &Step<'_, T>, i: usize, column: &mut [T]) {
    let from_right = -step.tau * step.v[i];
    for (x, &w) in column.iter_mut().zip(&*step.w) {
        *x += from_right * w;
    }
    let start = i / Vector::<S, T>::LEN * Vector::<S, T>::LEN;
    let (column, v) = (&mut column[start..], &step.v[start..]);
    let from_left = -step.tau * dot(s, column, v);
    for (x, &v) in column.iter_mut().zip(v) {
        *x += from_left * v;
    }
}

/// Applies a reflector, from both sides, to four columns, `first` and those behind it, and adds their part in the product
/// to `next`, whose reflector has its 1 in `row`, one below that of `step`. Columns before `row` are zeros.
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
    if step.tau == T::zero() {
        return sum(s, four, factors, next.w);
    }
    let start = (row - 1) / lanes * lanes; // before it, `step.v` is 0
    let (above, below) = four.split_at_mut(start * TOGETHER);
    let (w_above, w_below) = step.w.split_at(start);
    let (sums_above, sums_below) = next.w.split_at_mut(start);
    let v = &step.v[start..];
    let from_right = elements::<S, T>(s, -step.tau, step.v, first, row);
    add_and_sum(s, above, from_right, w_above, factors, sums_above);
    let mut products = [Vector::<S, T>::splat(s, T::zero()); TOGETHER];
    let rows = below.chunks_exact_mut(TOGETHER * lanes).zip(w_below.chunks_exact(lanes));
    for ((x, w), v) in rows.zip(v.chunks_exact(lanes)) {
        let (w, v) = (Vector::<S, T>::from_slice(s, w), Vector::<S, T>::from_slice(s, v));
        for ((x, from_right), product) in x.chunks_exact_mut(lanes).zip(from_right).zip(&mut products) {
            let new = from_right.mul_add(w, Vector::<S, T>::from_slice(s, x));
            new.store_slice(x);
            *product = v.mul_add(new, *product);
        }
    }
    for product in &mut products {
        *product = Vector::<S, T>::splat(s, -step.tau * product.reduce_sum());
    }
    add_and_sum(s, below, products, v, factors, sums_below);
}
