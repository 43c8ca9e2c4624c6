#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[char], #[shape(n)] y: &mut [f32]) {}

fn main() {}
