//! The solution of each tridiagonal system of a batch, each in a vector lane.

use fearless_simd::{Select, Simd, SimdBase, SimdFloat, dispatch};

use super::lanes::{pack, unpack};
use super::{Instructions, Small, Vector, settle_all};
use crate::lapack::Int;

/// The most elements of a system, in diagonals and right-hand sides: with those of the other lanes, they fill the
/// second-level cache.
const LARGEST: usize = 8192;

/// The arrays of `n` beside the right-hand sides.
const ARRAYS: usize = 5;

/// How many vectors take turns: each waits for a division before it can go on.
pub(super) const VECTORS: usize = 2;

/// The length of the work memory.
pub(super) fn work<T: Small>(instructions: Instructions, n: usize, k: usize) -> Option<usize> {
    let elements = n.checked_mul(k.checked_add(ARRAYS)?)?;
    (elements <= LARGEST).then(|| elements * VECTORS * instructions.lanes::<T>())
}

/// [`Kernels::gtsv`](super::Kernels::gtsv), on these instructions.
pub(super) fn gtsv<T: Small>(
    instructions: Instructions,
    [n, k]: [usize; 2],
    diagonals: [&[T]; 3],
    b: &mut [T],
    info: &mut [Int],
    work: &mut [T],
) {
    if n == 0 || k == 0 {
        info.fill(0);
        return;
    }
    for diagonal in diagonals {
        assert_eq!(diagonal.len(), n * info.len(), "gtsv: a diagonal has not n elements for each system");
    }
    assert_eq!(b.len(), n * k * info.len(), "gtsv: b is not a batch of n x k");
    dispatch!(instructions.0, s => batch::<_, T>(s, [n, k], diagonals, b, info, work));
    settle_all(b);
}

#[inline(always)]
fn batch<S: Simd, T: Small>(
    s: S,
    [n, k]: [usize; 2],
    [dl, d, du]: [&[T]; 3],
    b: &mut [T],
    info: &mut [Int],
    work: &mut [T],
) {
    let lanes = Vector::<S, T>::LEN;
    let most = VECTORS * lanes;
    let matrices = dl.chunks(n * most).zip(d.chunks(n * most)).zip(du.chunks(n * most));
    for ((((dl, d), du), b), info) in matrices.zip(b.chunks_mut(n * k * most)).zip(info.chunks_mut(most)) {
        if info.len() > lanes {
            in_lanes::<S, T, VECTORS>(s, [n, k], [dl, d, du], b, info, work);
        } else {
            in_lanes::<S, T, 1>(s, [n, k], [dl, d, du], b, info, work);
        }
    }
}

/// Up to as many systems as there are lanes in so many vectors.
#[inline(always)]
fn in_lanes<S: Simd, T: Small, const VECTORS: usize>(
    s: S,
    [n, k]: [usize; 2],
    [dl, d, du]: [&[T]; 3],
    b: &mut [T],
    info: &mut [Int],
    work: &mut [T],
) {
    let lanes = Vector::<S, T>::LEN;
    let row = VECTORS * lanes;
    let (arrays, right) = work[..n * (ARRAYS + k) * row].split_at_mut(n * ARRAYS * row);
    let mut system = System::new(arrays);
    load::<S, T, VECTORS>(s, n, dl, system.factors);
    load::<S, T, VECTORS>(s, n, d, system.pivots);
    load::<S, T, VECTORS>(s, n, du, system.above);
    load::<S, T, VECTORS>(s, n * k, b, right);
    let failed = system.eliminate::<S, VECTORS>(s);
    for right in right.chunks_exact_mut(n * row) {
        system.solve::<S, VECTORS>(s, right);
    }
    store::<S, T, VECTORS>(s, n * k, right, b);
    for (info, failed) in info.chunks_mut(lanes).zip(&failed) {
        for (info, &failed) in info.iter_mut().zip(failed.as_slice()) {
            *info = failed.to_i32().unwrap_or(0);
        }
    }
}

/// Rows of one element of each matrix.
#[inline(always)]
fn load<S: Simd, T: Small, const VECTORS: usize>(s: S, size: usize, matrices: &[T], rows: &mut [T]) {
    let lanes = Vector::<S, T>::LEN;
    if matrices.len() == size {
        // One system: the same in every lane.
        for (row, &x) in rows.chunks_exact_mut(lanes).zip(matrices) {
            Vector::<S, T>::splat(s, x).store_slice(row);
        }
        return;
    }
    for (v, matrices) in matrices.chunks(size * lanes).enumerate() {
        pack(s, size, matrices, |i, x| x.store_slice(&mut rows[(i * VECTORS + v) * lanes..][..lanes]));
    }
}

/// The matrices from rows of one element of each.
#[inline(always)]
fn store<S: Simd, T: Small, const VECTORS: usize>(s: S, size: usize, rows: &[T], matrices: &mut [T]) {
    let lanes = Vector::<S, T>::LEN;
    if matrices.len() == size {
        for (x, row) in matrices.iter_mut().zip(rows.chunks_exact(lanes)) {
            *x = row[0];
        }
        return;
    }
    for (v, matrices) in matrices.chunks_mut(size * lanes).enumerate() {
        unpack(s, size, matrices, |i| Vector::<S, T>::from_slice(s, &rows[(i * VECTORS + v) * lanes..][..lanes]));
    }
}

/// As many systems as there are lanes in some vectors: first their diagonals, then their factors. An element of all of them
/// is a row.
struct System<'w, T> {
    /// The diagonal; then the pivots.
    pivots: &'w mut [T],
    /// What is right of the diagonal; then what is right of the pivots.
    above: &'w mut [T],
    /// What is two places right of the pivots.
    beyond: &'w mut [T],
    /// What is left of the diagonal; then by what an equation is multiplied that is subtracted from the next one.
    factors: &'w mut [T],
    /// 1 where the next equation came first.
    swaps: &'w mut [T],
}

impl<'w, T: Small> System<'w, T> {
    fn new(arrays: &'w mut [T]) -> Self {
        let length = arrays.len() / ARRAYS;
        let (pivots, rest) = arrays.split_at_mut(length);
        let (above, rest) = rest.split_at_mut(length);
        let (beyond, rest) = rest.split_at_mut(length);
        let (factors, swaps) = rest.split_at_mut(length);
        System { pivots, above, beyond, factors, swaps }
    }

    /// Returns the step whose pivot is zero, counted from 1, or 0.
    #[inline(always)]
    fn eliminate<S: Simd, const VECTORS: usize>(&mut self, s: S) -> [Vector<S, T>; VECTORS] {
        let lanes = Vector::<S, T>::LEN;
        let row = VECTORS * lanes;
        let System { pivots, above, beyond, factors, swaps } = self;
        let load = |from: &[T], at: usize| Vector::<S, T>::from_slice(s, &from[at..at + lanes]);
        let splat = |x: T| Vector::<S, T>::splat(s, x);
        let (zero, one) = (splat(T::zero()), splat(T::one()));
        let last = pivots.len() - row;
        // There is nothing right of the last pivot, whatever the last of `du` is.
        above[last..].fill(T::zero());
        beyond[last..].fill(T::zero());
        let mut step = zero;
        let mut failed = [zero; VECTORS];
        // The equation that comes first unless it is swapped: on the diagonal, and right of it.
        let (mut pivot, mut right) = ([zero; VECTORS], [zero; VECTORS]);
        for v in 0..VECTORS {
            (pivot[v], right[v]) = (load(pivots, v * lanes), load(above, v * lanes));
        }
        for at in (0..last).step_by(row) {
            step += one;
            for v in 0..VECTORS {
                let (this, next) = (at + v * lanes, at + row + v * lanes);
                let (left, next_pivot, next_right) = (load(factors, next), load(pivots, next), load(above, next));
                // As LAPACK, with NaN too.
                let swap = !pivot[v].abs().simd_ge(left.abs());
                let first =
                    [swap.select(left, pivot[v]), swap.select(next_pivot, right[v]), swap.select(next_right, zero)];
                let second =
                    [swap.select(pivot[v], left), swap.select(right[v], next_pivot), swap.select(zero, next_right)];
                let factor = second[0] / first[0];
                failed[v] = (first[0].simd_eq(zero) & failed[v].simd_eq(zero)).select(step, failed[v]);
                first[0].store_slice(&mut pivots[this..this + lanes]);
                first[1].store_slice(&mut above[this..this + lanes]);
                first[2].store_slice(&mut beyond[this..this + lanes]);
                factor.store_slice(&mut factors[this..this + lanes]);
                swap.select(one, zero).store_slice(&mut swaps[this..this + lanes]);
                pivot[v] = (-factor).mul_add(first[1], second[1]);
                right[v] = (-factor).mul_add(first[2], second[2]);
            }
        }
        step += one;
        for v in 0..VECTORS {
            pivot[v].store_slice(&mut pivots[last + v * lanes..][..lanes]);
            failed[v] = (pivot[v].simd_eq(zero) & failed[v].simd_eq(zero)).select(step, failed[v]);
        }
        failed
    }

    /// Solves for one right-hand side of each system, in its place.
    #[inline(always)]
    fn solve<S: Simd, const VECTORS: usize>(&self, s: S, x: &mut [T]) {
        let lanes = Vector::<S, T>::LEN;
        let row = VECTORS * lanes;
        let load = |from: &[T], at: usize| Vector::<S, T>::from_slice(s, &from[at..at + lanes]);
        let zero = Vector::<S, T>::splat(s, T::zero());
        let last = x.len() - row;
        let mut before = [zero; VECTORS];
        for (v, before) in before.iter_mut().enumerate() {
            *before = load(x, v * lanes);
        }
        for at in (0..last).step_by(row) {
            for (v, before) in before.iter_mut().enumerate() {
                let at = at + v * lanes;
                let next = load(x, at + row);
                let swap = load(self.swaps, at).simd_gt(zero);
                let first = swap.select(next, *before);
                first.store_slice(&mut x[at..at + lanes]);
                *before = (-load(self.factors, at)).mul_add(first, swap.select(*before, next));
            }
        }
        for (v, before) in before.iter().enumerate() {
            before.store_slice(&mut x[last + v * lanes..][..lanes]);
        }
        let (mut next, mut after) = ([zero; VECTORS], [zero; VECTORS]);
        for at in (0..x.len()).step_by(row).rev() {
            for v in 0..VECTORS {
                let at = at + v * lanes;
                let sum = (-load(self.beyond, at)).mul_add(after[v], load(x, at));
                let sum = (-load(self.above, at)).mul_add(next[v], sum);
                (next[v], after[v]) = (sum / load(self.pivots, at), next[v]);
                next[v].store_slice(&mut x[at..at + lanes]);
            }
        }
    }
}
