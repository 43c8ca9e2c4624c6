#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
struct Handler;

fn main() {}
