//! The factorisation of one block of columns, by rows of a few vectors each.
//!
//! A row times its own element in column `k`, summed over the rows, is the product of column `k` with every column of the
//! block at once: those before it, which `t` is made of, and those behind it, which the reflector is applied to.

use std::array;

use fearless_simd::{Select, Simd, SimdBase, SimdFloat};

use super::reflector::Reflector;
use super::reflectors::{MOST, Triangle, extend, width};
use crate::small::{Small, Vector, index};

/// The most vectors of a row: 8 elements in vectors of two.
const VECTORS: usize = 4;

/// One row of a block. Vectors beyond the block's are not used.
type Row<S, T> = [Vector<S, T>; VECTORS];

#[inline(always)]
fn load<S: Simd, T: Small>(s: S, row: &[T]) -> Row<S, T> {
    let mut vectors = [Vector::<S, T>::splat(s, T::zero()); VECTORS];
    for (vector, x) in vectors.iter_mut().zip(row.chunks_exact(Vector::<S, T>::LEN)) {
        *vector = Vector::<S, T>::from_slice(s, x);
    }
    vectors
}

#[inline(always)]
fn store<S: Simd, T: Small>(vectors: &Row<S, T>, row: &mut [T]) {
    for (vector, x) in vectors.iter().zip(row.chunks_exact_mut(Vector::<S, T>::LEN)) {
        vector.store_slice(x);
    }
}

/// The sum of the products of two rows that come from each row of a block: four sums, which do not wait for each other.
#[inline(always)]
fn sum<S: Simd, T: Small>(s: S, rows: &[T], factors: impl Fn(&[T]) -> (Row<S, T>, Row<S, T>)) -> Row<S, T> {
    let width = width::<S, T>();
    let mut sums = [[Vector::<S, T>::splat(s, T::zero()); VECTORS]; 4];
    let mut fours = rows.chunks_exact(4 * width);
    for four in &mut fours {
        for (i, sums) in sums.iter_mut().enumerate() {
            add::<S, T>(sums, factors(&four[i * width..][..width]));
        }
    }
    for row in fours.remainder().chunks_exact(width) {
        add::<S, T>(&mut sums[0], factors(row));
    }
    total::<S, T>(sums)
}

#[inline(always)]
fn add<S: Simd, T: Small>(sums: &mut Row<S, T>, (x, y): (Row<S, T>, Row<S, T>)) {
    for j in 0..width::<S, T>() / Vector::<S, T>::LEN {
        sums[j] = x[j].mul_add(y[j], sums[j]);
    }
}

#[inline(always)]
fn total<S: Simd, T: Small>([mut a, b, c, d]: [Row<S, T>; 4]) -> Row<S, T> {
    for j in 0..VECTORS {
        a[j] = (a[j] + b[j]) + (c[j] + d[j]);
    }
    a
}

/// The sum of the squares of each column.
#[inline(always)]
fn squares<S: Simd, T: Small>(s: S, rows: &[T]) -> Row<S, T> {
    sum(
        s,
        rows,
        #[inline(always)]
        |row| {
            let x = load::<S, T>(s, row);
            (x, x)
        },
    )
}

/// The product of each column with column `k` times `scale`.
#[inline(always)]
fn products<S: Simd, T: Small>(s: S, rows: &[T], k: usize, scale: Vector<S, T>) -> Row<S, T> {
    sum(
        s,
        rows,
        #[inline(always)]
        |row| ([Vector::<S, T>::splat(s, row[k]) * scale; VECTORS], load::<S, T>(s, row)),
    )
}

/// What a reflector makes of a row below its own: in its column, an element becomes the reflector's; behind it, the
/// reflector is taken off.
struct Step<S: Simd, T: Small> {
    k: usize,
    scale: Vector<S, T>,
    /// `scale` in column `k`, 1 elsewhere.
    scales: Row<S, T>,
    /// `-tau` times the product of the reflector with each column.
    factors: Row<S, T>,
    behind: [<Vector<S, T> as SimdBase<S>>::Mask; VECTORS],
}

impl<S: Simd, T: Small> Step<S, T> {
    /// The row as it is then, twice: for the sum of its squares.
    #[inline(always)]
    fn update(&self, s: S, row: &mut [T]) -> (Row<S, T>, Row<S, T>) {
        let mut x = load::<S, T>(s, row);
        let v = Vector::<S, T>::splat(s, row[self.k]) * self.scale;
        for (j, x) in x.iter_mut().enumerate().take(width::<S, T>() / Vector::<S, T>::LEN) {
            *x = self.behind[j].select(v.mul_add(self.factors[j], *x), *x * self.scales[j]);
        }
        store::<S, T>(&x, row);
        (x, x)
    }
}

/// Factorises a block whose rows begin at its diagonal: `tau.len()` reflectors, and what they make of the columns behind.
/// Returns their `t`.
#[inline(always)]
pub(super) fn factorise<S: Simd, T: Small>(s: S, block: &mut [T], tau: &mut [T]) -> Triangle<T> {
    let (lanes, width) = (Vector::<S, T>::LEN, width::<S, T>());
    let vectors = width / lanes;
    let one = Vector::<S, T>::splat(s, T::one());
    let columns: Row<S, T> = array::from_fn(
        #[inline(always)]
        |j| {
            Vector::<S, T>::from_fn(
                s,
                #[inline(always)]
                |i| From::from((j * lanes + i) as u8),
            )
        },
    );
    let mut t = [[T::zero(); MOST]; MOST];
    let mut sums_of_squares = squares::<S, T>(s, &block[width..]);
    for (k, tau) in tau.iter_mut().enumerate() {
        let (alpha, below) = (block[k * width + k], block.get_mut((k + 1) * width + k..).unwrap_or_default());
        let reflector = Reflector::of(alpha, sums_of_squares[k / lanes][k % lanes], below, width);
        *tau = reflector.tau;
        let scale = Vector::<S, T>::splat(s, reflector.scale);
        let (above, below) = block.split_at_mut((k + 1) * width);
        let row = &mut above[k * width..];

        let mut sums = products::<S, T>(s, below, k, scale);
        for (sum, x) in sums.iter_mut().zip(load::<S, T>(s, row)) {
            *sum += x;
        }
        let mut with_columns = [T::zero(); MOST];
        store::<S, T>(&sums, &mut with_columns);
        extend(&mut t, k, *tau, &with_columns);
        row[k] = reflector.beta;
        if *tau == T::zero() {
            // What is not finite does not pass through a reflector that is none.
            sums_of_squares = squares::<S, T>(s, below.get(width..).unwrap_or_default());
            continue;
        }
        for (x, &sum) in row.iter_mut().zip(&with_columns).skip(k + 1) {
            *x -= *tau * sum;
        }

        let this = index::<S, T>(s, k);
        let mut step = Step { k, scale, scales: sums, factors: sums, behind: [one.simd_gt(one); VECTORS] };
        for j in 0..vectors {
            step.behind[j] = columns[j].simd_gt(this);
            step.scales[j] = columns[j].simd_eq(this).select(scale, one);
            step.factors[j] = sums[j] * Vector::<S, T>::splat(s, -*tau);
        }
        // The first row is the next reflector's diagonal; below it, its squares are summed meanwhile.
        let (first, rest) = below.split_at_mut(width.min(below.len()));
        first.chunks_exact_mut(width).for_each(|row| _ = step.update(s, row));
        let mut sums = [[Vector::<S, T>::splat(s, T::zero()); VECTORS]; 4];
        let mut fours = rest.chunks_exact_mut(4 * width);
        for four in &mut fours {
            for (i, sums) in sums.iter_mut().enumerate() {
                add::<S, T>(sums, step.update(s, &mut four[i * width..][..width]));
            }
        }
        for row in fours.into_remainder().chunks_exact_mut(width) {
            add::<S, T>(&mut sums[0], step.update(s, row));
        }
        sums_of_squares = total::<S, T>(sums);
    }
    t
}
