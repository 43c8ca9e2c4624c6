#![allow(unused)]

use oxidax::prelude::*;

#[derive(Clone, Copy, FfiAttr)]
enum Mode {
    #[ffi_attr(rename = "full")]
    Full,
    #[ffi_attr(name = path)]
    Thin,
}

fn main() {}
