//! `potrf`: the Cholesky factor of a symmetric or Hermitian positive definite matrix.

use num_traits::Float;
use oxidax::Error;

use super::flags::{Letter, Uplo};
use super::library::Library;
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, leading, len};
use super::workspace::Lengths;

/// `a = l l^H` or `a = u^H u`, in place, for `a` of `n x n`.
///
/// Only the triangle `uplo` is read and written, the other one keeps its bits. The imaginary part of the diagonal is taken
/// for zero. Input that is not finite propagates, and a pivot that is NaN is info > 0.
#[derive(Clone, Copy)]
pub struct Potrf<T: Lapack> {
    routines: &'static Routines<T>,
    uplo: Uplo,
    n: Int,
}

impl<T: Lapack> Potrf<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if `n` does not fit LAPACK's integers.
    pub fn new(uplo: Uplo, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(n), uplo, n)
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
    pub fn on(library: &'static Library, uplo: Uplo, n: usize) -> Result<Self, Error> {
        Ok(Potrf { routines: library.routines(), uplo, n: sizes::int("n", n)? })
    }

    /// None.
    pub fn workspace(&self) -> Lengths {
        Lengths::default()
    }

    /// Factorises `a`. info > 0: the leading minor of that order is not positive definite, and `a` is partly factorised.
    pub fn run(&self, a: &mut [T]) -> Int {
        let Potrf { routines, uplo, n } = *self;
        assert_eq!(a.len(), len(n) * len(n), "potrf: a is not n x n");
        if n == 0 {
            return 0;
        }
        let mut info = 0;
        // SAFETY: L1, L4: `a` is `n x n`, with leading dimension `n`.
        unsafe { (routines.potrf)(&uplo.letter(), &n, a.as_mut_ptr(), &leading(n), &mut info) };
        // This OpenBLAS compares a pivot with zero, which NaN passes; LAPACK's own code stops at it.
        let missing = || a.iter().step_by(len(n) + 1).position(|pivot| pivot.re().is_nan());
        match info {
            0 => missing().map_or(0, |i| i as Int + 1),
            info => info,
        }
    }
}
