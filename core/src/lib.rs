//! Typed Rust functions as JAX operations, through XLA's FFI.
//!
//! Put [`ffi_handler`] on a function, build a `cdylib`, and load it from Python with `oxidax.load(path)`. The attribute
//! derives from the signature what XLA and JAX need: a handler that checks every call, shape rules, batching, autodiff
//! wiring. The function itself stays as it is.
//!
//! ```
//! use oxidax::prelude::*;
//!
//! /// Adds a constant to each element.
//! #[ffi_handler(dtypes(T = [f32, f64]))]
//! fn shift<T: Float>(#[shape(n)] x: &[T], by: T, #[shape(n)] y: &mut [T]) {
//!     for (y, &x) in y.iter_mut().zip(x) {
//!         *y = x + by;
//!     }
//! }
//!
//! let mut y = [0.0; 2];
//! shift(&[1.0, 2.0], 0.5, &mut y);
//! assert_eq!(y, [1.5, 2.5]);
//! ```
//!
//! What the crate checks on every call and what stays the author's duty is in `UNSAFE.md`.

mod abi;
mod attr;
mod batch;
mod buffer;
mod context;
mod debug;
mod decode;
mod dtype;
mod error;
mod handler;
mod manifest;
mod param;
mod plan;
mod platform;
mod registry;
mod shape;
mod slow;

#[doc(hidden)]
pub mod private;
#[doc(hidden)]
pub mod sys;
pub mod testing;

pub use oxidax_macros::{FfiAttr, ffi_handler};

pub use half::{bf16, f16};
pub use num_complex::Complex;
pub use num_traits;

pub use abi::AttrValue;
pub use attr::{AttrEnum, ShapeAttr};
pub use buffer::{Base, BufferParam, ColMajor, DeviceSlice, DeviceSliceMut, InOut, Matrix, Ranked, Shaped, Trailing};
pub use context::{DeviceScratch, Scratch, ScratchParam, Stream, ThreadPool};
pub use dtype::{DType, Element, Float, Pred, Scalar};
pub use error::{Error, ErrorCode, Outcome};
pub use param::{AttrType, Decode, EnumRepr, FromDim, Param, Role, Source};
pub use platform::{Cpu, Cuda, Platform};
pub use registry::{Entry, handlers};

/// The README's Rust is a doctest.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// What a crate of handlers usually names.
pub mod prelude {
    pub use num_traits::{One, Zero};

    pub use crate::{
        ColMajor, Complex, DeviceScratch, DeviceSlice, DeviceSliceMut, Element, Error, ErrorCode, FfiAttr, Float,
        InOut, Matrix, Pred, Ranked, Scalar, Scratch, Shaped, Stream, ThreadPool, bf16, f16, ffi_handler,
    };
}
