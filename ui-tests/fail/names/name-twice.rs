#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], #[attr(name = "x")] a: f64, eps: f64, #[attr(name = "eps")] b: f64, #[attr(name = "n")] c: f64, #[shape(n)] y: &mut [f32]) {}

fn main() {}
