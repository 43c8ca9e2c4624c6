//! The product of a sparse matrix and a dense one: the operation `csr_matmul`, and jaxlib's `cpu_csr_sparse_dense_ffi`.
//!
//! | `cpu_csr_sparse_dense_ffi` | |
//! |---|---|
//! | operands | `data` (nnz): s32, s64, f32, f64, c64 or c128; `indptr` (rows + 1) and `indices` (nnz): both s32 or both s64; `rhs` (cols, k) or (cols), of `data`'s dtype |
//! | result | `out` (rows, k) or (rows), of `data`'s dtype |
//!
//! Unlike jaxlib's: places that are none are refused, where jaxlib's reads memory that is not its own; and the work is
//! shared by entries, not by rows.

use oxidax::Trailing;
use oxidax::prelude::*;

use super::csr::{Csr, Entry, Index};

/// The product of a sparse matrix and a dense one.
///
/// `data`, `indices` and `indptr` are those of a `jax.experimental.sparse.BCSR` or a `scipy.sparse.csr_matrix`: row `i` has
/// the entries `indptr[i]` to `indptr[i + 1]`, in the columns that `indices` says, in any order; where a column comes again,
/// the entries add up. Entries beyond the last row's are padding: they are not read, and their derivatives are zero. A
/// vector is an `rhs` of one column.
///
/// NaN and infinities propagate as in IEEE arithmetic, from rows of `rhs` that an entry meets. The bits of an
/// element depend on the entries of its row, their order, its column of `rhs`, and whether that is the only one.
///
/// # Errors
///
/// INVALID_ARGUMENT if a row ends before it begins or beyond the entries, or if an entry is in none of `rhs`'s rows.
#[expect(clippy::too_many_arguments, reason = "a sparse matrix is three of them")]
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>], I = [i32, i64]),
    require(p >= 1, "indptr has a number more than the matrix has rows"),
    batch = parallel,
    jvp = super::csr_matmul_derivatives::csr_matmul_jvp,
    vjp(bwd = super::csr_matmul_derivatives::csr_matmul_bwd),
)]
pub fn csr_matmul<T: Entry, I: Index>(
    #[shape(nnz)] data: &[T],
    #[shape(nnz)] indices: &[I],
    #[shape(p)] indptr: &[I],
    #[shape(n, k)] rhs: &[T],
    #[dim] n: usize,
    #[dim] k: usize,
    pool: ThreadPool,
    #[shape(p - 1, k)] product: &mut [T],
) -> Result<(), Error> {
    Csr::new(indptr, indices, n)?.multiply(data, rhs, k, false, pool, product)
}

/// Multiplies, into `out`.
///
/// # Errors
///
/// INVALID_ARGUMENT as for `csr_matmul`, and unless `rhs` and `out` are both vectors or both matrices as wide.
#[ffi_handler(
    dtypes(T = [i32, i64, f32, f64, Complex<f32>, Complex<f64>], I = [i32, i64]),
    target = { _: "cpu_csr_sparse_dense_ffi" },
    require(p >= 1, "indptr has a number more than the matrix has rows"),
    batch = none,
)]
pub fn csr_sparse_dense<T: Entry, I: Index>(
    #[shape(nnz)] data: &[T],
    #[shape(p)] indptr: &[I],
    #[shape(nnz)] indices: &[I],
    #[shape(n)] rhs: Trailing<Shaped<&[T]>>,
    pool: ThreadPool,
    #[shape(p - 1)] mut out: Trailing<Shaped<&mut [T]>>,
) -> Result<(), Error> {
    let (rows, columns) = (rhs.dims(), out.dims());
    let width = match (rows, columns) {
        (&[_], &[_]) => 1,
        (&[_, k], &[_, other]) if k == other => k,
        _ => {
            let message = format!("rhs is {rows:?} and out is {columns:?}: both are vectors, or both matrices as wide");
            return Err(Error::invalid_argument(message));
        }
    };
    Csr::new(indptr, indices, rows[0])?.multiply(data, &rhs, width, false, pool, &mut out)
}
