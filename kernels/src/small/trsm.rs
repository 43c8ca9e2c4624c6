//! The solution of each triangular system of a batch.

use fearless_simd::{Select, Simd, SimdBase, SimdFloat, SimdMask, dispatch};

use super::lanes::{pack, unpack};
use super::{Instructions, Small, Vector, divides, lanes_divide, settle_all, worth_lanes};
use crate::lapack::{Diag, Side, Transpose, Triangle, Uplo};

/// The largest size of a system: beyond it, transposing into vectors costs more than is gained on OpenBLAS.
pub(super) const LARGEST_SYSTEM: usize = 8;

/// The length of a buffer for the elements of one side of a system.
const ELEMENTS: usize = LARGEST_SYSTEM * LARGEST_SYSTEM;

/// The length of a buffer in which rows are filled up to whole vectors, of at most 16 lanes.
const ALONE: usize = LARGEST_SYSTEM * 16;

/// [`Kernels::trsm`](super::Kernels::trsm), on these instructions.
pub(super) fn trsm<T: Small>(instructions: Instructions, triangle: Triangle, m: usize, n: usize, a: &[T], b: &mut [T]) {
    assert!(m <= LARGEST_SYSTEM && n <= LARGEST_SYSTEM, "trsm: {m} x {n} is not a small size");
    if m == 0 || n == 0 {
        return;
    }
    let system = System::new(triangle, m, n);
    assert_eq!(b.len() % (m * n), 0, "trsm: b is not a batch of m x n");
    assert_eq!(a.len(), b.len() / (m * n) * system.order * system.order, "trsm: a is not a batch of square matrices");
    dispatch!(instructions.0, s => batch::<_, T>(s, system, a, b));
    settle_all(b);
}

/// A system as one with a lower triangular matrix on the left, which is solved from the first row to the last: where the
/// elements of `a` and `b` stand in it.
#[derive(Clone, Copy)]
struct System {
    /// Of the triangular matrix.
    order: usize,
    /// The number of right-hand sides.
    sides: usize,
    /// Whether the matrix is `a` transposed.
    transposed: bool,
    /// Whether the right-hand sides are the rows of `b`.
    by_rows: bool,
    /// Whether the matrix is upper triangular, and the last row is the first one solved for.
    backward: bool,
    /// Whether the diagonal is ones.
    unit: bool,
}

impl System {
    fn new(triangle: Triangle, m: usize, n: usize) -> Self {
        let by_rows = triangle.side == Side::Right;
        let transposed = (triangle.transpose != Transpose::No) != by_rows;
        System {
            order: triangle.order(m, n),
            sides: if by_rows { m } else { n },
            transposed,
            by_rows,
            backward: (triangle.uplo == Uplo::Upper) != transposed,
            unit: triangle.diag == Diag::Unit,
        }
    }

    /// The step in which an unknown is solved for.
    fn step(self, unknown: usize) -> usize {
        if self.backward { self.order - 1 - unknown } else { unknown }
    }

    /// The row and column of each element of `a` in its memory.
    fn matrix(self) -> impl Iterator<Item = (usize, usize)> {
        by_columns(self.order, self.order).map(move |(i, j)| {
            let (i, j) = (self.step(i), self.step(j));
            if self.transposed { (j, i) } else { (i, j) }
        })
    }

    /// The step and the right-hand side of each element of `b` in its memory.
    fn right(self) -> impl Iterator<Item = (usize, usize)> {
        let (m, n) = if self.by_rows { (self.sides, self.order) } else { (self.order, self.sides) };
        by_columns(m, n).map(move |(i, j)| if self.by_rows { (self.step(j), i) } else { (self.step(i), j) })
    }
}

/// The rows and columns of a matrix as it lies in memory.
fn by_columns(m: usize, n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |j| (0..m).map(move |i| (i, j)))
}

/// Where elements go in the buffers. A table takes no arithmetic for each.
struct Places {
    a: [u8; ELEMENTS],
    b: [u8; ELEMENTS],
}

impl Places {
    fn new(system: System) -> Self {
        let mut places = Places { a: [0; ELEMENTS], b: [0; ELEMENTS] };
        for (place, (i, j)) in places.a.iter_mut().zip(system.matrix()) {
            *place = (i * system.order + j) as u8;
        }
        for (place, (i, side)) in places.b.iter_mut().zip(system.right()) {
            *place = (i * system.sides + side) as u8;
        }
        places
    }
}

/// Rows of the matrix, and of the right-hand sides.
struct Buffers<V> {
    a: [V; ELEMENTS],
    b: [V; ELEMENTS],
}

#[inline(always)]
fn batch<S: Simd, T: Small>(s: S, system: System, a: &[T], b: &mut [T]) {
    let lanes = Vector::<S, T>::LEN;
    let (of_a, of_b) = (system.order * system.order, system.order * system.sides);
    let mut memory = None;
    for (a, b) in a.chunks(of_a * lanes).zip(b.chunks_mut(of_b * lanes)) {
        if worth_lanes::<S, T>(b.len() / of_b) {
            let (buffers, places) = memory.get_or_insert_with(|| {
                let zeros = [Vector::<S, T>::splat(s, T::zero()); ELEMENTS];
                (Buffers { a: zeros, b: zeros }, Places::new(system))
            });
            match (system.order, system.sides) {
                // Known sizes make unrolled loops.
                (4, 4) => in_lanes(s, [4, 4], system.unit, a, b, buffers, places),
                (8, 8) => in_lanes(s, [8, 8], system.unit, a, b, buffers, places),
                (order, sides) => in_lanes(s, [order, sides], system.unit, a, b, buffers, places),
            }
        } else {
            for (a, b) in a.chunks_exact(of_a).zip(b.chunks_exact_mut(of_b)) {
                alone(s, system, a, b);
            }
        }
    }
}

/// Up to as many systems as there are lanes.
#[inline(always)]
fn in_lanes<S: Simd, T: Small>(
    s: S,
    [order, sides]: [usize; 2],
    unit: bool,
    a: &[T],
    b: &mut [T],
    buffers: &mut Buffers<Vector<S, T>>,
    places: &Places,
) {
    let (of_a, of_b) = (&places.a[..order * order], &places.b[..order * sides]);
    pack(s, order * order, a, |x, vector| buffers.a[usize::from(of_a[x])] = vector);
    pack(s, order * sides, b, |x, vector| buffers.b[usize::from(of_b[x])] = vector);
    let (rows, right) = (&buffers.a[..order * order], &mut buffers.b[..order * sides]);
    let one = Vector::<S, T>::splat(s, T::one());
    let mut inverses = [one; LARGEST_SYSTEM];
    let mut divides = false;
    if !unit {
        for (i, inverse) in inverses[..order].iter_mut().enumerate() {
            let diagonal = rows[i * order + i];
            divides |= lanes_divide::<S, T>(s, diagonal).to_bitmask() != 0;
            *inverse = one / diagonal;
        }
    }
    let mut side = 0;
    while divides && side < sides {
        solve::<S, T, 1, true>(s, [order, sides], side, rows, &inverses, right);
        side += 1;
    }
    while side + 8 <= sides {
        solve::<S, T, 8, false>(s, [order, sides], side, rows, &inverses, right);
        side += 8;
    }
    while side + 4 <= sides {
        solve::<S, T, 4, false>(s, [order, sides], side, rows, &inverses, right);
        side += 4;
    }
    while side < sides {
        solve::<S, T, 1, false>(s, [order, sides], side, rows, &inverses, right);
        side += 1;
    }
    unpack(s, order * sides, b, |x| buffers.b[usize::from(of_b[x])]);
}

/// Solves for `SIDES` right-hand sides, from `first` on. Their sums are independent of each other. With `DIVIDES`, the lanes
/// of [`lanes_divide`] divide, and no others.
#[inline(always)]
fn solve<S: Simd, T: Small, const SIDES: usize, const DIVIDES: bool>(
    s: S,
    [order, sides]: [usize; 2],
    first: usize,
    rows: &[Vector<S, T>],
    inverses: &[Vector<S, T>; LARGEST_SYSTEM],
    right: &mut [Vector<S, T>],
) {
    for (i, row) in rows.chunks_exact(order).enumerate() {
        let (before, now) = right.split_at_mut(i * sides);
        let Some(now) = now[first..].first_chunk_mut::<SIDES>() else { return };
        let mut sums = *now;
        for (&x, solved) in row[..i].iter().zip(before.chunks_exact(sides)) {
            let factor = -x;
            for (sum, &x) in sums.iter_mut().zip(&solved[first..first + SIDES]) {
                *sum = factor.mul_add(x, *sum);
            }
        }
        let inverse = inverses[i];
        *now = sums.map(
            #[inline(always)]
            |sum| sum * inverse,
        );
        if DIVIDES {
            let divides = lanes_divide::<S, T>(s, row[i]);
            for (x, sum) in now.iter_mut().zip(sums) {
                *x = divides.select(sum / row[i], *x);
            }
        }
    }
}

/// One system, with vectors along its right-hand sides: what an element goes through is the same, in the same order.
#[inline(always)]
fn alone<S: Simd, T: Small>(s: S, system: System, a: &[T], b: &mut [T]) {
    let System { order, sides, unit, .. } = system;
    let lanes = Vector::<S, T>::LEN;
    let stride = sides.next_multiple_of(lanes);
    let mut rows = [T::zero(); ELEMENTS];
    let mut right = [T::zero(); ALONE];
    for (&x, (i, j)) in a.iter().zip(system.matrix()) {
        rows[i * order + j] = x;
    }
    for (&x, (i, side)) in b.iter().zip(system.right()) {
        right[i * stride + side] = x;
    }
    for (i, row) in rows[..order * order].chunks_exact(order).enumerate() {
        let (before, now) = right[..order * stride].split_at_mut(i * stride);
        let divides = !unit && divides(row[i]);
        let diagonal = Vector::<S, T>::splat(s, if unit { T::one() } else { row[i] });
        let inverse = Vector::<S, T>::splat(s, T::one()) / diagonal;
        for (at, block) in now[..stride].chunks_exact_mut(lanes).enumerate() {
            let mut sum = Vector::<S, T>::from_slice(s, block);
            for (&x, solved) in row[..i].iter().zip(before.chunks_exact(stride)) {
                let factor = Vector::<S, T>::splat(s, -x);
                sum = factor.mul_add(Vector::<S, T>::from_slice(s, &solved[at * lanes..][..lanes]), sum);
            }
            let solved = if divides { sum / diagonal } else { sum * inverse };
            solved.store_slice(block);
        }
    }
    for (x, (i, side)) in b.iter_mut().zip(system.right()) {
        *x = right[i * stride + side];
    }
}
