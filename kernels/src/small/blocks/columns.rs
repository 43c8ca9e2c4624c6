//! A matrix whose columns lie four together, one vector of each in turn: a loop over them reads one place of memory.

use std::array;

use fearless_simd::{Simd, SimdBase, SimdFloat, dispatch};

use super::reflector::Reflector;
use super::{Instructions, Small};
use crate::small::Vector;

/// The columns that lie together.
pub(super) const TOGETHER: usize = 4;

/// The length of a column: whole vectors.
pub(super) fn length<S: Simd, T: Small>(n: usize) -> usize {
    n.next_multiple_of(Vector::<S, T>::LEN)
}

/// The length of the work memory for the form of a matrix: its columns, one of them again, and two pairs of vectors.
pub(in super::super) fn work<T: Small>(instructions: Instructions, n: usize) -> usize {
    #[inline(always)]
    fn work<S: Simd, T: Small>(_: S, n: usize) -> usize {
        length::<S, T>(n) * (n.next_multiple_of(TOGETHER) + 5)
    }
    dispatch!(instructions.0, s => work::<_, T>(s, n))
}

/// A reflector `i - tau v v^T`, and what it makes of a matrix: see the form that it is for.
pub(super) struct Step<'a, T> {
    pub(super) tau: T,
    /// Zero before the row of its 1.
    pub(super) v: &'a mut [T],
    pub(super) w: &'a mut [T],
}

/// The work memory of a matrix: its columns, one of them again, and two steps, none of which does anything yet.
pub(super) fn split<S: Simd, T: Small>(n: usize, work: &mut [T]) -> (&mut [T], &mut [T], [Step<'_, T>; 2]) {
    let length = length::<S, T>(n);
    let (columns, vectors) = work.split_at_mut(length * n.next_multiple_of(TOGETHER));
    columns.fill(T::zero());
    vectors.fill(T::zero());
    let mut vectors = vectors.chunks_exact_mut(length);
    let [column, v, w, next_v, next_w] = array::from_fn(|_| vectors.next().expect("five vectors"));
    (columns, column, [Step { tau: T::zero(), v, w }, Step { tau: T::zero(), v: next_v, w: next_w }])
}

impl<T: Small> Step<'_, T> {
    /// Becomes the reflector that leaves nothing of a column below `row`: there is what it leaves, below it its own
    /// elements. `w` becomes zeros.
    #[inline(always)]
    pub(super) fn reflect<S: Simd>(&mut self, s: S, column: &mut [T], row: usize) {
        let (head, below) = column.split_at_mut(row + 1);
        let alpha = &mut head[row];
        let reflector = Reflector::of(*alpha, dot(s, below, below), below, 1);
        *alpha = reflector.beta;
        for x in &mut *below {
            *x *= reflector.scale;
        }
        self.tau = reflector.tau;
        self.v[..row].fill(T::zero());
        self.v[row] = T::one();
        self.v[row + 1..column.len()].copy_from_slice(&column[row + 1..]);
        self.w.fill(T::zero());
    }
}

/// Moves one of four columns out.
#[inline(always)]
pub(super) fn take<S: Simd, T: Small>(s: S, k: usize, four: &mut [T], column: &mut [T]) {
    let lanes = Vector::<S, T>::LEN;
    for (x, column) in four.chunks_exact_mut(TOGETHER * lanes).zip(column.chunks_exact_mut(lanes)) {
        let x = &mut x[k * lanes..][..lanes];
        Vector::<S, T>::from_slice(s, x).store_slice(column);
        Vector::<S, T>::splat(s, T::zero()).store_slice(x);
    }
}

/// The product of two vectors: four sums, which do not wait for each other.
#[inline(always)]
pub(super) fn dot<S: Simd, T: Small>(s: S, x: &[T], y: &[T]) -> T {
    let lanes = Vector::<S, T>::LEN;
    let mut sums = [Vector::<S, T>::splat(s, T::zero()); 4];
    let (mut xs, mut ys) = (x.chunks_exact(4 * lanes), y.chunks_exact(4 * lanes));
    for (x, y) in (&mut xs).zip(&mut ys) {
        for ((sum, x), y) in sums.iter_mut().zip(x.chunks_exact(lanes)).zip(y.chunks_exact(lanes)) {
            *sum = Vector::<S, T>::from_slice(s, x).mul_add(Vector::<S, T>::from_slice(s, y), *sum);
        }
    }
    let rest = xs.remainder().iter().zip(ys.remainder()).fold(T::zero(), |sum, (&x, &y)| sum + x * y);
    ((sums[0] + sums[1]) + (sums[2] + sums[3])).reduce_sum() + rest
}

/// Four elements of `v`, times `scale`, from `first` on: zeros before `row`, and beyond the end.
#[inline(always)]
pub(super) fn elements<S: Simd, T: Small>(
    s: S,
    scale: T,
    v: &[T],
    first: usize,
    row: usize,
) -> [Vector<S, T>; TOGETHER] {
    let mut elements = [Vector::<S, T>::splat(s, T::zero()); TOGETHER];
    for (k, (element, &v)) in elements.iter_mut().zip(v.iter().skip(first)).enumerate() {
        if first + k >= row {
            *element = Vector::<S, T>::splat(s, scale * v);
        }
    }
    elements
}

/// Adds the sum of four columns, times a factor each, to `sums`.
#[inline(always)]
pub(super) fn sum<S: Simd, T: Small>(s: S, four: &[T], factors: [Vector<S, T>; TOGETHER], sums: &mut [T]) {
    let lanes = Vector::<S, T>::LEN;
    for (x, sum) in four.chunks_exact(TOGETHER * lanes).zip(sums.chunks_exact_mut(lanes)) {
        let mut total = Vector::<S, T>::from_slice(s, sum);
        for (x, factor) in x.chunks_exact(lanes).zip(factors) {
            total = factor.mul_add(Vector::<S, T>::from_slice(s, x), total);
        }
        total.store_slice(sum);
    }
}

/// Adds `vector`, times an element of `times` each, to four columns, and then their sum to `sums`, as [`sum`] does.
#[inline(always)]
pub(super) fn add_and_sum<S: Simd, T: Small>(
    s: S,
    four: &mut [T],
    times: [Vector<S, T>; TOGETHER],
    vector: &[T],
    factors: [Vector<S, T>; TOGETHER],
    sums: &mut [T],
) {
    let lanes = Vector::<S, T>::LEN;
    let rows = four.chunks_exact_mut(TOGETHER * lanes).zip(vector.chunks_exact(lanes));
    for ((x, vector), sum) in rows.zip(sums.chunks_exact_mut(lanes)) {
        let vector = Vector::<S, T>::from_slice(s, vector);
        let mut total = Vector::<S, T>::from_slice(s, sum);
        for ((x, times), factor) in x.chunks_exact_mut(lanes).zip(times).zip(factors) {
            let new = times.mul_add(vector, Vector::<S, T>::from_slice(s, x));
            new.store_slice(x);
            total = factor.mul_add(new, total);
        }
        total.store_slice(sum);
    }
}
