#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(batch = whole)]
fn f(#[shape(.., m, n)] x: Matrix<&[f32]>, #[shape(..)] y: &mut [f32]) {}

fn main() {}
