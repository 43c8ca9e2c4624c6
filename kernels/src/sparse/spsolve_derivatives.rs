//! The derivatives of `spsolve`, which wires them: `a t_x = t_b - t_a x`; and with `a^T y = ct_x`, `ct_b` is `y`, and the
//! cotangent of the entry at `(i, j)` is `-y[i] x[j]`.

use num_traits::Float as _;
use oxidax::prelude::*;

use super::csr::{Csr, Index};
use super::qr::{Magnitude, Square};

/// The tangent of `x`.
///
/// # Errors
///
/// As `spsolve`.
#[expect(clippy::too_many_arguments, reason = "operands, the result and tangents")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>], I = [i32, i64]),
    require(p == n + 1, "indptr has a number more than there are equations"),
    batch = parallel,
)]
pub fn spsolve_jvp<T: Magnitude, I: Index>(
    #[shape(nnz)] data: &[T],
    #[shape(nnz)] indices: &[I],
    #[shape(p)] indptr: &[I],
    #[shape(n)] x: &[T],
    #[shape(nnz)] t_data: &[T],
    #[shape(n)] t_b: &[T],
    #[attr(default = 1e-6)] tol: f64,
    #[attr(default = 1)] reorder: i32,
    #[shape(n)] t_x: &mut [T],
) -> Result<(), Error> {
    let csr = Csr::new(indptr, indices, x.len())?;
    csr.multiply(t_data, x, 1, false, ThreadPool::none(), t_x)?;
    for (t_x, &t_b) in t_x.iter_mut().zip(t_b) {
        *t_x = t_b - *t_x;
    }
    Square::new(&csr, data)?.solve(reorder != 0, tol, t_x)
}

/// The cotangents of `data` and `b`: NaN where the matrix was refused, which `x` shows. No `tol`: it is about the R of the
/// matrix, and not about that of its transpose, which has another diagonal.
///
/// # Errors
///
/// As `spsolve`.
#[expect(clippy::too_many_arguments, reason = "operands, the result and cotangents")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>], I = [i32, i64]),
    require(p == n + 1, "indptr has a number more than there are equations"),
    batch = parallel,
)]
pub fn spsolve_bwd<T: Magnitude, I: Index>(
    #[shape(nnz)] data: &[T],
    #[shape(nnz)] indices: &[I],
    #[shape(p)] indptr: &[I],
    #[shape(n)] x: &[T],
    #[shape(n)] ct_x: &[T],
    #[attr(default = 1)] reorder: i32,
    #[shape(nnz)] ct_data: &mut [T],
    #[shape(n)] ct_b: &mut [T],
) -> Result<(), Error> {
    let csr = Csr::new(indptr, indices, x.len())?;
    if x.iter().all(|x| x.re().is_nan()) {
        ct_b.fill(T::NAN);
    } else {
        ct_b.copy_from_slice(ct_x);
        Square::new(&csr, data)?.transposed().solve(reorder != 0, 0.0, ct_b)?;
    }
    csr.products(ct_b, x, 1, ct_data)?;
    ct_data.iter_mut().for_each(|ct| *ct = -*ct);
    Ok(())
}
