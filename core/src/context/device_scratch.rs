//! Temporary memory of a handler on a device, from XLA's allocator.
//!
//! What a call took is given back when it ends, while the device may still be at work: XLA's allocator lends it out again
//! to work that is enqueued on the same stream, and so comes later. The next element of a batch takes the same memory.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;

use serde_json::Value as Json;

use super::scratch::{ScratchParam, exhausted};
use crate::abi::Frame;
use crate::buffer::DeviceSliceMut;
use crate::dtype::Element;
use crate::error::Error;
use crate::param::{AttrType, Decode, Param, Role, Source};
use crate::platform::Cuda;

/// Temporary device memory, as much as the handler asks for. What it held before is anything.
///
/// It serves work on the [`Stream`](crate::Stream) of the call. The CPU has none: see [`Scratch`](crate::Scratch).
/// A handler with `command_buffer = true` cannot have it, since a CUDA graph would use the memory again later.
#[derive(Clone, Copy)]
pub struct DeviceScratch<'f> {
    blocks: &'f Blocks,
}

impl<'f> DeviceScratch<'f> {
    /// So many elements, apart from all others of this call.
    ///
    /// # Errors
    ///
    /// RESOURCE_EXHAUSTED if the device has not so much memory, and on the CPU.
    pub fn take<T: Element>(self, len: usize) -> Result<DeviceSliceMut<'f, T>, Error> {
        let exhausted = || exhausted::<T>(len, " on the device");
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(exhausted)?;
        let data = match bytes {
            0 => std::ptr::dangling_mut(),
            _ => self.blocks.take(bytes).ok_or_else(exhausted)?.cast(),
        };
        // SAFETY: S3: so many bytes, aligned for every dtype, that nobody else has until the call ends.
        Ok(unsafe { DeviceSliceMut::from_raw_parts(data, len) })
    }
}

/// What a call has of the allocator, until it is dropped.
pub struct Blocks {
    frame: Frame<'static>,
    taken: RefCell<Vec<Block>>,
    /// How many of them this element of the batch has.
    used: Cell<usize>,
}

struct Block {
    data: *mut c_void,
    bytes: usize,
}

impl Blocks {
    /// XLA's allocator grants no more; it is enough for every dtype.
    const ALIGN: usize = 16;

    fn take(&self, bytes: usize) -> Option<*mut c_void> {
        let (mut taken, i) = (self.taken.borrow_mut(), self.used.get());
        // A smaller one may be in use by work that the element before has enqueued: it stays until the end.
        let fits = |block: &Block| block.bytes >= bytes;
        let place = match taken[i..].iter().position(fits) {
            Some(offset) => i + offset,
            None => {
                taken.push(Block { data: self.frame.allocate(bytes, Self::ALIGN)?, bytes });
                taken.len() - 1
            }
        };
        taken.swap(i, place);
        self.used.set(i + 1);
        Some(taken[i].data)
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for block in self.taken.get_mut() {
            // SAFETY: S3: from the allocator, with this size, and given back here alone.
            unsafe { self.frame.free(block.data, block.bytes) };
        }
    }
}

// SAFETY: D1: the frame is kept for the length of the call only, and what is lent does not outlive what is stored.
#[diagnostic::do_not_recommend]
unsafe impl Decode for DeviceScratch<'_> {
    type Stored = Blocks;
    const ROLE: Role = Role::Context;
    const TYPE: AttrType = AttrType::Context;
    const ALLOCATES: bool = true;

    fn decode(source: &Source<'_>) -> Option<Blocks> {
        // SAFETY: D1: what is stored does not outlive the call.
        let frame = unsafe { source.frame().forget_lifetime() };
        Some(Blocks { frame, taken: RefCell::default(), used: Cell::new(0) })
    }
}

#[diagnostic::do_not_recommend]
impl<'f> Param<'f> for DeviceScratch<'f> {
    fn lend(stored: &'f mut Blocks) -> Self {
        stored.used.set(0);
        DeviceScratch { blocks: stored }
    }

    fn to_json(&self) -> Json {
        Json::Null
    }
}

#[diagnostic::do_not_recommend]
impl<'f, T: Element> ScratchParam<'f, Cuda> for DeviceSliceMut<'f, T> {
    type Source = DeviceScratch<'f>;

    fn take(source: DeviceScratch<'f>, len: usize) -> Result<Self, Error> {
        source.take(len)
    }
}
