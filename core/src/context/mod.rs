//! Contexts: what the runtime supplies to a handler that names it. One type a file.

mod device_scratch;
mod scratch;
mod stream;
mod thread_pool;

pub use device_scratch::DeviceScratch;
pub use scratch::{Scratch, ScratchParam};
pub use stream::Stream;
pub use thread_pool::ThreadPool;
