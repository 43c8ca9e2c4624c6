#![allow(unused)]

use oxidax::{BufferParam, Cpu, prelude::*};

struct Point<'a>(&'a f32);

impl<'f> BufferParam<'f, Cpu> for Point<'f> {
    type Base = &'f f32;
    const RANK: Option<usize> = Some(1);

    fn view(base: &'f f32, _dims: &'f [usize]) -> Self {
        Point(base)
    }
}

#[ffi_handler]
fn f(#[shape(n)] x: Point, #[shape(n)] y: &mut [f32]) {}

fn main() {}
