//! One matrix at a time, above the sizes for lanes: in blocks of columns, whose products are tiles in registers.
//!
//! OpenBLAS copies what it multiplies, and LAPACK takes one reflector at a time up to 128 columns. Matrices of this size
//! are in the cache as they are.

mod columns;
mod gehrd;
mod panel;
mod potrf;
mod qr;
mod reflector;
mod reflectors;
mod rows;
mod sytrd;

use super::{Instructions, Small};

pub(super) use columns::work as form_work;
pub(super) use gehrd::gehrd;
pub(super) use potrf::{potrf, work as potrf_work};
pub(super) use qr::{geqrf, orgqr, ormqr, work as qr_work};
pub(super) use sytrd::sytrd;

/// The largest size of the Cholesky factor.
pub(super) const LARGEST_POTRF: usize = 128;

/// The largest size of the Hessenberg and the tridiagonal form: the matrix is in the second-level cache.
pub(super) const LARGEST_FORM: usize = 256;

/// The largest size of QR: two blocks of columns of that length, and the columns that they are multiplied with, are in the
/// second-level cache.
const LARGEST_QR: usize = 256;

/// The fewest reflectors that are worth a block.
const FEWEST: usize = 4;

/// Whether the product of `k` reflectors and a matrix of `m x n` is faster in blocks than by LAPACK.
pub(super) fn serve_ormqr(m: usize, n: usize, k: usize) -> bool {
    m.max(n) <= LARGEST_QR && m.min(n) > 0 && k >= FEWEST
}

/// Whether QR of a shape is faster in blocks than by LAPACK: of a tall matrix of few columns, a block is most of the work.
pub(super) fn serve_qr(m: usize, n: usize) -> bool {
    m.max(n) <= LARGEST_QR && m <= 4 * n && m > 0
}
