#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] mask: &[bool], #[shape(n)] y: &mut [f32]) {}

fn main() {}
