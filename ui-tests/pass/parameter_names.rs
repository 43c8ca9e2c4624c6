//! Parameters with the names that an expansion uses itself.

use oxidax::prelude::*;

#[ffi_handler]
#[expect(clippy::too_many_arguments)]
fn names(
    #[shape(v)] s: &[f32],
    cx: f32,
    #[attr(default = d())] d: f32,
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
fn d() -> f32 {
    1.0
}

#[test]
fn it_is_still_a_function() {
    let mut y = [0.0];
    names(&[1.0], 0.0, d(), 1, 0, true, &[], 0, 0.0, 0.0, &mut y);
    assert_eq!(y, [1.0]);
}
