//! A crate that documents everything.
#![deny(missing_docs)]

use oxidax::prelude::*;

/// Adds a constant.
///
///     y = x + by
#[doc = concat!("Made for version ", env!("CARGO_PKG_VERSION"))]
#[doc(alias = "add")]
#[ffi_handler]
pub fn shift(#[shape(n)] x: &[f32], by: f32, #[shape(n)] y: &mut [f32]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = x + by;
    }
}

#[test]
fn it_is_still_a_function() {
    let mut y = [0.0];
    shift(&[1.0], 2.0, &mut y);
    assert_eq!(y, [3.0]);
}
