//! The derivatives of `cholesky_update`, which wires them, in `n^2` operations as well: those of the rotations.
//!
//! A rotation by an angle `a` takes a row and `w` to `(row', w')`, and its derivative to
//! `rotated tangents + t_a * (w', -row')`. With `(x, y)` the first elements, `t_a = (cos t_y - sin t_x) / radius`.
//! Backwards, the rotations are undone from the last to the first, which gives each `w` again without keeping it.

use oxidax::prelude::*;

use super::cholesky_update::Rotation;
use crate::vectors::vectorised;

/// The tangent of `factor`.
///
/// # Errors
///
/// RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "operands, tangents and the result")]
#[ffi_handler(dtypes(T = [f32, f64]), batch = parallel)]
pub fn cholesky_update_jvp<T: Float>(
    #[shape(n, n)] r: &[T],
    #[shape(n)] w: &[T],
    #[shape(n, n)] factor: &[T],
    #[shape(n, n)] t_r: &[T],
    #[shape(n)] t_w: &[T],
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n, n)] t_factor: &mut [T],
) -> Result<(), Error> {
    let (left, t_left) = (scratch.take(n)?, scratch.take(n)?);
    left.copy_from_slice(w);
    t_left.copy_from_slice(t_w);
    let width = n.max(1);
    let rows = r.chunks_exact(width).zip(factor.chunks_exact(width)).zip(t_r.chunks_exact(width));
    vectorised(
        #[inline(always)]
        || {
            for (k, (((row, factor), t_row), t_factor)) in rows.zip(t_factor.chunks_exact_mut(width)).enumerate() {
                let Rotation { sign, cos, sin, radius } = Rotation::of(row[k], left[k]);
                let (t_x, t_y) = (sign * t_row[k], t_left[k]);
                let t_angle = (cos * t_y - sin * t_x) / radius;
                t_factor[..k].fill(T::zero());
                t_factor[k] = cos * t_x + sin * t_y;
                let (left, t_left, t_factor) = (&mut left[k + 1..], &mut t_left[k + 1..], &mut t_factor[k + 1..]);
                let row = row[k + 1..].iter().zip(&factor[k + 1..]).zip(&t_row[k + 1..]);
                for ((((&x, &rotated), &t_x), t_factor), (w, t_w)) in row.zip(t_factor).zip(left.iter_mut().zip(t_left))
                {
                    *w = cos * *w - sin * (sign * x);
                    let (t_x, t_y) = (sign * t_x, *t_w);
                    *t_factor = cos * t_x + sin * t_y + t_angle * *w;
                    *t_w = cos * t_y - sin * t_x - t_angle * rotated;
                }
            }
        },
    );
    Ok(())
}

/// The cotangents of `r` and `w`.
///
/// # Errors
///
/// RESOURCE_EXHAUSTED without memory to work in.
#[expect(clippy::too_many_arguments, reason = "operands, the result, and cotangents of all")]
#[ffi_handler(dtypes(T = [f32, f64]), batch = parallel)]
pub fn cholesky_update_bwd<T: Float>(
    #[shape(n, n)] r: &[T],
    #[shape(n)] w: &[T],
    #[shape(n, n)] factor: &[T],
    #[shape(n, n)] ct_factor: &[T],
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(n, n)] ct_r: &mut [T],
    #[shape(n)] ct_w: &mut [T],
) -> Result<(), Error> {
    let left = scratch.take(n)?;
    left.copy_from_slice(w);
    ct_w.fill(T::zero());
    let width = n.max(1);
    vectorised(
        #[inline(always)]
        || {
            for (k, (row, ct_row)) in r.chunks_exact(width).zip(ct_r.chunks_exact_mut(width)).enumerate() {
                // The rotated row is `factor`'s: here it goes where something else will be.
                Rotation::of(row[k], left[k]).apply(&row[k + 1..], &mut left[k + 1..], &mut ct_row[k + 1..]);
            }
            // Each element of `left` is now what it was when its own row was reached.
            let rows = r.chunks_exact(width).zip(factor.chunks_exact(width)).zip(ct_factor.chunks_exact(width));
            for (k, (((row, factor), ct_factor), ct_row)) in rows.zip(ct_r.chunks_exact_mut(width)).enumerate().rev() {
                let Rotation { sign, cos, sin, radius } = Rotation::of(row[k], left[k]);
                let (left, later) = (&mut left[k + 1..], &mut ct_w[k..]);
                let Some((ct_y, ct_w)) = later.split_first_mut() else { return };
                let ct_angle = (dot(&ct_factor[k + 1..], left) - dot(&factor[k + 1..], ct_w)) / radius;
                ct_row[..k].fill(T::zero());
                ct_row[k] = sign * (cos * ct_factor[k] - sin * ct_angle);
                *ct_y = sin * ct_factor[k] + cos * ct_angle;
                let row = factor[k + 1..].iter().zip(&ct_factor[k + 1..]).zip(&mut ct_row[k + 1..]);
                for (((&rotated, &ct_rotated), ct_row), (w, ct_w)) in row.zip(left.iter_mut().zip(ct_w)) {
                    *w = sin * rotated + cos * *w;
                    *ct_row = sign * (cos * ct_rotated - sin * *ct_w);
                    *ct_w = sin * ct_rotated + cos * *ct_w;
                }
            }
        },
    );
    Ok(())
}

/// The sum of products, as eight sums that vectors hold.
#[inline(always)]
fn dot<T: Float>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::zero(); 8];
    let (whole, rest) = a.as_chunks::<8>();
    let (others, last) = b.as_chunks::<8>();
    for (a, b) in whole.iter().zip(others) {
        for (sum, (&a, &b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum = *sum + a * b;
        }
    }
    for (sum, (&a, &b)) in sums.iter_mut().zip(rest.iter().zip(last)) {
        *sum = *sum + a * b;
    }
    sums.into_iter().fold(T::zero(), |total, sum| total + sum)
}
