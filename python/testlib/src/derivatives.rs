//! Derivative rules of every combination, on operations whose derivatives are known.

use oxidax::prelude::*;

/// `x^2`, with a forward-mode rule alone.
#[ffi_handler(dtypes(T = [f32, f64]), jvp = square_jvp)]
fn square<T: Float>(#[shape()] x: &T, #[shape()] y: &mut T) {
    *y = *x * *x;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn square_jvp<T: Float>(#[shape()] x: &T, #[shape()] t_x: &T, #[shape()] t_y: &mut T) {
    *t_y = (T::one() + T::one()) * *x * *t_x;
}

/// `x^3`, with a reverse-mode rule alone, and `x^2` as its residual.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(fwd = cube_fwd, bwd = cube_bwd))]
fn cube<T: Float>(#[shape()] x: &T, #[shape()] y: &mut T) {
    *y = *x * *x * *x;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn cube_fwd<T: Float>(#[shape()] x: &T, #[shape()] y: &mut T, #[shape()] x2: &mut T) {
    *x2 = *x * *x;
    *y = *x * *x2;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn cube_bwd<T: Float>(#[shape()] ct_y: &T, #[shape()] x2: &T, #[shape()] ct_x: &mut T) {
    *ct_x = (T::one() + T::one() + T::one()) * *x2 * *ct_y;
}

/// `-x`, without rules.
#[ffi_handler(dtypes(T = [f32, f64]))]
fn opposite<T: Float>(#[shape()] x: &T, #[shape()] y: &mut T) {
    *y = -*x;
}

/// `x * k` and `10 * k`: an integer operand and an integer result have no tangents.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = scale_bwd), jvp = scale_jvp)]
fn scale<T: Float>(#[shape(n)] x: &[T], #[shape()] k: &i32, #[shape(n)] y: &mut [T], #[shape()] tenfold: &mut i32) {
    scale_jvp(k, x, y);
    *tenfold = 10 * *k;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn scale_bwd<T: Float>(#[shape()] k: &i32, #[shape(n)] ct_y: &[T], #[shape(n)] ct_x: &mut [T]) {
    scale_jvp(k, ct_y, ct_x);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn scale_jvp<T: Float>(#[shape()] k: &i32, #[shape(n)] t_x: &[T], #[shape(n)] t_y: &mut [T]) {
    for (y, &x) in t_y.iter_mut().zip(t_x) {
        *y = x * T::from(*k).unwrap_or_else(T::nan);
    }
}

/// `x`, whatever `k` is: the rules see fewer operands than the operation, and so fewer batch axes.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = ignore_bwd), jvp = ignore_jvp)]
fn ignore<T: Float>(#[shape()] x: &T, #[shape()] k: &i32, #[shape()] y: &mut T) {
    let _ = k; // only its batch axes count
    *y = *x;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn ignore_bwd<T: Float>(#[shape()] ct_y: &T, #[shape()] ct_x: &mut T) {
    *ct_x = *ct_y;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn ignore_jvp<T: Float>(#[shape()] t_x: &T, #[shape()] t_y: &mut T) {
    *t_y = *t_x;
}

/// The sum: its rule has to be told the size of what it returns.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = sum_bwd))]
fn sum<T: Float>(#[shape(n)] x: &[T], #[shape()] y: &mut T) {
    *y = x.iter().fold(T::zero(), |a, &b| a + b);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn sum_bwd<T: Float>(#[shape()] ct_y: &T, #[shape(n)] ct_x: &mut [T]) {
    ct_x.fill(*ct_y);
}

/// `amplitude * sin(frequency * x)`: the rules take one attribute, and not the other one.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(fwd = wave_fwd, bwd = wave_bwd), jvp = wave_jvp)]
fn wave<T: Float>(#[shape()] x: &T, frequency: f64, #[attr(default = 1.0)] amplitude: f64, #[shape()] y: &mut T) {
    *y = T::from(amplitude * (frequency * x.to_f64().unwrap_or(f64::NAN)).sin()).unwrap_or_else(T::nan);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn wave_fwd<T: Float>(
    #[shape()] x: &T,
    frequency: f64,
    #[attr(default = 1.0)] amplitude: f64,
    #[shape()] y: &mut T,
    #[shape()] slope: &mut T,
) {
    wave(x, frequency, amplitude, y);
    *slope = T::from(amplitude * (frequency * x.to_f64().unwrap_or(f64::NAN)).cos()).unwrap_or_else(T::nan);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn wave_bwd<T: Float>(#[shape()] slope: &T, frequency: f64, #[shape()] ct_y: &T, #[shape()] ct_x: &mut T) {
    wave_jvp(slope, frequency, ct_y, ct_x);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn wave_jvp<T: Float>(#[shape()] slope: &T, frequency: f64, #[shape()] t_x: &T, #[shape()] t_y: &mut T) {
    *t_y = T::from(frequency).unwrap_or_else(T::nan) * *slope * *t_x;
}
