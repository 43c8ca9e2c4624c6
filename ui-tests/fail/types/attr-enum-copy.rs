#![allow(unused)]

use oxidax::prelude::*;

#[derive(FfiAttr)]
enum Mode {
    Full,
}

fn main() {}
