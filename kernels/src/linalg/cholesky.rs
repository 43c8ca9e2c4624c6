//! The Cholesky factor: the operation `cholesky` with its derivatives, and jaxlib's `lapack_?potrf_ffi`.
//!
//! | `potrf` | |
//! |---|---|
//! | operand | `a` (n, n), columns first; of it the triangle `uplo` is read |
//! | attribute | `uplo`: u8, `L` or `U` |
//! | results | `a` factorised in place, its other triangle as it was; `info` s32 |
//!
//! `info` is 0, or the order of the leading minor that is not positive definite. Input that is not finite propagates; a
//! pivot that is not a number is `info` > 0.

use std::ops::Range;

use oxidax::prelude::*;

use crate::lapack::{Lapack, Potrf, Uplo};

/// The Cholesky factor of a symmetric or Hermitian positive definite matrix.
///
/// `a = factor @ factor^H` with a lower triangular `factor`, or, with `lower=False`, `a = factor^H @ factor` with an
/// upper triangular one. That triangle of `a` alone is read, and of its diagonal the real part; the other triangle of
/// `factor` is zero.
///
/// A matrix that is not positive definite, or that holds NaN in the triangle, gives NaN in the whole triangle.
/// Infinities propagate as in IEEE arithmetic. Derivatives are those of a function of the triangle: in the other one,
/// tangents are not read, and cotangents are zero.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    jvp = super::cholesky_derivatives::cholesky_jvp,
    vjp(bwd = super::cholesky_derivatives::cholesky_bwd),
)]
pub fn cholesky<T: Lapack>(
    #[shape(n, n)] a: &[T],
    #[attr(default = true)] lower: bool,
    #[dim] n: usize,
    #[shape(n, n)] factor: &mut [T],
) -> Result<(), Error> {
    // Rows first, which LAPACK reads as the transpose: `a^T = (factor^T)^H factor^T`, with the other triangle.
    let potrf = Potrf::new(if lower { Uplo::Upper } else { Uplo::Lower }, n)?;
    factor.fill(T::zero());
    for part in triangle(n, lower) {
        factor[part.clone()].copy_from_slice(&a[part]);
    }
    if potrf.run(factor) != 0 {
        for part in triangle(n, lower) {
            factor[part].fill(T::NAN);
        }
    }
    Ok(())
}

/// Where each row of a matrix has its part of a triangle.
fn triangle(n: usize, lower: bool) -> impl Iterator<Item = Range<usize>> {
    (0..n).map(move |i| if lower { i * n..i * n + i + 1 } else { i * n + i..i * n + n })
}

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
