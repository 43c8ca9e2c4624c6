#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape] k: &i64, #[shape(n)] x: &[f32], #[shape(k, n)] y: &mut [f32]) {}

fn main() {}
