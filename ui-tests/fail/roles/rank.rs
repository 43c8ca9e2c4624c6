#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(m, n)] x: &f32, #[shape] y: &mut f32) {}

fn main() {}
