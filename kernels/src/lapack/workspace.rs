//! Work memory, lent by the caller: XLA's, a thread's own, or `Vec`s.
#![forbid(unsafe_code)]

use super::routines::Int;
use super::scalar::Lapack;

/// How much work memory a routine takes, in elements. The contents do not matter, before or after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lengths {
    /// Of the matrix's type.
    pub work: usize,
    /// Of its real type.
    pub real: usize,
    /// LAPACK's integers.
    pub int: usize,
}

/// Work memory of at least some [`Lengths`].
pub struct Workspace<'a, T: Lapack> {
    /// Of the matrix's type.
    pub work: &'a mut [T],
    /// Of its real type.
    pub real: &'a mut [T::RealPart],
    /// LAPACK's integers.
    pub int: &'a mut [Int],
}

impl<'a, T: Lapack> Workspace<'a, T> {
    /// For routines that take memory of the matrix's type alone.
    pub fn of(work: &'a mut [T]) -> Self {
        Workspace { work, real: &mut [], int: &mut [] }
    }

    /// Panics unless the memory is as long as `lengths` says.
    pub(super) fn check(&self, lengths: Lengths) {
        assert!(
            self.work.len() >= lengths.work && self.real.len() >= lengths.real && self.int.len() >= lengths.int,
            "the work memory is shorter than the routine asked for"
        );
    }
}

/// Work memory of its own, for callers that nobody lends any.
pub struct OwnedWorkspace<T: Lapack> {
    work: Vec<T>,
    real: Vec<T::RealPart>,
    int: Vec<Int>,
}

impl<T: Lapack> OwnedWorkspace<T> {
    /// Allocates it.
    pub fn new(lengths: Lengths) -> Self {
        OwnedWorkspace {
            work: vec![T::zero(); lengths.work],
            real: vec![num_traits::zero(); lengths.real],
            int: vec![0; lengths.int],
        }
    }

    /// Lends it to a routine.
    pub fn lend(&mut self) -> Workspace<'_, T> {
        Workspace { work: &mut self.work, real: &mut self.real, int: &mut self.int }
    }
}
