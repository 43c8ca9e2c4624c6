//! Room behind complex operands of products of a matrix and a vector, which OpenBLAS reads and does not use.
#![forbid(unsafe_code)]

use super::routines::Int;
use super::scalar::Lapack;

/// More columns than OpenBLAS reads, and does not use, beyond a matrix that it multiplies by a vector, and more elements
/// than beyond that vector, or the result: its `gemv_n` and `hemv_U` for Haswell do so. LAPACK is given such a matrix, or
/// vector, in work memory with so much room, not in XLA's.
pub(super) const BEYOND: usize = 4;

/// The length of the memory in which an `m x n` matrix has room behind it, of a type that needs it.
pub(super) fn room<T: Lapack>(m: usize, n: usize) -> usize {
    if T::COMPLEX { m * (n + BEYOND) } else { 0 }
}

/// `a` itself, or a copy in `memory`, as long as [`room`] says.
pub(super) fn in_room<'a, T: Lapack>(a: &'a [T], memory: &'a mut [T]) -> &'a [T] {
    if !T::COMPLEX {
        return a;
    }
    memory[..a.len()].copy_from_slice(a);
    memory
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
