//! The product of a matrix and its transpose: the operation `symmetric_product`.
//!
//! | | |
//! |---|---|
//! | operands | `a` (n, k); `c` (n, n), of which the lower triangle is read |
//! | attributes | `alpha`, `beta`: f64 |
//! | result | `product` (n, n): `alpha a a^T + beta c` |
//!
//! The contract is that of `jax.lax.linalg.symmetric_product` with `symmetrize_output=True`, which is XLA operations on
//! the CPU and jaxlib's `cusolver_syrk_ffi` on CUDA. Unlike there, complex matrices are taken; their transpose is not
//! conjugated. As in BLAS, a term whose factor is zero is left out.

use oxidax::prelude::*;

use crate::lapack::{Gemm, Lapack, Transpose};
use crate::work::threads;

/// The rows that are computed together: they are the same however many threads there are.
const ROWS: usize = 64;
/// The width of a tile that is mirrored at a time.
const TILE: usize = 16;

/// The symmetric matrix `alpha * a @ a^T + beta * c`, for a symmetric `c`.
///
/// Of `c` the lower triangle is read. The result is symmetric to the last bit. For complex matrices too, `a^T` is the
/// transpose and not its conjugate.
///
/// A term whose factor is 0 is left out, whatever its matrix holds; else NaN and infinities propagate as in IEEE
/// arithmetic. Derivatives are those of a function of `a` and the lower triangle of `c`: in the other one, tangents are
/// not read, and cotangents are zero.
///
/// # Errors
///
/// INVALID_ARGUMENT if a size is too large for BLAS's integers.
#[expect(clippy::too_many_arguments, reason = "the sizes and the threads are two of them")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    jvp = super::symmetric_product_derivatives::symmetric_product_jvp,
    vjp(bwd = super::symmetric_product_derivatives::symmetric_product_bwd),
)]
pub fn symmetric_product<T: Lapack>(
    #[shape(n, k)] a: &[T],
    #[shape(n, n)] c: &[T],
    #[attr(default = 1.0)] alpha: f64,
    #[attr(default = 0.0)] beta: f64,
    #[dim] n: usize,
    #[dim] k: usize,
    pool: ThreadPool,
    #[shape(n, n)] product: &mut [T],
) -> Result<(), Error> {
    multiply(a, a, [n, k], scalar(alpha), Some((c, scalar(beta))), pool, product)?;
    mirror(n, product);
    Ok(())
}

/// An attribute as a number of the matrix's type.
pub(super) fn scalar<T: Lapack>(x: f64) -> T {
    // Out of range is infinite, and never none.
    num_traits::cast::<f64, T::RealPart>(x).map_or(T::NAN, T::from)
}

/// The lower triangle, at least, of `alpha a b^T + beta c` for `a` and `b` of `n x k`.
pub(super) fn multiply<T: Lapack>(
    a: &[T],
    b: &[T],
    [n, k]: [usize; 2],
    alpha: T,
    c: Option<(&[T], T)>,
    pool: ThreadPool<'_>,
    product: &mut [T],
) -> Result<(), Error> {
    // Rows first, which BLAS reads as the transpose: `(b a^T)` in columns.
    let gemm = Gemm::new([Transpose::Plain, Transpose::No], [n, n, k], n)?;
    let pool = threads(pool, n as f64 * n as f64 * k as f64);
    let (c, beta) = c.filter(|(_, beta)| !beta.is_zero()).unwrap_or((&[], T::zero()));
    let rows = product.chunks_mut((ROWS * n).max(1)).enumerate();
    pool.for_each(rows, |(block, product)| {
        let (first, height) = (block * ROWS, product.len() / n);
        let width = first + height;
        if let Some(c) = c.get(first * n..width * n) {
            product.copy_from_slice(c);
        }
        gemm.part(width, height).run(alpha, &b[..width * k], &a[first * k..width * k], beta, product);
    });
    Ok(())
}

/// Makes a matrix symmetric, of its lower triangle.
pub(super) fn mirror<T: Copy>(n: usize, a: &mut [T]) {
    for top in (0..n).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..n.min(top + TILE) {
                for j in left..i.min(left + TILE) {
                    a[j * n + i] = a[i * n + j];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mirror;

    #[test]
    fn every_element_is_mirrored() {
        for n in [0, 1, 15, 16, 17, 33, 50] {
            let mut a: Vec<_> = (0..n * n).collect();
            mirror(n, &mut a);
            let lower = |i: usize, j: usize| i.max(j) * n + i.min(j);
            assert!((0..n * n).all(|x| a[x] == lower(x / n, x % n)), "{n}");
        }
    }
}
