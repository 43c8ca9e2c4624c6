//! Random bits.
//!
//! | operation | results | derivatives |
//! |---|---|---|
//! | [`threefry2x32()`] | two words for each pair of words | none: integers |
#![forbid(unsafe_code)]

pub mod threefry2x32;

pub use threefry2x32::threefry2x32;
