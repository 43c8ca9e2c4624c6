//! A default that panics when it is evaluated, as the manifest and the calls that need it do.

use std::ffi::c_void;

use oxidax::prelude::*;
use oxidax::testing::CallFrame;

unsafe extern "C" {
    fn oxidax_manifest() -> *const c_void;
}

fn no_default() -> f64 {
    panic!("no default after all")
}

#[ffi_handler]
fn panicking_default(#[attr(default = no_default())] eps: f64, #[shape()] y: &mut f64) {
    *y = eps;
}

#[test]
fn it_is_an_error_of_the_call_that_needs_it() {
    let frame = || CallFrame::new("panicking_default").result::<f64>(&[]);
    assert_eq!(frame().attr("eps", 2f64).call().unwrap().get::<f64>(0), [2.0]);
    let error = frame().call().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
    assert_eq!(error.message(), "panicking_default: panicked: no default after all");
}

#[test]
fn it_leaves_the_library_without_a_manifest() {
    // SAFETY: takes nothing.
    let manifest = unsafe { oxidax_manifest() };
    assert!(manifest.is_null());
}
