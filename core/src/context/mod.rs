//! Contexts: what the runtime supplies to a handler that names it. One type a file.

mod scratch;
mod stream;
mod thread_pool;

pub use scratch::{Scratch, ScratchParam, Scratchpad};
pub use stream::Stream;
pub use thread_pool::ThreadPool;
