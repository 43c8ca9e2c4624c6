#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(target = "a", batch = each, target = "b")]
fn f(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

#[ffi_handler(vjp(bwd = f, bwd = f))]
fn g(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
