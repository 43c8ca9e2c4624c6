#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(platform = cuda, command_buffer = true, batch = parallel)]
fn f(#[shape(n)] x: DeviceSlice<f32>, #[shape(n)] y: DeviceSliceMut<f32>) {}

fn main() {}
