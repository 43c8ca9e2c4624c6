//! Dense linear algebra, one decomposition a file: operations of our own, and the handlers in the place of jaxlib's.
//!
//! | operation | results | derivatives |
//! |---|---|---|
//! | [`cholesky`](cholesky::cholesky) | the factor | forward and reverse mode |
//! | [`cholesky_update()`] | the factor after a rank-one update | forward and reverse mode |
//! | [`lu`](lu::lu) | `lu`, `pivots`, `permutation` | none |
//! | [`lu_pivots_to_permutation()`] | the permutation | none: integers |
//! | [`qr`](qr::qr) | `q`, `r` | none |
//! | [`svd`](svd::svd) | `u`, `s`, `vh` | none |
//! | [`svdvals`](svd::svdvals) | `s` | forward and reverse mode |
//! | [`symmetric_product()`] | `alpha a a^T + beta c` | forward and reverse mode |
//! | [`eig`](eig::eig), [`eigvals`](eig::eigvals) | `w`, `v`; `w` | none |
//!
//! A handler is thin: it makes the routine of [`lapack`](crate::lapack) for the shape of the call, and lends it scratch
//! memory. An operation writes NaN for a matrix on which the routine fails. A handler in the place of jaxlib's passes on
//! LAPACK's `info`; what JAX makes of it is in JAX's own lowering.
#![forbid(unsafe_code)]

pub mod cholesky;
pub mod cholesky_derivatives;
pub mod cholesky_update;
pub mod cholesky_update_derivatives;
pub mod eig;
pub mod eigh;
pub mod hessenberg;
pub mod lu;
pub mod lu_pivots_to_permutation;
pub mod qr;
pub mod schur;
pub mod svd;
pub mod svdvals_derivatives;
pub mod symmetric_product;
pub mod symmetric_product_derivatives;
pub mod triangular_solve;
pub mod tridiagonal;
pub mod tridiagonal_solve;
pub mod tridiagonal_solve_perturbed;

pub use cholesky_update::cholesky_update;
pub use lu_pivots_to_permutation::lu_pivots_to_permutation;
pub use symmetric_product::symmetric_product;
