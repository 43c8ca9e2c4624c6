//! `trtrs`: the solution of a square triangular system.

use oxidax::Error;

use super::flags::{Letter, Transpose, Uplo};
use super::library::Library;
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, leading, len};
use super::workspace::Lengths;

/// `op(a) x = b`, in place of `b`, for `a` and `b` of `n x n`.
///
/// Only the triangle `uplo` of `a` is read. There are as many right-hand sides as rows because a single one is solved
/// with `gemv`, which reads beyond `a` (`BEYOND`). Input that is not finite propagates.
#[derive(Clone, Copy)]
pub struct Trtrs<T: Lapack> {
    routines: &'static Routines<T>,
    uplo: Uplo,
    transpose: Transpose,
    n: Int,
}

impl<T: Lapack> Trtrs<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if `n` does not fit LAPACK's integers.
    pub fn new(uplo: Uplo, transpose: Transpose, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(n), uplo, transpose, n)
    }

    /// The library that serves the shape.
    pub fn library(n: usize) -> &'static Library {
        Library::serving(n)
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, uplo: Uplo, transpose: Transpose, n: usize) -> Result<Self, Error> {
        Ok(Trtrs { routines: library.routines(), uplo, transpose, n: sizes::int("n", n)? })
    }

    /// None.
    pub fn workspace(&self) -> Lengths {
        Lengths::default()
    }

    /// Solves. info > 0: that element of the diagonal is zero, and `b` is as it was.
    pub fn run(&self, a: &[T], b: &mut [T]) -> Int {
        let Trtrs { routines, uplo, transpose, n } = *self;
        assert_eq!((a.len(), b.len()), (len(n) * len(n), len(n) * len(n)), "trtrs: a or b is not n x n");
        if n == 0 {
            return 0;
        }
        // OpenBLAS looks for the smallest element, and misses a zero beside NaN.
        if let Some(i) = a.iter().step_by(len(n) + 1).position(|x| x.is_zero()) {
            return i as Int + 1;
        }
        let (uplo, transpose, diag, ld) = (uplo.letter(), transpose.letter(), b'N' as _, leading(n));
        let (a, b) = (a.as_ptr(), b.as_mut_ptr());
        let mut info = 0;
        // SAFETY: L1, L4: `a` and `b` are `n x n`, with leading dimension `n`.
        unsafe { (routines.trtrs)(&uplo, &transpose, &diag, &n, &n, a, &ld, b, &ld, &mut info) };
        info
    }
}
