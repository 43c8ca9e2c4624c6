//! Which library serves a matrix: by its size and type alone, so that a result never depends on batch or threads.
//!
//! OpenBLAS, linked in, uses one thread, and every matrix of a batch can have a thread. One large matrix gains from the
//! threads of SciPy's OpenBLAS, which Python hands over as addresses ([`oxidax_kernels_use_scipy`]).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use num_complex::Complex;

use super::routines::{Int, OPENBLAS, Routines, from_addresses};
use super::scalar::Lapack;

/// The routines of one LAPACK, for all scalar types.
pub struct Library {
    pub(super) name: &'static str,
    pub(super) s: Routines<f32>,
    pub(super) d: Routines<f64>,
    pub(super) c: Routines<Complex<f32>>,
    pub(super) z: Routines<Complex<f64>>,
}

/// The size from which threads make one matrix faster.
const THREADED_FROM: usize = 512;

static SCIPY: OnceLock<Library> = OnceLock::new();

impl Library {
    /// The OpenBLAS that is linked in.
    pub fn openblas() -> &'static Library {
        &OPENBLAS
    }

    /// SciPy's, if this process has handed it over.
    pub fn scipy() -> Option<&'static Library> {
        SCIPY.get()
    }

    /// `openblas` or `scipy`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The library for one matrix whose smaller size is `size`.
    pub(super) fn serving(size: usize) -> &'static Library {
        Self::serving_from(THREADED_FROM, size)
    }

    /// As [`serving`](Self::serving), with another size from which SciPy's serves.
    pub(super) fn serving_from(least: usize, size: usize) -> &'static Library {
        if size < least { &OPENBLAS } else { SCIPY.get().unwrap_or(&OPENBLAS) }
    }

    /// On how many threads it is worth calling at a time. SciPy's has threads of its own: calls wait for each other there.
    pub fn threads(&self) -> usize {
        if self.is_own() { usize::MAX } else { 1 }
    }

    /// Whether it is the one that is linked in, which uses one thread.
    pub(super) fn is_own(&self) -> bool {
        ptr::eq(self, &OPENBLAS)
    }

    pub(super) fn routines<T: Lapack>(&self) -> &Routines<T> {
        T::routines(self)
    }
}

/// A routine that Python hands over: a name such as `dpotrf`, and the address in SciPy's capsule of that name.
#[repr(C)]
pub struct NamedRoutine {
    name: *const c_char,
    address: *const c_void,
}

/// Makes SciPy's routines serve large matrices from now on, for as long as the process lives.
///
/// Returns null, or why not, as a C string that lives for ever; then nothing has changed. A second call changes nothing.
/// `integer_size` is the size of SciPy's LAPACK integers in bytes: only 4 is taken.
///
/// # Safety
///
/// Clause L3: `routines` points to `count` entries, valid for the call; each name is a C string, and each address is that
/// of the routine that `scipy.linalg.cython_lapack` or `cython_blas` exports under the name, in a module that is never
/// unloaded.
// SAFETY: L9: the name is this library's own prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxidax_kernels_use_scipy(
    routines: *const NamedRoutine,
    count: usize,
    integer_size: c_int,
) -> *const c_char {
    if usize::try_from(integer_size) != Ok(size_of::<Int>()) {
        return c"SciPy's LAPACK integers are not of 32 bits".as_ptr();
    }
    if routines.is_null() {
        return c"no routines were given".as_ptr();
    }
    // SAFETY: L3: the caller's promise.
    let given = unsafe { std::slice::from_raw_parts(routines, count) };
    let find = |name: &'static str| match given.iter().find(|routine| routine.is_called(name)) {
        Some(routine) if !routine.address.is_null() => Ok(routine.address),
        _ => Err(c"SciPy lacks a routine that this library needs".as_ptr()),
    };
    // SAFETY: L3: the caller's promise.
    match unsafe { from_addresses("scipy", find) } {
        Ok(library) => {
            let _ = SCIPY.set(library); // a second call
            ptr::null()
        }
        Err(message) => message,
    }
}

impl NamedRoutine {
    fn is_called(&self, name: &str) -> bool {
        // SAFETY: L3: the caller's promise.
        !self.name.is_null() && unsafe { CStr::from_ptr(self.name) }.to_bytes() == name.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(routines: &[NamedRoutine], integer_size: c_int) -> &'static str {
        // SAFETY: L3: a slice; the function refuses it before it calls an address.
        let message = unsafe { oxidax_kernels_use_scipy(routines.as_ptr(), routines.len(), integer_size) };
        // SAFETY: L3: a C string that lives for ever, as the function says.
        unsafe { CStr::from_ptr(message) }.to_str().unwrap()
    }

    #[test]
    fn a_scipy_that_does_not_fit_is_refused() {
        let one = [NamedRoutine { name: c"dpotrf".as_ptr(), address: lapack_sys::dpotrf_ as *const c_void }];
        assert!(message(&one, 8).contains("32 bits"));
        assert!(message(&one, 4).contains("lacks a routine"));
        assert!(Library::scipy().is_none());
    }

    #[test]
    fn a_table_is_filled_by_name() {
        let mut asked = Vec::new();
        let seen = std::cell::RefCell::new(&mut asked);
        let find = |name: &'static str| {
            seen.borrow_mut().push(name);
            Ok::<_, ()>(lapack_sys::dpotrf_ as *const c_void)
        };
        // SAFETY: L3: nothing calls the routines of this table.
        let library = unsafe { from_addresses("test", find) }.unwrap();
        assert_eq!(library.d.potrf as usize, lapack_sys::dpotrf_ as *const () as usize);
        for name in ["spotrf", "zgetrf", "dorgqr", "cungqr", "cgesdd", "zgeev", "ztrsm"] {
            assert!(asked.contains(&name), "{name}");
        }
        assert_eq!(asked.len() % 4, 0);
    }
}
