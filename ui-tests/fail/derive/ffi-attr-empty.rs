#![allow(unused)]

use oxidax::prelude::*;

#[derive(Clone, Copy, FfiAttr)]
enum Mode {}

fn main() {}
