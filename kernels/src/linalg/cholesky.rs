//! The Cholesky factor, jaxlib's `lapack_?potrf_ffi`.
//!
//! | | |
//! |---|---|
//! | operand | `a` (n, n), columns first; of it the triangle `uplo` is read |
//! | attribute | `uplo`: u8, `L` or `U` |
//! | results | `a` factorised in place, its other triangle as it was; `info` s32 |
//!
//! `info` is 0, or the order of the leading minor that is not positive definite. Input that is not finite propagates; a
//! pivot that is not a number is `info` > 0.

use oxidax::prelude::*;

use crate::lapack::{Lapack, Potrf, Uplo};

/// Factorises in place: `a = l l^H`, or `a = u^H u`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_spotrf_ffi", f64: "lapack_dpotrf_ffi",
        Complex<f32>: "lapack_cpotrf_ffi", Complex<f64>: "lapack_zpotrf_ffi",
    },
    batch = parallel,
)]
pub fn potrf<T: Lapack>(
    #[shape(n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    uplo: Uplo,
    #[dim] n: usize,
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    *info = Potrf::new(uplo, n)?.run(&mut a);
    Ok(())
}
