#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(dtypes(
    A = [i8, i16, i32, i64, u8, u16, u32, u64, f32],
    B = [i8, i16, i32, i64, u8, u16, u32, u64],
))]
fn f<A: Element, B: Element>(#[shape(n)] x: &[A], #[shape(n)] y: &mut [B]) {}

fn main() {}
