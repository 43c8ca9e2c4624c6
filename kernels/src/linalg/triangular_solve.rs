//! Triangular systems: jaxlib's `lapack_?trsm_ffi`.
//!
//! | `trsm` | |
//! |---|---|
//! | operands | `a` (m, m) or (n, n), columns first; of it the triangle `uplo` is read. `b` (m, n), columns first |
//! | attributes, all u8 | `side`: `L` for `op(a) x = b`, `R` for `x op(a) = b`; `uplo`: `L` or `U`; `trans_x`: `N`, `T` or `C`; `diag`: `U` for ones, or `N` |
//! | result | `x`, in place of `b` |
//!
//! It cannot fail: there is no `info`. A zero on the diagonal divides as IEEE arithmetic does, and input that is not finite
//! propagates.

use oxidax::prelude::*;

use crate::lapack::{Diag, Lapack, Side, Transpose, Triangle, Trsm, Uplo};
use crate::small::Instructions;
use crate::work::{group, same_batch, threads};

/// Solves, in place of `b`.
///
/// # Errors
///
/// INVALID_ARGUMENT if a matrix is too large for LAPACK's integers, or if `a` and `b` have other batches.
#[expect(clippy::too_many_arguments, reason = "BLAS's")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    target = {
        f32: "lapack_strsm_ffi", f64: "lapack_dtrsm_ffi",
        Complex<f32>: "lapack_ctrsm_ffi", Complex<f64>: "lapack_ztrsm_ffi",
    },
    require(
        order == if side == Side::Left { m } else { n },
        "a has as many rows as b to the left of x, and as many as b has columns to the right"
    ),
    batch = whole,
)]
pub fn trsm<T: Lapack>(
    #[shape(.., order, order)] a: ColMajor<&[T]>,
    #[shape(.., m, n)] mut b: InOut<ColMajor<&mut [T]>>,
    side: Side,
    uplo: Uplo,
    #[attr(name = "trans_x")] transpose: Transpose,
    diag: Diag,
    #[dim] m: usize,
    #[dim] n: usize,
    pool: ThreadPool,
) -> Result<(), Error> {
    let triangle = Triangle { side, uplo, transpose, diag };
    let lapack = Trsm::new(triangle, m, n)?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let (of_a, of_b) = (triangle.order(m, n).pow(2), m * n);
    same_batch("a", a.len(), b.len() / of_b * of_a)?;
    let pool = threads(pool, b.len() as f64 * triangle.order(m, n) as f64).at_most(Trsm::<T>::library(m, n).threads());
    let small = T::small(Instructions::best()).filter(|small| small.has_trsm(m, n));
    let group = group(of_a + of_b, small.map_or(1, |small| small.together(m, n)));
    pool.for_each(a.chunks(group * of_a).zip(b.chunks_mut(group * of_b)), |(a, b)| match small {
        Some(small) => small.trsm(triangle, m, n, a, b),
        None => a.chunks(of_a).zip(b.chunks_mut(of_b)).for_each(|(a, b)| lapack.run(a, b)),
    });
    Ok(())
}
