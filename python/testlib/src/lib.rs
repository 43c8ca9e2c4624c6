//! Odd operations, one rule of the signature language each, for the tests of the Python package.
#![forbid(unsafe_code)]

mod attributes;
mod batching;
mod derivatives;
mod dtypes;
mod failures;
mod lapack_like;
mod liars;
mod matmul;
mod second_order;
mod shapes;
