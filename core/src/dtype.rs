//! XLA's element types as Rust types: one row of one table each.
//!
//! The only place where a Rust type is said to be an XLA dtype, hence `unsafe impl` (UNSAFE.md, clause E).

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;
use serde_json::{Value as Json, json};

use crate::param::Param;
use crate::sys;

/// An XLA element type: its code in the C API, its name in XLA's spelling, its size in bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DType {
    code: i32,
    name: &'static str,
    size: usize,
}

impl DType {
    /// The value of `XLA_FFI_DataType`.
    #[inline(always)]
    pub const fn code(self) -> i32 {
        self.code
    }

    /// XLA's name: `f32`, `s64`, `pred`, ...
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The size of one element, in bytes.
    pub const fn size(self) -> usize {
        self.size
    }

    /// The dtype of an `XLA_FFI_DataType`, if it is one of those here.
    pub(crate) fn of_code(code: i32) -> Option<DType> {
        DTYPES.iter().copied().find(|d| d.code == code)
    }

    /// The name of any `XLA_FFI_DataType`, for messages about dtypes that no handler here can take.
    pub(crate) fn name_of(code: i32) -> String {
        match DType::of_code(code) {
            Some(d) => d.name.to_owned(),
            None if code == sys::XLA_FFI_DataType_TOKEN => "token".to_owned(),
            None => format!("dtype {code} (unsupported)"),
        }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A Rust type that is the element of an XLA buffer.
///
/// # Safety
///
/// Every bit pattern of `size_of::<Self>()` bytes is a value, there is no padding, and `DTYPE` is the XLA dtype of that
/// representation. `WIRE` has no padding either, and its size divides the size of `Self`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an XLA element type",
    label = "not an element type",
    note = "element types are `f32`, `f64`, `f16`, `bf16`, `i8` to `i64`, `u8` to `u64`, `Complex<f32>`, `Complex<f64>`, and `Pred` for booleans",
    note = "for several of them, make the function generic: `T: Element` and `dtypes(T = [..])`"
)]
pub unsafe trait Element: Copy + Send + Sync + fmt::Debug + 'static + for<'f> Param<'f> {
    /// The XLA dtype.
    const DTYPE: DType;
    /// The dtype that carries an array attribute of `Self`, bit for bit: itself where XLA carries it.
    const WIRE: DType;
    /// Whether XLA carries a scalar attribute of `Self`; if not, it travels as an array of one.
    const SCALAR_ATTR: bool;

    /// The value in the manifest's JSON: what JSON cannot say (`inf`, `nan`) is a string, a complex number is `[re, im]`.
    fn to_json(self) -> Json;
}

/// A real floating-point element: `f32`, `f64`, `f16`, `bf16`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a real floating-point element type",
    note = "those are `f32`, `f64`, `f16` and `bf16`; `Scalar` includes the complex ones"
)]
pub trait Float: Element + num_traits::Float {}
#[diagnostic::do_not_recommend]
impl<T: Element + num_traits::Float> Float for T {}

/// A floating-point element, real or complex, with its real and its complex counterpart: what LAPACK's routines take.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of linear algebra",
    note = "those are `f32`, `f64`, `Complex<f32>` and `Complex<f64>`"
)]
pub trait Scalar: Element + num_traits::Num + std::ops::Neg<Output = Self> {
    /// `f32` or `f64`.
    type Real: Float + Scalar<Real = Self::Real, Complex = Self::Complex>;
    /// `Complex<f32>` or `Complex<f64>`.
    type Complex: Scalar<Real = Self::Real, Complex = Self::Complex>;
    /// Whether this is its own real counterpart.
    const IS_REAL: bool;
}

/// One row for each precision.
macro_rules! scalars {
    ($($real:ty)*) => { $(
        impl Scalar for $real {
            type Real = $real;
            type Complex = Complex<$real>;
            const IS_REAL: bool = true;
        }

        impl Scalar for Complex<$real> {
            type Real = $real;
            type Complex = Complex<$real>;
            const IS_REAL: bool = false;
        }
    )* };
}

scalars! { f32 f64 }

/// A boolean in a buffer: one byte, in which any non-zero value is true.
///
/// XLA hands over bytes other than 0 and 1 (a NumPy array can hold them), which a Rust `bool` must never hold. A `Pred` made
/// from a `bool` is 0 or 1; one that is copied from an argument keeps its byte, so normalise it (`Pred::new(x.get())`)
/// where a result is read by operations that count.
#[repr(transparent)]
#[derive(Clone, Copy, Default)]
pub struct Pred(u8);

impl Pred {
    /// The byte of a boolean.
    #[inline(always)]
    pub const fn new(value: bool) -> Self {
        Pred(value as u8)
    }

    /// Whether the byte is not zero.
    #[inline(always)]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Pred {
    #[inline(always)]
    fn from(value: bool) -> Self {
        Pred::new(value)
    }
}

impl From<Pred> for bool {
    #[inline(always)]
    fn from(value: Pred) -> Self {
        value.get()
    }
}

impl PartialEq for Pred {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Pred {}

impl fmt::Debug for Pred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// The shortest decimal that reads back as `value`: 1e-5, not 9.999999747378752e-06, for an `f32`.
fn real_json<T: Float + fmt::Display>(value: T) -> Json {
    // JSON numbers are finite.
    if value.is_nan() {
        json!("nan")
    } else if value.is_infinite() {
        json!(if value > T::zero() { "inf" } else { "-inf" })
    } else {
        json!(value.to_string().parse::<f64>().unwrap_or(f64::NAN))
    }
}

fn complex_json<T: Float + fmt::Display>(value: Complex<T>) -> Json {
    json!([real_json(value.re), real_json(value.im)])
}

macro_rules! elements {
    ($($rust:ty | $xla:ident $name:literal $code:ident | $scalar:literal | $wire:ident | $json:expr;)*) => {
        impl DType {
            $(
                #[doc = concat!("XLA's `", $name, "`.")]
                pub const $xla: DType =
                    DType { code: sys::$code, name: $name, size: size_of::<$rust>() };
            )*
        }

        const DTYPES: &[DType] = &[$(DType::$xla),*];

        $(
            // SAFETY: E1: a plain number or a byte: every bit pattern is a value, without padding.
            #[diagnostic::do_not_recommend]
            unsafe impl Element for $rust {
                const DTYPE: DType = DType::$xla;
                const WIRE: DType = DType::$wire;
                const SCALAR_ATTR: bool = $scalar;

                fn to_json(self) -> Json {
                    let json: fn($rust) -> Json = $json;
                    json(self)
                }
            }
        )*
    };
}

elements! {
    // Rust type | XLA's name and code | does XLA carry a scalar attribute? | what carries an array attribute | JSON
    Pred         | PRED "pred" XLA_FFI_DataType_PRED | true  | U8  | |x| json!(x.get());
    i8           | S8   "s8"   XLA_FFI_DataType_S8   | true  | S8  | |x| json!(x);
    i16          | S16  "s16"  XLA_FFI_DataType_S16  | true  | S16 | |x| json!(x);
    i32          | S32  "s32"  XLA_FFI_DataType_S32  | true  | S32 | |x| json!(x);
    i64          | S64  "s64"  XLA_FFI_DataType_S64  | true  | S64 | |x| json!(x);
    u8           | U8   "u8"   XLA_FFI_DataType_U8   | true  | U8  | |x| json!(x);
    u16          | U16  "u16"  XLA_FFI_DataType_U16  | true  | U16 | |x| json!(x);
    u32          | U32  "u32"  XLA_FFI_DataType_U32  | true  | U32 | |x| json!(x);
    u64          | U64  "u64"  XLA_FFI_DataType_U64  | false | U64 | |x| json!(x);
    f16          | F16  "f16"  XLA_FFI_DataType_F16  | false | U16 | real_json;
    bf16         | BF16 "bf16" XLA_FFI_DataType_BF16 | false | U16 | real_json;
    f32          | F32  "f32"  XLA_FFI_DataType_F32  | true  | F32 | real_json;
    f64          | F64  "f64"  XLA_FFI_DataType_F64  | true  | F64 | real_json;
    Complex<f32> | C64  "c64"  XLA_FFI_DataType_C64  | false | F32 | complex_json;
    Complex<f64> | C128 "c128" XLA_FFI_DataType_C128 | false | F64 | complex_json;
}
