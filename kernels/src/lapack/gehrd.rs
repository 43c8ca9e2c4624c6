//! `gehrd`: the Hessenberg form of a square matrix, its transformation as reflectors.

use std::ptr;

use oxidax::Error;

use super::library::Library;
use super::room::{room, with_room};
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// `a = q h q^H`, in place, for `a` of `n x n`: `h` on and above the first subdiagonal, the reflectors whose product is `q`
/// below it, and their factors in `tau`. Input that is not finite propagates.
///
/// Rows and columns `low` to `high`, counted from 1, are reduced: outside of them, `a` is upper triangular.
#[derive(Clone, Copy)]
pub struct Gehrd<T: Lapack> {
    routines: &'static Routines<T>,
    n: Int,
    low: Int,
    high: Int,
    lwork: Int,
}

impl<T: Lapack> Gehrd<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if `n`, or the workspace, does not fit LAPACK's integers, or unless `1 <= low <= high <= n` (for an
    /// empty matrix `low` is 1 and `high` 0).
    pub fn new(n: usize, low: Int, high: Int) -> Result<Self, Error> {
        Self::on(Self::library(n), n, low, high)
    }

    /// The library that serves the shape.
    pub fn library(n: usize) -> &'static Library {
        Library::serving(n)
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, n: usize, low: Int, high: Int) -> Result<Self, Error> {
        let routines: &'static Routines<T> = library.routines();
        let size = sizes::int("n", n)?;
        sizes::require(
            (1..=size.max(1)).contains(&low) && (low.min(size)..=size).contains(&high),
            format_args!("low = {low} and high = {high} are not 1 <= low <= high <= n with n = {n}"),
        )?;
        // What LAPACK adds up for blocks of 64.
        sizes::product("its workspace, 64 * n + 4160", 64 * n as u128 + 4160)?;
        let n = size;
        if n == 0 {
            return Ok(Gehrd { routines, n, low, high, lwork: 0 });
        }
        let lwork = remembered((routines.gehrd as usize, 0, [n, low, high]), || {
            let (mut answer, mut info, a, tau) = (T::zero(), 0, ptr::null_mut(), ptr::null_mut());
            // SAFETY: L5: a question about the workspace.
            unsafe { (routines.gehrd)(&n, &low, &high, a, &leading(n), tau, &mut answer, &ASK, &mut info) };
            answered(answer, n)
        });
        Ok(Gehrd { routines, n, low, high, lwork })
    }

    /// How much work memory this shape takes: LAPACK's, and for complex types a copy of the matrix.
    pub fn workspace(&self) -> Lengths {
        Lengths { work: len(self.lwork) + room::<T>(len(self.n), len(self.n)), ..Lengths::default() }
    }

    /// Reduces `a`; `tau` has `n - 1` elements, of which those outside of `low` to `high` are zeros.
    pub fn run(&self, a: &mut [T], tau: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let Gehrd { routines, n, low, high, lwork } = *self;
        assert_eq!(a.len(), len(n) * len(n), "gehrd: a is not n x n");
        assert_eq!(tau.len(), len(n).saturating_sub(1), "gehrd: tau has not n - 1 elements");
        workspace.check(self.workspace());
        if n == 0 {
            return 0;
        }
        let (work, memory) = workspace.work.split_at_mut(len(lwork));
        with_room(a, memory, |a| {
            let (a, tau, work) = (a.as_mut_ptr(), tau.as_mut_ptr(), work.as_mut_ptr());
            let mut info = 0;
            // SAFETY: L1, L4: `a` is `n x n` with leading dimension `n`, `tau` has `n - 1` and `work` `lwork` elements;
            // 1 <= low <= high <= n.
            unsafe { (routines.gehrd)(&n, &low, &high, a, &leading(n), tau, work, &lwork, &mut info) };
            info
        })
    }
}
