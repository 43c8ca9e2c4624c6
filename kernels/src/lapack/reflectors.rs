//! Householder reflectors in blocks, as LAPACK's `geqrf` and `orgqr` have them, but from 33 columns on instead of 129: up
//! to there LAPACK's own take one column at a time, which costs twice as much.

use std::ffi::c_char;

use super::flags::{Letter, Transpose};
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{leading, len};

/// The columns of a block.
const BLOCK: usize = 16;

/// With more reflectors than this, blocks are faster.
pub(super) const ONE_BY_ONE: usize = 32;

/// The work memory of a matrix of `n` columns: a block's triangle, and as much as its columns take in a product.
pub(super) fn work(n: usize) -> usize {
    BLOCK * (BLOCK + n)
}

/// The blocks of `k` reflectors: the first column of each, and how many it has.
pub(super) fn blocks(k: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> + ExactSizeIterator {
    (0..k.div_ceil(BLOCK)).map(move |block| (block * BLOCK, BLOCK.min(k - block * BLOCK)))
}

/// One block of reflectors in a matrix of `m x n`: the columns from `first` on, from the diagonal down.
pub(super) struct Block {
    pub(super) m: Int,
    pub(super) n: Int,
    pub(super) first: usize,
    pub(super) width: usize,
}

impl Block {
    /// The rows from the block's diagonal down.
    pub(super) fn rows(&self) -> Int {
        self.m - self.first as Int
    }

    /// Where the block begins in the matrix.
    pub(super) fn place(&self) -> usize {
        self.first * (len(self.m) + 1)
    }

    /// Multiplies the columns behind the block, from its first row down, by the product of its reflectors, from the left.
    ///
    /// `tau` are the block's own factors, and `memory` is as long as [`work`] says.
    pub(super) fn apply<T: Lapack>(
        &self,
        routines: &Routines<T>,
        transpose: Transpose,
        a: &mut [T],
        tau: &[T],
        memory: &mut [T],
    ) {
        let behind = len(self.n) - self.first - self.width;
        if behind == 0 {
            return;
        }
        assert_eq!(a.len(), len(self.m) * len(self.n), "reflectors: a is not m x n");
        assert_eq!(tau.len(), self.width, "reflectors: there is not one tau for each");
        assert!(memory.len() >= work(len(self.n)), "reflectors: the work memory is too short");
        let (triangle, product) = memory.split_at_mut(BLOCK * BLOCK);
        let (rows, columns, width, ld) = (self.rows(), behind as Int, self.width as Int, leading(self.m));
        let [left, forward, by_columns] = b"LFC".map(|letter| letter as c_char);
        let transpose = transpose.letter();
        let (block, rest) = a[self.place()..].split_at_mut(self.width * len(self.m));
        let (t, work) = (triangle.as_mut_ptr(), product.as_mut_ptr());
        // SAFETY: L1, L4: the block is `rows x width` in a matrix with leading dimension `m`, `tau` has `width` and `t`
        // `width x width` elements.
        unsafe {
            (routines.larft)(&forward, &by_columns, &rows, &width, block.as_ptr(), &ld, tau.as_ptr(), t, &width);
        }
        // SAFETY: L1, L4: as above; `rest` is `rows x columns` with the same leading dimension, and `work` has
        // `columns x width` elements, with leading dimension `columns`.
        unsafe {
            (routines.larfb)(
                &left,
                &transpose,
                &forward,
                &by_columns,
                &rows,
                &columns,
                &width,
                block.as_ptr(),
                &ld,
                t,
                &width,
                rest.as_mut_ptr(),
                &ld,
                work,
                &columns,
            );
        }
    }
}
