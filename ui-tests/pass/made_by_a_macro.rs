//! Handlers that `macro_rules!` makes, from names, types, expressions and whole parameters.

use oxidax::prelude::*;

macro_rules! double {
    ($name:ident, $ty:ty, $dim:ident, $extra:expr, $by:expr) => {
        #[ffi_handler]
        fn $name(
            #[shape($dim)] x: &[$ty],
            #[attr(default = $by)] by: $ty,
            #[dim] $dim: usize,
            #[shape($dim + $extra)] y: &mut [$ty],
        ) {
            y[..$dim].copy_from_slice(x);
            y.iter_mut().for_each(|y| *y *= by);
        }
    };
}

double!(double_f32, f32, n, 2 * 1, 2.0);
double!(double_f64, f64, len, 0, 1.0 + 1.0);

macro_rules! float {
    () => {
        f64
    };
}

/// A lifetime in the arguments of a macro.
macro_rules! slice_of {
    ($lifetime:lifetime, $ty:ty) => {
        &$lifetime [$ty]
    };
}

#[ffi_handler]
#[allow(clippy::needless_lifetimes, reason = "the macro needs its name")]
fn typed<'a>(#[shape(n)] x: slice_of!('a, float!()), #[shape(n)] y: &mut [float!()]) {
    y.copy_from_slice(x);
}

#[test]
fn they_are_still_functions() {
    let (mut y, mut z) = ([0.0; 3], [0.0]);
    double_f32(&[3.0], 2.0, 1, &mut y);
    double_f64(&[3.0], 2.0, 1, &mut z);
    assert_eq!((y, z), ([6.0, 0.0, 0.0], [6.0]));
    typed(&[1.0], &mut z);
    assert_eq!(z, [1.0]);
}
