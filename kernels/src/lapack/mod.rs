//! LAPACK and a little of BLAS, once for all four scalar types: safe functions over slices, on OpenBLAS and, for large
//! matrices, on SciPy.
//!
//! A routine is one row of the table in `routines.rs` and one file here. Matrices are column-major and dense: `m x n` has
//! leading dimension `m`. What each file adds to LAPACK is said there: sizes, empty and non-finite matrices.
//!
//! | English | routine | type |
//! |---|---|---|
//! | Cholesky factor | `potrf` | [`Potrf`] |
//! | LU factors | `getrf` | [`Getrf`] |
//! | QR factors, as reflectors | `geqrf` | [`Geqrf`] |
//! | QR factors with column pivoting | `geqp3` | [`Geqp3`] |
//! | Q of reflectors | `orgqr`, `ungqr` | [`Orgqr`] |
//! | product with Q of reflectors | `ormqr`, `unmqr` | [`Ormqr`] |
//! | singular values and vectors, by halves | `gesdd` | [`Gesdd`] |
//! | singular values and vectors, by QR | `gesvd` | [`Gesvd`] |
//! | eigenvalues and vectors | `geev` | [`Geev`] |
//! | solution of a triangular system | `trtrs`, and BLAS's `trsm` | [`Trtrs`], [`Trsm`] |
//! | solution of a tridiagonal system | `gtsv` | [`Gtsv`] |
//! | product of matrices, of BLAS | `gemm` | [`Gemm`] |
//! | eigenvalues and vectors of a Hermitian matrix | `syevd`, `heevd` | [`Syevd`] |
//! | Schur form | `gees` | [`Gees`] |
//! | Hessenberg form, as reflectors | `gehrd` | [`Gehrd`] |
//! | tridiagonal form, as reflectors | `sytrd`, `hetrd` | [`Sytrd`] |
//!
//! In some orders, `gees` is made of its steps (`gees_in_steps.rs`): `gebal`, `gehrd`, `orghr`, `hseqr` and `gebak`.
//!
//! Each type is made for one shape, which checks the sizes (`new`), says how much work memory it takes (`workspace`), and
//! then runs on any number of matrices (`run`), from any number of threads. The result is LAPACK's `info`: 0 for success,
//! above 0 for a numerical failure that the routine describes, below 0 for input that was refused.
//!
//! The result of a matrix depends on nothing but the matrix, its shape and the [`Library`] that serves the shape.
#![allow(unsafe_code, reason = "calls to Fortran are unsafe, and all of them are in this folder")]

mod about;
mod flags;
mod gees;
mod gees_in_steps;
mod geev;
mod gehrd;
mod gemm;
mod geqp3;
mod geqrf;
mod gesdd;
mod gesvd;
mod getrf;
mod gtsv;
mod library;
mod memory;
mod orgqr;
mod ormqr;
mod potrf;
mod reflectors;
mod room;
mod routines;
mod scalar;
mod sizes;
mod syevd;
mod sytrd;
mod trsm;
mod trtrs;
mod workspace;

pub use flags::{Diag, Side, Sort, SvdJob, Transpose, Uplo, Vectors};
pub use gees::Gees;
pub use geev::Geev;
pub use gehrd::Gehrd;
pub use gemm::Gemm;
pub use geqp3::Geqp3;
pub use geqrf::Geqrf;
pub use gesdd::Gesdd;
pub use gesvd::Gesvd;
pub use getrf::Getrf;
pub use gtsv::Gtsv;
pub use library::Library;
pub use orgqr::Orgqr;
pub use ormqr::Ormqr;
pub use potrf::Potrf;
pub use routines::{Int, Routines};
pub use scalar::Lapack;
pub use syevd::Syevd;
pub use sytrd::Sytrd;
pub use trsm::{Triangle, Trsm};
pub use trtrs::Trtrs;
pub use workspace::{Lengths, OwnedWorkspace, Workspace};
