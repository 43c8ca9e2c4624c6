//! Plain loops on this processor's best vector instructions.
#![forbid(unsafe_code)]

use fearless_simd::{Level, dispatch};

/// Runs a loop that is compiled for each set of instructions: give it an `#[inline(always)]` closure.
///
/// Rust never joins a product and a sum, so that the bits of a result do not depend on the instructions.
#[inline(always)]
pub(crate) fn vectorised<R>(f: impl FnOnce() -> R) -> R {
    dispatch!(Level::new(), _ => f())
}
