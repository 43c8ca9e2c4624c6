#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f<const N: usize>(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
