//! The stream that a CUDA handler enqueues its work on.

use std::ffi::c_void;
use std::marker::PhantomData;

use serde_json::Value as Json;

use crate::param::{AttrType, Decode, Param, Role, Source};

/// The `CUstream` of the call, opaque here: `core` knows no CUDA. The CPU has none, so ask for `Option<Stream>` there.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'f> {
    raw: *mut c_void,
    _call: PhantomData<&'f ()>,
}

impl Stream<'_> {
    /// A stream that the caller vouches for, to call a handler's function without XLA.
    ///
    /// # Safety
    ///
    /// `raw` is a `CUstream` that stays valid for the lifetime.
    pub unsafe fn from_raw(raw: *mut c_void) -> Self {
        Stream { raw, _call: PhantomData }
    }

    /// The `CUstream`.
    pub fn as_raw(self) -> *mut c_void {
        self.raw
    }
}

/// A stream for the length of a call.
pub struct StoredStream(*mut c_void);

// SAFETY: D1: made here alone, and lent for no longer than the call.
#[diagnostic::do_not_recommend]
unsafe impl Decode for Stream<'_> {
    type Stored = StoredStream;
    const ROLE: Role = Role::Context;
    const TYPE: AttrType = AttrType::Context;

    fn decode(source: &Source<'_>) -> Option<StoredStream> {
        source.frame().stream().map(StoredStream)
    }
}

#[diagnostic::do_not_recommend]
impl<'f> Param<'f> for Stream<'f> {
    fn lend(stored: &'f mut StoredStream) -> Self {
        Stream { raw: stored.0, _call: PhantomData }
    }

    fn to_json(&self) -> Json {
        Json::Null
    }
}
