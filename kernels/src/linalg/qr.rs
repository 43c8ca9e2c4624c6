//! QR factors by Householder reflectors: the operation `qr`, and jaxlib's `lapack_?geqrf_ffi`, `lapack_?geqp3_ffi`,
//! `lapack_{s,d}orgqr_ffi`, `lapack_{c,z}ungqr_ffi`, `lapack_{s,d}ormqr_ffi` and `lapack_{c,z}unmqr_ffi`.
//!
//! | `geqrf` | |
//! |---|---|
//! | operand | `a` (m, n), columns first |
//! | results | `a` with `r` on and above the diagonal and the reflectors below; `tau` (min(m, n)) |
//!
//! | `geqp3` | |
//! |---|---|
//! | operands | `a` (m, n), columns first; `jpvt` s32 (n): a column that is not 0 is moved to the front, and stays there |
//! | results | `a` as of `geqrf`, for its columns as `jpvt` (n) says, counted from 1; `tau` (min(m, n)) |
//!
//! | `orgqr`, `ungqr` | |
//! |---|---|
//! | operands | `a` (m, n), columns first, with m >= n: reflectors below the diagonal; `tau` (k), with k <= n |
//! | result | the first `n` columns of the product of the `k` reflectors, in place of `a` |
//!
//! | `ormqr`, `unmqr` | |
//! |---|---|
//! | operands | `a` (r, columns), columns first, with the reflectors below the diagonal of its first columns; `tau` (k), with k <= columns and k <= r; `c` (m, n), columns first |
//! | attributes | `left`, a boolean: r is m and the product `q c`, else r is n and it is `c q`; `transpose`, a boolean: `q^H` for `q` |
//! | result | the product in place of `c` |
//!
//! None can fail: there is no `info`. A matrix that is not finite gives NaN in `a` and `tau` of `geqp3`, and the columns in
//! their order; in the others it propagates.

use oxidax::prelude::*;

use crate::lapack::{Geqp3, Geqrf, Lapack, Orgqr, Ormqr, Side};
use crate::small::{factorising, serving};
use crate::work::{for_each, group, same_batch, threads, workspace};

/// How much of the factors is wanted, with `k = min(m, n)`: NumPy's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FfiAttr)]
pub enum Mode {
    /// `q` is `m x k`, `r` is `k x n`.
    Reduced,
    /// `q` is `m x m`, `r` is `m x n`.
    Complete,
    /// `q` has no columns, `r` is `k x n`.
    R,
}

/// The QR factors of a matrix: `a = q @ r` with orthonormal columns in `q` and an upper triangular `r`.
///
/// With `k = min(m, n)`: `mode="reduced"` gives `k` columns of `q` and rows of `r`, `mode="complete"` gives `m`, and
/// `mode="r"` gives `k` rows of `r` and a `q` without columns, which saves the time for it. The diagonal of `r` may be
/// negative. NaN and infinities propagate as in IEEE arithmetic.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Geqrf::<T>::library(m, n).threads(),
)]
pub fn qr<T: Lapack>(
    #[shape(m, n)] a: ColMajor<&[T]>,
    #[attr(default = Mode::Reduced)] mode: Mode,
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(m, if mode == Mode::R { 0 } else if mode == Mode::Complete { m } else { min(m, n) })] q: ColMajor<&mut [T]>,
    #[shape(if mode == Mode::Complete { m } else { min(m, n) }, n)] mut r: ColMajor<&mut [T]>,
) -> Result<(), Error> {
    let (mut q, k) = (q, m.min(n));
    let (packed, tau) = (scratch.take(m * n)?, scratch.take(k)?);
    packed.copy_from_slice(&a);
    factorise([m, n], packed, ThreadPool::none(), tau)?;
    let rows = if mode == Mode::Complete { m } else { k };
    r.fill(T::zero());
    // Without rows, neither has columns to go through.
    for (j, (r, packed)) in r.chunks_exact_mut(rows.max(1)).zip(packed.chunks_exact(m.max(1))).enumerate() {
        let filled = rows.min(j + 1);
        r[..filled].copy_from_slice(&packed[..filled]);
    }
    if mode == Mode::R {
        return Ok(());
    }
    // Columns without a reflector are those that complete the basis: they are not read.
    q[..m * k].copy_from_slice(&packed[..m * k]);
    q[m * k..].fill(T::zero());
    multiply([m, rows, k], &mut q, ThreadPool::none(), tau)
}

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
    batch = whole,
)]
pub fn geqrf<T: Lapack>(
    #[shape(.., m, n)] mut a: InOut<ColMajor<&mut [T]>>,
    #[dim] m: usize,
    #[dim] n: usize,
    pool: ThreadPool,
    #[shape(.., min(m, n))] tau: &mut [T],
) -> Result<(), Error> {
    factorise([m, n], &mut a, pool, tau)
}

/// Factorises each matrix of a batch, on small kernels or LAPACK's.
fn factorise<T: Lapack>([m, n]: [usize; 2], a: &mut [T], pool: ThreadPool, tau: &mut [T]) -> Result<(), Error> {
    let lapack = Geqrf::new(m, n)?;
    let (elements, k) = (m * n, m.min(n));
    if elements == 0 {
        return Ok(());
    }
    let pool = threads(pool, 2.0 * a.len() as f64 * k as f64).at_most(Geqrf::<T>::library(m, n).threads());
    match factorising::<T>(|small| small.qr_work(m, n)) {
        Some((small, length)) => {
            let group = group(elements, small.together(m, n));
            let groups = a.chunks_mut(group * elements).zip(tau.chunks_mut(group * k));
            for_each(pool, groups, |scratch, (a, tau)| {
                small.geqrf(m, n, a, tau, scratch.take(length)?);
                Ok(())
            })
        }
        None => for_each(pool, a.chunks_mut(elements).zip(tau.chunks_mut(k)), |scratch, (a, tau)| {
            lapack.run(a, tau, workspace(scratch, lapack.workspace())?);
            Ok(())
        }),
    }
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
    batch = whole,
    require(m >= n, "a matrix of reflectors is not wider than high"),
    require(n >= k, "there are more reflectors than columns"),
)]
pub fn orgqr<T: Lapack>(
    #[shape(.., m, n)] mut a: InOut<ColMajor<&mut [T]>>,
    #[shape(.., k)] tau: &[T],
    #[dim] m: usize,
    #[dim] n: usize,
    #[dim] k: usize,
    pool: ThreadPool,
) -> Result<(), Error> {
    multiply([m, n, k], &mut a, pool, tau)
}

/// Multiplies the reflectors of each matrix of a batch, on small kernels or LAPACK's.
fn multiply<T: Lapack>([m, n, k]: [usize; 3], a: &mut [T], pool: ThreadPool, tau: &[T]) -> Result<(), Error> {
    let lapack = Orgqr::new(m, n, k)?;
    let elements = m * n;
    if elements == 0 {
        return Ok(());
    }
    let pool = threads(pool, 2.0 * a.len() as f64 * k as f64).at_most(Orgqr::<T>::library(n, k).threads());
    same_batch("tau", tau.len(), a.len() / elements * k)?;
    // Without reflectors, there is nothing to split.
    let of = |first: usize, count: usize| &tau[first * k..(first + count) * k];
    match factorising::<T>(|small| small.qr_work(m, n)) {
        Some((small, length)) => {
            let group = group(elements, small.together(m, n));
            for_each(pool, a.chunks_mut(group * elements).enumerate(), |scratch, (x, a)| {
                small.orgqr(m, n, k, a, of(x * group, a.len() / elements), scratch.take(length)?);
                Ok(())
            })
        }
        None => for_each(pool, a.chunks_mut(elements).enumerate(), |scratch, (x, a)| {
            lapack.run(a, of(x, 1), workspace(scratch, lapack.workspace())?);
            Ok(())
        }),
    }
}

/// Factorises in place with column pivoting: `a p = q r`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sgeqp3_ffi", f64: "lapack_dgeqp3_ffi",
        Complex<f32>: "lapack_cgeqp3_ffi", Complex<f64>: "lapack_zgeqp3_ffi",
    },
    batch = parallel,
    threads = Geqp3::<T>::library(m, n).threads(),
)]
pub fn geqp3<T: Lapack>(
    #[shape(m, n)] mut a: InOut<ColMajor<&mut [T]>>,
    #[shape(n)] mut jpvt: InOut<&mut [i32]>,
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(min(m, n))] tau: &mut [T],
) -> Result<(), Error> {
    let geqp3 = Geqp3::new(m, n)?;
    geqp3.run(&mut a, &mut jpvt, tau, workspace(scratch, geqp3.workspace())?);
    Ok(())
}

/// Multiplies by the product of reflectors, in place of `c`.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_sormqr_ffi", f64: "lapack_dormqr_ffi",
        Complex<f32>: "lapack_cunmqr_ffi", Complex<f64>: "lapack_zunmqr_ffi",
    },
    batch = parallel,
    threads = Ormqr::<T>::library([m, n], k).threads(),
    require(r == if left { m } else { n }, "reflectors have the length of what they multiply: m from the left, else n"),
    require(columns >= k, "there are more reflectors than columns"),
    require(r >= k, "there are more reflectors than rows"),
)]
pub fn ormqr<T: Lapack>(
    #[shape(r, columns)] a: ColMajor<&[T]>,
    #[shape(k)] tau: &[T],
    #[shape(m, n)] mut c: InOut<ColMajor<&mut [T]>>,
    left: bool,
    transpose: bool,
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
) -> Result<(), Error> {
    match serving::<T>(|small| if left { small.ormqr_work(m, n, tau.len()) } else { None }) {
        Some((small, length)) => small.ormqr(transpose, [m, n], &a, tau, &mut c, scratch.take(length)?),
        None => {
            let side = if left { Side::Left } else { Side::Right };
            let ormqr = Ormqr::new(side, transpose, [m, n], tau.len())?;
            ormqr.run(&a, tau, &mut c, workspace(scratch, ormqr.workspace())?);
        }
    }
    Ok(())
}
