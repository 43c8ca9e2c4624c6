//! The derivatives of `csr_matmul`, which wires them. It is linear in `data` and in `rhs`: the cotangent of an entry is the
//! product of a row of `ct_product` and a row of `rhs`, that of `rhs` is the transposed matrix times `ct_product`.

use oxidax::prelude::*;

use super::csr::{Csr, Entry, Index};

/// The tangent of `product`.
///
/// # Errors
///
/// As `csr_matmul`.
#[expect(clippy::too_many_arguments, reason = "operands and tangents")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>], I = [i32, i64]),
    require(p >= 1, "indptr has a number more than the matrix has rows"),
    batch = parallel,
)]
pub fn csr_matmul_jvp<T: Entry, I: Index>(
    #[shape(nnz)] data: &[T],
    #[shape(nnz)] indices: &[I],
    #[shape(p)] indptr: &[I],
    #[shape(n, k)] rhs: &[T],
    #[shape(nnz)] t_data: &[T],
    #[shape(n, k)] t_rhs: &[T],
    #[dim] n: usize,
    #[dim] k: usize,
    pool: ThreadPool,
    #[shape(p - 1, k)] t_product: &mut [T],
) -> Result<(), Error> {
    let csr = Csr::new(indptr, indices, n)?;
    csr.multiply(t_data, rhs, k, false, pool, t_product)?;
    csr.multiply(data, t_rhs, k, true, pool, t_product)
}

/// The cotangents of `data` and `rhs`.
///
/// # Errors
///
/// As `csr_matmul`.
#[expect(clippy::too_many_arguments, reason = "operands and cotangents")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>], I = [i32, i64]),
    require(p >= 1, "indptr has a number more than the matrix has rows"),
    batch = parallel,
)]
pub fn csr_matmul_bwd<T: Entry, I: Index>(
    #[shape(nnz)] data: &[T],
    #[shape(nnz)] indices: &[I],
    #[shape(p)] indptr: &[I],
    #[shape(n, k)] rhs: &[T],
    #[shape(p - 1, k)] ct_product: &[T],
    #[dim] n: usize,
    #[dim] k: usize,
    #[shape(nnz)] ct_data: &mut [T],
    #[shape(n, k)] ct_rhs: &mut [T],
) -> Result<(), Error> {
    let csr = Csr::new(indptr, indices, n)?;
    csr.products(ct_product, rhs, k, ct_data)?;
    csr.multiply_transpose(data, ct_product, k, ct_rhs)
}
