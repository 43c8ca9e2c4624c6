#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[attr(default = 1e-5, default = 1e-6)] eps: f64, #[shape] y: &mut f32) {}

#[derive(Clone, Copy, FfiAttr)]
enum Mode {
    #[ffi_attr(name = "full", name = "whole")]
    Full,
}

fn main() {}
