//! LAPACK's one-letter options, as jaxlib's targets send them: ASCII codes in a `u8` attribute.
#![forbid(unsafe_code)]

use oxidax::FfiAttr;
use std::ffi::c_char;

/// Which triangle of a matrix is read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FfiAttr)]
#[repr(u8)]
pub enum Uplo {
    /// The upper one.
    Upper = b'U',
    /// The lower one.
    Lower = b'L',
}

/// On which side of the unknown, or of what is multiplied, a matrix stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FfiAttr)]
#[repr(u8)]
pub enum Side {
    /// To the left of it.
    Left = b'L',
    /// To the right of it.
    Right = b'R',
}

/// What the diagonal of a triangular matrix is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FfiAttr)]
#[repr(u8)]
pub enum Diag {
    /// Ones, whatever is stored.
    Unit = b'U',
    /// What is stored.
    NonUnit = b'N',
}

/// Which singular vectors are computed, with `k = min(m, n)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FfiAttr)]
#[repr(u8)]
pub enum SvdJob {
    /// All: `u` is `m x m`, `vt` is `n x n`.
    All = b'A',
    /// Those that belong to singular values: `u` is `m x k`, `vt` is `k x n`.
    Some = b'S',
    /// None.
    None = b'N',
}

/// Whether vectors are computed: eigenvectors, of one side, or Schur vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FfiAttr)]
#[repr(u8)]
pub enum Vectors {
    /// Yes.
    Compute = b'V',
    /// No.
    Skip = b'N',
}

/// Whether eigenvalues are sorted. There is one answer, for callers who may ask for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FfiAttr)]
#[repr(u8)]
pub enum Sort {
    /// No.
    No = b'N',
}

/// Which form of a matrix is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FfiAttr)]
#[repr(u8)]
pub enum Transpose {
    /// The matrix itself.
    No = b'N',
    /// Its transpose.
    Plain = b'T',
    /// Its conjugate transpose.
    Adjoint = b'C',
}

/// The letter as Fortran takes it.
pub(super) trait Letter {
    fn letter(self) -> c_char;
}

macro_rules! letters {
    ($($flag:ty)*) => {
        $(impl Letter for $flag {
            #[inline(always)]
            fn letter(self) -> c_char {
                self as u8 as c_char
            }
        })*
    };
}

letters! { Uplo Side Diag SvdJob Vectors Sort Transpose }
