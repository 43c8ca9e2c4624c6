//! QR factors by Householder reflectors, and the orthonormal matrix that reflectors make: jaxlib's `lapack_?geqrf_ffi`,
//! `lapack_{s,d}orgqr_ffi` and `lapack_{c,z}ungqr_ffi`.
//!
//! | `geqrf` | |
//! |---|---|
//! | operand | `a` (m, n), columns first |
//! | results | `a` with `r` on and above the diagonal and the reflectors below; `tau` (min(m, n)) |
//!
//! | `orgqr`, `ungqr` | |
//! |---|---|
//! | operands | `a` (m, n), columns first, with m >= n: reflectors below the diagonal; `tau` (k), with k <= n |
//! | result | the first `n` columns of the product of the `k` reflectors, in place of `a` |
//!
//! Neither can fail: there is no `info`.

use oxidax::prelude::*;

use super::work::workspace;
use crate::lapack::{Geqrf, Lapack, Orgqr};

/// Factorises in place: `a = q r`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sgeqrf_ffi", f64: "lapack_dgeqrf_ffi",
        Complex<f32>: "lapack_cgeqrf_ffi", Complex<f64>: "lapack_zgeqrf_ffi",
    },
    batch = parallel,
)]
pub fn geqrf<T: Lapack>(
    #[shape(m, n)] mut a: InOut<ColMajor<&mut [T]>>,
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(min(m, n))] tau: &mut [T],
) -> Result<(), Error> {
    let geqrf = Geqrf::new(m, n)?;
    geqrf.run(&mut a, tau, workspace(scratch, geqrf.workspace())?);
    Ok(())
}

/// Multiplies reflectors, in place.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sorgqr_ffi", f64: "lapack_dorgqr_ffi",
        Complex<f32>: "lapack_cungqr_ffi", Complex<f64>: "lapack_zungqr_ffi",
    },
    batch = parallel,
    require(m >= n, "a matrix of reflectors is not wider than high"),
    require(n >= k, "there are more reflectors than columns"),
)]
pub fn orgqr<T: Lapack>(
    #[shape(m, n)] mut a: InOut<ColMajor<&mut [T]>>,
    #[shape(k)] tau: &[T],
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
) -> Result<(), Error> {
    let orgqr = Orgqr::new(m, n, tau.len())?;
    orgqr.run(&mut a, tau, workspace(scratch, orgqr.workspace())?);
    Ok(())
}
