//! Dense linear algebra, one operation a file: its contract, and the handlers that take the place of jaxlib's.
//!
//! A handler is thin: it makes the routine of [`lapack`](crate::lapack) for the shape of the call, lends it scratch memory,
//! and passes on LAPACK's `info`. What JAX makes of it (NaN for a matrix that failed) is in JAX's own lowering.
#![forbid(unsafe_code)]

pub mod cholesky;
pub mod eig;
pub mod lu;
pub mod lu_pivots_to_permutation;
pub mod qr;
pub mod svd;
mod work;

pub use lu_pivots_to_permutation::lu_pivots_to_permutation;
