#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(m, n)] x: &[f32], k: i64, full: bool, #[shape(full + (m > n), m == n)] y: &mut [f32]) {}

fn main() {}
