//! The hidden type is as visible as the function, and does not meet a module of the function's name.

mod cholesky {
    use oxidax::prelude::*;

    #[ffi_handler]
    pub(crate) fn cholesky(#[shape(n, n)] a: &[f32], #[shape(n, n)] l: &mut [f32]) {
        l.copy_from_slice(a);
    }
}

pub(crate) use cholesky::cholesky;

use oxidax::prelude::*;

#[ffi_handler(jvp = cholesky::cholesky)]
fn hidden(#[shape] y: &mut f32) {
    *y = 1.0;
}

#[test]
fn both_are_reachable() {
    let (mut y, mut l) = (0.0, [0.0]);
    hidden(&mut y);
    cholesky(&[y], &mut l);
    assert_eq!(l, [1.0]);
}
