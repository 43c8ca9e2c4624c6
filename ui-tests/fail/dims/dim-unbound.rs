#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(2 * n)] x: &[f32], #[shape(n + 1)] y: &mut [f32]) {}

fn main() {}
