//! Handlers in the body of a function, with types local to it.

use oxidax::prelude::*;

fn outer(x: f32) -> f32 {
    type Real = f32;
    const STEP: Real = 1.0;

    #[ffi_handler]
    fn inner(#[shape] x: &Real, #[attr(default = STEP)] step: Real, #[shape] y: &mut Real) {
        *y = x + step;
    }

    let mut y = 0.0;
    inner(&x, STEP, &mut y);
    y
}

#[test]
fn test() {
    #[ffi_handler(jvp = local)]
    fn local(#[shape] y: &mut f32) {
        *y = outer(1.0);
    }

    let mut y = 0.0;
    local(&mut y);
    assert_eq!(y, 2.0);
}
