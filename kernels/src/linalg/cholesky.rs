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
use std::slice;

use oxidax::prelude::*;

use crate::lapack::{Int, Lapack, Potrf, Uplo};
use crate::small::factorising;
use crate::work::{for_each, group, threads};

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
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Potrf::<T>::library(n).threads(),
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
    let uplo = if lower { Uplo::Upper } else { Uplo::Lower };
    factor.fill(T::zero());
    for part in triangle(n, lower) {
        factor[part.clone()].copy_from_slice(&a[part]);
    }
    let mut info = 0;
    factorise(uplo, n, factor, ThreadPool::none(), slice::from_mut(&mut info))?;
    if info != 0 {
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
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_spotrf_ffi", f64: "lapack_dpotrf_ffi",
        Complex<f32>: "lapack_cpotrf_ffi", Complex<f64>: "lapack_zpotrf_ffi",
    },
    batch = whole,
)]
pub fn potrf<T: Lapack>(
    #[shape(.., n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    uplo: Uplo,
    #[dim] n: usize,
    pool: ThreadPool,
    #[shape(..)] info: &mut [i32],
) -> Result<(), Error> {
    factorise(uplo, n, &mut a, pool, info)
}

/// Factorises each matrix of a batch, on small kernels or LAPACK's.
fn factorise<T: Lapack>(uplo: Uplo, n: usize, a: &mut [T], pool: ThreadPool, info: &mut [Int]) -> Result<(), Error> {
    let lapack = Potrf::new(uplo, n)?;
    if n == 0 {
        info.fill(0);
        return Ok(());
    }
    let (elements, count) = (n * n, info.len());
    let pool = threads(pool, count as f64 * (n as f64).powi(3) / 3.0).at_most(Potrf::<T>::library(n).threads());
    match factorising::<T>(|small| small.potrf_work(n)) {
        Some((small, length)) => {
            let group = group(elements, small.together(n, n));
            let groups = a.chunks_mut(group * elements).zip(info.chunks_mut(group));
            for_each(pool, groups, |scratch, (a, info)| {
                small.potrf(uplo, n, a, info, scratch.take(length)?);
                Ok(())
            })
        }
        None => {
            pool.for_each(a.chunks_mut(elements).zip(info), |(a, info)| *info = lapack.run(a));
            Ok(())
        }
    }
}
