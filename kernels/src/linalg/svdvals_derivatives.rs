//! The derivatives of `svdvals`, which wires them: `t_s = diag(re(u^H t_a vh^H))`, and `u diag(g) vh` is the gradient of
//! `a` for a gradient `g` of `s`.
//!
//! Where several values are equal, that is the derivative of functions that treat them alike, such as norms.

use oxidax::prelude::*;

use super::svd::svd;
use crate::lapack::{Gesdd, Lapack};

/// `svdvals`, and the vectors that its derivatives need.
///
/// # Errors
///
/// As `svd`.
#[ffi_handler(
    dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]),
    batch = parallel,
    threads = Gesdd::<T>::library(m, n).threads(),
)]
pub fn svdvals_fwd<T: Lapack>(
    #[shape(m, n)] a: &[T],
    #[dim] m: usize,
    #[dim] n: usize,
    scratch: Scratch,
    #[shape(min(m, n))] s: &mut [T::RealPart],
    #[shape(m, min(m, n))] u: &mut [T],
    #[shape(min(m, n), n)] vh: &mut [T],
) -> Result<(), Error> {
    svd(a, false, m, n, scratch, u, s, vh)
}

/// The tangent of `s`.
#[ffi_handler(dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]), batch = parallel)]
pub fn svdvals_jvp<T: Lapack>(
    #[shape(m, k)] u: &[T],
    #[shape(k, n)] vh: &[T],
    #[shape(m, n)] t_a: &[T],
    #[dim] n: usize,
    #[shape(k)] t_s: &mut [T::RealPart],
) {
    let k = t_s.len();
    for (j, (t_s, vh)) in t_s.iter_mut().zip(vh.chunks_exact(n.max(1))).enumerate() {
        let rows = u.chunks_exact(k).zip(t_a.chunks_exact(n));
        let along = |t_a: &[T]| t_a.iter().zip(vh).fold(T::zero(), |sum, (&t_a, vh)| sum + t_a * vh.conj());
        *t_s = rows.fold(T::zero(), |sum, (u, t_a)| sum + u[j].conj() * along(t_a)).re();
    }
}

/// The cotangent of `a`: the conjugate of the gradient.
#[ffi_handler(dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]), batch = parallel)]
pub fn svdvals_bwd<T: Lapack>(
    #[shape(m, k)] u: &[T],
    #[shape(k, n)] vh: &[T],
    #[shape(k)] ct_s: &[T::RealPart],
    #[dim] n: usize,
    #[shape(m, n)] ct_a: &mut [T],
) {
    ct_a.fill(T::zero());
    for (ct_a, u) in ct_a.chunks_exact_mut(n.max(1)).zip(u.chunks_exact(ct_s.len().max(1))) {
        for ((u, &ct_s), vh) in u.iter().zip(ct_s).zip(vh.chunks_exact(n)) {
            let factor = u.conj() * T::from(ct_s);
            for (ct_a, vh) in ct_a.iter_mut().zip(vh) {
                *ct_a = *ct_a + factor * vh.conj();
            }
        }
    }
}
