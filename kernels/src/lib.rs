//! Kernels for JAX, written with `#[ffi_handler]`.
#![forbid(unsafe_code)]

pub mod linalg;
