//! The LU factors with partial pivoting, jaxlib's `lapack_?getrf_ffi`.
//!
//! | | |
//! |---|---|
//! | operand | `a` (m, n), columns first |
//! | results | `a` factorised in place; `ipiv` s32 (min(m, n)), counted from 1; `info` s32 |
//!
//! `info` is 0, or the place, from 1, of a pivot that is zero; the factors are complete then, too.

use oxidax::prelude::*;

use crate::lapack::{Getrf, Lapack};

/// Factorises in place: `p a = l u`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sgetrf_ffi", f64: "lapack_dgetrf_ffi",
        Complex<f32>: "lapack_cgetrf_ffi", Complex<f64>: "lapack_zgetrf_ffi",
    },
    batch = parallel,
)]
pub fn getrf<T: Lapack>(
    #[shape(m, n)] mut a: InOut<ColMajor<&mut [T]>>,
    #[dim] m: usize,
    #[dim] n: usize,
    #[shape(min(m, n))] ipiv: &mut [i32],
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    *info = Getrf::new(m, n)?.run(&mut a, ipiv);
    Ok(())
}
