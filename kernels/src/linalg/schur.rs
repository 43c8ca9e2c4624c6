//! The Schur form of a square matrix: jaxlib's `lapack_?gees_ffi`.
//!
//! | `gees` | |
//! |---|---|
//! | operand | `a` (n, n), columns first |
//! | attributes | `mode`: u8, `V` for Schur vectors or `N`; `sort`: u8, `N` |
//! | results, real types | the Schur form in place of `a`; `vs` (n, n); `wr`, `wi` (n); `selected`, `info` s32 |
//! | results, complex types | the Schur form in place of `a`; `vs` (n, n); `w` (n); `selected`, `info` s32 |
//!
//! Nothing is sorted, and `selected` is 0; another `sort` is an invalid argument. Unlike jaxlib's: a matrix that is not
//! finite is not shown to LAPACK, which answers `[[nan, 0], [0, 1]]` with finite vectors and an `info` of 0. Its results
//! are NaN, as are those of a matrix on which the iteration does not converge, and `info` says so. Vectors that are not
//! asked for are zeros.

use oxidax::prelude::*;

use crate::lapack::{Gees, Lapack, Sort, Vectors};
use crate::work::workspace;

/// Decomposes a real matrix, `a = vs t vs^T`, with `t` in place of `a`; eigenvalues in two parts.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [f32, f64]),
    target = { f32: "lapack_sgees_ffi", f64: "lapack_dgees_ffi" },
    batch = parallel,
    threads = Gees::<T>::threads(n),
)]
pub fn gees_real<T: Lapack<RealPart = T> + Float>(
    #[shape(n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    mode: Vectors,
    sort: Sort,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n, n)] mut vs: ColMajor<&mut [T]>,
    #[shape(n)] wr: &mut [T],
    #[shape(n)] wi: &mut [T],
    #[shape()] selected: &mut i32,
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    let Sort::No = sort;
    let gees = Gees::new(mode, n)?;
    *selected = 0;
    *info = gees.run(&mut a, [wr, wi], &mut vs, workspace(scratch, gees.workspace())?);
    Ok(())
}

/// Decomposes a complex matrix, `a = vs t vs^H`, with `t` in place of `a`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [Complex<f32>, Complex<f64>]),
    target = { Complex<f32>: "lapack_cgees_ffi", Complex<f64>: "lapack_zgees_ffi" },
    batch = parallel,
    threads = Gees::<T>::threads(n),
)]
pub fn gees_complex<T: Lapack>(
    #[shape(n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    mode: Vectors,
    sort: Sort,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n, n)] mut vs: ColMajor<&mut [T]>,
    #[shape(n)] w: &mut [T],
    #[shape()] selected: &mut i32,
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    let Sort::No = sort;
    let gees = Gees::new(mode, n)?;
    *selected = 0;
    *info = gees.run(&mut a, [w, &mut []], &mut vs, workspace(scratch, gees.workspace())?);
    Ok(())
}
