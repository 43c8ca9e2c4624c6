//! What expansions of `#[ffi_handler]` call. Not part of the public API; may change in any version.
#![forbid(unsafe_code)]

pub use std::module_path;
pub use std::option::Option::{self, None, Some};

pub use inventory;
pub use serde_json::Value as Json;

pub use crate::attr::{AttrEnum, ShapeAttr};
pub use crate::buffer::Buf;
pub use crate::context::ScratchParam;
pub use crate::decode::Decoder;
pub use crate::handler::{
    Batch, Cx, Finish, Handler, HandlerDef, Kernel, OpInfo, Operation, Returned, Vjp, no_instance, run,
};
pub use crate::param::EnumRepr;
pub use crate::plan::{
    Instance, Plan, Selector, Spec, attr, buffer, dim, instance, instance_at, param, plan, scratch, select,
};
pub use crate::platform::{Cpu, Cuda};
pub use crate::shape::{Algebra, Sink};

/// The algebra of sizes alone, for those that no reader is told of.
pub type SizeAlgebra = crate::shape::Sizes<()>;

use crate::dtype::Element;
use crate::error::{Error, Outcome};
use crate::param::{Decode, FromDim, Param};
use crate::platform::Platform;

/// The parameter for one call of the function.
#[inline(always)]
pub fn lend<'f, P: Param<'f>>(stored: &'f mut P::Stored) -> P {
    P::lend(stored)
}

/// The value of an attribute in a shape.
#[inline(always)]
pub fn shape_attr<A: ShapeAttr>(value: A) -> i64 {
    value.shape_value()
}

/// The value of a `#[dim]` parameter.
#[inline(always)]
pub fn from_dim<N: FromDim>(size: i64) -> N {
    N::from_dim(size)
}

/// What the function returned.
#[inline(always)]
pub fn finish<O: Outcome>(outcome: O) -> Finish {
    outcome.finish()
}

/// A default, for the manifest.
pub fn json<'f, P: Param<'f>>(default: P) -> Json {
    default.to_json()
}

/// The context that a `#[scratch(..)]` parameter's memory comes from.
pub type ScratchSource<'f, P, B> = <B as ScratchParam<'f, P>>::Source;

/// Scratch memory for one call of the function, of `len` elements.
#[inline(always)]
pub fn lend_scratch<'f, P: Platform, B: ScratchParam<'f, P>>(
    stored: &'f mut <B::Source as Decode>::Stored,
    name: &str,
    len: i64,
) -> Result<B, Error> {
    match usize::try_from(len) {
        Ok(len) => B::take(B::Source::lend(stored), len),
        Err(_) => Err(no_size(name)),
    }
}

// Apart, so that it is not compiled for each instance.
#[cold]
#[inline(never)]
fn no_size(name: &str) -> Error {
    Error::invalid_argument(format!("the size of scratch memory {name:?} is negative, overflows or divides by zero"))
}

/// How an enum with `#[repr(T)]` travels.
pub const fn integer<T: Element>() -> EnumRepr {
    EnumRepr::Integer(T::DTYPE)
}
