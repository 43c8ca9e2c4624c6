//! Eigenvalues and eigenvectors of a symmetric or Hermitian matrix: jaxlib's `lapack_?syevd_ffi` and `lapack_?heevd_ffi`.
//!
//! | `syevd`, `heevd` | |
//! |---|---|
//! | operand | `a` (n, n), columns first; of it the triangle `uplo` is read |
//! | attributes | `mode`: u8, `V` for vectors or `N`; `uplo`: u8, `L` or `U` |
//! | results | the eigenvectors in place of `a`, in columns; `w` (n), real, ascending; `info` s32 |
//!
//! Unlike jaxlib's: a matrix whose triangle is not finite is not shown to LAPACK, which answers `[[nan, 0], [0, 1]]` with
//! finite vectors and an `info` of 0. Its results are NaN, as are those of a matrix on which the iteration does not
//! converge, and `info` says so. Vectors that are not asked for are zeros.

use oxidax::prelude::*;

use crate::lapack::{Lapack, Syevd, Uplo, Vectors};
use crate::work::workspace;

/// Decomposes `a = v diag(w) v^H`, with `v` in place of `a`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix or the work memory is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory
/// to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_ssyevd_ffi", f64: "lapack_dsyevd_ffi",
        Complex<f32>: "lapack_cheevd_ffi", Complex<f64>: "lapack_zheevd_ffi",
    },
    batch = parallel,
    threads = Syevd::<T>::library(n).threads(),
)]
pub fn syevd<T: Lapack>(
    #[shape(n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    mode: Vectors,
    uplo: Uplo,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n)] w: &mut [T::RealPart],
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    let syevd = Syevd::new(mode, uplo, n)?;
    *info = syevd.run(&mut a, w, workspace(scratch, syevd.workspace())?);
    Ok(())
}
