//! The Cholesky factor after the square of a vector was added: the operation `cholesky_update`.
//!
//! | | |
//! |---|---|
//! | operands | `r` (n, n), of which the upper triangle is read; `w` (n) |
//! | result | `factor` (n, n), upper triangular: `factor^T factor = r^T r + w w^T` |
//!
//! The contract is that of `jax.lax.linalg.cholesky_update`, which is XLA operations on the CPU and jaxlib's
//! `cu_cholesky_update_ffi` on CUDA. Here, there are batches, what is below the diagonal is not read, and the diagonal of
//! the result is never negative.

use oxidax::prelude::*;

use crate::vectors::vectorised;

/// The Cholesky factor of a matrix after a rank-one update, in `n^2` operations: `factor^T @ factor = r^T @ r + w w^T`.
///
/// `r` is the upper triangular factor of the matrix before; what is below its diagonal is not read, and is zero in
/// `factor`. The diagonal of `factor` is never negative, whatever the signs on that of `r`: a row that begins with a
/// negative number is taken for its negative, which is a factor of the same matrix.
///
/// NaN and infinities propagate as in IEEE arithmetic: to columns of `factor` from their own on. Derivatives are those of
/// a function of the triangle; where an element of the diagonal of `factor` is zero, they do not exist and are NaN.
///
/// # Errors
///
/// RESOURCE_EXHAUSTED without memory to work in.
#[ffi_handler(
    dtypes(T = [f32, f64]),
    batch = parallel,
    jvp = super::cholesky_update_derivatives::cholesky_update_jvp,
    vjp(bwd = super::cholesky_update_derivatives::cholesky_update_bwd),
)]
pub fn cholesky_update<T: Float>(
    #[shape(n, n)] r: &[T],
    #[shape(n)] w: &[T],
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n, n)] factor: &mut [T],
) -> Result<(), Error> {
    let left = scratch.take(n)?;
    left.copy_from_slice(w);
    vectorised(
        #[inline(always)]
        || {
            for (k, (row, factor)) in r.chunks_exact(n.max(1)).zip(factor.chunks_exact_mut(n.max(1))).enumerate() {
                let rotation = Rotation::of(row[k], left[k]);
                factor[..k].fill(T::zero());
                factor[k] = rotation.radius;
                rotation.apply(&row[k + 1..], &mut left[k + 1..], &mut factor[k + 1..]);
            }
        },
    );
    Ok(())
}

/// The rotation that turns the first element of a row and that of `w` into `(radius, 0)`.
pub(super) struct Rotation<T> {
    /// -1 for a row that is taken for its negative, else 1.
    pub(super) sign: T,
    pub(super) cos: T,
    pub(super) sin: T,
    pub(super) radius: T,
}

impl<T: Float> Rotation<T> {
    pub(super) fn of(x: T, y: T) -> Self {
        let (one, zero) = (T::one(), T::zero());
        let sign = if x < zero { -one } else { one };
        let radius = x.hypot(y);
        if radius == zero {
            return Rotation { sign, cos: one, sin: zero, radius };
        }
        Rotation { sign, cos: x.abs() / radius, sin: y / radius, radius }
    }

    /// Rotates the rest of a row and of `w`, which is changed in place.
    #[inline(always)]
    pub(super) fn apply(&self, row: &[T], w: &mut [T], rotated: &mut [T]) {
        let (cos, sin) = (self.cos * self.sign, self.sin * self.sign);
        for ((&x, w), rotated) in row.iter().zip(w).zip(rotated) {
            let y = *w;
            *rotated = cos * x + self.sin * y;
            *w = self.cos * y - sin * x;
        }
    }
}

#[cfg(test)]
mod tests {
    use oxidax::Scratch;

    use super::{Rotation, cholesky_update};

    #[test]
    fn a_row_that_begins_with_a_negative_number_is_taken_for_its_negative() {
        let mut factor = [f64::NAN; 4];
        Scratch::with(|scratch| cholesky_update(&[-3.0, 1.0, 9.0, 2.0], &[4.0, 0.0], 2, scratch, &mut factor)).unwrap();
        // The square of the matrix is [9, -3; -3, 5], and of the vector [16, 0; 0, 0].
        let corner: f64 = 5.0 - 0.36;
        let expected = [5.0, -0.6, 0.0, corner.sqrt()];
        assert!(factor.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-15), "{factor:?}");
    }

    #[test]
    fn nothing_overflows_or_vanishes_before_the_result_does() {
        for scale in [1e-320_f64, 1e-200, 1.0, 1e300] {
            let rotation = Rotation::of(3.0 * scale, -4.0 * scale);
            assert!((rotation.cos - 0.6_f64).abs() < 1e-3 && (rotation.sin + 0.8).abs() < 1e-3, "{scale}");
            assert!((rotation.radius / (5.0 * scale) - 1.0).abs() < 1e-3, "{scale}");
        }
    }
}
