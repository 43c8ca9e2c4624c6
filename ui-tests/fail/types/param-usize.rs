#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], k: usize, #[shape(n)] y: &mut [f32]) {}

fn main() {}
