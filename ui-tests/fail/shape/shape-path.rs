#![allow(unused)]

use oxidax::prelude::*;

const SIZE: i64 = 3;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], #[shape(crate::SIZE)] y: &mut [f32]) {}

fn main() {}
