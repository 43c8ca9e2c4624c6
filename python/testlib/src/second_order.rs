//! `x^4` with rules of second order in every mixture of the two modes, through a residual.

use oxidax::prelude::*;

fn number<T: Float>(n: i32) -> T {
    T::from(n).unwrap_or_else(T::nan)
}

/// `x^4`.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(fwd = quartic_fwd, bwd = quartic_bwd), jvp = quartic_jvp)]
fn quartic<T: Float>(#[shape()] x: &T, #[shape()] y: &mut T) {
    *y = x.powi(4);
}

/// `x^4`, and its slope `4 x^3`.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = quartic_fwd_bwd), jvp = quartic_fwd_jvp)]
fn quartic_fwd<T: Float>(#[shape()] x: &T, #[shape()] y: &mut T, #[shape()] slope: &mut T) {
    quartic(x, y);
    *slope = number::<T>(4) * x.powi(3);
}

#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = quartic_bwd_bwd), jvp = quartic_bwd_jvp)]
fn quartic_bwd<T: Float>(#[shape()] slope: &T, #[shape()] ct_y: &T, #[shape()] ct_x: &mut T) {
    *ct_x = *slope * *ct_y;
}

#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = quartic_jvp_bwd), jvp = quartic_jvp_jvp)]
fn quartic_jvp<T: Float>(#[shape()] slope: &T, #[shape()] t_x: &T, #[shape()] t_y: &mut T) {
    *t_y = *slope * *t_x;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn quartic_fwd_bwd<T: Float>(
    #[shape()] x: &T,
    #[shape()] slope: &T,
    #[shape()] ct_y: &T,
    #[shape()] ct_slope: &T,
    #[shape()] ct_x: &mut T,
) {
    *ct_x = *slope * *ct_y + number::<T>(12) * x.powi(2) * *ct_slope;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn quartic_fwd_jvp<T: Float>(
    #[shape()] x: &T,
    #[shape()] slope: &T,
    #[shape()] t_x: &T,
    #[shape()] t_y: &mut T,
    #[shape()] t_slope: &mut T,
) {
    *t_y = *slope * *t_x;
    *t_slope = number::<T>(12) * x.powi(2) * *t_x;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn quartic_bwd_bwd<T: Float>(
    #[shape()] slope: &T,
    #[shape()] ct_y: &T,
    #[shape()] ct_ct_x: &T,
    #[shape()] ct_slope: &mut T,
    #[shape()] ct_ct_y: &mut T,
) {
    *ct_slope = *ct_y * *ct_ct_x;
    *ct_ct_y = *slope * *ct_ct_x;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn quartic_bwd_jvp<T: Float>(
    #[shape()] slope: &T,
    #[shape()] ct_y: &T,
    #[shape()] t_slope: &T,
    #[shape()] t_ct_y: &T,
    #[shape()] t_ct_x: &mut T,
) {
    *t_ct_x = *t_slope * *ct_y + *slope * *t_ct_y;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn quartic_jvp_bwd<T: Float>(
    #[shape()] slope: &T,
    #[shape()] t_x: &T,
    #[shape()] ct_t_y: &T,
    #[shape()] ct_slope: &mut T,
    #[shape()] ct_t_x: &mut T,
) {
    *ct_slope = *t_x * *ct_t_y;
    *ct_t_x = *slope * *ct_t_y;
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn quartic_jvp_jvp<T: Float>(
    #[shape()] slope: &T,
    #[shape()] t_x: &T,
    #[shape()] t_slope: &T,
    #[shape()] t_t_x: &T,
    #[shape()] t_t_y: &mut T,
) {
    *t_t_y = *t_slope * *t_x + *slope * *t_t_x;
}
