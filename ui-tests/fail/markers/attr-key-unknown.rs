#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[attr(defualt = 1e-5)] eps: f64, #[shape] y: &mut f32) {}

fn main() {}
