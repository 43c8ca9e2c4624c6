#![allow(unused)]

use oxidax::prelude::*;

#[derive(Clone, Copy, FfiAttr)]
enum Mode {
    Full,
    Partial(i64),
}

fn main() {}
