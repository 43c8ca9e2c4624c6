//! Attributes: numbers, booleans, strings, and one-dimensional arrays of them.
//!
//! Trusted with `unsafe impl Decode` and with lending borrowed data (UNSAFE.md, clause D).

use std::slice;

use half::{bf16, f16};
use num_complex::Complex;
use serde_json::{Value as Json, json};

use crate::dtype::{Element, Pred};
use crate::param::{AttrType, Decode, EnumRepr, Param, Role, Source};
use crate::shape::POISON;

macro_rules! number_attributes {
    ($($ty:ty)*) => { $(
        // SAFETY: D1: the stored value is plain data.
        #[diagnostic::do_not_recommend]
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

        #[diagnostic::do_not_recommend]
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
#[diagnostic::do_not_recommend]
unsafe impl Decode for bool {
    type Stored = bool;
    const ROLE: Role = Role::Attribute;
    const TYPE: AttrType = <Pred as Decode>::TYPE;

    #[inline(always)]
    fn decode(source: &Source<'_>) -> Option<bool> {
        source.attr()?.scalar::<Pred>().map(Pred::get)
    }
}

#[diagnostic::do_not_recommend]
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
#[diagnostic::do_not_recommend]
unsafe impl Decode for &str {
    type Stored = Borrowed<u8>;
    const ROLE: Role = Role::Attribute;
    const TYPE: AttrType = AttrType::String;

    #[inline(always)]
    fn decode(source: &Source<'_>) -> Option<Borrowed<u8>> {
        source.attr()?.str().map(|s| Borrowed::new(s.as_bytes()))
    }
}

#[diagnostic::do_not_recommend]
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

/// An enum as an attribute; implemented by `#[derive(FfiAttr)]`.
// Its implementation of `Decode` is the one that the compiler misses in any type that is no parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an attribute nor a context of a handler",
    label = "XLA cannot supply a value of this type",
    note = "attributes are numbers (`i64`, not `usize`), `bool`, `&str`, enums with `#[derive(FfiAttr)]`, `#[attr] &[number]`, `Option<..>` of these",
    note = "a buffer is marked with its dims, `#[shape(..)]`; the size of a dim is `#[dim] n: usize`"
)]
pub trait AttrEnum: Copy + 'static {
    /// How its values travel.
    const REPR: EnumRepr;
    /// The names and values of the variants, in order.
    const VARIANTS: &'static [(&'static str, i64)];

    /// The variant at a place of the list.
    fn from_index(index: usize) -> Self;
    /// The place in the list.
    fn index(self) -> usize;
}

// SAFETY: D1: the stored value is plain data.
#[diagnostic::do_not_recommend]
unsafe impl<E: AttrEnum> Decode for E {
    type Stored = E;
    const ROLE: Role = Role::Attribute;
    const TYPE: AttrType = AttrType::Enum { repr: E::REPR, variants: E::VARIANTS };

    #[inline(always)]
    fn decode(source: &Source<'_>) -> Option<E> {
        let attr = source.attr()?;
        let index = match E::REPR {
            EnumRepr::Integer(dtype) => {
                let value = attr.integer_of(dtype)?;
                E::VARIANTS.iter().position(|variant| variant.1 == value)?
            }
            EnumRepr::Name => {
                let name = attr.str()?;
                E::VARIANTS.iter().position(|variant| variant.0 == name)?
            }
        };
        Some(E::from_index(index))
    }
}

#[diagnostic::do_not_recommend]
impl<'f, E: AttrEnum> Param<'f> for E {
    #[inline(always)]
    fn lend(stored: &'f mut E) -> E {
        *stored
    }

    fn to_json(&self) -> Json {
        json!(E::VARIANTS[self.index()].0)
    }
}

/// The type of an attribute or a constant that stands in a shape expression.
#[diagnostic::on_unimplemented(
    message = "an attribute or a constant of type `{Self}` cannot stand in a shape",
    label = "used in a `#[shape(..)]` or `require(..)`",
    note = "shapes are made of integers, booleans and enums with `#[derive(FfiAttr)]`"
)]
pub trait ShapeAttr {
    /// The value as a size; a boolean is 0 or 1.
    fn shape_value(self) -> i64;
}

macro_rules! shape_attributes {
    ($($ty:ty)*) => { $(
        #[diagnostic::do_not_recommend]
        impl ShapeAttr for $ty {
            #[inline(always)]
            fn shape_value(self) -> i64 {
                i64::try_from(self).unwrap_or(POISON)
            }
        }
    )* };
}

shape_attributes! { i8 i16 i32 i64 u8 u16 u32 u64 usize bool }

#[diagnostic::do_not_recommend]
impl<E: AttrEnum> ShapeAttr for E {
    #[inline(always)]
    fn shape_value(self) -> i64 {
        E::VARIANTS[self.index()].1
    }
}
