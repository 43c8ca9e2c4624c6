#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(dtypes(T = [f32], T = [f64]))]
fn f<T: Float>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {}

fn main() {}
