//! The crate is reached by the path of `crate = ..` alone.

mod facade {
    pub(crate) use ::oxidax as engine;
}

use facade::engine::ffi_handler;

/// In the way of `oxidax::..`.
mod oxidax {}

#[ffi_handler(crate = facade::engine)]
fn twice(#[shape(n)] x: &[f32], #[attr(default = 2.0)] by: f32, #[shape(n)] y: &mut [f32]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = by * x;
    }
}

#[test]
fn it_is_still_a_function() {
    let mut y = [0.0];
    twice(&[2.0], 2.0, &mut y);
    assert_eq!(y, [4.0]);
}
