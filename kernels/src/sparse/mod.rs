//! Sparse matrices in compressed rows (CSR), as `jax.experimental.sparse.BCSR` and SciPy have them.
//!
//! | operation | results | derivatives |
//! |---|---|---|
//! | [`csr_matmul()`] | the product with a dense matrix | forward and reverse mode |
//! | [`spsolve()`] | the solution of a system of equations | forward and reverse mode |
//!
//! `data` and `indices` hold the entries, row after row, with the column of each; row `i` has those from `indptr[i]` up to
//! `indptr[i + 1]`. Columns may be in any order, and come more than once: then the entries add up. Entries beyond the
//! last row's are padding, and are not read.
#![forbid(unsafe_code)]

mod csr;
pub mod csr_matmul;
pub mod csr_matmul_derivatives;
mod ordering;
mod qr;
pub mod spsolve;
pub mod spsolve_derivatives;

pub use csr_matmul::csr_matmul;
pub use spsolve::spsolve;
