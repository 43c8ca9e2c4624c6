#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(m, n)] x: ColMajor<Matrix<&[f32]>>, #[shape(n)] y: &mut [f32]) {}

fn main() {}
