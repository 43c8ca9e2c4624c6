#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(dtypes T = [f32, f64])]
fn dtypes<T: Float>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {}

#[ffi_handler(target = other, batch = "each", threads(2), command_buffer = yes)]
fn values(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

#[ffi_handler(jvp(rule), vjp(forward = fwd, bwd = bwd, 2))]
fn rules(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

#[ffi_handler(require(n > 0))]
fn conditions(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

#[ffi_handler(vjp(forward = f, bwd = f))]
fn known(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {}

fn main() {}
