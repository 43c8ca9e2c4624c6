#![allow(unused)]

use oxidax::prelude::*;

#[derive(Clone, Copy, FfiAttr)]
struct Mode {
    full: bool,
}

fn main() {}
