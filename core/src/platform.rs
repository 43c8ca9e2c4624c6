//! Where a handler runs. Buffers are generic over it, so that a host slice in a CUDA handler does not compile.
#![forbid(unsafe_code)]

mod sealed {
    pub trait Sealed {}
}

/// A platform of XLA: [`Cpu`] or [`Cuda`].
pub trait Platform: sealed::Sealed + 'static {
    /// The name in the manifest.
    const NAME: &'static str;
    /// Whether the host may read and write a buffer's memory.
    const HOST_MEMORY: bool;
}

/// Host code over host memory; the default.
pub enum Cpu {}

/// Host code that enqueues work on a CUDA stream; buffers are device memory. `#[ffi_handler(platform = cuda)]`.
pub enum Cuda {}

impl sealed::Sealed for Cpu {}
impl Platform for Cpu {
    const NAME: &'static str = "cpu";
    const HOST_MEMORY: bool = true;
}

impl sealed::Sealed for Cuda {}
impl Platform for Cuda {
    const NAME: &'static str = "cuda";
    const HOST_MEMORY: bool = false;
}
