#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(require(n % 8, "n must be a multiple of 8"))]
fn f(#[shape(m, n)] x: &[f32], #[shape(if !n { 1 } else { m })] y: &mut [f32]) {}

fn main() {}
