//! The Hessenberg form of one matrix. A reflector takes every column behind its own through the cache once: what the
//! one before it makes of the column, from the right and from the left, and the column's part in the next product.
#![forbid(unsafe_code)]

use std::array;
use std::mem::swap;

use fearless_simd::{Simd, SimdBase, SimdFloat, dispatch};

use super::columns::{TOGETHER, dot, elements, length, reflect, take};
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

/// A reflector `i - tau v v^T`, and its product with the matrix.
struct Step<'a, T> {
    tau: T,
    /// Zero before the row of its 1.
    v: &'a mut [T],
    /// The matrix, times `v`.
    w: &'a mut [T],
}

#[inline(always)]
fn reduce<S: Simd, T: Small>(s: S, n: usize, a: &mut [T], tau: &mut [T], work: &mut [T]) {
    let (lanes, length) = (Vector::<S, T>::LEN, length::<S, T>(n));
    let (columns, vectors) = work.split_at_mut(length * n.next_multiple_of(TOGETHER));
    columns.fill(T::zero());
    for (columns, a) in columns.chunks_exact_mut(TOGETHER * length).zip(a.chunks(TOGETHER * n)) {
        for (k, a) in a.chunks_exact(n).enumerate() {
            for (x, a) in columns[k * lanes..].chunks_mut(TOGETHER * lanes).zip(a.chunks(lanes)) {
                x[..a.len()].copy_from_slice(a);
            }
        }
    }
    vectors.fill(T::zero());
    let mut vectors = vectors.chunks_exact_mut(length);
    let [column, v, w, next_v, next_w] = array::from_fn(|_| vectors.next().expect("five vectors"));
    let (mut step, mut next) = (Step { tau: T::zero(), v, w }, Step { tau: T::zero(), v: next_v, w: next_w });
    for (i, a) in a.chunks_exact_mut(n).enumerate() {
        let four = &mut columns[i / TOGETHER * TOGETHER * length..];
        take(s, i % TOGETHER, &mut four[..TOGETHER * length], column);
        if step.tau != T::zero() {
            let below = i / lanes * lanes;
            step.apply_to(s, step.v[i], column, below);
        }
        if i + 1 < n {
            let (tail, row) = (&mut column[..n], i + 1);
            next.tau = reflect(s, tail, row);
            tau[i] = next.tau;
            next.v[..row].fill(T::zero());
            next.v[row] = T::one();
            next.v[row + 1..n].copy_from_slice(&tail[row + 1..]);
            next.w.fill(T::zero());
            for (first, four) in (0..).step_by(TOGETHER).zip(columns.chunks_exact_mut(TOGETHER * length)) {
                if first + TOGETHER > row {
                    step.apply(s, row, first, four, &mut next);
                }
            }
        }
        a.copy_from_slice(&column[..n]);
        swap(&mut step, &mut next);
    }
}

impl<T: Small> Step<'_, T> {
    /// Applies the reflector, from both sides, to the column whose element of `v` is given; `v` is 0 above row `below`.
    #[inline(always)]
    fn apply_to<S: Simd>(&self, s: S, v: T, column: &mut [T], below: usize) {
        let from_right = -self.tau * v;
        for (x, &w) in column.iter_mut().zip(&*self.w) {
            *x += from_right * w;
        }
        let (column, v) = (&mut column[below..], &self.v[below..]);
        let from_left = -self.tau * dot(s, column, v);
        for (x, &v) in column.iter_mut().zip(v) {
            *x += from_left * v;
        }
    }

    /// Applies the reflector, from both sides, to four columns, `first` and those behind it, and adds their part in the
    /// product to `next`, whose reflector has its 1 in `row`. Columns before `row` are zeros.
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, row: usize, first: usize, four: &mut [T], next: &mut Step<'_, T>) {
        let lanes = Vector::<S, T>::LEN;
        let factors = elements::<S, T>(s, T::one(), next.v, first, row);
        let sums = &mut *next.w;
        if self.tau == T::zero() {
            for (x, sum) in four.chunks_exact(TOGETHER * lanes).zip(sums.chunks_exact_mut(lanes)) {
                let mut total = Vector::<S, T>::from_slice(s, sum);
                for (x, factor) in x.chunks_exact(lanes).zip(factors) {
                    total = factor.mul_add(Vector::<S, T>::from_slice(s, x), total);
                }
                total.store_slice(sum);
            }
            return;
        }
        let from_right = elements::<S, T>(s, -self.tau, self.v, first, row);
        let start = (row - 1) / lanes; // the vector before which `v` is 0
        let (above, below) = four.split_at_mut(start * TOGETHER * lanes);
        let (w_above, w_below) = self.w.split_at(start * lanes);
        let (sums_above, sums_below) = sums.split_at_mut(start * lanes);
        let v = &self.v[start * lanes..];
        let rows = above.chunks_exact_mut(TOGETHER * lanes).zip(w_above.chunks_exact(lanes));
        for ((x, w), sum) in rows.zip(sums_above.chunks_exact_mut(lanes)) {
            let w = Vector::<S, T>::from_slice(s, w);
            let mut total = Vector::<S, T>::from_slice(s, sum);
            for ((x, from_right), factor) in x.chunks_exact_mut(lanes).zip(from_right).zip(factors) {
                let new = from_right.mul_add(w, Vector::<S, T>::from_slice(s, x));
                new.store_slice(x);
                total = factor.mul_add(new, total);
            }
            total.store_slice(sum);
        }
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
            *product = Vector::<S, T>::splat(s, -self.tau * product.reduce_sum());
        }
        let from_left = products;
        let rows = below.chunks_exact_mut(TOGETHER * lanes).zip(v.chunks_exact(lanes));
        for ((x, v), sum) in rows.zip(sums_below.chunks_exact_mut(lanes)) {
            let v = Vector::<S, T>::from_slice(s, v);
            let mut total = Vector::<S, T>::from_slice(s, sum);
            for ((x, from_left), factor) in x.chunks_exact_mut(lanes).zip(from_left).zip(factors) {
                let new = from_left.mul_add(v, Vector::<S, T>::from_slice(s, x));
                new.store_slice(x);
                total = factor.mul_add(new, total);
            }
            total.store_slice(sum);
        }
    }
}
