#![allow(unused)]

use oxidax::prelude::*;

#[derive(Clone, Copy, FfiAttr)]
enum Mode<T> {
    Full,
}

fn main() {}
