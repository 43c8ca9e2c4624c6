//! The derivatives of `symmetric_product`, which wires them: the tangent is `alpha (p + p^T) + beta t_c` for
//! `p = t_a a^T`, and the cotangents are `alpha s a` and `beta` times the lower triangle of `s`, which is `ct + ct^T` but
//! for its diagonal, that of `ct`.

use oxidax::prelude::*;

use super::symmetric_product::{mirror, multiply, scalar};
use crate::lapack::{Gemm, Lapack, Transpose};

/// The tangent of `product`.
///
/// # Errors
///
/// INVALID_ARGUMENT if a size is too large for BLAS's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "operands, tangents, attributes and the result")]
#[ffi_handler(dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]), batch = parallel)]
pub fn symmetric_product_jvp<T: Lapack>(
    #[shape(n, k)] a: &[T],
    #[shape(n, k)] t_a: &[T],
    #[shape(n, n)] t_c: &[T],
    #[attr(default = 1.0)] alpha: f64,
    #[attr(default = 0.0)] beta: f64,
    #[dim] n: usize,
    #[dim] k: usize,
    scratch: Scratch,
    pool: ThreadPool,
    #[shape(n, n)] t_product: &mut [T],
) -> Result<(), Error> {
    let p = scratch.take(n * n)?;
    // The triangles of `t_a a^T` and of its transpose.
    multiply(t_a, a, [n, k], scalar(alpha), None, pool, p)?;
    multiply(a, t_a, [n, k], scalar(alpha), Some((t_c, scalar(beta))), pool, t_product)?;
    for (t, &p) in t_product.iter_mut().zip(&*p) {
        *t = *t + p;
    }
    mirror(n, t_product);
    Ok(())
}

/// The cotangents of `a` and `c`.
///
/// # Errors
///
/// INVALID_ARGUMENT if a size is too large for BLAS's integers, RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "operands, attributes and the results")]
#[ffi_handler(dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]), batch = parallel)]
pub fn symmetric_product_bwd<T: Lapack>(
    #[shape(n, k)] a: &[T],
    #[shape(n, n)] ct_product: &[T],
    #[attr(default = 1.0)] alpha: f64,
    #[attr(default = 0.0)] beta: f64,
    #[dim] n: usize,
    #[dim] k: usize,
    scratch: Scratch,
    #[shape(n, k)] ct_a: &mut [T],
    #[shape(n, n)] ct_c: &mut [T],
) -> Result<(), Error> {
    let gemm = Gemm::new([Transpose::No, Transpose::No], [k, n, n], k)?;
    let sum = scratch.take(n * n)?;
    let beta = scalar::<T>(beta);
    // A factor of 0 leaves the term out, whatever it is.
    let times_beta = |x: T| if beta.is_zero() { T::zero() } else { beta * x };
    for (i, (sum, ct_c)) in sum.chunks_exact_mut(n.max(1)).zip(ct_c.chunks_exact_mut(n.max(1))).enumerate() {
        for (j, (sum, ct_c)) in sum.iter_mut().zip(&mut *ct_c).enumerate() {
            *sum = ct_product[i * n + j] + ct_product[j * n + i];
            *ct_c = if j < i { times_beta(*sum) } else { T::zero() };
        }
        ct_c[i] = times_beta(ct_product[i * n + i]);
    }
    // Rows first: in columns it is `a^T sum`.
    gemm.run(scalar(alpha), a, sum, T::zero(), ct_a);
    Ok(())
}
