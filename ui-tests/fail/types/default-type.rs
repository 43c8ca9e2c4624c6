#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[attr(default = "small")] eps: f64, #[shape] y: &mut f32) {}

fn main() {}
