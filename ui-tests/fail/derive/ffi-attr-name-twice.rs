#![allow(unused)]

use oxidax::prelude::*;

#[derive(Clone, Copy, FfiAttr)]
enum Mode {
    Full,
    #[ffi_attr(name = "full")]
    All,
}

fn main() {}
