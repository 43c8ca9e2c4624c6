//! Parameters and functions with the names that an expansion uses itself.

use oxidax::prelude::*;

#[ffi_handler]
#[expect(clippy::too_many_arguments)]
fn names(
    #[shape(v)] s: &[f32],
    cx: f32,
    #[attr(default = s())] d: f32,
    #[dim] v: usize,
    bufs: i64,
    plan: bool,
    #[shape(v, if plan { bufs } else { p1 })] b0: &[f32],
    p1: i64,
    select: f32,
    __p: f32,
    #[shape(v)] y: &mut [f32],
) {
    y.copy_from_slice(s);
    let _ = (cx, d, v, bufs, plan, b0, p1, select, __p);
}

/// A default is an expression of the module, not of the expansion.
fn s() -> f32 {
    1.0
}

#[ffi_handler]
fn d(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    y.copy_from_slice(x);
}

#[ffi_handler]
fn v(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    y.copy_from_slice(x);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn plan<T: Element>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) -> Result<(), Error> {
    y.copy_from_slice(x);
    Ok(())
}

#[ffi_handler]
fn bufs(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    y.copy_from_slice(x);
}

#[test]
fn it_is_still_a_function() {
    let mut y = [0.0];
    names(&[1.0], 0.0, s(), 1, 0, true, &[], 0, 0.0, 0.0, &mut y);
    assert_eq!(y, [1.0]);
}
