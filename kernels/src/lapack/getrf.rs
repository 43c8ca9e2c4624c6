//! `getrf`: LU factors with row swaps.

use oxidax::{Error, Scratch};

use super::library::Library;
use super::routines::{Int, Routines};
use super::scalar::{Lapack, all_finite};
use super::sizes::{self, leading, len};
use super::workspace::Lengths;

/// The bytes of a cache line, on which vector code does not begin with single elements.
const LINE: usize = 64;

/// `a = p l u`, in place, for `a` of `m x n`. A singular matrix has factors too. Input that is not finite propagates.
#[derive(Clone, Copy)]
pub struct Getrf<T: Lapack> {
    routines: &'static Routines<T>,
    m: Int,
    n: Int,
}

impl<T: Lapack> Getrf<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size does not fit LAPACK's integers.
    pub fn new(m: usize, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(m, n), m, n)
    }

    /// The library that serves the shape.
    pub fn library(m: usize, n: usize) -> &'static Library {
        Library::serving(m.min(n))
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, m: usize, n: usize) -> Result<Self, Error> {
        Ok(Getrf { routines: library.routines(), m: sizes::int("m", m)?, n: sizes::int("n", n)? })
    }

    /// None.
    pub fn workspace(&self) -> Lengths {
        Lengths::default()
    }

    /// Factorises `a`; `pivots[i]`, counted from 1, is the row that row `i` was swapped with, of `min(m, n)`.
    /// info > 0: that pivot, the first of them, is zero.
    pub fn run(&self, a: &mut [T], pivots: &mut [Int]) -> Int {
        let Getrf { m, n, .. } = *self;
        assert_eq!(a.len(), len(m) * len(n), "getrf: a is not m x n");
        assert_eq!(pivots.len(), len(m.min(n)), "getrf: there is not one pivot for each of min(m, n)");
        if m == 0 || n == 0 {
            return 0;
        }
        // OpenBLAS's search for the largest element skips NaN or stops at it, depending on its place in a vector: such a
        // matrix is factorised where every matrix begins alike.
        let info = if a.as_ptr().addr().is_multiple_of(LINE) || all_finite(a) {
            self.call(a, pivots)
        } else {
            Scratch::with(|scratch| match scratch.take(a.len()) {
                Ok(copy) => {
                    copy.copy_from_slice(a);
                    let info = self.call(copy, pivots);
                    a.copy_from_slice(copy);
                    info
                }
                Err(_) => self.call(a, pivots),
            })
        };
        // A search for the largest of several NaN may name any row, or none. What reads pivots indexes with them.
        for (row, pivot) in (1..).zip(pivots) {
            if !(row..=m).contains(pivot) {
                *pivot = row;
            }
        }
        info
    }

    /// Calls LAPACK, on slices whose lengths the caller has compared with the shape.
    fn call(&self, a: &mut [T], pivots: &mut [Int]) -> Int {
        let Getrf { routines, m, n } = *self;
        let mut info = 0;
        // SAFETY: L1, L4: `a` is `m x n` with leading dimension `m`, and `pivots` has `min(m, n)` elements.
        unsafe { (routines.getrf)(&m, &n, a.as_mut_ptr(), &leading(m), pivots.as_mut_ptr(), &mut info) };
        info
    }
}
