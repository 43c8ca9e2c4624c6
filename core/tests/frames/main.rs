//! Handlers called with call frames made by hand: what XLA sends, and what it never would.
//!
//! A file a subject. Each call runs twice with its results poisoned differently, so that an unwritten element is seen.
#![expect(clippy::too_many_arguments, reason = "a handler has one of each kind")]

mod attribute_types;
mod attributes;
mod batching;
mod batching_property;
mod buffers;
mod cuda;
mod dtypes;
mod failures;
mod fuzz;
mod fuzz_handlers;
mod manifest;
mod memory;
mod messages;
mod random;
mod registration;
mod selection;
mod shapes;
mod soundness;
mod threads;

use oxidax::Error;
use oxidax::testing::{CallFrame, Results};

/// The message of a call that must fail.
fn refusal(frame: CallFrame) -> String {
    match frame.call() {
        Ok(results) => panic!("the call succeeded: {results:?}"),
        Err(error) => error.message().to_owned(),
    }
}

/// The results of a call that must succeed.
#[track_caller]
fn accept(frame: CallFrame) -> Results {
    frame.call().unwrap_or_else(|error: Error| panic!("the call failed: {error}"))
}
