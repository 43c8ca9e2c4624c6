#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(jvp = f_jpv)]
fn f(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

#[ffi_handler]
fn f_jvp(#[shape(n)] t_x: &[f32], #[shape(n)] t_y: &mut [f32]) {}

fn main() {}
