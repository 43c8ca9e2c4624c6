//! The LU factors of each matrix of a batch.

use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask, dispatch};

use super::lanes::{pack, unpack};
use super::{
    ALONE, IN_LANES, Instructions, LARGEST, Small, Vector, divides, index, lanes_divide, places, settle_all,
    worth_lanes,
};
use crate::lapack::Int;

const SHORT: usize = IN_LANES[0];

/// [`Factors::getrf`](super::Factors::getrf), on these instructions.
pub(super) fn getrf<T: Small>(
    instructions: Instructions,
    m: usize,
    n: usize,
    a: &mut [T],
    pivots: &mut [Int],
    info: &mut [Int],
) {
    assert!(m <= LARGEST && n <= LARGEST, "getrf: {m} x {n} is not a small size");
    assert_eq!(a.len(), m * n * info.len(), "getrf: a is not a batch of m x n");
    assert_eq!(pivots.len(), m.min(n) * info.len(), "getrf: there are not min(m, n) pivots for each matrix");
    if m == 0 || n == 0 {
        info.fill(0);
        return;
    }
    if m <= 8 && n <= 8 {
        dispatch!(instructions.0, s => batch::<_, T, SHORT, { ALONE[0] }>(s, m, n, a, pivots, info));
    } else {
        dispatch!(instructions.0, s => batch::<_, T, { IN_LANES[1] }, { ALONE[1] }>(s, m, n, a, pivots, info));
    }
    settle_all(a);
}

#[inline(always)]
fn batch<S: Simd, T: Small, const IN_LANES: usize, const ALONE: usize>(
    s: S,
    m: usize,
    n: usize,
    a: &mut [T],
    pivots: &mut [Int],
    info: &mut [Int],
) {
    let (lanes, k) = (Vector::<S, T>::LEN, m.min(n));
    let mut memory = None;
    let groups = a.chunks_mut(m * n * lanes).zip(pivots.chunks_mut(k * lanes)).zip(info.chunks_mut(lanes));
    for ((a, pivots), info) in groups {
        if worth_lanes::<S, T>(info.len()) {
            let (buffer, places) = memory
                .get_or_insert_with(|| ([Vector::<S, T>::splat(s, T::zero()); IN_LANES], places(m, n, m + 1, false)));
            let places = &places[..m * n];
            match (m, n) {
                // Known sizes make unrolled loops.
                (4, 4) if IN_LANES == SHORT => in_lanes(s, [4, 4], a, pivots, info, buffer, places),
                (8, 8) if IN_LANES == SHORT => in_lanes(s, [8, 8], a, pivots, info, buffer, places),
                _ => in_lanes(s, [m, n], a, pivots, info, buffer, places),
            }
        } else {
            let matrices = a.chunks_exact_mut(m * n).zip(pivots.chunks_exact_mut(k)).zip(info);
            for ((a, pivots), info) in matrices {
                *info = alone::<_, _, ALONE>(s, m, n, a, pivots);
            }
        }
    }
}

/// Up to as many matrices as there are lanes.
#[inline(always)]
fn in_lanes<S: Simd, T: Small>(
    s: S,
    [m, n]: [usize; 2],
    a: &mut [T],
    pivots: &mut [Int],
    info: &mut [Int],
    buffer: &mut [Vector<S, T>],
    places: &[u16],
) {
    pack(s, m * n, a, |x, vector| buffer[usize::from(places[x])] = vector);
    let mut rows = [Vector::<S, T>::splat(s, T::zero()); LARGEST];
    let failed = factorise::<S, T>(s, m, n, buffer, &mut rows);
    unpack(s, m * n, a, |x| buffer[usize::from(places[x])]);
    let int = |x: T| x.to_i32().unwrap_or(0);
    for (lane, (info, pivots)) in info.iter_mut().zip(pivots.chunks_exact_mut(m.min(n))).enumerate() {
        *info = int(failed[lane]);
        for (pivot, row) in pivots.iter_mut().zip(&rows) {
            *pivot = int(row[lane]) + 1;
        }
    }
}

/// Writes the row that each step swaps with to `rows`; returns the step whose pivot is zero, counted from 1.
#[inline(always)]
fn factorise<S: Simd, T: Small>(
    s: S,
    m: usize,
    n: usize,
    buffer: &mut [Vector<S, T>],
    rows: &mut [Vector<S, T>; LARGEST],
) -> Vector<S, T> {
    let stride = m + 1;
    let splat = |x: T| Vector::<S, T>::splat(s, x);
    let index = |i: usize| index::<S, T>(s, i);
    let (zero, one) = (splat(T::zero()), splat(T::one()));
    let buffer = &mut buffer[..n * stride];
    let mut failed = zero;
    for k in 0..m.min(n) {
        let column = &buffer[k * stride..k * stride + m];
        let (mut largest, mut row) = (column[k].abs(), index(k));
        for (i, x) in column.iter().enumerate().skip(k + 1) {
            let size = x.abs();
            let larger = size.simd_gt(largest);
            largest = larger.select(size, largest);
            row = larger.select(index(i), row);
        }
        rows[k] = row;
        swap::<S, T>(s, k, row, buffer, stride);

        let (before, after) = buffer.split_at_mut((k + 1) * stride);
        let column = &mut before[k * stride..k * stride + m];
        let pivot = column[k];
        let is_zero = pivot.simd_eq(zero);
        failed = (is_zero & failed.simd_eq(zero)).select(index(k + 1), failed);
        let inverse = is_zero.select(one, one / pivot);
        let divides = lanes_divide::<S, T>(s, pivot);
        if divides.to_bitmask() == 0 {
            for x in &mut column[k + 1..] {
                *x *= inverse;
            }
        } else {
            for x in &mut column[k + 1..] {
                *x = divides.select(*x / pivot, *x * inverse);
            }
        }
        for later in after.chunks_exact_mut(stride) {
            let factor = -later[k];
            for (x, &multiple) in later[k + 1..m].iter_mut().zip(&column[k + 1..]) {
                *x = factor.mul_add(multiple, *x);
            }
        }
    }
    failed
}

/// Swaps row `k` of each matrix with its `row`.
#[inline(always)]
pub(super) fn swap<S: Simd, T: Small>(s: S, k: usize, row: Vector<S, T>, buffer: &mut [Vector<S, T>], stride: usize) {
    // Few rows are named by any lane.
    let mut named: u64 = 0;
    for x in row.as_slice() {
        named |= 1 << x.to_u32().unwrap_or(0);
    }
    named &= !(1 << k);
    if named == 0 {
        return;
    }
    for column in buffer.chunks_exact_mut(stride) {
        let from = column[k];
        let mut to = from;
        let mut left = named;
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            let here = row.simd_eq(index::<S, T>(s, i));
            to = here.select(column[i], to);
            column[i] = here.select(from, column[i]);
        }
        column[k] = to;
    }
}

/// One matrix, with vectors along its columns: what an element goes through is the same, in the same order.
#[inline(always)]
fn alone<S: Simd, T: Small, const ALONE: usize>(s: S, m: usize, n: usize, a: &mut [T], pivots: &mut [Int]) -> Int {
    let lanes = Vector::<S, T>::LEN;
    let stride = m.next_multiple_of(lanes);
    let mut buffer = [T::zero(); ALONE];
    for (column, from) in buffer.chunks_exact_mut(stride).zip(a.chunks_exact(m)) {
        column[..m].copy_from_slice(from);
    }
    let mut info = 0;
    for (k, pivot_row) in pivots.iter_mut().enumerate() {
        let mut row = k;
        for i in k + 1..m {
            if buffer[k * stride + i].abs() > buffer[k * stride + row].abs() {
                row = i;
            }
        }
        *pivot_row = row as Int + 1;
        if row != k {
            for column in buffer[..n * stride].chunks_exact_mut(stride) {
                column.swap(k, row);
            }
        }
        let (before, after) = buffer[..n * stride].split_at_mut((k + 1) * stride);
        let column = &mut before[k * stride..];
        let pivot = column[k];
        if pivot == T::zero() {
            if info == 0 {
                info = k as Int + 1;
            }
        } else if divides(pivot) {
            column[k + 1..m].iter_mut().for_each(|x| *x /= pivot);
        } else {
            let inverse = T::one() / pivot;
            column[k + 1..m].iter_mut().for_each(|x| *x *= inverse);
        }
        // From the block that holds row k + 1; what is above that row in the block belongs to u, and is put back.
        let first = (k + 1) / lanes * lanes;
        for later in after.chunks_exact_mut(stride) {
            let factor = Vector::<S, T>::splat(s, -later[k]);
            let mut above = [T::zero(); LARGEST];
            above[first..=k].copy_from_slice(&later[first..=k]);
            let blocks = later[first..].chunks_exact_mut(lanes).zip(column[first..].chunks_exact(lanes));
            for (block, multiples) in blocks {
                let x = Vector::<S, T>::from_slice(s, block);
                factor.mul_add(Vector::<S, T>::from_slice(s, multiples), x).store_slice(block);
            }
            later[first..=k].copy_from_slice(&above[first..=k]);
        }
    }
    for (column, to) in buffer.chunks_exact(stride).zip(a.chunks_exact_mut(m)) {
        to.copy_from_slice(&column[..m]);
    }
    info
}
