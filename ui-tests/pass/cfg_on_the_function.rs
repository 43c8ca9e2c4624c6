//! A `cfg` on the function covers the handler.

use oxidax::prelude::*;

#[cfg(test)]
#[ffi_handler]
fn active(#[shape] y: &mut f32) {
    *y = 1.0;
}

#[cfg(not(test))]
#[ffi_handler]
fn inactive(#[shape] y: &mut Missing) {}

#[ffi_handler]
#[cfg(not(test))]
fn inactive_below(#[shape] y: &mut Missing) {}

#[test]
fn the_active_one_is_there() {
    let mut y = 0.0;
    active(&mut y);
    assert_eq!(y, 1.0);
}
