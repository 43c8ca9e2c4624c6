//! Contexts: what the runtime supplies to a handler that names it. One type a file.

mod stream;

pub use stream::Stream;
