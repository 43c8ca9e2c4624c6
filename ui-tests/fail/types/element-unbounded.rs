#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(dtypes(T = [f32, f64]))]
fn f<T>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {}

fn main() {}
