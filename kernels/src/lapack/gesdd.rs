//! `gesdd`: singular values and vectors by divide and conquer, with `gesvd` for a matrix on which that gives up.

use oxidax::Error;

use super::flags::{Letter, SvdJob};
use super::gesvd::{Gesvd, NOT_FINITE, SvdResults, SvdShape};
use super::library::Library;
use super::routines::{Int, Kind, Routines};
use super::scalar::{Lapack, all_finite};
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// `a = u diag(s) vt`, for `a` of `m x n`.
///
/// A matrix that is not finite is not shown to LAPACK, which may never return from it. It, and one on which both
/// algorithms fail, give NaN in every result. Vectors that the job does not ask for are zeros.
#[derive(Clone, Copy)]
pub struct Gesdd<T: Lapack> {
    routines: &'static Routines<T>,
    shape: SvdShape,
    lwork: Int,
}

impl<T: Lapack> Gesdd<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size, or that of the workspace, does not fit LAPACK's integers.
    pub fn new(job: SvdJob, m: usize, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(m, n), job, m, n)
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
    pub fn on(library: &'static Library, job: SvdJob, m: usize, n: usize) -> Result<Self, Error> {
        let shape = SvdShape::new(job, m, n)?;
        let (k, long) = shape.wide();
        if job != SvdJob::None {
            sizes::product(
                "its workspace, 4 * k * k + 7 * k + max(m, n) with k = min(m, n)",
                4 * k * k + 7 * k + long,
            )?;
        }
        if T::COMPLEX && job != SvdJob::None {
            let real = (5 * k * k + 5 * k).max(2 * long * k + 2 * k * k + k);
            sizes::product(
                "its real workspace, the larger of 5 * k * (k + 1) and k * (2 * max(m, n) + 2 * k + 1)",
                real,
            )?;
        }
        // What LAPACK adds up for blocks of 64.
        sizes::product("its workspace, 131 * k + max(m, n) with k = min(m, n)", 131 * k + long)?;
        let mut this = Gesdd { routines: library.routines(), shape, lwork: 0 };
        if shape.k() > 0 {
            this.lwork = this.ask();
        }
        Ok(this)
    }

    fn ask(&self) -> Int {
        let SvdShape { job, m, n } = self.shape;
        let address = match self.routines.gesdd {
            Kind::Real(routine) => routine as usize,
            Kind::Complex(routine) => routine as usize,
        };
        remembered((address, job as u32, [m, n, 0]), || {
            let (mut answer, mut real) = ([T::zero()], [num_traits::zero()]);
            let question = Workspace { work: &mut answer, real: &mut real, int: &mut [0] };
            self.call(ASK, &mut [], SvdResults::none(), question);
            answered(answer[0], self.minimum())
        })
    }

    /// The least workspace that LAPACK documents.
    fn minimum(&self) -> Int {
        let (k, long) = (self.shape.k(), self.shape.m.max(self.shape.n));
        match (T::COMPLEX, self.shape.job) {
            (false, SvdJob::None) => 3 * k + long.max(7 * k),
            (false, _) => 4 * k * k + 6 * k + long.max(k),
            (true, SvdJob::None) => 2 * k + long,
            (true, _) => k * k + 3 * k + long,
        }
    }

    /// Of `work`, what comes before the memory for the matrix and `vt`.
    fn scratch(&self) -> usize {
        len(self.lwork).max(Gesvd::least(self.routines, self.shape).lwork())
    }

    /// How much work memory this shape takes: LAPACK's, and that in which the matrix and `vt` have room.
    pub fn workspace(&self) -> Lengths {
        let (m, n, k) = (len(self.shape.m), len(self.shape.n), len(self.shape.k()));
        if k == 0 {
            return Lengths::default();
        }
        let real = match (T::COMPLEX, self.shape.job) {
            (false, _) => 0,
            (true, SvdJob::None) => 7 * k,
            (true, _) => (5 * k * k + 5 * k).max(2 * m.max(n) * k + 2 * k * k + k),
        };
        Lengths { work: self.scratch() + self.shape.room::<T>().iter().sum::<usize>(), real, int: 8 * k }
    }

    /// Decomposes `a`; `s` has `min(m, n)` elements, in descending order. info > 0: neither algorithm converged.
    pub fn run(&self, a: &[T], s: &mut [T::RealPart], u: &mut [T], vt: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let mut results = SvdResults { s, u, vt };
        results.check(self.shape, a);
        workspace.check(self.workspace());
        if self.shape.is_empty(&mut results) {
            return 0;
        }
        let info = if all_finite(a) { self.attempt(a, &mut results, workspace) } else { NOT_FINITE };
        results.finish(self.shape.job, info)
    }

    fn attempt(&self, a: &[T], results: &mut SvdResults<'_, T>, workspace: Workspace<'_, T>) -> Int {
        let Workspace { work, real, int } = workspace;
        let (work, memory) = work.split_at_mut(self.scratch());
        let info = results.lend(self.shape, a, memory, |a, results| {
            self.call(self.lwork, a, results, Workspace { work: &mut *work, real: &mut *real, int: &mut *int })
        });
        if info <= 0 {
            return info;
        }
        let gesvd = Gesvd::least(self.routines, self.shape);
        results.lend(self.shape, a, memory, |a, results| gesvd.retry(a, results, Workspace { work, real, int }))
    }

    /// Calls LAPACK, or asks it with `lwork` of [`ASK`].
    fn call(&self, lwork: Int, a: &mut [T], results: SvdResults<'_, T>, workspace: Workspace<'_, T>) -> Int {
        let SvdShape { job, m, n } = self.shape;
        let SvdResults { s, u, vt } = results;
        let (job, ldu, ldvt) = (job.letter(), leading(m), leading(self.shape.rows()));
        let (a, s, u, vt) = (a.as_mut_ptr(), s.as_mut_ptr(), u.as_mut_ptr(), vt.as_mut_ptr());
        let Workspace { work, real, int } = workspace;
        let (work, real, int) = (work.as_mut_ptr(), real.as_mut_ptr(), int.as_mut_ptr());
        let mut info = 0;
        match self.routines.gesdd {
            // SAFETY: L1, and L4 (the callers compared every length with the shape) or L5 (`lwork` is `ASK`).
            Kind::Real(gesdd) => unsafe {
                gesdd(&job, &m, &n, a, &leading(m), s, u, &ldu, vt, &ldvt, work, &lwork, int, &mut info)
            },
            // SAFETY: as above.
            Kind::Complex(gesdd) => unsafe {
                gesdd(&job, &m, &n, a, &leading(m), s, u, &ldu, vt, &ldvt, work, &lwork, real, int, &mut info)
            },
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_char;

    use super::super::workspace::OwnedWorkspace;
    use super::*;

    /// A `dgesdd` that spoils the matrix and does not converge.
    unsafe extern "C" fn hopeless(
        _: *const c_char,
        _: *const Int,
        _: *const Int,
        a: *mut f64,
        _: *const Int,
        _: *mut f64,
        _: *mut f64,
        _: *const Int,
        _: *mut f64,
        _: *const Int,
        work: *mut f64,
        lwork: *const Int,
        _: *mut Int,
        info: *mut Int,
    ) {
        // SAFETY: L4: LAPACK's arguments.
        let asked = unsafe { *lwork } == ASK;
        let first = if asked { work } else { a };
        // SAFETY: L4: the first element of the matrix, or of the workspace that is asked about.
        unsafe { *first = 1e30 };
        // SAFETY: L4: as above.
        unsafe { *info = i32::from(!asked) };
    }

    #[test]
    fn a_matrix_that_does_not_converge_is_decomposed_by_gesvd() {
        let openblas = Library::openblas();
        let library = Library {
            name: "hopeless",
            d: Routines { gesdd: Kind::Real(hopeless), ..openblas.d },
            ..Library { name: "", ..*openblas }
        };
        let library: &'static Library = Box::leak(Box::new(library));
        for (m, n) in [(2, 2), (40, 2), (2, 40)] {
            let matrix: Vec<f64> = (0..m * n).map(|x| f64::from(x as u32 % 7)).collect();
            let decompose = |library, job| {
                let gesdd = Gesdd::on(library, job, m, n).unwrap();
                let mut s = [0.0; 2];
                let (mut u, mut vt) = (vec![0.0; m * 2], vec![0.0; 2 * n]);
                let mut workspace = OwnedWorkspace::new(gesdd.workspace());
                assert_eq!(gesdd.run(&matrix, &mut s, &mut u, &mut vt, workspace.lend()), 0);
                s
            };
            for job in [SvdJob::Some, SvdJob::None] {
                let (expected, found) = (decompose(openblas, job), decompose(library, job));
                for (x, y) in expected.iter().zip(found) {
                    assert!((x - y).abs() < 1e-13 * expected[0], "{m} x {n}: {expected:?}, {found:?}");
                }
            }
        }
    }
}
