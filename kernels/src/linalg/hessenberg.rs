//! The Hessenberg form of a square matrix: jaxlib's `lapack_?gehrd_ffi`.
//!
//! | `gehrd` | |
//! |---|---|
//! | operand | `a` (n, n), columns first |
//! | attributes | `low`, `high`: s32, counted from 1: the rows and columns that are reduced |
//! | results | `a` reduced in place, reflectors below the first subdiagonal; `tau` (n - 1); `info` s32 |
//!
//! `info` is 0. Input that is not finite propagates. Unlike jaxlib's, which then runs out of memory: `low` and `high`
//! that are no rows of the matrix, such as 0, are an invalid argument, and an empty matrix, with a `tau` of no elements,
//! is taken.

use oxidax::prelude::*;

use crate::lapack::{Gehrd, Lapack};
use crate::small::serving;
use crate::work::workspace;

/// Reduces in place: `a = q h q^H`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, or unless `1 <= low <= high <= n`; RESOURCE_EXHAUSTED
/// without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sgehrd_ffi", f64: "lapack_dgehrd_ffi",
        Complex<f32>: "lapack_cgehrd_ffi", Complex<f64>: "lapack_zgehrd_ffi",
    },
    batch = parallel,
    threads = Gehrd::<T>::library(n).threads(),
)]
pub fn gehrd<T: Lapack>(
    #[shape(n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    low: i32,
    high: i32,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(max(n, 1) - 1)] tau: &mut [T],
    #[shape()] info: &mut i32,
) -> Result<(), Error> {
    let whole = low == 1 && usize::try_from(high) == Ok(n);
    match serving::<T>(|small| if whole { small.gehrd_work(n) } else { None }) {
        Some((small, length)) => {
            small.gehrd(n, &mut a, tau, scratch.take(length)?);
            *info = 0;
        }
        None => {
            let gehrd = Gehrd::new(n, low, high)?;
            *info = gehrd.run(&mut a, tau, workspace(scratch, gehrd.workspace())?);
        }
    }
    Ok(())
}
