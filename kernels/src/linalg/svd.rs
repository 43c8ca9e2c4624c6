//! Singular values and vectors: the operations `svd` and `svdvals`, and jaxlib's `lapack_?gesdd_ffi`, by divide and
//! conquer, and `lapack_?gesvd_ffi`, by QR iterations.
//!
//! | `gesdd`, `gesvd` | |
//! |---|---|
//! | operand | `a` (m, n), columns first |
//! | attribute | `mode`: u8, `A` for all vectors, `S` for the first min(m, n), `N` for none |
//! | results | `a`, of no meaning; `s` (min(m, n)), real, descending; `u` (m, m or min(m, n)); `vt` (n or min(m, n), n); `info` s32 |
//!
//! In mode `N` JAX still gives memory for vectors, and `u` may have any number of columns, `vt` of rows.
//!
//! Unlike jaxlib's: a matrix that is not finite is not shown to LAPACK, which may never return from it, and one on which
//! divide and conquer does not converge is decomposed by QR iterations. Where those fail too, every result is NaN and
//! `info` says so. Vectors that are not asked for are zeros.

use oxidax::prelude::*;

use crate::lapack::{Gesdd, Gesvd, Lapack, SvdJob};
use crate::work::workspace;

/// The singular value decomposition of a matrix: `a = u @ diag(s) @ vh`.
///
/// The singular values `s` are real, and in descending order; `u` has orthonormal columns and `vh` orthonormal rows.
/// With `full_matrices=False`, `u` has `min(m, n)` columns and `vh` as many rows, those that belong to singular values.
///
/// A matrix that is not finite, or on which neither of LAPACK's algorithms converges, gives NaN in every result.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix or the work memory is too large for LAPACK's integers, RESOURCE_EXHAUSTED without
/// memory to work in.
#[expect(clippy::too_many_arguments, reason = "three results of one matrix")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Gesdd::<T>::library(m, n).threads(),
)]
pub fn svd<T: Lapack>(
    #[shape(m, n)] a: &[T],
    #[attr(default = true)] full_matrices: bool,
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(m, if full_matrices { m } else { min(m, n) })] u: &mut [T],
    #[shape(min(m, n))] s: &mut [T::RealPart],
    #[shape(if full_matrices { n } else { min(m, n) }, n)] vh: &mut [T],
) -> Result<(), Error> {
    let job = if full_matrices { SvdJob::All } else { SvdJob::Some };
    decompose(job, [m, n], a, scratch, u, s, vh)
}

/// The singular values of a matrix, real and in descending order.
///
/// A matrix that is not finite, or on which neither of LAPACK's algorithms converges, gives NaN. Where several values
/// are equal, derivatives are those of functions that treat them alike, such as norms.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Gesdd::<T>::library(m, n).threads(),
    jvp = super::svdvals_derivatives::svdvals_jvp,
    vjp(fwd = super::svdvals_derivatives::svdvals_fwd, bwd = super::svdvals_derivatives::svdvals_bwd),
)]
pub fn svdvals<T: Lapack>(
    #[shape(m, n)] a: &[T],
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(min(m, n))] s: &mut [T::RealPart],
) -> Result<(), Error> {
    decompose(SvdJob::None, [m, n], a, scratch, &mut [], s, &mut [])
}

/// Decomposes a matrix of rows, which LAPACK reads as the transpose: `a^T = vh^T diag(s) u^T`.
fn decompose<T: Lapack>(
    job: SvdJob,
    [m, n]: [usize; 2],
    a: &[T],
    scratch: Scratch<'_>,
    u: &mut [T],
    s: &mut [T::RealPart],
    vh: &mut [T],
) -> Result<(), Error> {
    let gesdd = Gesdd::new(job, n, m)?;
    gesdd.run(a, s, vh, u, workspace(scratch, gesdd.workspace())?);
    Ok(())
}

/// Decomposes `a = u diag(s) vt` by divide and conquer.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix or the work memory is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory
/// to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sgesdd_ffi", f64: "lapack_dgesdd_ffi",
        Complex<f32>: "lapack_cgesdd_ffi", Complex<f64>: "lapack_zgesdd_ffi",
    },
    require(
        mode == SvdJob::None || columns == if mode == SvdJob::All { m } else { min(m, n) },
        "u has m columns where all vectors are asked for, and min(m, n) for some"
    ),
    require(
        mode == SvdJob::None || rows == if mode == SvdJob::All { n } else { min(m, n) },
        "vt has n rows where all vectors are asked for, and min(m, n) for some"
    ),
    batch = parallel,
    threads = Gesdd::<T>::library(m, n).threads(),
)]
pub fn gesdd<T: Lapack>(
    #[shape(m, n)] a: InOut<ColMajor<&mut [T]>>,
    mode: SvdJob,
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(min(m, n))] s: &mut [T::RealPart],
    #[shape(m, columns)] mut u: ColMajor<&mut [T]>,
    #[shape(rows, n)] mut vt: ColMajor<&mut [T]>,
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    let gesdd = Gesdd::new(mode, m, n)?;
    *info = gesdd.run(&a, s, &mut u, &mut vt, workspace(scratch, gesdd.workspace())?);
    Ok(())
}

/// Decomposes `a = u diag(s) vt` by QR iterations.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix or the work memory is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory
/// to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sgesvd_ffi", f64: "lapack_dgesvd_ffi",
        Complex<f32>: "lapack_cgesvd_ffi", Complex<f64>: "lapack_zgesvd_ffi",
    },
    require(
        mode == SvdJob::None || columns == if mode == SvdJob::All { m } else { min(m, n) },
        "u has m columns where all vectors are asked for, and min(m, n) for some"
    ),
    require(
        mode == SvdJob::None || rows == if mode == SvdJob::All { n } else { min(m, n) },
        "vt has n rows where all vectors are asked for, and min(m, n) for some"
    ),
    batch = parallel,
    threads = Gesvd::<T>::library(m, n).threads(),
)]
pub fn gesvd<T: Lapack>(
    #[shape(m, n)] a: InOut<ColMajor<&mut [T]>>,
    mode: SvdJob,
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(min(m, n))] s: &mut [T::RealPart],
    #[shape(m, columns)] mut u: ColMajor<&mut [T]>,
    #[shape(rows, n)] mut vt: ColMajor<&mut [T]>,
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    let gesvd = Gesvd::new(mode, m, n)?;
    *info = gesvd.run(&a, s, &mut u, &mut vt, workspace(scratch, gesvd.workspace())?);
    Ok(())
}
