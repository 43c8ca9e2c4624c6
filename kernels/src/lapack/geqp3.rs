//! `geqp3`: QR factors with column pivoting, Q as reflectors.

use std::ptr;

use num_traits::{Float, Zero};
use oxidax::Error;

use super::library::Library;
use super::room::room;
use super::routines::{Int, Kind, Routines};
use super::scalar::{Lapack, all_finite};
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// `a p = q r`, in place, for `a` of `m x n`: `r` in the upper triangle, with a diagonal that falls in size, the reflectors
/// whose product is `q` below it, and their factors in `tau`.
///
/// LAPACK chooses a column by its norm, and among norms that are not numbers OpenBLAS chooses by where they lie in memory.
/// So a matrix that is not finite is not shown to it: it gives NaN, and the columns in their order; and one whose norms may
/// overflow is scaled by a power of two meanwhile.
#[derive(Clone, Copy)]
pub struct Geqp3<T: Lapack> {
    routines: &'static Routines<T>,
    m: Int,
    n: Int,
    lwork: Int,
}

impl<T: Lapack> Geqp3<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size, or the workspace, does not fit LAPACK's integers.
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
        let mut this = Geqp3 { routines: library.routines(), m: sizes::int("m", m)?, n: sizes::int("n", n)?, lwork: 0 };
        sizes::product("its workspace, 3 * n + 1", 3 * n as u128 + 1)?;
        if m > 0 && n > 0 {
            this.lwork = this.ask();
        }
        Ok(this)
    }

    fn ask(&self) -> Int {
        let address = match self.routines.geqp3 {
            Kind::Real(routine) => routine as usize,
            Kind::Complex(routine) => routine as usize,
        };
        remembered((address, 0, [self.m, self.n, 0]), || {
            let mut answer = [T::zero()];
            self.call(ASK, &mut [], &mut [], &mut [], Workspace::of(&mut answer));
            answered(answer[0], if T::COMPLEX { self.n + 1 } else { 3 * self.n + 1 })
        })
    }

    /// As much as this shape takes, and for complex types room behind it: what `gemv` multiplies is there, too.
    pub fn workspace(&self) -> Lengths {
        if !T::COMPLEX || self.lwork == 0 {
            return Lengths { work: len(self.lwork), ..Lengths::default() };
        }
        Lengths { work: len(self.lwork) + room::<T>(len(self.n), 0), real: 2 * len(self.n), int: 0 }
    }

    /// Factorises `a`; `tau` has `min(m, n)` elements. `pivots`, of `n`, are read and written: a column whose pivot is not
    /// 0 is moved to the front, and stays there; then `pivots[j]`, counted from 1, is the column of `a` that became the
    /// `j`-th.
    pub fn run(&self, a: &mut [T], pivots: &mut [Int], tau: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let Geqp3 { m, n, lwork, .. } = *self;
        assert_eq!(a.len(), len(m) * len(n), "geqp3: a is not m x n");
        assert_eq!(pivots.len(), len(n), "geqp3: there is not one pivot for each of n");
        assert_eq!(tau.len(), len(m.min(n)), "geqp3: there is not one tau for each of min(m, n)");
        workspace.check(self.workspace());
        if m == 0 || n == 0 || !all_finite(a) {
            a.fill(T::NAN);
            tau.fill(T::NAN);
            order(pivots);
            return 0;
        }
        let factor = scale(a, len(m));
        if let Some(factor) = factor {
            a.iter_mut().for_each(|x| *x = *x * T::from(factor));
        }
        let info = self.call(lwork, a, pivots, tau, workspace);
        if let Some(factor) = factor {
            let back = T::from(factor.recip());
            for (j, column) in a.chunks_exact_mut(len(m)).enumerate() {
                column.iter_mut().take(j + 1).for_each(|x| *x = *x * back);
            }
        }
        info
    }

    /// Calls LAPACK, or asks it with `lwork` of [`ASK`].
    fn call(&self, lwork: Int, a: &mut [T], pivots: &mut [Int], tau: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let Geqp3 { routines, m, n, .. } = *self;
        let Workspace { work, real, .. } = workspace;
        let (a, pivots, tau, work) = (a.as_mut_ptr(), pivots.as_mut_ptr(), tau.as_mut_ptr(), work.as_mut_ptr());
        let (real, lda) = (if real.is_empty() { ptr::null_mut() } else { real.as_mut_ptr() }, leading(m));
        let mut info = 0;
        match routines.geqp3 {
            // SAFETY: L1, and L4 (the caller compared every length with the shape) or L5 (`lwork` is `ASK`).
            Kind::Real(geqp3) => unsafe { geqp3(&m, &n, a, &lda, pivots, tau, work, &lwork, &mut info) },
            // SAFETY: as above.
            Kind::Complex(geqp3) => unsafe { geqp3(&m, &n, a, &lda, pivots, tau, work, &lwork, real, &mut info) },
        }
        info
    }
}

/// The columns that are to be in front, and the others, in their order.
fn order(pivots: &mut [Int]) {
    let mut place = 0;
    // As LAPACK moves them: each to the next place in front, for the column that stood there.
    for j in 0..pivots.len() {
        let in_front = pivots[j] != 0;
        pivots[j] = j as Int + 1;
        if in_front {
            pivots.swap(place, j);
            place += 1;
        }
    }
}

/// A power of two by which `a`, of so many rows, is multiplied for the sums over a column to be finite.
fn scale<T: Lapack>(a: &[T], rows: usize) -> Option<T::RealPart> {
    let largest = a.iter().fold(T::RealPart::zero(), |largest, x| largest.max(x.re().abs()).max(x.im().abs()));
    // A product of two complex numbers has two terms in each part, and a column less its reflection is up to twice as large.
    let terms = 8.0 * rows.next_power_of_two() as f64;
    let room = num_traits::cast::<_, T::RealPart>(terms)?.recip();
    (largest > T::RealPart::max_value() * room).then_some(room)
}
