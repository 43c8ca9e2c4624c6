//! `gees`: the Schur form of a square matrix, and its Schur vectors.

use oxidax::Error;

use super::flags::{Letter, Sort, Vectors};
use super::gees_in_steps::{self, Steps};
use super::library::Library;
use super::room::{room, with_room};
use super::routines::{Int, Kind, Routines};
use super::scalar::{Lapack, all_finite};
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// info of a matrix that is not finite: argument `a` in LAPACK's count.
const NOT_FINITE: Int = -5;

/// `a = vs t vs^H`, with `t` in place of `a`, of `n x n`: upper triangular for complex types, and for real types with a
/// block of two rows and columns on the diagonal for each pair of conjugate eigenvalues.
///
/// A matrix that is not finite is not shown to LAPACK; it and one that does not converge give NaN in every result.
/// Vectors that are skipped are zeros. Eigenvalues are in the order in which the algorithm finds them.
#[derive(Clone, Copy)]
pub struct Gees<T: Lapack> {
    routines: &'static Routines<T>,
    /// Of the library of the reduction, where the decomposition goes in steps.
    reduction: Option<&'static Routines<T>>,
    job: Vectors,
    n: Int,
    lwork: Int,
}

/// From this order on, LAPACK deflates several eigenvalues at a time, by products of matrices, which differ between
/// OpenBLAS's versions in the last bit. That is enough for other signs and phases, and at times another order of the
/// eigenvalues. SciPy's are those that its users know, and JAX's.
pub(super) const VERSIONS_DIFFER_FROM: usize = 76;

impl<T: Lapack> Gees<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if `n`, or the workspace, does not fit LAPACK's integers.
    pub fn new(job: Vectors, n: usize) -> Result<Self, Error> {
        let whole = Self::on(Self::library(n), job, n)?;
        Ok(Gees { reduction: gees_in_steps::reduction(n), ..whole })
    }

    /// On how many threads it is worth decomposing matrices of this order at a time.
    pub fn threads(n: usize) -> usize {
        if gees_in_steps::reduction::<T>(n).is_some() { usize::MAX } else { Self::library(n).threads() }
    }

    fn library(n: usize) -> &'static Library {
        Library::serving_from(VERSIONS_DIFFER_FROM, n)
    }

    /// The same in steps, of which the reduction is on another library.
    pub(super) fn with_reduction(self, reduction: &'static Routines<T>) -> Self {
        Gees { reduction: Some(reduction), ..self }
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, job: Vectors, n: usize) -> Result<Self, Error> {
        let n = sizes::int("n", n)?;
        let mut this = Gees { routines: library.routines(), reduction: None, job, n, lwork: 0 };
        // What LAPACK adds up for blocks of 64.
        sizes::product("its workspace, 67 * n + 4160", 67 * n as u128 + 4160)?;
        if n > 0 {
            this.lwork = this.ask();
        }
        Ok(this)
    }

    fn ask(&self) -> Int {
        let address = match self.routines.gees {
            Kind::Real(routine) => routine as usize,
            Kind::Complex(routine) => routine as usize,
        };
        remembered((address, self.job as u32, [self.n, 0, 0]), || {
            let (mut answer, mut real, mut int) = ([T::zero()], [num_traits::zero()], [0]);
            let question = Workspace { work: &mut answer, real: &mut real, int: &mut int };
            self.call(ASK, &mut [], [&mut [], &mut []], &mut [], question);
            answered(answer[0], if T::COMPLEX { 2 } else { 3 } * self.n)
        })
    }

    /// How much work memory this shape takes: LAPACK's, and for complex types a copy of the matrix.
    pub fn workspace(&self) -> Lengths {
        let n = len(self.n);
        let real = if T::COMPLEX || self.reduction.is_some() { n } else { 0 };
        Lengths { work: len(self.lwork) + room::<T>(n, n), real, int: 0 }
    }

    /// Decomposes `a`. The two parts of `w` are the real and the imaginary parts of the eigenvalues of a real matrix; for a
    /// complex one the first is the eigenvalues and the second is empty. `vs` is `n x n`, or of any length where it is
    /// skipped. info > 0: the algorithm did not converge.
    pub fn run(&self, a: &mut [T], w: [&mut [T]; 2], vs: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let n = len(self.n);
        let [first, second] = w;
        assert_eq!(a.len(), n * n, "gees: a is not n x n");
        assert!(self.job == Vectors::Skip || vs.len() == n * n, "gees: vs is not n x n");
        assert_eq!(first.len(), n, "gees: w has not n elements");
        assert_eq!(second.len(), if T::COMPLEX { 0 } else { n }, "gees: w has no such imaginary parts");
        workspace.check(self.workspace());
        if n == 0 {
            return 0;
        }
        let info = if all_finite(a) { self.attempt(a, [first, second], vs, workspace) } else { NOT_FINITE };
        if info != 0 {
            for result in [a, first, second, vs] {
                result.fill(T::NAN);
            }
        } else if self.job == Vectors::Skip {
            vs.fill(T::zero());
        }
        info
    }

    fn attempt(&self, a: &mut [T], w: [&mut [T]; 2], vs: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let Workspace { work, real, int } = workspace;
        let (work, memory) = work.split_at_mut(len(self.lwork));
        with_room(a, memory, |a| match self.reduction.filter(|_| gees_in_steps::take(a)) {
            Some(reduction) => {
                let Gees { routines: iteration, job, n, .. } = *self;
                Steps { reduction, iteration, job, n }.run(a, w, vs, work, real)
            }
            None => self.call(self.lwork, a, w, vs, Workspace { work, real, int }),
        })
    }

    /// Calls LAPACK, or asks it with `lwork` of [`ASK`].
    fn call(&self, lwork: Int, a: &mut [T], w: [&mut [T]; 2], vs: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let Gees { routines, job, n, .. } = *self;
        let (job, sort, ld) = (job.letter(), Sort::No.letter(), leading(n));
        let (a, [w, imaginary], vs) = (a.as_mut_ptr(), w.map(|w| w.as_mut_ptr()), vs.as_mut_ptr());
        let Workspace { work, real, int } = workspace;
        let (work, real, flags) = (work.as_mut_ptr(), real.as_mut_ptr(), int.as_mut_ptr());
        let (mut sorted, mut info) = (0, 0);
        match routines.gees {
            // SAFETY: L1, and L4 (the callers compared every length with the shape) or L5 (`lwork` is `ASK`). Without
            // sorting, the null function is not called, and no flag is written.
            Kind::Real(gees) => unsafe {
                gees(&job, &sort, None, &n, a, &ld, &mut sorted, w, imaginary, vs, &ld, work, &lwork, flags, &mut info)
            },
            // SAFETY: as above; `real` has `n` elements.
            Kind::Complex(gees) => unsafe {
                gees(&job, &sort, None, &n, a, &ld, &mut sorted, w, vs, &ld, work, &lwork, real, flags, &mut info)
            },
        }
        info
    }
}
