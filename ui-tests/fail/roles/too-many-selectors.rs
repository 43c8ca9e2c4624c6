#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(dtypes(A = [f32, f64], B = [f32, f64], C = [f32, f64], D = [f32, f64], E = [f32, f64]))]
fn f<A: Float, B: Float, C: Float, D: Float, E: Float>(
    #[shape(n)] a: &[A],
    #[shape(n)] b: &[B],
    #[shape(n)] c: &[C],
    #[shape(n)] d: &[D],
    #[shape(n)] e: &mut [E],
) {}

fn main() {}
