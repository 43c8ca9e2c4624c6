//! Attributes: numbers, booleans, strings, and one-dimensional arrays of them.
//!
//! Trusted with `unsafe impl Decode` and with lending borrowed data (UNSAFE.md, clause D).

use std::slice;

use half::{bf16, f16};
use num_complex::Complex;
use serde_json::{Value as Json, json};

use crate::dtype::{Element, Pred};
use crate::param::{AttrType, Decode, Param, Role, Source};
use crate::shape::POISON;

macro_rules! number_attributes {
    ($($ty:ty)*) => { $(
        // SAFETY: D1: the stored value is plain data.
        unsafe impl Decode for $ty {
            type Stored = $ty;
            const ROLE: Role = Role::Attribute;
            const TYPE: AttrType = AttrType::Scalar {
                dtype: <$ty as Element>::DTYPE,
                wire: if <$ty as Element>::SCALAR_ATTR { None } else { Some(<$ty as Element>::WIRE) },
            };

            #[inline(always)]
            fn decode(source: &Source<'_>) -> Option<$ty> {
                source.attr()?.scalar()
            }
        }

        impl<'f> Param<'f> for $ty {
            #[inline(always)]
            fn lend(stored: &'f mut $ty) -> $ty {
                *stored
            }

            fn to_json(&self) -> Json {
                Element::to_json(*self)
            }
        }
    )* };
}

number_attributes! { Pred i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex<f32> Complex<f64> }

// SAFETY: D1: the stored value is plain data.
unsafe impl Decode for bool {
    type Stored = bool;
    const ROLE: Role = Role::Attribute;
    const TYPE: AttrType = <Pred as Decode>::TYPE;

    #[inline(always)]
    fn decode(source: &Source<'_>) -> Option<bool> {
        source.attr()?.scalar::<Pred>().map(Pred::get)
    }
}

impl<'f> Param<'f> for bool {
    #[inline(always)]
    fn lend(stored: &'f mut bool) -> bool {
        *stored
    }

    fn to_json(&self) -> Json {
        json!(self)
    }
}

/// A slice of the call frame without its lifetime, for as long as the call lasts.
pub struct Borrowed<T> {
    data: *const T,
    len: usize,
}

impl<T> Borrowed<T> {
    #[inline(always)]
    fn new(slice: &[T]) -> Self {
        Borrowed { data: slice.as_ptr(), len: slice.len() }
    }

    #[inline(always)]
    fn get(&mut self) -> &[T] {
        // SAFETY: D2: made from a slice of the call frame, which outlives what is stored.
        unsafe { slice::from_raw_parts(self.data, self.len) }
    }
}

// SAFETY: D1: `Borrowed` is made here alone, and lent for no longer than itself.
unsafe impl Decode for &str {
    type Stored = Borrowed<u8>;
    const ROLE: Role = Role::Attribute;
    const TYPE: AttrType = AttrType::String;

    #[inline(always)]
    fn decode(source: &Source<'_>) -> Option<Borrowed<u8>> {
        source.attr()?.str().map(|s| Borrowed::new(s.as_bytes()))
    }
}

impl<'f> Param<'f> for &'f str {
    #[inline(always)]
    fn lend(stored: &'f mut Borrowed<u8>) -> &'f str {
        // SAFETY: D3: made from a `str`.
        unsafe { std::str::from_utf8_unchecked(stored.get()) }
    }

    fn to_json(&self) -> Json {
        json!(self)
    }
}

// SAFETY: D1: `Borrowed` is made here alone, and lent for no longer than itself.
#[diagnostic::do_not_recommend]
unsafe impl<T: Element> Decode for &[T] {
    type Stored = Borrowed<T>;
    const ROLE: Role = Role::Attribute;
    const TYPE: AttrType =
        AttrType::Array { dtype: T::DTYPE, wire: if T::DTYPE.code() == T::WIRE.code() { None } else { Some(T::WIRE) } };

    #[inline(always)]
    fn decode(source: &Source<'_>) -> Option<Borrowed<T>> {
        source.attr()?.array().map(Borrowed::new)
    }
}

#[diagnostic::do_not_recommend]
impl<'f, T: Element> Param<'f> for &'f [T] {
    #[inline(always)]
    fn lend(stored: &'f mut Borrowed<T>) -> &'f [T] {
        stored.get()
    }

    fn to_json(&self) -> Json {
        self.iter().map(|&x| Element::to_json(x)).collect()
    }
}

/// The type of an attribute that stands in a shape expression.
#[diagnostic::on_unimplemented(
    message = "an attribute of type `{Self}` cannot stand in a shape",
    label = "used in a `#[shape(..)]` or `require(..)`",
    note = "shapes are made of integer and boolean attributes"
)]
pub trait ShapeAttr {
    /// The value as a size; a boolean is 0 or 1.
    fn shape_value(self) -> i64;
}

macro_rules! shape_attributes {
    ($($ty:ty)*) => { $(
        impl ShapeAttr for $ty {
            #[inline(always)]
            fn shape_value(self) -> i64 {
                i64::try_from(self).unwrap_or(POISON)
            }
        }
    )* };
}

shape_attributes! { i8 i16 i32 i64 u8 u16 u32 u64 bool }
