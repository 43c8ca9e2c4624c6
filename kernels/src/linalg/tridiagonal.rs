//! The tridiagonal form of a symmetric or Hermitian matrix: jaxlib's `lapack_?sytrd_ffi` and `lapack_?hetrd_ffi`.
//!
//! | `sytrd`, `hetrd` | |
//! |---|---|
//! | operand | `a` (n, n), columns first; of it the triangle `uplo` is read |
//! | attribute | `uplo`: u8, `L` or `U` |
//! | results | `a` reduced in place, its other triangle as it was; `d` (n) and `e` (n - 1), real; `tau` (n - 1); `info` s32 |
//!
//! `info` is 0. Input that is not finite propagates. Unlike jaxlib's, which then runs out of memory: an empty matrix,
//! with `e` and `tau` of no elements, is taken.

use oxidax::prelude::*;

use crate::lapack::{Lapack, Sytrd, Uplo};
use crate::small::serving;
use crate::work::workspace;

/// Reduces in place: `a = q t q^H`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_ssytrd_ffi", f64: "lapack_dsytrd_ffi",
        Complex<f32>: "lapack_chetrd_ffi", Complex<f64>: "lapack_zhetrd_ffi",
    },
    batch = parallel,
    threads = Sytrd::<T>::library(n).threads(),
)]
pub fn sytrd<T: Lapack>(
    #[shape(n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    uplo: Uplo,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n)] d: &mut [T::RealPart],
    #[shape(max(n, 1) - 1)] e: &mut [T::RealPart],
    #[shape(max(n, 1) - 1)] tau: &mut [T],
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    match serving::<T>(|small| small.sytrd_work(n)) {
        Some((small, length)) => {
            small.sytrd(uplo, &mut a, d, e, tau, scratch.take(length)?);
            *info = 0;
        }
        None => {
            let sytrd = Sytrd::new(uplo, n)?;
            *info = sytrd.run(&mut a, d, e, tau, workspace(scratch, sytrd.workspace())?);
        }
    }
    Ok(())
}
