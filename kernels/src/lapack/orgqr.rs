//! `orgqr`, for complex types `ungqr`: the leading columns of the Q that `geqrf` leaves as reflectors.

use std::ptr;

use oxidax::Error;

use super::library::Library;
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{ASK, Sizes, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// The size from which threads make one matrix faster.
const THREADED_FROM: usize = 512;

/// The first `n` columns of the product of `k` reflectors of length `m`, in place of the reflectors; `k <= n <= m`.
/// Without reflectors, the columns are those of the identity.
#[derive(Clone, Copy)]
pub struct Orgqr<T: Lapack> {
    routines: &'static Routines<T>,
    m: Int,
    n: Int,
    k: Int,
    lwork: Int,
}

impl<T: Lapack> Orgqr<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size does not fit LAPACK's integers, or unless `k <= n <= m`.
    pub fn new(m: usize, n: usize, k: usize) -> Result<Self, Error> {
        Self::on(Library::serving(n, THREADED_FROM), m, n, k)
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, m: usize, n: usize, k: usize) -> Result<Self, Error> {
        let sizes = Sizes(if T::COMPLEX { "ungqr" } else { "orgqr" });
        let routines: &'static Routines<T> = library.routines();
        sizes.require(n <= m, format_args!("{n} columns of length {m} cannot be orthonormal"))?;
        sizes.require(k <= n, format_args!("{k} reflectors are more than the {n} columns"))?;
        let (m, n, k) = (sizes.int("m", m)?, sizes.int("n", n)?, sizes.int("k", k)?);
        if n == 0 {
            return Ok(Orgqr { routines, m, n, k, lwork: 0 });
        }
        let lwork = remembered((routines.orgqr as usize, 0, [m, n, k]), || {
            let (mut answer, mut info) = (T::zero(), 0);
            // SAFETY: L5: a question about the workspace.
            unsafe {
                (routines.orgqr)(&m, &n, &k, ptr::null_mut(), &leading(m), ptr::null(), &mut answer, &ASK, &mut info)
            };
            answered(answer, n)
        });
        Ok(Orgqr { routines, m, n, k, lwork })
    }

    /// What LAPACK answers for this shape.
    pub fn workspace(&self) -> Lengths {
        Lengths { work: len(self.lwork), ..Lengths::default() }
    }

    /// Replaces the reflectors in `a`, of `m x n`, by the columns.
    pub fn run(&self, a: &mut [T], tau: &[T], workspace: Workspace<'_, T>) -> Int {
        let Orgqr { routines, m, n, k, lwork } = *self;
        assert_eq!(a.len(), len(m) * len(n), "orgqr: a is not m x n");
        assert_eq!(tau.len(), len(k), "orgqr: there is not one tau for each of k");
        workspace.check(self.workspace());
        if n == 0 {
            return 0;
        }
        let work = workspace.work.as_mut_ptr();
        let mut info = 0;
        // SAFETY: L1, L4: `a` is `m x n` with leading dimension `m`, `tau` has `k` and `work` `lwork` elements; k <= n <= m.
        unsafe { (routines.orgqr)(&m, &n, &k, a.as_mut_ptr(), &leading(m), tau.as_ptr(), work, &lwork, &mut info) };
        info
    }
}
