#![allow(unused)]

use oxidax::prelude::*;

#[ffi_handler(platform = cuda, command_buffer = true)]
fn marked(#[scratch(n)] work: DeviceSliceMut<f32>, #[shape(n)] y: DeviceSliceMut<f32>) {}

#[ffi_handler(platform = cuda, command_buffer = true)]
fn context(scratch: DeviceScratch, #[shape(n)] y: DeviceSliceMut<f32>) {}

fn main() {}
