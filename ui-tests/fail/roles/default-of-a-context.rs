#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(platform = cuda, command_buffer = true)]
fn f(#[attr(default = todo!())] stream: Stream, #[shape(n)] y: DeviceSliceMut<f32>) {}

fn main() {}
