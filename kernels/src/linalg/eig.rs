//! Eigenvalues and eigenvectors of a general matrix: the operations `eig` and `eigvals`, and jaxlib's
//! `lapack_?geev_ffi`.
//!
//! | `geev` | |
//! |---|---|
//! | operand | `a` (n, n), columns first |
//! | attributes | `compute_left`, `compute_right`: u8, `V` for vectors or `N` |
//! | results, real types | `wr`, `wi` (n); `vl`, `vr` complex (n, n); `info` s32 |
//! | results, complex types | `w` (n); `vl`, `vr` (n, n); `info` s32 |
//!
//! Vectors are of norm 1, in the columns. A matrix that is not finite is not shown to LAPACK: its results are NaN, as
//! are those of a matrix on which the iteration does not converge, and `info` says so. Vectors that are not asked for are
//! zeros.

use oxidax::prelude::*;

use crate::lapack::{Geev, Lapack, Vectors};
use crate::work::workspace;

/// The eigenvalues and right eigenvectors of a square matrix: `a @ v = v @ diag(w)`.
///
/// Both are complex, for real matrices too, whose values come as themselves or in conjugate pairs. Vectors are the
/// columns of `v`, of norm 1, and those of a defective matrix are not independent. Values are in no particular order.
///
/// A matrix that is not finite, or on which the iteration does not converge, gives NaN in both results.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Geev::<T>::library(n).threads(),
)]
pub fn eig<T: Lapack>(
    #[shape(n, n)] a: ColMajor<&[T]>,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n)] w: &mut [T::ComplexOf],
    #[shape(n, n)] mut v: ColMajor<&mut [T::ComplexOf]>,
) -> Result<(), Error> {
    let geev = Geev::<T>::new(Vectors::Skip, Vectors::Compute, n)?;
    geev.run(&a, w, &mut [], &mut v, workspace(scratch, geev.workspace())?);
    Ok(())
}

/// The eigenvalues of a square matrix: complex, in no particular order.
///
/// A matrix that is not finite, or on which the iteration does not converge, gives NaN.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Geev::<T>::library(n).threads(),
)]
pub fn eigvals<T: Lapack>(
    #[shape(n, n)] a: ColMajor<&[T]>,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n)] w: &mut [T::ComplexOf],
) -> Result<(), Error> {
    let geev = Geev::<T>::new(Vectors::Skip, Vectors::Skip, n)?;
    geev.run(&a, w, &mut [], &mut [], workspace(scratch, geev.workspace())?);
    Ok(())
}

/// Decomposes a real matrix; eigenvalues in two parts.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [f32, f64]),
    target = { f32: "lapack_sgeev_ffi", f64: "lapack_dgeev_ffi" },
    batch = parallel,
    threads = Geev::<T>::library(n).threads(),
)]
pub fn geev_real<T: Lapack<RealPart = T> + Float>(
    #[shape(n, n)] a: ColMajor<&[T]>,
    compute_left: Vectors,
    compute_right: Vectors,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n)] wr: &mut [T],
    #[shape(n)] wi: &mut [T],
    #[shape(n, n)] mut vl: ColMajor<&mut [T::ComplexOf]>,
    #[shape(n, n)] mut vr: ColMajor<&mut [T::ComplexOf]>,
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    let geev = Geev::<T>::new(compute_left, compute_right, n)?;
    *info = geev.run_parts(&a, wr, wi, &mut vl, &mut vr, workspace(scratch, geev.workspace())?);
    Ok(())
}

/// Decomposes a complex matrix.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [Complex<f32>, Complex<f64>]),
    target = { Complex<f32>: "lapack_cgeev_ffi", Complex<f64>: "lapack_zgeev_ffi" },
    batch = parallel,
    threads = Geev::<T>::library(n).threads(),
)]
pub fn geev_complex<T: Lapack<ComplexOf = T>>(
    #[shape(n, n)] a: ColMajor<&[T]>,
    compute_left: Vectors,
    compute_right: Vectors,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n)] w: &mut [T],
    #[shape(n, n)] mut vl: ColMajor<&mut [T]>,
    #[shape(n, n)] mut vr: ColMajor<&mut [T]>,
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    let geev = Geev::<T>::new(compute_left, compute_right, n)?;
    *info = geev.run(&a, w, &mut vl, &mut vr, workspace(scratch, geev.workspace())?);
    Ok(())
}
