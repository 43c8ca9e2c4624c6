//! The traits of an unmarked parameter: an attribute of the call, or a context that the runtime supplies.
//!
//! A new attribute or context type is one implementation of the two traits in one file.

use serde_json::Value as Json;

use crate::abi::{AttrValue, Frame};
use crate::dtype::DType;

/// What a parameter is to XLA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An input buffer.
    Argument,
    /// A result buffer.
    Result,
    /// One input and one result buffer that share memory.
    InOut,
    /// An attribute of the call.
    Attribute,
    /// A value of the runtime: a stream, ...
    Context,
    /// The size of a dim.
    Dim,
    /// Temporary memory.
    Scratch,
}

/// How an attribute travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttrType {
    /// A number or boolean.
    Scalar {
        /// The declared dtype.
        dtype: DType,
        /// The dtype on the wire, where XLA does not carry `dtype`.
        wire: Option<DType>,
    },
    /// A one-dimensional array.
    Array {
        /// The declared dtype.
        dtype: DType,
        /// The dtype on the wire, where XLA does not carry `dtype`.
        wire: Option<DType>,
    },
    /// A UTF-8 string.
    String,
    /// One of a list of named values.
    Enum {
        /// How they travel.
        repr: EnumRepr,
        /// Their names and values, in order.
        variants: &'static [(&'static str, i64)],
    },
    /// No attribute at all.
    Context,
}

/// How the values of an enum travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EnumRepr {
    /// As a scalar of this integer dtype.
    Integer(DType),
    /// As their names.
    Name,
}

/// Where a parameter is decoded from: the call frame and, for an attribute, its value there.
pub struct Source<'f> {
    pub(crate) frame: Frame<'f>,
    pub(crate) attr: Option<AttrValue<'f>>,
}

impl<'f> Source<'f> {
    /// The attribute of the parameter's name, if the call has one.
    #[inline(always)]
    pub fn attr(&self) -> Option<AttrValue<'f>> {
        self.attr
    }

    /// The call frame.
    #[inline(always)]
    pub(crate) fn frame(&self) -> Frame<'f> {
        self.frame
    }
}

/// Half of [`Param`]: what is done once a call, free of the borrow's lifetime.
///
/// # Safety
///
/// `Stored` may hold pointers into the call frame: it must be created by `decode` only, and must not outlive the call
/// (an implementation keeps it nowhere else).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an attribute nor a context of a handler",
    label = "XLA cannot supply a value of this type",
    note = "attributes are numbers (`i64`, not `usize`), `bool`, `&str`, enums with `#[derive(FfiAttr)]`, `#[attr] &[number]`, `Option<..>` of these",
    note = "a buffer is marked with its dims, `#[shape(..)]`; the size of a dim is `#[dim] n: usize`"
)]
pub unsafe trait Decode: Sized {
    /// What is kept for the length of the call.
    type Stored;
    /// Attribute or context.
    const ROLE: Role;
    /// How the attribute travels.
    const TYPE: AttrType;
    /// Whether the attribute may be missing.
    const OPTIONAL: bool = false;
    /// Whether a context allocates on the device, which XLA cannot record into a CUDA graph.
    const ALLOCATES: bool = false;

    /// Reads the value, or refuses it.
    fn decode(source: &Source<'_>) -> Option<Self::Stored>;
}

/// An unmarked parameter. Decoded once a call, lent once a batch element.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an attribute nor a context of a handler",
    label = "XLA cannot supply a value of this type",
    note = "attributes are numbers (`i64`, not `usize`), `bool`, `&str`, enums with `#[derive(FfiAttr)]`, `#[attr] &[number]`, `Option<..>` of these",
    note = "a buffer is marked with its dims, `#[shape(..)]`; the size of a dim is `#[dim] n: usize`"
)]
pub trait Param<'f>: Decode {
    /// The parameter for one call of the function.
    fn lend(stored: &'f mut Self::Stored) -> Self;

    /// The value as a default in the manifest.
    fn to_json(&self) -> Json;
}

// SAFETY: D1: what is stored is what the inner type stores.
#[diagnostic::do_not_recommend]
unsafe impl<P: Decode> Decode for Option<P> {
    type Stored = Option<P::Stored>;
    const ROLE: Role = P::ROLE;
    const TYPE: AttrType = P::TYPE;
    const OPTIONAL: bool = true;
    const ALLOCATES: bool = P::ALLOCATES;

    #[inline(always)]
    fn decode(source: &Source<'_>) -> Option<Self::Stored> {
        match (P::ROLE, source.attr) {
            (Role::Attribute, None) => Some(None),
            (Role::Attribute, Some(_)) => P::decode(source).map(Some),
            // A context that this platform, version or stage does not have.
            _ => Some(P::decode(source)),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<'f, P: Param<'f>> Param<'f> for Option<P> {
    #[inline(always)]
    fn lend(stored: &'f mut Self::Stored) -> Self {
        stored.as_mut().map(P::lend)
    }

    fn to_json(&self) -> Json {
        self.as_ref().map_or(Json::Null, P::to_json)
    }
}

/// The type of a `#[dim]` parameter.
#[diagnostic::on_unimplemented(
    message = "a `#[dim]` parameter is a `usize`, not `{Self}`",
    label = "the size of a dim is a `usize`"
)]
pub trait FromDim {
    /// The size of a dim, which is never negative.
    fn from_dim(size: i64) -> Self;
}

#[diagnostic::do_not_recommend]
impl FromDim for usize {
    #[inline(always)]
    fn from_dim(size: i64) -> usize {
        size as usize
    }
}
