//! `orgqr`, for complex types `ungqr`: the leading columns of the Q that `geqrf` leaves as reflectors.

use std::ptr;

use oxidax::Error;

use super::flags::Transpose;
use super::library::Library;
use super::reflectors::{Block, ONE_BY_ONE, blocks, work};
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// The first `n` columns of the product of `k` reflectors of length `m`, in place of the reflectors; `k <= n <= m`.
/// Without reflectors, the columns are those of the identity.
#[derive(Clone, Copy)]
pub struct Orgqr<T: Lapack> {
    routines: &'static Routines<T>,
    m: Int,
    n: Int,
    k: Int,
    lwork: Int,
    /// Whether it goes in blocks of our own.
    in_blocks: bool,
}

impl<T: Lapack> Orgqr<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size does not fit LAPACK's integers, or unless `k <= n <= m`.
    pub fn new(m: usize, n: usize, k: usize) -> Result<Self, Error> {
        Self::on(Self::library(n, k), m, n, k)
    }

    /// The library that serves the shape.
    pub fn library(n: usize, k: usize) -> &'static Library {
        Library::serving(n.min(k))
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, m: usize, n: usize, k: usize) -> Result<Self, Error> {
        let routines: &'static Routines<T> = library.routines();
        sizes::require(n <= m, format_args!("{n} columns of length {m} cannot be orthonormal"))?;
        sizes::require(k <= n, format_args!("{k} reflectors are more than the {n} columns"))?;
        let (m, n, k) = (sizes::int("m", m)?, sizes::int("n", n)?, sizes::int("k", k)?);
        if n == 0 {
            return Ok(Orgqr { routines, m, n, k, lwork: 0, in_blocks: false });
        }
        if library.is_own() && len(k) > ONE_BY_ONE {
            let lwork = sizes::int("the length of work", work(len(n)))?;
            return Ok(Orgqr { routines, m, n, k, lwork, in_blocks: true });
        }
        let lwork = remembered((routines.orgqr as usize, 0, [m, n, k]), || {
            let (mut answer, mut info) = (T::zero(), 0);
            // SAFETY: L5: a question about the workspace.
            unsafe {
                (routines.orgqr)(&m, &n, &k, ptr::null_mut(), &leading(m), ptr::null(), &mut answer, &ASK, &mut info)
            };
            answered(answer, n)
        });
        Ok(Orgqr { routines, m, n, k, lwork, in_blocks: false })
    }

    /// As much as this shape takes.
    pub fn workspace(&self) -> Lengths {
        Lengths { work: len(self.lwork), ..Lengths::default() }
    }

    /// Replaces the reflectors in `a`, of `m x n`, by the columns.
    pub fn run(&self, a: &mut [T], tau: &[T], workspace: Workspace<'_, T>) -> Int {
        let Orgqr { m, n, k, in_blocks, .. } = *self;
        assert_eq!(a.len(), len(m) * len(n), "orgqr: a is not m x n");
        assert_eq!(tau.len(), len(k), "orgqr: there is not one tau for each of k");
        workspace.check(self.workspace());
        if n == 0 {
            return 0;
        }
        let (rows, work) = (len(m), workspace.work);
        if !in_blocks {
            return self.call(m, n, k, a, tau, work);
        }
        // From the last block to the first: each is multiplied into the columns behind it, which are finished before, and
        // becomes its own columns then. Those behind the last one begin as the identity's, and with it.
        for (index, (first, width)) in blocks(len(k)).enumerate().rev() {
            let block = Block { m, n, first, width };
            let is_last = index + 1 == blocks(len(k)).len();
            let own = if is_last { len(n) - first } else { width };
            let tau = &tau[first..first + width];
            if !is_last {
                block.apply(self.routines, Transpose::No, a, tau, work);
            }
            self.call(block.rows(), own as Int, width as Int, &mut a[block.place()..], tau, work);
            for column in a[first * rows..(first + own) * rows].chunks_exact_mut(rows) {
                column[..first].fill(T::zero());
            }
        }
        0
    }

    /// Calls LAPACK for `rows x columns` of a matrix with leading dimension `m`.
    fn call(&self, rows: Int, columns: Int, k: Int, a: &mut [T], tau: &[T], work: &mut [T]) -> Int {
        let Orgqr { routines, m, lwork, .. } = *self;
        let (a, tau, work) = (a.as_mut_ptr(), tau.as_ptr(), work.as_mut_ptr());
        let mut info = 0;
        // SAFETY: L1, L4: `a` is `rows x columns` with leading dimension `m`, `tau` has `k` and `work` `lwork` elements;
        // k <= columns <= rows.
        unsafe { (routines.orgqr)(&rows, &columns, &k, a, &leading(m), tau, work, &lwork, &mut info) };
        info
    }
}
