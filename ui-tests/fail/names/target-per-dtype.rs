#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(dtypes(T = [f32, f64]), target = { f32: "a", i32: "b", f32: "c" })]
fn f<T: Element>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {}

#[ffi_handler(target = { f32: "a" })]
fn g(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
