#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[attr] pool: ThreadPool, #[shape(n)] y: &mut [f32]) {}

fn main() {}
