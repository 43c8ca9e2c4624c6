//! Operations that fail.

use oxidax::prelude::*;

/// The square root, of numbers that have one.
#[ffi_handler()]
fn checked_sqrt(#[shape()] x: &f32, #[shape()] y: &mut f32) -> Result<(), Error> {
    if *x < 0.0 {
        return Err(Error::invalid_argument(format!("{x} has no root")));
    }
    *y = x.sqrt();
    Ok(())
}

/// Panics where `x` is negative.
#[ffi_handler()]
fn panics(#[shape()] x: &f32, #[shape()] y: &mut f32) {
    assert!(*x >= 0.0, "x is {x}");
    *y = *x;
}

/// Takes device memory where `x` is negative; the CPU has none.
#[ffi_handler()]
fn wants_a_device(#[shape()] x: &f32, scratch: DeviceScratch, #[shape()] y: &mut f32) -> Result<(), Error> {
    if *x < 0.0 {
        scratch.take::<f64>(8)?;
    }
    *y = *x;
    Ok(())
}
