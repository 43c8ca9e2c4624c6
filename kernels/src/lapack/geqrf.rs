//! `geqrf`: QR factors, Q as reflectors.

use std::ptr;

use oxidax::Error;

use super::flags::Transpose;
use super::library::Library;
use super::reflectors::{Block, ONE_BY_ONE, blocks, work};
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// `a = q r`, in place, for `a` of `m x n`: `r` in the upper triangle, the reflectors whose product is `q` below it, and
/// their factors in `tau`. Input that is not finite propagates.
#[derive(Clone, Copy)]
pub struct Geqrf<T: Lapack> {
    routines: &'static Routines<T>,
    m: Int,
    n: Int,
    lwork: Int,
    /// Whether it goes in blocks of our own.
    in_blocks: bool,
}

impl<T: Lapack> Geqrf<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size does not fit LAPACK's integers.
    pub fn new(m: usize, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(m, n), m, n)
    }

    /// The library that serves the shape.
    pub fn library(m: usize, n: usize) -> &'static Library {
        Library::serving(m.min(n))
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, m: usize, n: usize) -> Result<Self, Error> {
        let routines: &'static Routines<T> = library.routines();
        let (m, n) = (sizes::int("m", m)?, sizes::int("n", n)?);
        if m == 0 || n == 0 {
            return Ok(Geqrf { routines, m, n, lwork: 0, in_blocks: false });
        }
        if library.is_own() && len(m.min(n)) > ONE_BY_ONE {
            let lwork = sizes::int("the length of work", work(len(n)))?;
            return Ok(Geqrf { routines, m, n, lwork, in_blocks: true });
        }
        let lwork = remembered((routines.geqrf as usize, 0, [m, n, 0]), || {
            let (mut answer, mut info) = (T::zero(), 0);
            // SAFETY: L5: a question about the workspace.
            unsafe {
                (routines.geqrf)(&m, &n, ptr::null_mut(), &leading(m), ptr::null_mut(), &mut answer, &ASK, &mut info)
            };
            answered(answer, n)
        });
        Ok(Geqrf { routines, m, n, lwork, in_blocks: false })
    }

    /// As much as this shape takes.
    pub fn workspace(&self) -> Lengths {
        Lengths { work: len(self.lwork), ..Lengths::default() }
    }

    /// Factorises `a`; `tau` has `min(m, n)` elements.
    pub fn run(&self, a: &mut [T], tau: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let Geqrf { m, n, in_blocks, .. } = *self;
        assert_eq!(a.len(), len(m) * len(n), "geqrf: a is not m x n");
        assert_eq!(tau.len(), len(m.min(n)), "geqrf: there is not one tau for each of min(m, n)");
        workspace.check(self.workspace());
        if m == 0 || n == 0 {
            return 0;
        }
        let work = workspace.work;
        if !in_blocks {
            return self.call(m, n, a, tau, work);
        }
        for (first, width) in blocks(tau.len()) {
            let block = Block { m, n, first, width };
            let tau = &mut tau[first..first + width];
            self.call(block.rows(), width as Int, &mut a[block.place()..], tau, work);
            block.apply(self.routines, Transpose::Adjoint, a, tau, work);
        }
        0
    }

    /// Calls LAPACK for `rows x columns` of a matrix with leading dimension `m`.
    fn call(&self, rows: Int, columns: Int, a: &mut [T], tau: &mut [T], work: &mut [T]) -> Int {
        let Geqrf { routines, m, lwork, .. } = *self;
        let (a, tau, work) = (a.as_mut_ptr(), tau.as_mut_ptr(), work.as_mut_ptr());
        let mut info = 0;
        // SAFETY: L1, L4: `a` is `rows x columns` with leading dimension `m`, `tau` has the smaller of the two and `work`
        // `lwork` elements.
        unsafe { (routines.geqrf)(&rows, &columns, a, &leading(m), tau, work, &lwork, &mut info) };
        info
    }
}
