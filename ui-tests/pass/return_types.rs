//! What a handler returns.

use std::fmt;

use oxidax::prelude::*;

type Checked<T = ()> = Result<T, Error>;

#[derive(Debug)]
struct TooSmall(f32);

impl fmt::Display for TooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is too small", self.0)
    }
}

impl std::error::Error for TooSmall {}

#[ffi_handler]
fn fails(#[shape] y: &mut f32) -> Result<(), Error> {
    *y = "1".parse()?;
    Ok(())
}

#[ffi_handler]
fn alias(#[shape] y: &mut f32) -> Checked {
    fails(y)
}

#[ffi_handler]
fn own_error(#[shape] x: &f32, #[shape] y: &mut f32) -> Result<(), TooSmall> {
    *y = x.sqrt();
    if *x < 0.0 { Err(TooSmall(*x)) } else { Ok(()) }
}

#[ffi_handler]
#[allow(clippy::unused_unit)]
fn explicit_unit(#[shape] y: &mut f32) -> () {
    *y = 1.0;
}

#[test]
fn they_are_still_functions() {
    let mut y = 0.0;
    explicit_unit(&mut y);
    assert!(alias(&mut y).is_ok() && own_error(&-1.0, &mut y).is_err());
}
