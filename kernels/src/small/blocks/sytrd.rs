//! The tridiagonal form of one symmetric matrix. A reflector takes every column behind its own through the cache once:
//! what the one before it makes of the column, and the column's part in the next product.
//!
//! The whole matrix is kept, not one triangle: a column needs no other one. The upper triangle is the lower one of the
//! matrix with rows and columns in reverse.
#![forbid(unsafe_code)]

use std::array;
use std::mem::swap;

use fearless_simd::{Simd, SimdBase, SimdFloat, dispatch};

use super::columns::{TOGETHER, dot, elements, length, reflect, take};
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

/// A reflector `i - tau v v^T`, which makes `a - v w^T - w v^T` of the matrix.
struct Step<'a, T> {
    tau: T,
    /// Zero before the row of its 1, as is `w`.
    v: &'a mut [T],
    w: &'a mut [T],
}

#[inline(always)]
fn reduce<S: Simd, T: Small>(s: S, uplo: Uplo, a: &mut [T], [d, e, tau]: [&mut [T]; 3], work: &mut [T]) {
    let n = d.len();
    let (lanes, length) = (Vector::<S, T>::LEN, length::<S, T>(n));
    // Of one of so many, in the order of the reflectors.
    let place = |of: usize, i: usize| if uplo == Uplo::Lower { i } else { of - 1 - i };
    let (columns, vectors) = work.split_at_mut(length * n.next_multiple_of(TOGETHER));
    columns.fill(T::zero());
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
    vectors.fill(T::zero());
    let mut vectors = vectors.chunks_exact_mut(length);
    let [column, v, w, next_v, next_w] = array::from_fn(|_| vectors.next().expect("five vectors"));
    let (mut step, mut next) = (Step { tau: T::zero(), v, w }, Step { tau: T::zero(), v: next_v, w: next_w });
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
            next.tau = reflect(s, &mut column[..n], row);
            tau[place(n - 1, i)] = next.tau;
            e[place(n - 1, i)] = column[row];
            next.v[..row].fill(T::zero());
            next.v[row] = T::one();
            next.v[row + 1..n].copy_from_slice(&column[row + 1..n]);
            next.w.fill(T::zero());
            for (first, four) in (0..).step_by(TOGETHER).zip(columns.chunks_exact_mut(TOGETHER * length)) {
                if first + TOGETHER > row {
                    step.apply(s, row, first, four, &mut next);
                }
            }
            next.finish(s, row);
        }
        let a = &mut a[place(n, i) * n..][..n];
        for (j, &x) in column[..n].iter().enumerate().skip(i) {
            a[place(n, j)] = x;
        }
        swap(&mut step, &mut next);
    }
}

impl<T: Small> Step<'_, T> {
    /// Applies the reflector to four columns, `first` and those behind it, and adds their part in the product of the matrix
    /// with the reflector of `next`, which has its 1 in `row`, to `next.w`.
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, row: usize, first: usize, four: &mut [T], next: &mut Step<'_, T>) {
        let lanes = Vector::<S, T>::LEN;
        let factors = elements::<S, T>(s, T::one(), next.v, first, row);
        let start = row / lanes * lanes;
        let four = &mut four[start * TOGETHER..];
        let sums = next.w[start..].chunks_exact_mut(lanes);
        if self.tau == T::zero() {
            for (x, sum) in four.chunks_exact(TOGETHER * lanes).zip(sums) {
                let mut total = Vector::<S, T>::from_slice(s, sum);
                for (x, factor) in x.chunks_exact(lanes).zip(factors) {
                    total = factor.mul_add(Vector::<S, T>::from_slice(s, x), total);
                }
                total.store_slice(sum);
            }
            return;
        }
        let of_v = elements::<S, T>(s, -T::one(), self.v, first, row);
        let of_w = elements::<S, T>(s, -T::one(), self.w, first, row);
        let vectors = self.v[start..].chunks_exact(lanes).zip(self.w[start..].chunks_exact(lanes));
        for ((x, (v, w)), sum) in four.chunks_exact_mut(TOGETHER * lanes).zip(vectors).zip(sums) {
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
    fn finish<S: Simd>(&mut self, s: S, row: usize) {
        self.w[..row].fill(T::zero());
        let half = T::one() / (T::one() + T::one());
        let along = -half * self.tau * self.tau * dot(s, self.w, self.v);
        for (w, &v) in self.w.iter_mut().zip(&*self.v) {
            *w = self.tau * *w + along * v;
        }
    }
}
