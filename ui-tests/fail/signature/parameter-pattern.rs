#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], (low, high): (f32, f32), #[shape(n)] _: &mut [f32]) {}

fn main() {}
