//! `syevd`, for complex types `heevd`: eigenvalues and eigenvectors of a symmetric or Hermitian matrix.

use oxidax::Error;

use super::flags::{Letter, Uplo, Vectors};
use super::library::Library;
use super::room::{room, with_room};
use super::routines::{Int, Kind, Routines};
use super::scalar::{Lapack, triangle_is_finite};
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// info of a matrix that is not finite: argument `a` in LAPACK's count.
const NOT_FINITE: Int = -4;

/// `a = v diag(w) v^H`, by divide and conquer, with `v` in place of `a`, of `n x n`.
///
/// Only the triangle `uplo` of `a` is read, and of its diagonal the real part. A matrix that is not finite there is not
/// shown to LAPACK; it and one that does not converge give NaN in every result. Vectors that are skipped are zeros.
#[derive(Clone, Copy)]
pub struct Syevd<T: Lapack> {
    routines: &'static Routines<T>,
    job: Vectors,
    uplo: Uplo,
    n: Int,
    lwork: Int,
}

impl<T: Lapack> Syevd<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if `n`, or the workspace, does not fit LAPACK's integers.
    pub fn new(job: Vectors, uplo: Uplo, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(n), job, uplo, n)
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
    pub fn on(library: &'static Library, job: Vectors, uplo: Uplo, n: usize) -> Result<Self, Error> {
        let mut this = Syevd { routines: library.routines(), job, uplo, n: sizes::int("n", n)?, lwork: 0 };
        let n = n as u128;
        if job == Vectors::Compute {
            sizes::product("its workspace, 2 * n * n + 38 * n + 4161", 2 * n * n + 38 * n + 4161)?;
        }
        // What LAPACK adds up for blocks of 64, and for the place of a matrix, whether or not it is there.
        sizes::product("its workspace, n * n + 66 * n", n * n + 66 * n)?;
        if n > 0 {
            this.lwork = this.ask() + this.blocks();
        }
        Ok(this)
    }

    fn ask(&self) -> Int {
        let address = match self.routines.syevd {
            Kind::Real(routine) => routine as usize,
            Kind::Complex(routine) => routine as usize,
        };
        let options = self.job as u32 * 256 + self.uplo as u32;
        remembered((address, options, [self.n, 0, 0]), || {
            let (mut answer, mut real, mut int) = ([T::zero()], [num_traits::zero()], [0]);
            let question = Workspace { work: &mut answer, real: &mut real, int: &mut int };
            self.call(ASK, &mut [], &mut [], question);
            answered(answer[0], self.minimum())
        })
    }

    /// The least workspace that LAPACK documents.
    fn minimum(&self) -> Int {
        match (T::COMPLEX, self.job, self.n) {
            (_, _, ..=1) => 1,
            (false, Vectors::Skip, n) => 2 * n + 1,
            (false, Vectors::Compute, n) => 2 * n * n + 6 * n + 1,
            (true, Vectors::Skip, n) => n + 1,
            (true, Vectors::Compute, n) => n * n + 2 * n,
        }
    }

    /// More than LAPACK answers, in which it multiplies the vectors by blocks of reflectors: without, those of a complex
    /// matrix go one at a time, and those of a real one of about 64 rows in blocks of a few.
    fn blocks(&self) -> Int {
        match self.job {
            Vectors::Skip => 0,
            Vectors::Compute => 32 * self.n + 4160,
        }
    }

    /// The lengths of LAPACK's real and integer workspaces, which it documents.
    fn others(&self) -> [Int; 2] {
        let n = self.n;
        match self.job {
            Vectors::Skip => [n.max(1), 1],
            Vectors::Compute => [2 * n * n + 5 * n + 1, 5 * n + 3],
        }
    }

    /// How much work memory this shape takes: LAPACK's, and for complex types a copy of the matrix.
    pub fn workspace(&self) -> Lengths {
        let [real, int] = self.others().map(len);
        Lengths {
            work: len(self.lwork) + room::<T>(len(self.n), len(self.n)),
            real: if T::COMPLEX { real } else { 0 },
            int,
        }
    }

    /// Decomposes `a`; `w` has `n` elements, in ascending order. info > 0: the algorithm did not converge.
    pub fn run(&self, a: &mut [T], w: &mut [T::RealPart], workspace: Workspace<'_, T>) -> Int {
        let n = len(self.n);
        assert_eq!(a.len(), n * n, "syevd: a is not n x n");
        assert_eq!(w.len(), n, "syevd: w has not n elements");
        workspace.check(self.workspace());
        if n == 0 {
            return 0;
        }
        let info = if triangle_is_finite(self.uplo, n, a) { self.attempt(a, w, workspace) } else { NOT_FINITE };
        if info != 0 {
            a.fill(T::NAN);
            w.fill(T::RealPart::NAN);
        } else if self.job == Vectors::Skip {
            a.fill(T::zero());
        }
        info
    }

    fn attempt(&self, a: &mut [T], w: &mut [T::RealPart], workspace: Workspace<'_, T>) -> Int {
        let Workspace { work, real, int } = workspace;
        let (work, memory) = work.split_at_mut(len(self.lwork));
        with_room(a, memory, |a| self.call(self.lwork, a, w, Workspace { work, real, int }))
    }

    /// Calls LAPACK, or asks it with `lwork` of [`ASK`].
    fn call(&self, lwork: Int, a: &mut [T], w: &mut [T::RealPart], workspace: Workspace<'_, T>) -> Int {
        let Syevd { routines, job, uplo, n, .. } = *self;
        let (job, uplo, ld, [lrwork, liwork]) = (job.letter(), uplo.letter(), leading(n), self.others());
        let (a, w) = (a.as_mut_ptr(), w.as_mut_ptr());
        let Workspace { work, real, int } = workspace;
        let (work, real, int) = (work.as_mut_ptr(), real.as_mut_ptr(), int.as_mut_ptr());
        let mut info = 0;
        match routines.syevd {
            // SAFETY: L1, and L4 (the callers compared every length with the shape) or L5 (`lwork` is `ASK`).
            Kind::Real(syevd) => unsafe { syevd(&job, &uplo, &n, a, &ld, w, work, &lwork, int, &liwork, &mut info) },
            // SAFETY: as above; `real` has `lrwork` elements.
            Kind::Complex(heevd) => unsafe {
                heevd(&job, &uplo, &n, a, &ld, w, work, &lwork, real, &lrwork, int, &liwork, &mut info)
            },
        }
        info
    }
}
