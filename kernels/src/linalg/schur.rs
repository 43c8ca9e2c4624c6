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
//! asked for are zeros. Where SciPy's routine serves, matrices are decomposed one after the other.

use oxidax::prelude::*;

use crate::lapack::{Gees, Lapack, Sort, Vectors};
use crate::work::{for_each, threads, workspace};

/// Decomposes a real matrix, `a = vs t vs^T`, with `t` in place of `a`; eigenvalues in two parts.
///
/// # Errors
///
/// INVALID_ARGUMENT if the matrix is too large for LAPACK's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "LAPACK's")]
#[ffi_handler(
    dtypes(T = [f32, f64]),
    target = { f32: "lapack_sgees_ffi", f64: "lapack_dgees_ffi" },
    batch = whole,
)]
pub fn gees_real<T: Lapack<RealPart = T> + Float>(
    #[shape(.., n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    mode: Vectors,
    sort: Sort,
    #[dim] n: usize,
    pool: ThreadPool,
    #[shape(.., n, n)] mut vs: ColMajor<&mut [T]>,
    #[shape(.., n)] wr: &mut [T],
    #[shape(.., n)] wi: &mut [T],
    #[shape(..)] selected: &mut [i32],
    #[shape(..)] info: &mut [i32],
) -> Result<(), Error> {
    let Sort::No = sort;
    selected.fill(0);
    let w = wr.chunks_mut(n.max(1)).zip(wi.chunks_mut(n.max(1))).map(|(wr, wi)| [wr, wi]);
    decompose(mode, n, pool, [&mut a, &mut vs], w, info)
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
    batch = whole,
)]
pub fn gees_complex<T: Lapack>(
    #[shape(.., n, n)] mut a: InOut<ColMajor<&mut [T]>>,
    mode: Vectors,
    sort: Sort,
    #[dim] n: usize,
    pool: ThreadPool,
    #[shape(.., n, n)] mut vs: ColMajor<&mut [T]>,
    #[shape(.., n)] w: &mut [T],
    #[shape(..)] selected: &mut [i32],
    #[shape(..)] info: &mut [i32],
) -> Result<(), Error> {
    let Sort::No = sort;
    selected.fill(0);
    let w = w.chunks_mut(n.max(1)).map(|w| [w, &mut [][..]]);
    decompose(mode, n, pool, [&mut a, &mut vs], w, info)
}

/// Decomposes each matrix of a batch.
fn decompose<'a, T: Lapack>(
    mode: Vectors,
    n: usize,
    pool: ThreadPool,
    [a, vs]: [&mut [T]; 2],
    w: impl ExactSizeIterator<Item = [&'a mut [T]; 2]> + Send,
    info: &mut [i32],
) -> Result<(), Error> {
    let gees = Gees::new(mode, n)?;
    if n == 0 {
        info.fill(0);
        return Ok(());
    }
    // About as many operations as an iteration takes.
    let pool = if gees.is_threaded() { pool.at_most(1) } else { threads(pool, 25.0 * a.len() as f64 * n as f64) };
    let matrices = a.chunks_mut(n * n).zip(vs.chunks_mut(n * n)).zip(w).zip(info);
    for_each(pool, matrices, |scratch, (((a, vs), w), info)| {
        *info = gees.run(a, w, vs, workspace(scratch, gees.workspace())?);
        Ok(())
    })
}
