//! Root-mean-square normalisation, the operation of JAX's FFI tutorial: forward, and the rules for reverse and forward
//! mode.
#![forbid(unsafe_code)]

use std::ops::Range;

use oxidax::prelude::*;

/// Root-mean-square normalisation over the last axis: `y = x / sqrt(mean(x^2) + eps)`.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(fwd = rms_norm_fwd, bwd = rms_norm_bwd), jvp = rms_norm_jvp)]
pub fn rms_norm<T: Float>(#[shape(n)] x: &[T], #[attr(default = 1e-5)] eps: f64, #[shape(n)] y: &mut [T]) {
    scale(x, inverse_rms(x, eps), y);
}

/// `rms_norm`, and the factor that its derivatives need.
#[ffi_handler(dtypes(T = [f32, f64]))]
pub fn rms_norm_fwd<T: Float>(
    #[shape(n)] x: &[T],
    #[attr(default = 1e-5)] eps: f64,
    #[shape(n)] y: &mut [T],
    #[shape()] inv: &mut T,
) {
    *inv = inverse_rms(x, eps);
    scale(x, *inv, y);
}

/// The cotangent of `x`: `inv * (ct_y - y * mean(ct_y * y))`.
#[ffi_handler(dtypes(T = [f32, f64]))]
pub fn rms_norm_bwd<T: Float>(
    #[shape()] inv: &T,
    #[shape(n)] y: &[T],
    #[shape(n)] ct_y: &[T],
    #[shape(n)] ct_x: &mut [T],
) {
    project(*inv, y, ct_y, ct_x);
}

/// The tangent of `y`. The derivative is symmetric, so it is the formula of `rms_norm_bwd`.
#[ffi_handler(dtypes(T = [f32, f64]))]
pub fn rms_norm_jvp<T: Float>(
    #[shape()] inv: &T,
    #[shape(n)] y: &[T],
    #[shape(n)] t_x: &[T],
    #[shape(n)] t_y: &mut [T],
) {
    project(*inv, y, t_x, t_y);
}

/// `1 / sqrt(mean(x^2) + eps)`. A row of no elements has mean 0.
fn inverse_rms<T: Float>(x: &[T], eps: f64) -> T {
    let eps = T::from(eps).unwrap_or_else(T::nan);
    (mean(x.len(), |i| x[i] * x[i]) + eps).sqrt().recip()
}

fn scale<T: Float>(x: &[T], factor: T, y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x * factor;
    }
}

/// `inv * (v - y * mean(v * y))`: the derivative of `rms_norm` applied to `v`.
fn project<T: Float>(inv: T, y: &[T], v: &[T], result: &mut [T]) {
    let along = mean(v.len(), |i| v[i] * y[i]);
    for ((r, &v), &y) in result.iter_mut().zip(v).zip(y) {
        *r = inv * (v - y * along);
    }
}

fn mean<T: Float>(len: usize, term: impl Fn(usize) -> T) -> T {
    sum(0..len, &term) / T::from(len.max(1)).unwrap_or_else(T::one)
}

/// Summed by halves: the error grows with the logarithm of the length.
fn sum<T: Float>(range: Range<usize>, term: &impl Fn(usize) -> T) -> T {
    const BLOCK: usize = 64;
    if range.len() <= BLOCK {
        return range.fold(T::zero(), |total, i| total + term(i));
    }
    let middle = range.start + range.len() / 2;
    sum(range.start..middle, term) + sum(middle..range.end, term)
}
