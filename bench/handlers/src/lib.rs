//! Our side of `make bench`: the handlers that `bench/peer.cc` has in C++. Their bodies do next to nothing, so that
//! what is measured is decoding and checking.
#![forbid(unsafe_code)]

use oxidax::prelude::*;

/// Copies the first element: one buffer in, one out.
#[ffi_handler]
pub fn one(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    if let (Some(y), Some(x)) = (y.first_mut(), x.first()) {
        *y = *x;
    }
}

/// Writes one element made of everything it is given: three buffers and four attributes in, one buffer out.
#[ffi_handler]
#[allow(clippy::too_many_arguments, reason = "a handler with many operands is what is measured")]
pub fn six(
    #[shape(n)] x: &[f32],
    #[shape(n)] x2: &[f32],
    #[shape(n)] x3: &[f32],
    eps: f32,
    k: i64,
    up: bool,
    mode: &str,
    #[shape(n)] y: &mut [f32],
) {
    let _ = (x2, x3);
    if let (Some(y), Some(x)) = (y.first_mut(), x.first()) {
        *y = *x + eps + k as f32 + f32::from(u8::from(up)) + mode.len() as f32;
    }
}
