//! Temporary memory of a handler on the CPU, kept for each thread: once warm, a call allocates nothing.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::slice;

use serde_json::Value as Json;

use crate::dtype::Element;
use crate::error::{Error, ErrorCode};
use crate::param::{AttrType, Decode, Param, Role, Source};
use crate::platform::{Cpu, Platform};

/// Every slice begins on a cache line.
const ALIGN: usize = 64;
/// The largest alignment for which Rust takes zeros from `calloc`, which has them from the system: it writes them else.
const CALLOC_ALIGN: usize = 16;
/// A chunk is no longer than this if no slice is.
const GROW: usize = 1 << 20;
/// A thread keeps no more than this in one arena between calls.
const KEEP: usize = 64 << 20;
/// A thread keeps so many arenas: one for each scratch parameter of handlers that call each other.
const SPARES: usize = 8;

/// Temporary memory, as much as the handler asks for. What it held before is anything.
///
/// ```
/// use oxidax::{Scratch, Error};
/// # fn main() -> Result<(), Error> {
/// Scratch::with(|scratch| {
///     let work: &mut [f64] = scratch.take(100)?;
///     let pivots: &mut [i32] = scratch.take(10)?;
///     work[99] = f64::from(pivots.len() as i32);
///     Ok(())
/// })
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Scratch<'f> {
    arena: &'f Arena,
}

impl<'f> Scratch<'f> {
    /// Lends a thread's memory to a function, to call a handler's function from Rust.
    pub fn with<R>(f: impl FnOnce(Scratch<'_>) -> R) -> R {
        let mut pad = Lease::take();
        f(Scratch { arena: pad.reset() })
    }

    /// A slice of `len` elements, apart from all others of this call.
    ///
    /// # Errors
    ///
    /// RESOURCE_EXHAUSTED if there is not so much memory.
    pub fn take<T: Element>(self, len: usize) -> Result<&'f mut [T], Error> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize - ALIGN);
        let data = bytes.and_then(|bytes| self.arena.bump(bytes)).ok_or_else(|| exhausted::<T>(len, ""))?;
        // SAFETY: S1: aligned to a cache line, so many bytes, initialised, and given out once until the next reset, which
        // needs the arena mutably.
        Ok(unsafe { slice::from_raw_parts_mut(data.cast().as_ptr(), len) })
    }
}

/// Chunks of memory, of which only the last has room.
#[derive(Default)]
struct Arena {
    chunks: RefCell<Vec<Chunk>>,
    /// Bytes given out of the last chunk.
    used: Cell<usize>,
    /// Bytes given out of all of them.
    given: Cell<usize>,
}

struct Chunk {
    memory: NonNull<u8>,
    layout: Layout,
    /// Where the first cache line of the memory begins.
    data: NonNull<u8>,
}

impl Chunk {
    fn new(bytes: usize) -> Option<Chunk> {
        // Whole cache lines: its end is where a slice of no elements may be, and must be aligned too.
        let bytes = bytes.checked_next_multiple_of(ALIGN)?;
        let layout = Layout::from_size_align(bytes.checked_add(ALIGN)?, CALLOC_ALIGN).ok()?;
        // SAFETY: S2: the size is not 0. Zeroed once, so that every byte is initialised for good.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // SAFETY: S2: less than a cache line on, of which there is one more than `bytes` are.
        let data = unsafe { memory.add(memory.align_offset(ALIGN)) };
        Some(Chunk { memory, layout, data })
    }

    fn bytes(&self) -> usize {
        self.layout.size() - ALIGN
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: S2: allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

impl Arena {
    /// So many bytes that nobody else has.
    fn bump(&self, bytes: usize) -> Option<NonNull<u8>> {
        let mut chunks = self.chunks.borrow_mut();
        let lines = bytes.checked_next_multiple_of(ALIGN)?;
        let room = chunks.last().map_or(0, |chunk| chunk.bytes() - self.used.get());
        if room < lines || chunks.is_empty() {
            chunks.push(Chunk::new(lines.max(self.given.get().min(GROW)))?);
            self.used.set(0);
        }
        let start = self.used.get();
        self.used.set(start + lines);
        self.given.set(self.given.get() + lines);
        // SAFETY: S1: inside the chunk, or at its end for no bytes.
        Some(unsafe { chunks.last()?.data.add(start) })
    }

    /// The bytes of its memory, in one chunk.
    fn bytes(&mut self) -> usize {
        match self.chunks.get_mut().as_slice() {
            [chunk] => chunk.bytes(),
            _ => self.given.get(),
        }
    }

    /// Takes everything back, and makes one chunk of several: the next call finds it.
    fn reset(&mut self) -> &Arena {
        let bytes = self.bytes();
        let chunks = self.chunks.get_mut();
        if chunks.len() > 1 {
            chunks.clear();
            chunks.extend(Chunk::new(bytes));
        }
        self.used.set(0);
        self.given.set(0);
        self
    }
}

thread_local! {
    static ARENAS: RefCell<Vec<Arena>> = const { RefCell::new(Vec::new()) };
}

/// A thread's arena, until it is dropped. A handler that is called while another one waits finds the next.
pub struct Lease(Arena);

impl Lease {
    fn take() -> Lease {
        // A thread that is ending has none.
        Lease(ARENAS.try_with(|arenas| arenas.borrow_mut().pop()).ok().flatten().unwrap_or_default())
    }

    fn reset(&mut self) -> &Arena {
        self.0.reset()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut arena = std::mem::take(&mut self.0);
        if arena.bytes() > KEEP {
            return;
        }
        arena.reset();
        let _ = ARENAS.try_with(|arenas| {
            let mut arenas = arenas.borrow_mut();
            if arenas.len() < SPARES {
                arenas.push(arena);
            }
        });
    }
}

// SAFETY: D1: an arena is the thread's own, and lent for no longer than it is stored.
#[diagnostic::do_not_recommend]
unsafe impl Decode for Scratch<'_> {
    type Stored = Lease;
    const ROLE: Role = Role::Context;
    const TYPE: AttrType = AttrType::Context;

    fn decode(_source: &Source<'_>) -> Option<Lease> {
        Some(Lease::take())
    }
}

#[diagnostic::do_not_recommend]
impl<'f> Param<'f> for Scratch<'f> {
    fn lend(stored: &'f mut Lease) -> Self {
        Scratch { arena: stored.reset() }
    }

    fn to_json(&self) -> Json {
        Json::Null
    }
}

/// The type of a `#[scratch(..)]` parameter on platform `P`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be scratch memory of a handler for {P}",
    label = "not scratch memory on this platform",
    note = "scratch memory is `&mut [T]` on the CPU, and `DeviceSliceMut<T>` on CUDA"
)]
pub trait ScratchParam<'f, P: Platform>: Sized {
    /// The context that has the memory.
    type Source: Param<'f>;

    /// So many elements of it.
    ///
    /// # Errors
    ///
    /// RESOURCE_EXHAUSTED if there is not so much memory.
    fn take(source: Self::Source, len: usize) -> Result<Self, Error>;
}

#[diagnostic::do_not_recommend]
impl<'f, T: Element> ScratchParam<'f, Cpu> for &'f mut [T] {
    type Source = Scratch<'f>;

    fn take(source: Scratch<'f>, len: usize) -> Result<Self, Error> {
        source.take(len)
    }
}

/// That so much memory is not there.
pub(super) fn exhausted<T: Element>(len: usize, place: &str) -> Error {
    let message = format!("{len} elements of {} as scratch memory are not to be had{place}", T::DTYPE.name());
    Error::new(ErrorCode::ResourceExhausted, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_apart_and_aligned() {
        Scratch::with(|scratch| {
            let mut slices: Vec<&mut [u16]> = (0..100).map(|len| scratch.take(len).unwrap()).collect();
            for (value, slice) in (0..).zip(&mut slices) {
                assert!(slice.as_ptr().addr().is_multiple_of(ALIGN));
                slice.fill(value);
            }
            for (value, slice) in (0..).zip(&slices) {
                assert!(slice.iter().all(|&x| x == value));
            }
        });
    }

    #[test]
    fn a_slice_of_no_elements_is_aligned_where_a_chunk_is_used_up() {
        for bytes in 1..200 {
            let lease = Lease(Arena::default());
            let scratch = Scratch { arena: &lease.0 };
            scratch.take::<u8>(bytes).unwrap().fill(1);
            let none: &mut [f64] = scratch.take(0).unwrap();
            assert!(none.as_ptr().is_aligned(), "after {bytes} bytes");
        }
    }

    #[test]
    fn a_warm_thread_is_given_the_same_memory() {
        let address =
            || Scratch::with(|scratch| (0..3).map(|_| scratch.take::<f64>(1000).unwrap().as_ptr().addr()).max());
        let first = address();
        let second = address();
        assert_eq!(second, address());
        assert!(first.is_some());
    }

    #[test]
    fn a_warm_thread_has_what_was_given_and_no_more() {
        let mut arena = Arena::default();
        let give = |arena: &Arena, sizes: &[usize]| {
            let addresses: Vec<_> = sizes.iter().map(|&bytes| arena.bump(bytes).unwrap().addr()).collect();
            assert!(addresses.iter().all(|address| address.get().is_multiple_of(ALIGN)));
        };
        for (sizes, kept) in [
            (&[0][..], 0),
            (&[1, 0, ALIGN], 2 * ALIGN),
            (&[ALIGN; 100], 100 * ALIGN),
            (&[8 * GROW, 1, 1], 8 * GROW + 2 * ALIGN),
            (&[1, 8 * GROW, GROW], 9 * GROW + ALIGN),
            (&[1], 9 * GROW + ALIGN),
        ] {
            for _ in 0..2 {
                give(&arena, sizes);
                assert_eq!(arena.bytes(), kept, "{sizes:?}");
                arena.reset();
                assert_eq!((arena.bytes(), arena.chunks.get_mut().len()), (kept, 1), "{sizes:?}");
            }
        }
    }

    #[test]
    fn one_lease_inside_another_has_memory_of_its_own() {
        Scratch::with(|outer| {
            let a = outer.take::<u8>(10).unwrap();
            a.fill(1);
            Scratch::with(|inner| inner.take::<u8>(10).unwrap().fill(2));
            assert_eq!(a, [1; 10]);
        });
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        Scratch::with(|scratch| {
            for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
                let error = scratch.take::<f64>(len).unwrap_err();
                assert_eq!(error.code(), ErrorCode::ResourceExhausted);
                assert!(error.message().contains(&len.to_string()), "{error}");
            }
        });
    }
}
