#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(require(m >= n, "x must be tall"))]
fn f(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
