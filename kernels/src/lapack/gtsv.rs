//! `gtsv`: the solution of a tridiagonal system, by elimination with row swaps.

use oxidax::Error;

use super::library::Library;
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, leading, len};
use super::workspace::Lengths;

/// `a x = b`, in place of `b`, of `n x k`, for a tridiagonal `a` of `n x n`. Input that is not finite propagates. Without
/// right-hand sides nothing is done.
#[derive(Clone, Copy)]
pub struct Gtsv<T: Lapack> {
    routines: &'static Routines<T>,
    n: Int,
    k: Int,
}

impl<T: Lapack> Gtsv<T> {
    /// For one shape of `b`.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size does not fit LAPACK's integers.
    pub fn new(n: usize, k: usize) -> Result<Self, Error> {
        Self::on(Library::openblas(), n, k)
    }

    /// As [`new`](Self::new), on a library of one's choice: none has threads for it.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, n: usize, k: usize) -> Result<Self, Error> {
        Ok(Gtsv { routines: library.routines(), n: sizes::int("n", n)?, k: sizes::int("k", k)? })
    }

    /// None.
    pub fn workspace(&self) -> Lengths {
        Lengths::default()
    }

    /// Solves. The diagonals, each of `n` elements, become those of the factors: `a` has `dl[i]` at `(i, i - 1)`, `d[i]` at
    /// `(i, i)` and `du[i]` at `(i, i + 1)`; the first of `dl` and the last of `du` are neither read nor written.
    /// info > 0: that pivot is zero, and `b` is not solved for.
    pub fn run(&self, dl: &mut [T], d: &mut [T], du: &mut [T], b: &mut [T]) -> Int {
        let Gtsv { routines, n, k } = *self;
        assert_eq!([dl.len(), d.len(), du.len()], [len(n); 3], "gtsv: dl, d or du has not n elements");
        assert_eq!(b.len(), len(n) * len(k), "gtsv: b is not n x k");
        // Without right-hand sides, LAPACK writes to the first of them.
        let [_, below @ ..] = dl else { return 0 };
        if k == 0 {
            return 0;
        }
        let (below, d, du, b) = (below.as_mut_ptr(), d.as_mut_ptr(), du.as_mut_ptr(), b.as_mut_ptr());
        let mut info = 0;
        // SAFETY: L1, L4: `below` has n - 1 elements, `d` n, `du` more than the n - 1 that are used; `b` is `n x k`, both
        // above 0, with leading dimension `n`.
        unsafe { (routines.gtsv)(&n, &k, below, d, du, b, &leading(n), &mut info) };
        info
    }
}
