#![allow(unused)]

use std::time::Duration;

use oxidax::prelude::*;

#[ffi_handler]
fn f(#[shape(n)] x: &[f32], wait: Duration, #[shape(n)] y: &mut [f32]) {}

fn main() {}
