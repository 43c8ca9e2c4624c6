#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
#[target_feature(enable = "avx2")]
fn f(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
