//! The solution of a sparse system of equations: the operation `spsolve`.
//!
//! | | |
//! |---|---|
//! | operands | `data` (nnz), `indices` (nnz), `indptr` (n + 1): a square matrix; `b` (n) |
//! | attributes | `tol`: f64; `reorder`: s32, 0 for none, 1 to 3 for an order that fills less |
//! | result | `x` (n) |
//!
//! The contract is that of `jax.experimental.sparse.linalg.spsolve`, which calls SciPy through Python on the CPU and
//! jaxlib's `cusolver_csrlsvqr_ffi` on CUDA. Here, there are batches, repeated columns add up, the orders 1 to 3 are all
//! the first (symrcm), and a singular matrix is NaN on its own, where on CUDA it is an error of the whole call.

use oxidax::prelude::*;

use super::csr::{Csr, Index};
use super::qr::{Magnitude, Square};

/// The solution of a sparse system of equations, `a @ x = b`, by QR decomposition.
///
/// `data`, `indices` and `indptr` are those of a square `jax.experimental.sparse.BCSR` or `scipy.sparse.csr_matrix`: row `i`
/// has the entries `indptr[i]` to `indptr[i + 1]`, in the columns that `indices` says, in any order; where a column comes
/// again, the entries add up. Entries beyond the last row's are padding.
///
/// `reorder=0` takes rows and columns as they come; 1, 2 and 3 take them in the reverse Cuthill-McKee order, which keeps R
/// sparse where the matrix is nearly a band in some order. A matrix is singular if an element on the diagonal of R is
/// not larger than `tol`, which is absolute, or NaN; then `x` is NaN. An infinity in the matrix gives NaN in the unknowns
/// that it meets, at least; what is not finite in `b` propagates.
///
/// # Errors
///
/// INVALID_ARGUMENT if a row ends before it begins or beyond the entries, or if an entry is in no column;
/// RESOURCE_EXHAUSTED without memory for R.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>], I = [i32, i64]),
    require(p == n + 1, "indptr has a number more than there are equations"),
    require(reorder >= 0 && reorder <= 3, "reorder is 0, 1, 2 or 3"),
    batch = parallel,
    jvp = super::spsolve_derivatives::spsolve_jvp,
    vjp(bwd = super::spsolve_derivatives::spsolve_bwd),
)]
pub fn spsolve<T: Magnitude, I: Index>(
    #[shape(nnz)] data: &[T],
    #[shape(nnz)] indices: &[I],
    #[shape(p)] indptr: &[I],
    #[shape(n)] b: &[T],
    #[attr(default = 1e-6)] tol: f64,
    #[attr(default = 1)] reorder: i32,
    #[shape(n)] x: &mut [T],
) -> Result<(), Error> {
    let matrix = Square::new(&Csr::new(indptr, indices, x.len())?, data)?;
    x.copy_from_slice(b);
    matrix.solve(reorder != 0, tol, x)
}
