#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(m, n)] x: &[f32], k: i64, full: bool, #[shape(n / 0, m % 0)] y: &mut [f32]) {}

fn main() {}
