//! Every form of a shape.

use oxidax::prelude::*;

#[ffi_handler(
    require(m >= n && !(k < 0) || full, "a condition"),
    require(m != n, "another condition"),
    require(n <= m, "one more"),
)]
fn all_operators(
    #[shape(m, n, 3)] x: &[f32],
    k: i32,
    #[attr(name = "all")] full: bool,
    #[attr(default = 1)] step: u8,
    #[shape(m + n - 1, 2 * (n + k), m / 2 % 3)] y: &mut [f32],
    #[shape(if full { m } else if k == 2 { min(m, n) } else { max(m, step) })] z: &mut [f32],
) {
    y.fill(x[0]);
    z.fill(f32::from(step) + k as f32 + f32::from(full));
}

#[ffi_handler(batch = none)]
fn rank_zero(#[shape] x: &f32, #[shape()] y: &mut f32) {
    *y = *x;
}

#[ffi_handler(batch = whole)]
fn whole(#[shape(.., m, n)] x: &[f32], #[shape(.., n)] y: &mut [f32], #[shape(..)] s: &mut [f32], #[dim] m: usize) {
    y.fill(x[0]);
    s.fill(m as f32);
}

#[test]
fn they_are_still_functions() {
    let (mut y, mut z) = ([0.0], [0.0]);
    all_operators(&[1.0], 1, true, 1, &mut y, &mut z);
    rank_zero(&1.0, &mut z[0]);
    whole(&[1.0], &mut y, &mut z, 2);
    assert_eq!((y, z), ([1.0], [2.0]));
}
