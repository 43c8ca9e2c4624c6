#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(dtypes(T = [f32, f64]))]
fn f<T: Float>(#[shape(n)] x: &[f32], tol: T, #[shape(n)] y: &mut [f32]) {}

fn main() {}
