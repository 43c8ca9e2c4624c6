//! Room behind a complex matrix, which OpenBLAS reads and does not use.
#![forbid(unsafe_code)]

use super::routines::Int;
use super::scalar::Lapack;

/// More columns than OpenBLAS reads, and does not use, beyond a matrix that it multiplies by a vector: its `cgemv_n` and
/// `zgemv_n` for Haswell do so. LAPACK is given such a matrix in work memory with so much room, not in XLA's.
pub(super) const BEYOND: usize = 4;

/// The length of the memory in which an `m x n` matrix has room behind it, of a type that needs it.
pub(super) fn room<T: Lapack>(m: usize, n: usize) -> usize {
    if T::COMPLEX { m * (n + BEYOND) } else { 0 }
}

/// Calls LAPACK on `a` itself, or on a copy in `memory`, as long as [`room`] says, and copies the results back.
pub(super) fn with_room<T: Lapack>(a: &mut [T], memory: &mut [T], call: impl FnOnce(&mut [T]) -> Int) -> Int {
    if !T::COMPLEX {
        return call(a);
    }
    let copy = &mut memory[..a.len()];
    copy.copy_from_slice(a);
    let info = call(copy);
    a.copy_from_slice(copy);
    info
}
