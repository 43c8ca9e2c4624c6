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

/// `rms_norm` with a gain for each feature: `y = gain * x / sqrt(mean(x^2) + eps)`.
///
/// Reverse mode only: JAX says so, and how to add the rest, when it is asked for forward mode.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(fwd = gained_rms_norm_fwd, bwd = gained_rms_norm_bwd))]
pub fn gained_rms_norm<T: Float>(
    #[shape(n)] x: &[T],
    #[shape(n)] gain: &[T],
    #[attr(default = 1e-5)] eps: f64,
    #[shape(n)] y: &mut [T],
) {
    scale(x, inverse_rms(x, eps), y);
    multiply(y, gain);
}

/// `gained_rms_norm`, and the factor that its derivative needs.
#[ffi_handler(dtypes(T = [f32, f64]))]
pub fn gained_rms_norm_fwd<T: Float>(
    #[shape(n)] x: &[T],
    #[shape(n)] gain: &[T],
    #[attr(default = 1e-5)] eps: f64,
    #[shape(n)] y: &mut [T],
    #[shape()] inv: &mut T,
) {
    *inv = inverse_rms(x, eps);
    scale(x, *inv, y);
    multiply(y, gain);
}

/// The cotangents of `x` and `gain`.
#[ffi_handler(dtypes(T = [f32, f64]))]
pub fn gained_rms_norm_bwd<T: Float>(
    #[shape()] inv: &T,
    #[shape(n)] x: &[T],
    #[shape(n)] gain: &[T],
    #[shape(n)] ct_y: &[T],
    #[shape(n)] ct_x: &mut [T],
    #[shape(n)] ct_gain: &mut [T],
) {
    // `normal`, the row before its gain, stands in `ct_gain` until it is used up.
    let normal = ct_gain;
    scale(x, *inv, normal);
    let along = mean(x.len(), |i| gain[i] * ct_y[i] * normal[i]);
    for i in 0..x.len() {
        ct_x[i] = *inv * (gain[i] * ct_y[i] - normal[i] * along);
    }
    multiply(normal, ct_y);
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

fn multiply<T: Float>(y: &mut [T], by: &[T]) {
    for (y, &by) in y.iter_mut().zip(by) {
        *y = *y * by;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivatives_are_those_of_finite_differences() {
        let (x, gain, v) = ([0.5, -2.0, 3.0], [1.0, 0.5, -1.5], [0.3, 0.2, -0.7]);
        let value = |x: &[f64], gain: &[f64]| {
            let mut y = [0.0; 3];
            gained_rms_norm(x, gain, 0.1, &mut y);
            y.iter().zip(&v).map(|(y, v)| y * v).sum::<f64>()
        };
        let (mut y, mut inv) = ([0.0; 3], 0.0);
        gained_rms_norm_fwd(&x, &gain, 0.1, &mut y, &mut inv);
        let (mut ct_x, mut ct_gain) = ([0.0; 3], [0.0; 3]);
        gained_rms_norm_bwd(&inv, &x, &gain, &v, &mut ct_x, &mut ct_gain);
        let h = 1e-6;
        for i in 0..3 {
            let moved = |a: &[f64; 3], by: f64| {
                let mut a = *a;
                a[i] += by;
                a
            };
            let by_x = (value(&moved(&x, h), &gain) - value(&moved(&x, -h), &gain)) / (2.0 * h);
            let by_gain = (value(&x, &moved(&gain, h)) - value(&x, &moved(&gain, -h))) / (2.0 * h);
            assert!((ct_x[i] - by_x).abs() < 1e-8, "{} {by_x}", ct_x[i]);
            assert!((ct_gain[i] - by_gain).abs() < 1e-8, "{} {by_gain}", ct_gain[i]);
        }
    }
}
