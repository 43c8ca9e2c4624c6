//! The LU factors with partial pivoting: the operation `lu`, and jaxlib's `lapack_?getrf_ffi`.
//!
//! | `getrf` | |
//! |---|---|
//! | operand | `a` (m, n), columns first |
//! | results | `a` factorised in place; `ipiv` s32 (min(m, n)), counted from 1; `info` s32 |
//!
//! `info` is 0, or the place, from 1, of a pivot that is zero; the factors are complete then, too.

use std::slice;

use oxidax::prelude::*;

use super::lu_pivots_to_permutation;
use crate::lapack::{Getrf, Int, Lapack};
use crate::small::factorising;
use crate::work::{group, threads};

/// The LU factors of a matrix, with partial pivoting: `a[permutation] = l @ u`.
///
/// `lu` holds both factors: `u` on and above the diagonal, and below it `l`, whose diagonal of ones is not stored.
/// `pivots`, counted from 0, says that row `i` was swapped with row `pivots[i]`, in order; `permutation` is the same as
/// one permutation of the rows.
///
/// A singular matrix has factors too, with a zero on the diagonal of `u`. NaN and infinities propagate as in IEEE
/// arithmetic; pivots are rows of the matrix then, too.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Getrf::<T>::library(m, n).threads(),
)]
pub fn lu<T: Lapack>(
    #[shape(m, n)] a: ColMajor<&[T]>,
    #[dim] m: usize,
    #[dim] n: usize,
    #[shape(m, n)] mut lu: ColMajor<&mut [T]>,
    #[shape(min(m, n))] pivots: &mut [i32],
    #[shape(m)] permutation: &mut [i32],
) -> Result<(), Error> {
    let mut info = 0; // singular or not, the factors are complete
    lu.copy_from_slice(&a);
    factorise([m, n], &mut lu, ThreadPool::none(), pivots, slice::from_mut(&mut info))?;
    pivots.iter_mut().for_each(|pivot| *pivot -= 1);
    lu_pivots_to_permutation(pivots, m as i64, permutation)
}

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
    batch = whole,
)]
pub fn getrf<T: Lapack>(
    #[shape(.., m, n)] mut a: InOut<ColMajor<&mut [T]>>,
    #[dim] m: usize,
    #[dim] n: usize,
    pool: ThreadPool,
    #[shape(.., min(m, n))] ipiv: &mut [i32],
    #[shape(..)] info: &mut [i32],
) -> Result<(), Error> {
    factorise([m, n], &mut a, pool, ipiv, info)
}

/// Factorises each matrix of a batch, on small kernels or LAPACK's.
fn factorise<T: Lapack>(
    [m, n]: [usize; 2],
    a: &mut [T],
    pool: ThreadPool,
    pivots: &mut [Int],
    info: &mut [Int],
) -> Result<(), Error> {
    let lapack = Getrf::new(m, n)?;
    if m == 0 || n == 0 {
        info.fill(0);
        return Ok(());
    }
    let (elements, k, count) = (m * n, m.min(n), info.len());
    let pool = threads(pool, count as f64 * elements as f64 * k as f64).at_most(Getrf::<T>::library(m, n).threads());
    match factorising::<T>(|small| small.has_getrf(m, n).then_some(0)) {
        Some((small, _)) => {
            let group = group(elements, small.together(m, n));
            let groups = a.chunks_mut(group * elements).zip(pivots.chunks_mut(group * k)).zip(info.chunks_mut(group));
            pool.for_each(groups, |((a, pivots), info)| small.getrf(m, n, a, pivots, info));
        }
        None => {
            let matrices = a.chunks_mut(elements).zip(pivots.chunks_mut(k)).zip(info);
            pool.for_each(matrices, |((a, pivots), info)| *info = lapack.run(a, pivots));
        }
    }
    Ok(())
}
