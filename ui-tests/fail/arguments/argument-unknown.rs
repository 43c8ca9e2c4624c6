#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(dtype(T = [f32]))]
fn f(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
