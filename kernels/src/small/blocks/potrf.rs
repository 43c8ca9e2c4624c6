//! The Cholesky factor of one matrix: columns by blocks, each from the columns before it.

use fearless_simd::{Simd, SimdBase, SimdFloat, dispatch};

use super::rows::{stride, to_rows};
use super::{Instructions, Small};
use crate::lapack::{Int, Uplo};
use crate::small::Vector;

/// The columns of a block, and the vectors of each that are computed at a time.
const WIDE: usize = 4;
const TALL: usize = 2;

/// The length of the work memory of a matrix: itself.
pub(in super::super) fn work<T: Small>(instructions: Instructions, n: usize) -> usize {
    fn length<S: Simd, T: Small>(_: S, n: usize) -> usize {
        n * stride::<S, T>(n)
    }
    dispatch!(instructions.0, s => length::<_, T>(s, n))
}

/// As LAPACK's `potrf`.
pub(in super::super) fn potrf<T: Small>(
    instructions: Instructions,
    uplo: Uplo,
    n: usize,
    a: &mut [T],
    work: &mut [T],
) -> Int {
    dispatch!(instructions.0, s => into_factor(s, uplo, n, a, work))
}

/// Works on the columns of the lower triangle, which are the rows of the upper one. What is beyond the triangle is of no
/// interest there, and is not copied back.
#[inline(always)]
fn into_factor<S: Simd, T: Small>(s: S, uplo: Uplo, n: usize, a: &mut [T], work: &mut [T]) -> Int {
    let stride = stride::<S, T>(n);
    let columns = &mut work[..n * stride];
    match uplo {
        Uplo::Lower => {
            for (j, (to, from)) in columns.chunks_exact_mut(stride).zip(a.chunks_exact(n)).enumerate() {
                to[..j].fill(T::zero());
                to[j..n].copy_from_slice(&from[j..]);
                to[n..].fill(T::zero());
            }
        }
        Uplo::Upper => to_rows(s, [n, n], a, n, columns, stride),
    }
    let info = factorise(s, n, columns, stride);
    match uplo {
        Uplo::Lower => {
            for (j, (from, to)) in columns.chunks_exact(stride).zip(a.chunks_exact_mut(n)).enumerate() {
                to[j..].copy_from_slice(&from[j..n]);
            }
        }
        Uplo::Upper => {
            for (j, to) in a.chunks_exact_mut(n).enumerate() {
                for (x, from) in to[..=j].iter_mut().zip(columns.chunks_exact(stride)) {
                    *x = from[j];
                }
            }
        }
    }
    info
}

#[inline(always)]
fn factorise<S: Simd, T: Small>(s: S, n: usize, columns: &mut [T], stride: usize) -> Int {
    let mut first = 0;
    while first < n {
        let done = if first + WIDE <= n {
            block::<S, T, WIDE>(s, n, columns, stride, first)
        } else {
            block::<S, T, 1>(s, n, columns, stride, first)
        };
        match done {
            Ok(width) => first += width,
            Err(column) => return column as Int + 1,
        }
    }
    0
}

/// `J` columns of the factor; or the one whose pivot is not positive.
#[inline(always)]
fn block<S: Simd, T: Small, const J: usize>(
    s: S,
    n: usize,
    columns: &mut [T],
    stride: usize,
    first: usize,
) -> Result<usize, usize> {
    let lanes = Vector::<S, T>::LEN;
    let (before, block) = columns.split_at_mut(first * stride);
    let block = &mut block[..J * stride];
    // What the columns before leave of the block's own rows, and its factor.
    let mut row = first / lanes * lanes;
    while row < first + J {
        let sums = reduce::<S, T, J, 1>(s, before, block, stride, first, row);
        store::<S, T, J, 1>(&sums, block, stride, row);
        row += lanes;
    }
    let (mut factor, mut inverses) = ([[T::zero(); J]; J], [T::one(); J]);
    for j in 0..J {
        let mut pivot = block[j * stride + first + j];
        for l in &factor[..j] {
            pivot -= l[j] * l[j];
        }
        let definite = pivot > T::zero(); // not so for NaN
        if !definite {
            return Err(first + j);
        }
        let root = pivot.sqrt();
        factor[j][j] = root;
        inverses[j] = T::one() / root;
        for i in j + 1..J {
            let mut x = block[j * stride + first + i];
            for l in &factor[..j] {
                x -= l[i] * l[j];
            }
            factor[j][i] = x * inverses[j];
        }
    }
    // The rows below, which begin in the last of these vectors.
    let last = load::<S, T, J, 1>(s, block, stride, row - lanes);
    store::<S, T, J, 1>(&solve(s, last, &factor, &inverses), block, stride, row - lanes);
    while row + TALL * lanes <= n.next_multiple_of(lanes) {
        let sums = reduce::<S, T, J, TALL>(s, before, block, stride, first, row);
        store::<S, T, J, TALL>(&solve(s, sums, &factor, &inverses), block, stride, row);
        row += TALL * lanes;
    }
    if row < n {
        let sums = reduce::<S, T, J, 1>(s, before, block, stride, first, row);
        store::<S, T, J, 1>(&solve(s, sums, &factor, &inverses), block, stride, row);
    }
    for (j, l) in factor.iter().enumerate() {
        block[j * stride + first + j..][..J - j].copy_from_slice(&l[j..]);
    }
    Ok(J)
}

/// Some vectors of each column of a block.
type Tile<S, T, const J: usize, const R: usize> = [[Vector<S, T>; R]; J];

#[inline(always)]
fn load<S: Simd, T: Small, const J: usize, const R: usize>(
    s: S,
    block: &[T],
    stride: usize,
    row: usize,
) -> Tile<S, T, J, R> {
    let lanes = Vector::<S, T>::LEN;
    let mut tile = [[Vector::<S, T>::splat(s, T::zero()); R]; J];
    for (j, vectors) in tile.iter_mut().enumerate() {
        let x = &block[j * stride + row..][..R * lanes];
        for (vector, x) in vectors.iter_mut().zip(x.chunks_exact(lanes)) {
            *vector = Vector::<S, T>::from_slice(s, x);
        }
    }
    tile
}

/// Rows of a block, less what the columns before have in them.
#[inline(always)]
fn reduce<S: Simd, T: Small, const J: usize, const R: usize>(
    s: S,
    before: &[T],
    block: &[T],
    stride: usize,
    first: usize,
    row: usize,
) -> Tile<S, T, J, R> {
    let lanes = Vector::<S, T>::LEN;
    let mut sums = load::<S, T, J, R>(s, block, stride, row);
    for column in before.chunks_exact(stride) {
        let x = &column[row..][..R * lanes];
        for (sums, &factor) in sums.iter_mut().zip(&column[first..first + J]) {
            let factor = Vector::<S, T>::splat(s, -factor);
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = factor.mul_add(Vector::<S, T>::from_slice(s, &x[r * lanes..][..lanes]), *sum);
            }
        }
    }
    sums
}

/// Solves with the block's factor, for rows below it.
#[inline(always)]
fn solve<S: Simd, T: Small, const J: usize, const R: usize>(
    s: S,
    mut tile: Tile<S, T, J, R>,
    factor: &[[T; J]; J],
    inverses: &[T; J],
) -> Tile<S, T, J, R> {
    for j in 0..J {
        for x in &mut tile[j] {
            *x *= Vector::<S, T>::splat(s, inverses[j]);
        }
        let solved = tile[j];
        for (sums, &factor) in tile[j + 1..].iter_mut().zip(&factor[j][j + 1..]) {
            for (sum, &x) in sums.iter_mut().zip(&solved) {
                *sum = Vector::<S, T>::splat(s, -factor).mul_add(x, *sum);
            }
        }
    }
    tile
}

#[inline(always)]
fn store<S: Simd, T: Small, const J: usize, const R: usize>(
    tile: &Tile<S, T, J, R>,
    block: &mut [T],
    stride: usize,
    row: usize,
) {
    let lanes = Vector::<S, T>::LEN;
    for (j, vectors) in tile.iter().enumerate() {
        let x = &mut block[j * stride + row..][..R * lanes];
        for (x, vector) in x.chunks_exact_mut(lanes).zip(vectors) {
            vector.store_slice(x);
        }
    }
}
