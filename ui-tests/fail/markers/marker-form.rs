#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler]
fn shape(#[shape = n] x: &[f32], #[shape(n)] y: &mut [f32]) {}

#[ffi_handler]
fn dim(#[shape(n)] x: &[f32], #[dim(n)] size: usize, #[shape(n)] y: &mut [f32]) {}

#[ffi_handler]
fn attr(#[attr(default)] eps: f64, #[attr(name = wire)] tol: f64, #[shape] y: &mut f32) {}

fn main() {}
