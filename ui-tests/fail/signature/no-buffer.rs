#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(eps: f64) {}

fn main() {}
