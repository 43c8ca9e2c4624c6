#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(require(full == true, "only whole"))]
fn f(
    #[shape(m, n)] x: &[f32],
    side: &str,
    full: bool,
    #[shape(n / 2.0, if side == "L" { m } else { n }, 9223372036854775808)] y: &mut [f32],
) {
}

#[ffi_handler]
fn g(#[shape(-1, n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
