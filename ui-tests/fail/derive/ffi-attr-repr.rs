#![allow(unused)]

use oxidax::prelude::*;

#[derive(Clone, Copy, FfiAttr)]
#[repr(u64)]
enum Mode {
    Full = 1,
}

fn main() {}
