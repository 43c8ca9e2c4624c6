//! `gesvd`: singular values and vectors by QR iteration. Slower than `gesdd`, and it converges where that does not.

use oxidax::Error;

use super::flags::{Letter, SvdJob};
use super::library::Library;
use super::room::{BEYOND, room, with_room};
use super::routines::{Int, Kind, Routines};
use super::scalar::{Lapack, all_finite, fill_identity};
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// info of a matrix that is not finite: argument `a` of `gesdd` in LAPACK's count, as LAPACK itself says it of NaN.
pub(super) const NOT_FINITE: Int = -4;

/// `a = u diag(s) vt`, for `a` of `m x n`.
///
/// A matrix that is not finite is not shown to LAPACK; it and one that does not converge give NaN in every result.
/// Vectors that the job does not ask for are zeros.
#[derive(Clone, Copy)]
pub struct Gesvd<T: Lapack> {
    routines: &'static Routines<T>,
    shape: SvdShape,
    lwork: Int,
}

/// The sizes of a singular value decomposition.
#[derive(Clone, Copy)]
pub(super) struct SvdShape {
    pub job: SvdJob,
    pub m: Int,
    pub n: Int,
}

impl SvdShape {
    /// Checks `m * n`, which LAPACK compares with the workspace in its own integers.
    pub(super) fn new(job: SvdJob, m: usize, n: usize) -> Result<Self, Error> {
        let shape = SvdShape { job, m: sizes::int("m", m)?, n: sizes::int("n", n)? };
        sizes::product("m * n", m as u128 * n as u128)?;
        Ok(shape)
    }

    /// min(m, n) and max(m, n), for products that may not fit LAPACK's integers.
    pub(super) fn wide(self) -> (u128, u128) {
        (len(self.k()) as u128, len(self.m.max(self.n)) as u128)
    }

    /// min(m, n).
    pub(super) fn k(self) -> Int {
        self.m.min(self.n)
    }

    /// The columns of `u`.
    pub(super) fn columns(self) -> Int {
        if self.job == SvdJob::All { self.m } else { self.k() }
    }

    /// The rows of `vt`.
    pub(super) fn rows(self) -> Int {
        if self.job == SvdJob::All { self.n } else { self.k() }
    }

    /// The lengths of the work memory that [`SvdResults::lend`] takes: for a copy of the matrix, and for `vt`.
    pub(super) fn room<T: Lapack>(self) -> [usize; 2] {
        let (m, n) = (len(self.m), len(self.n));
        let vt = if self.job == SvdJob::None { 0 } else { room::<T>(len(self.rows()), n) };
        [m * (n + BEYOND), vt]
    }

    /// Whether LAPACK has anything to do; if not, the results are written here.
    pub(super) fn is_empty<T: Lapack>(self, results: &mut SvdResults<'_, T>) -> bool {
        if self.k() > 0 {
            return false;
        }
        match self.job {
            SvdJob::All => {
                fill_identity(len(self.m), results.u);
                fill_identity(len(self.n), results.vt);
            }
            SvdJob::Some | SvdJob::None => {
                results.u.fill(T::zero());
                results.vt.fill(T::zero());
            }
        }
        true
    }
}

/// Where the results go.
pub(super) struct SvdResults<'a, T: Lapack> {
    pub s: &'a mut [T::RealPart],
    pub u: &'a mut [T],
    pub vt: &'a mut [T],
}

impl<T: Lapack> SvdResults<'_, T> {
    /// For a question about the workspace.
    pub(super) fn none() -> Self {
        SvdResults { s: &mut [], u: &mut [], vt: &mut [] }
    }

    /// Calls LAPACK on a copy of the matrix `a`, which it destroys, and for complex types on a `vt` with room behind it: both
    /// in `memory`, as long as [`SvdShape::room`] says together.
    pub(super) fn lend(
        &mut self,
        shape: SvdShape,
        a: &[T],
        memory: &mut [T],
        call: impl FnOnce(&mut [T], SvdResults<'_, T>) -> Int,
    ) -> Int {
        let SvdResults { s, u, vt } = self;
        let (copy, memory) = memory.split_at_mut(shape.room::<T>()[0]);
        let copy = &mut copy[..a.len()];
        copy.copy_from_slice(a);
        if shape.job == SvdJob::None {
            return call(copy, SvdResults { s, u, vt });
        }
        with_room(vt, memory, |vt| call(copy, SvdResults { s, u, vt }))
    }

    /// Panics unless each, and the matrix `a`, has its length. Without vectors, `u` and `vt` may have any: LAPACK does not
    /// see them.
    pub(super) fn check(&self, shape: SvdShape, a: &[T]) {
        let (m, n) = (len(shape.m), len(shape.n));
        assert_eq!(a.len(), m * n, "svd: a is not m x n");
        assert_eq!(self.s.len(), len(shape.k()), "svd: s has not min(m, n) elements");
        if shape.job != SvdJob::None {
            assert_eq!(self.u.len(), m * len(shape.columns()), "svd: u has not m rows, or not its columns");
            assert_eq!(self.vt.len(), len(shape.rows()) * n, "svd: vt has not n columns, or not its rows");
        }
    }

    /// Writes what LAPACK did not: NaN after a failure, zeros for vectors that were not asked for.
    pub(super) fn finish(&mut self, job: SvdJob, info: Int) -> Int {
        if info != 0 {
            self.s.fill(T::NAN.re());
            self.u.fill(T::NAN);
            self.vt.fill(T::NAN);
        } else if job == SvdJob::None {
            self.u.fill(T::zero());
            self.vt.fill(T::zero());
        }
        info
    }
}

impl<T: Lapack> Gesvd<T> {
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
        // What LAPACK adds up for blocks of 64, whether or not it then takes that much.
        sizes::product("its workspace, k * k + 131 * k + max(m, n) with k = min(m, n)", k * k + 131 * k + long)?;
        let mut this = Gesvd { routines: library.routines(), shape, lwork: 0 };
        if shape.k() > 0 {
            this.lwork = this.ask();
        }
        Ok(this)
    }

    /// With the least memory that LAPACK takes, and without asking it: for the rare matrix that `gesdd` gives up.
    pub(super) fn least(routines: &'static Routines<T>, shape: SvdShape) -> Self {
        let mut this = Gesvd { routines, shape, lwork: 0 };
        this.lwork = this.minimum();
        this
    }

    /// The least workspace that LAPACK documents.
    fn minimum(&self) -> Int {
        let (k, long) = (self.shape.k(), self.shape.m.max(self.shape.n));
        if T::COMPLEX { 2 * k + long } else { (3 * k + long).max(5 * k) }
    }

    fn ask(&self) -> Int {
        let SvdShape { job, m, n } = self.shape;
        let address = match self.routines.gesvd {
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

    /// The length of LAPACK's `work`.
    pub(super) fn lwork(&self) -> usize {
        len(self.lwork)
    }

    /// How much work memory this shape takes: LAPACK's, and that in which the matrix and `vt` have room.
    pub fn workspace(&self) -> Lengths {
        if self.shape.k() == 0 {
            return Lengths::default();
        }
        let real = if T::COMPLEX { 5 * len(self.shape.k()) } else { 0 };
        Lengths { work: self.lwork() + self.shape.room::<T>().iter().sum::<usize>(), real, int: 0 }
    }

    /// Decomposes `a`; `s` has `min(m, n)` elements, in descending order. info > 0: that many values did not converge.
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
        let (work, memory) = work.split_at_mut(self.lwork());
        results
            .lend(self.shape, a, memory, |a, results| self.call(self.lwork, a, results, Workspace { work, real, int }))
    }

    /// The second attempt of `gesdd`, over results and memory whose lengths that has checked.
    pub(super) fn retry(&self, a: &mut [T], results: SvdResults<'_, T>, workspace: Workspace<'_, T>) -> Int {
        self.call(self.lwork, a, results, workspace)
    }

    /// Calls LAPACK, or asks it with `lwork` of [`ASK`].
    fn call(&self, lwork: Int, a: &mut [T], results: SvdResults<'_, T>, workspace: Workspace<'_, T>) -> Int {
        let SvdShape { job, m, n } = self.shape;
        let SvdResults { s, u, vt } = results;
        let (job, ldu, ldvt) = (job.letter(), leading(m), leading(self.shape.rows()));
        let (a, s, u, vt) = (a.as_mut_ptr(), s.as_mut_ptr(), u.as_mut_ptr(), vt.as_mut_ptr());
        let (work, real) = (workspace.work.as_mut_ptr(), workspace.real.as_mut_ptr());
        let mut info = 0;
        match self.routines.gesvd {
            // SAFETY: L1, and L4 (the callers compared every length with the shape) or L5 (`lwork` is `ASK`).
            Kind::Real(gesvd) => unsafe {
                gesvd(&job, &job, &m, &n, a, &leading(m), s, u, &ldu, vt, &ldvt, work, &lwork, &mut info)
            },
            // SAFETY: as above; `real` has `5 k` elements.
            Kind::Complex(gesvd) => unsafe {
                gesvd(&job, &job, &m, &n, a, &leading(m), s, u, &ldu, vt, &ldvt, work, &lwork, real, &mut info)
            },
        }
        info
    }
}
