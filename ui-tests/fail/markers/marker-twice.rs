#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], #[dim] #[attr(default = 1)] n: usize, #[shape(n)] y: &mut [f32]) {}

fn main() {}
