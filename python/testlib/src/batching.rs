//! The batch modes, and memory that an argument and a result share.

use oxidax::prelude::*;

/// Adds along the last axis, all batch axes in one call.
#[ffi_handler(dtypes(T = [f32, f64]), batch = whole)]
fn whole_sum<T: Float>(#[shape(.., n)] x: Shaped<&[T]>, #[shape(..)] y: &mut [T]) {
    let n = x.dims().last().copied().unwrap_or(0);
    for (i, y) in y.iter_mut().enumerate() {
        *y = x[i * n..(i + 1) * n].iter().fold(T::zero(), |a, &b| a + b);
    }
}

/// Cannot be batched.
#[ffi_handler(dtypes(T = [f32, f64]), batch = none)]
fn reverse<T: Float>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x.iter().rev()) {
        *y = x;
    }
}

/// `a + x`, written over `a`.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = add_into_bwd), jvp = add_into_jvp)]
fn add_into<T: Float>(#[shape(n)] a: InOut<&mut [T]>, #[shape(n)] x: &[T]) {
    for (a, &x) in a.into_inner().iter_mut().zip(x) {
        *a = *a + x;
    }
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn add_into_bwd<T: Float>(#[shape(n)] ct_a: InOut<&mut [T]>, #[shape(n)] ct_x: &mut [T]) {
    ct_x.copy_from_slice(ct_a.into_inner());
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn add_into_jvp<T: Float>(#[shape(n)] t_a: InOut<&mut [T]>, #[shape(n)] t_x: &[T]) {
    add_into(t_a, t_x);
}

/// The outer product: unbatched and batched operands of different rank.
#[ffi_handler(dtypes(T = [f32, f64]))]
fn outer<T: Float>(#[shape(m)] x: &[T], #[shape(n)] y: &[T], #[shape()] s: &T, #[shape(m, n)] z: &mut [T]) {
    for (row, &x) in z.chunks_exact_mut(y.len().max(1)).zip(x) {
        for (z, &y) in row.iter_mut().zip(y) {
            *z = x * y * *s;
        }
    }
}
