//! Kernels for JAX, written with `#[ffi_handler]`.
//!
//! `unsafe` is in `lapack/` alone; every other file forbids it. Its clauses are section L of `UNSAFE.md`.
#![deny(unsafe_code)]

pub mod lapack;
pub mod linalg;
pub mod random;
pub mod small;
pub mod sparse;
mod vectors;
mod work;
