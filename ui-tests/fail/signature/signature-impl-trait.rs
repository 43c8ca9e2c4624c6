#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], scale: impl Into<f64>, #[shape(n)] y: &mut [f32]) {}

fn main() {}
