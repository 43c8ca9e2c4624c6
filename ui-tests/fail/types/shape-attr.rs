#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(k: f64, #[shape(k)] y: &mut [f32]) {}

fn main() {}
