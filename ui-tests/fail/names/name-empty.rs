#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(target = "")]
fn f(#[shape(n)] x: &[f32], #[attr(name = "a\0b")] a: f64, #[shape(n)] y: &mut [f32]) {}

fn main() {}
