//! `sytrd`, for complex types `hetrd`: the tridiagonal form of a symmetric or Hermitian matrix, its transformation as
//! reflectors.

use std::ptr;

use oxidax::Error;

use super::flags::{Letter, Uplo};
use super::library::Library;
use super::room::{room, with_room};
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// The columns of a block: LAPACK's own choice of 32 is slower below the sizes that SciPy serves.
const BLOCK: Int = 16;

/// `a = q t q^H`, in place, for `a` of `n x n`: `t`, real, has the diagonal `d` and beside it `e`; the reflectors whose
/// product is `q` are in the triangle, and their factors in `tau`.
///
/// Only the triangle `uplo` of `a` is read and written, and of its diagonal the real part. Input that is not finite
/// propagates.
#[derive(Clone, Copy)]
pub struct Sytrd<T: Lapack> {
    routines: &'static Routines<T>,
    uplo: Uplo,
    n: Int,
    lwork: Int,
}

impl<T: Lapack> Sytrd<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if `n`, or the workspace, does not fit LAPACK's integers.
    pub fn new(uplo: Uplo, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(n), uplo, n)
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
    pub fn on(library: &'static Library, uplo: Uplo, n: usize) -> Result<Self, Error> {
        let routines: &'static Routines<T> = library.routines();
        let size = sizes::int("n", n)?;
        // What LAPACK multiplies for blocks of 64.
        sizes::product("its workspace, 64 * n", 64 * n as u128)?;
        let n = size;
        if n == 0 || library.is_own() {
            return Ok(Sytrd { routines, uplo, n, lwork: BLOCK * n });
        }
        let lwork = remembered((routines.sytrd as usize, uplo as u32, [n, 0, 0]), || {
            let (mut answer, mut info, a, tau) = (T::zero(), 0, ptr::null_mut(), ptr::null_mut());
            let (d, e) = (ptr::null_mut(), ptr::null_mut());
            let uplo = uplo.letter();
            // SAFETY: L5: a question about the workspace.
            unsafe { (routines.sytrd)(&uplo, &n, a, &leading(n), d, e, tau, &mut answer, &ASK, &mut info) };
            answered(answer, 1)
        });
        Ok(Sytrd { routines, uplo, n, lwork })
    }

    /// The lengths of the work memory for `tau`, to which `hemv` writes, and for the matrix.
    fn room(&self) -> [usize; 2] {
        let n = len(self.n);
        [room::<T>(1, n), room::<T>(n, n)]
    }

    /// How much work memory this shape takes: LAPACK's, and for complex types copies of `tau` and of the matrix.
    pub fn workspace(&self) -> Lengths {
        Lengths { work: len(self.lwork) + self.room().iter().sum::<usize>(), ..Lengths::default() }
    }

    /// Reduces `a`; `d` has `n` elements, `e` and `tau` have `n - 1`.
    pub fn run(
        &self,
        a: &mut [T],
        d: &mut [T::RealPart],
        e: &mut [T::RealPart],
        tau: &mut [T],
        workspace: Workspace<'_, T>,
    ) -> Int {
        let Sytrd { routines, uplo, n, lwork } = *self;
        let beside = len(n).saturating_sub(1);
        assert_eq!(a.len(), len(n) * len(n), "sytrd: a is not n x n");
        assert_eq!(d.len(), len(n), "sytrd: d has not n elements");
        assert_eq!((e.len(), tau.len()), (beside, beside), "sytrd: e or tau has not n - 1 elements");
        workspace.check(self.workspace());
        if n == 0 {
            return 0;
        }
        let (work, memory) = workspace.work.split_at_mut(len(lwork));
        let (memory_of_tau, memory) = memory.split_at_mut(self.room()[0]);
        with_room(tau, memory_of_tau, |tau| {
            with_room(a, memory, |a| {
                let (a, work) = (a.as_mut_ptr(), work.as_mut_ptr());
                let (d, e, tau) = (d.as_mut_ptr(), e.as_mut_ptr(), tau.as_mut_ptr());
                let (uplo, mut info) = (uplo.letter(), 0);
                // SAFETY: L1, L4: `a` is `n x n` with leading dimension `n`, `d` has `n`, `e` and `tau` have `n - 1` and
                // `work` `lwork` elements.
                unsafe { (routines.sytrd)(&uplo, &n, a, &leading(n), d, e, tau, work, &lwork, &mut info) };
                info
            })
        })
    }
}
