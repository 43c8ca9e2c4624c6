//! Nothing is in scope, and names of the prelude mean something else.
#![no_implicit_prelude]
#![allow(dead_code, unused_macros, reason = "in the way on purpose")]

use ::oxidax::{Float, ffi_handler};

struct Option;
struct Some;
struct Vec;
mod core {}
mod std {}
mod oxidax {}
macro_rules! vec {
    ($($tokens:tt)*) => {
        compile_error!("not this one")
    };
}
macro_rules! module_path {
    () => {
        compile_error!("not this one")
    };
}

/// Every form at once.
#[ffi_handler(dtypes(T = [f32, f64]), jvp = everything, target = "everything", require(n >= 0, "never"))]
fn everything<T: Float>(
    #[shape(n)] x: &[T],
    #[attr(default = 1.0)] by: f64,
    flag: bool,
    text: ::std::option::Option<&str>,
    #[dim] n: usize,
    #[shape(if flag { n } else { max(n, 1) })] y: &mut [T],
) -> ::std::result::Result<(), ::oxidax::Error> {
    y[0] = x[0];
    let _ = (by, flag, text, n);
    ::std::result::Result::Ok(())
}

#[::std::prelude::v1::test]
fn it_is_still_a_function() {
    let mut y = [0.0];
    ::std::assert!(everything(&[1.0_f64], 1.0, true, ::std::option::Option::None, 1, &mut y).is_ok());
    ::std::assert_eq!(y, [1.0]);
}
