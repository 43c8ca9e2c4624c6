#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(m, n)] x: &[f32], k: i64, full: bool, #[shape(*n, n << 1)] y: &mut [f32]) {}

fn main() {}
