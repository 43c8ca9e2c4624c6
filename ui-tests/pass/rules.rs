//! Rules are paths: beside, below, from the root, and by the name that the compiler knows.

use oxidax::prelude::*;
use rules::cube_fwd;

#[ffi_handler(jvp = square_jvp)]
fn square(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y = x * x);
}

#[ffi_handler(jvp = __ffi_square_jvp)]
fn square_jvp(#[shape(n)] x: &[f32], #[shape(n)] t_x: &[f32], #[shape(n)] t_y: &mut [f32]) {
    t_y.iter_mut().zip(x).zip(t_x).for_each(|((t_y, &x), &t_x)| *t_y = 2.0 * x * t_x);
}

/// The hidden type is not imported with the function, so the rule's path goes to the module.
#[ffi_handler(dtypes(T = [f32, f64]), vjp(fwd = rules::cube_fwd, bwd = crate::rules::cube_bwd))]
fn cube<T: Float>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {
    let mut squares = vec![T::zero(); x.len()];
    cube_fwd(x, y, &mut squares);
}

#[ffi_handler(dtypes(T = [f32, f64]))]
fn cube_bwd<T: Float>(#[shape(n)] squares: &[T], #[shape(n)] ct_y: &[T], #[shape(n)] ct_x: &mut [T]) {
    for ((ct_x, &square), &ct_y) in ct_x.iter_mut().zip(squares).zip(ct_y) {
        *ct_x = (square + square + square) * ct_y;
    }
}

#[allow(clippy::module_inception)]
mod rules {
    use oxidax::prelude::*;

    #[ffi_handler(dtypes(T = [f32, f64]), vjp(bwd = super::cube_bwd))]
    pub(super) fn cube_fwd<T: Float>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T], #[shape(n)] squares: &mut [T]) {
        for ((y, square), &x) in y.iter_mut().zip(squares).zip(x) {
            *square = x * x;
            *y = *square * x;
        }
    }
}

#[test]
fn they_are_still_functions() {
    let (mut y, mut t_y) = ([0.0], [0.0]);
    square(&[3.0], &mut y);
    square_jvp(&[3.0], &[1.0], &mut t_y);
    assert_eq!((y, t_y), ([9.0], [6.0]));
    let mut ct_x = [0.0];
    cube(&[2.0], &mut y);
    cube_bwd(&[4.0], &[1.0], &mut ct_x);
    assert_eq!((y, ct_x), ([8.0], [12.0]));
}
