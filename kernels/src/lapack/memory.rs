//! What OpenBLAS needs around it: its work memory without its lock, and the one symbol of libgfortran that it uses.
//!
//! Every routine takes a buffer from a table behind one global spin lock, so that two threads on small matrices spend
//! their time on it. The linker's `--wrap` (`build.rs`) sends both calls here, where a thread keeps the buffer it had.
//! A program that links this crate without `--wrap` works, with the lock.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// How many buffers a thread keeps: one for the routine, one for a routine that it calls meanwhile.
const KEPT_BY_THREAD: usize = 2;

/// How many buffers all threads together keep, of the 128 places in OpenBLAS's table. Threads beyond use the table as it
/// is, so that a process of a thousand threads runs out of places no sooner than it would without us.
const KEPT: usize = 96;

/// How many are kept now.
static KEPT_NOW: AtomicUsize = AtomicUsize::new(0);

#[repr(C)]
struct Real {
    alloc: Option<unsafe extern "C" fn(c_int) -> *mut c_void>,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
}

// OpenBLAS's own functions, which are weak references because only `--wrap` defines them; and our symbols hidden,
// because `no_mangle` alone would export them from the cdylib.
std::arch::global_asm!(
    ".weak __real_blas_memory_alloc",
    ".weak __real_blas_memory_free",
    ".pushsection .data.rel.ro.oxidax_real_blas_memory,\"aw\"",
    ".balign 8",
    ".hidden oxidax_real_blas_memory",
    ".globl oxidax_real_blas_memory",
    "oxidax_real_blas_memory:",
    ".quad __real_blas_memory_alloc",
    ".quad __real_blas_memory_free",
    ".popsection",
    ".hidden __wrap_blas_memory_alloc",
    ".hidden __wrap_blas_memory_free",
    ".hidden _gfortran_concat_string",
);

// SAFETY: L6: the assembly above defines it, as two words that are a function's address or null.
unsafe extern "C" {
    safe static oxidax_real_blas_memory: Real;
}

/// A lock around OpenBLAS's table that a fork finds open: see [`fork`].
static TABLE: AtomicBool = AtomicBool::new(false);

fn lock() {
    while TABLE.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        thread::yield_now();
    }
}

fn unlock() {
    TABLE.store(false, Ordering::Release);
}

fn take_from_table(procpos: c_int) -> *mut c_void {
    let Some(alloc) = oxidax_real_blas_memory.alloc else {
        return ptr::null_mut(); // not linked with `--wrap`: then nobody calls this
    };
    lock();
    // SAFETY: L6: OpenBLAS's own function, called as OpenBLAS calls it.
    let buffer = unsafe { alloc(procpos) };
    unlock();
    buffer
}

fn return_to_table(buffer: *mut c_void) {
    let Some(free) = oxidax_real_blas_memory.free else { return };
    lock();
    // SAFETY: L6: the buffer came from the table and is returned once.
    unsafe { free(buffer) };
    unlock();
}

/// The buffers of one thread.
struct Kept([Slot; KEPT_BY_THREAD]);

struct Slot {
    buffer: Cell<*mut c_void>,
    lent: Cell<bool>,
}

thread_local! {
    static OF_THREAD: Kept = const {
        Kept([const { Slot { buffer: Cell::new(ptr::null_mut()), lent: Cell::new(false) } }; KEPT_BY_THREAD])
    };
}

impl Kept {
    fn lend(&self, procpos: c_int) -> *mut c_void {
        let Some(slot) = self.0.iter().find(|slot| !slot.lent.get()) else { return take_from_table(procpos) };
        if slot.buffer.get().is_null() {
            if KEPT_NOW.fetch_add(1, Ordering::Relaxed) >= KEPT {
                KEPT_NOW.fetch_sub(1, Ordering::Relaxed);
                return take_from_table(procpos);
            }
            let buffer = take_from_table(procpos);
            if buffer.is_null() {
                KEPT_NOW.fetch_sub(1, Ordering::Relaxed);
                return buffer;
            }
            slot.buffer.set(buffer);
        }
        slot.lent.set(true);
        slot.buffer.get()
    }

    /// Whether the buffer is one of the thread's.
    fn take_back(&self, buffer: *mut c_void) -> bool {
        let slot = self.0.iter().find(|slot| slot.buffer.get() == buffer);
        if let Some(slot) = slot {
            slot.lent.set(false);
        }
        slot.is_some()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for slot in &self.0 {
            if !slot.buffer.get().is_null() {
                return_to_table(slot.buffer.get());
                KEPT_NOW.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// In the place of `blas_memory_alloc`.
// SAFETY: L6: the linker's `--wrap` gives this name one meaning, and OpenBLAS's own signature is this one.
#[unsafe(no_mangle)]
extern "C" fn __wrap_blas_memory_alloc(procpos: c_int) -> *mut c_void {
    // A thread that is past the end of its thread-locals still gets a buffer.
    OF_THREAD.try_with(|kept| kept.lend(procpos)).unwrap_or_else(|_| take_from_table(procpos))
}

/// In the place of `blas_memory_free`.
// SAFETY: L6: as above.
#[unsafe(no_mangle)]
extern "C" fn __wrap_blas_memory_free(buffer: *mut c_void) {
    if !OF_THREAD.try_with(|kept| kept.take_back(buffer)).unwrap_or(false) {
        return_to_table(buffer);
    }
}

/// Fork: the child has the forking thread alone, with the buffers it kept; those of other threads stay taken in the
/// child's table. A fork waits until no thread is inside the table, so that the child never finds its lock taken.
mod fork {
    use super::{lock, unlock};

    extern "C" fn register() {
        extern "C" fn before() {
            lock();
        }
        extern "C" fn after() {
            unlock();
        }
        // SAFETY: L7: three functions that live as long as the library, which is never unloaded.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
    }

    // When the library is loaded, before any thread can be inside the table.
    // SAFETY: L7: the section holds addresses of functions without arguments, which the loader calls once.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static REGISTER: extern "C" fn() = register;
}

/// libgfortran's `a // b`, by which LAPACK names options to itself (`'N' // 'V'`), so that libgfortran is not needed.
///
/// # Safety
///
/// The three strings are valid for their lengths, and `to` overlaps neither of the others.
// SAFETY: L8: the name and signature that gfortran's code calls; nothing else in this library defines it.
#[unsafe(no_mangle)]
unsafe extern "C" fn _gfortran_concat_string(
    to_len: usize,
    to: *mut u8,
    a_len: usize,
    a: *const u8,
    b_len: usize,
    b: *const u8,
) {
    // SAFETY: L8: the destination's length is given.
    let to = unsafe { std::slice::from_raw_parts_mut(to, to_len) };
    // SAFETY: L8: the first operand's length is given.
    let a = unsafe { std::slice::from_raw_parts(a, a_len) };
    // SAFETY: L8: the second operand's length is given.
    let b = unsafe { std::slice::from_raw_parts(b, b_len) };
    let padded = a.iter().chain(b).copied().chain(std::iter::repeat(b' '));
    for (to, from) in to.iter_mut().zip(padded) {
        *to = from;
    }
}
