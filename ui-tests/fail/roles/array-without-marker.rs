#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], w: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
