//! Shape expressions, sizes that only a result has, and requirements.

use oxidax::prelude::*;

/// The factors' shapes of a QR decomposition, filled with their sizes.
#[ffi_handler(dtypes(T = [f32, f64]))]
fn qr_shapes<T: Float>(
    #[shape(m, n)] a: &[T],
    #[attr(default = false)] full: bool,
    #[shape(m, if full { m } else { min(m, n) })] q: &mut [T],
    #[shape(if full { m } else { min(m, n) }, n)] r: &mut [T],
) {
    let _ = (a, full); // only the shapes count
    let size = |x: &[T]| T::from(x.len()).unwrap_or_else(T::nan);
    q.fill(size(q));
    r.fill(size(r));
}

/// Sums over sliding windows.
#[ffi_handler(
    require(size >= 1 && stride >= 1, "windows and strides are positive"),
    require(size <= n, "the window is longer than the array")
)]
fn windows(
    #[shape(n)] x: &[f32],
    size: i64,
    #[attr(default = 1)] stride: i64,
    #[shape((n - size) / stride + 1)] y: &mut [f32],
) {
    for (window, y) in x.windows(size as usize).step_by(stride as usize).zip(y) {
        *y = window.iter().sum();
    }
}

/// A computed axis and a fixed one in arguments.
#[ffi_handler()]
fn pairs(#[shape(n)] x: &[f32], #[shape(2 * n)] both: &[f32], #[shape(3)] fixed: &[f32], #[shape(n)] y: &mut [f32]) {
    for (i, y) in y.iter_mut().enumerate() {
        *y = x[i] + both[2 * i] * both[2 * i + 1] + fixed.iter().sum::<f32>();
    }
}

/// A value, `k` times.
#[ffi_handler(vjp(bwd = repeat_bwd), jvp = repeat_jvp)]
fn repeat(#[shape()] x: &f32, #[dim] k: usize, #[shape(k)] y: &mut [f32]) {
    assert_eq!(k, y.len());
    y.fill(*x);
}

#[ffi_handler()]
fn repeat_bwd(#[shape(k)] ct_y: &[f32], #[shape()] ct_x: &mut f32) {
    *ct_x = ct_y.iter().sum();
}

#[ffi_handler()]
fn repeat_jvp(#[shape()] t_x: &f32, #[shape(k)] t_y: &mut [f32]) {
    t_y.fill(*t_x);
}

/// The even elements: a size of the result that the operand alone does not tell.
#[ffi_handler]
fn evens(#[shape(2 * k)] x: &[f32], #[shape(k)] y: &mut [f32]) {
    y.iter_mut().zip(x.iter().step_by(2)).for_each(|(y, &x)| *y = x);
}

/// Shrinks by a constant, which can make a size negative.
#[ffi_handler()]
fn shrink(#[shape(n)] x: &[f32], #[shape(n - 4)] y: &mut [f32]) {
    y.copy_from_slice(&x[2..x.len() - 2]);
}
