#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], #[shape(Vec::<u8>::SIZE)] y: &mut [f32]) {}

fn main() {}
