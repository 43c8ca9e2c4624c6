//! `trsm`: the solution of a triangular system with several right-hand sides. Of BLAS, not LAPACK.

use oxidax::Error;

use super::flags::{Diag, Letter, Side, Transpose, Uplo};
use super::library::Library;
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, leading, len};
use super::workspace::Lengths;

/// What is read of a triangular matrix, and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Triangle {
    /// `op(a) x = b`, or `x op(a) = b`.
    pub side: Side,
    /// The triangle that is read.
    pub uplo: Uplo,
    /// What `op` is.
    pub transpose: Transpose,
    /// Whether the diagonal is read.
    pub diag: Diag,
}

impl Triangle {
    /// The number of rows and columns of `a`, for `b` of `m x n`.
    pub fn order(self, m: usize, n: usize) -> usize {
        if self.side == Side::Left { m } else { n }
    }
}

/// `op(a) x = b` or `x op(a) = b`, in place of `b`, of `m x n`; `a` is square, `m x m` or `n x n`.
///
/// Only one triangle of `a` is read. It cannot fail: a singular `a` divides by zero as IEEE arithmetic does, and input that
/// is not finite propagates.
#[derive(Clone, Copy)]
pub struct Trsm<T: Lapack> {
    routines: &'static Routines<T>,
    triangle: Triangle,
    m: Int,
    n: Int,
}

impl<T: Lapack> Trsm<T> {
    /// For one shape of `b`.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size does not fit LAPACK's integers.
    pub fn new(triangle: Triangle, m: usize, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(m, n), triangle, m, n)
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
    pub fn on(library: &'static Library, triangle: Triangle, m: usize, n: usize) -> Result<Self, Error> {
        Ok(Trsm { routines: library.routines(), triangle, m: sizes::int("m", m)?, n: sizes::int("n", n)? })
    }

    /// None.
    pub fn workspace(&self) -> Lengths {
        Lengths::default()
    }

    /// Solves.
    pub fn run(&self, a: &[T], b: &mut [T]) {
        let Trsm { routines, triangle, m, n } = *self;
        let order = if triangle.side == Side::Left { m } else { n };
        assert_eq!(a.len(), len(order) * len(order), "trsm: a is not square, of the order of its side");
        assert_eq!(b.len(), len(m) * len(n), "trsm: b is not m x n");
        if m == 0 || n == 0 {
            return;
        }
        let Triangle { side, uplo, transpose, diag } = triangle;
        let (side, uplo, transpose, diag) = (side.letter(), uplo.letter(), transpose.letter(), diag.letter());
        let (a, b, lda, ldb, alpha) = (a.as_ptr(), b.as_mut_ptr(), leading(order), leading(m), T::one());
        // SAFETY: L1, L4: `a` is square with leading dimension `order`, `b` is `m x n` with leading dimension `m`.
        unsafe { (routines.trsm)(&side, &uplo, &transpose, &diag, &m, &n, &alpha, a, &lda, b, &ldb) };
    }
}
