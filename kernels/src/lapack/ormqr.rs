//! `ormqr`, for complex types `unmqr`: the product of a matrix and the Q that `geqrf` leaves as reflectors.

use std::ptr;

use oxidax::Error;

use super::flags::{Letter, Side, Transpose};
use super::library::Library;
use super::room::{in_room, room, with_room};
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// `q c`, `q^H c`, `c q` or `c q^H`, in place of `c`, of `m x n`.
///
/// `q` is square and the product of `k` reflectors, each as long as `q` has rows. Input that is not finite propagates.
#[derive(Clone, Copy)]
pub struct Ormqr<T: Lapack> {
    routines: &'static Routines<T>,
    side: Side,
    /// The letter for `q` or `q^H`: LAPACK has `T` for real types, and `C` for complex ones.
    transpose: Transpose,
    m: Int,
    n: Int,
    k: Int,
    lwork: Int,
}

impl<T: Lapack> Ormqr<T> {
    /// For one shape of `c`, and so many reflectors.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size does not fit LAPACK's integers, or if there are more reflectors than rows of `q`.
    pub fn new(side: Side, adjoint: bool, [m, n]: [usize; 2], k: usize) -> Result<Self, Error> {
        Self::on(Self::library([m, n], k), side, adjoint, [m, n], k)
    }

    /// The library that serves the shape.
    pub fn library([m, n]: [usize; 2], k: usize) -> &'static Library {
        Library::serving(m.min(n).min(k))
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(
        library: &'static Library,
        side: Side,
        adjoint: bool,
        [m, n]: [usize; 2],
        k: usize,
    ) -> Result<Self, Error> {
        let routines: &'static Routines<T> = library.routines();
        let transpose = match (adjoint, T::COMPLEX) {
            (false, _) => Transpose::No,
            (true, false) => Transpose::Plain,
            (true, true) => Transpose::Adjoint,
        };
        let order = if side == Side::Left { m } else { n };
        sizes::require(k <= order, format_args!("{k} reflectors are more than the {order} rows of q"))?;
        let (m, n, k) = (sizes::int("m", m)?, sizes::int("n", n)?, sizes::int("k", k)?);
        let mut this = Ormqr { routines, side, transpose, m, n, k, lwork: 0 };
        if this.is_empty() {
            return Ok(this);
        }
        let options = side as u32 * 256 + transpose as u32;
        this.lwork = remembered((routines.ormqr as usize, options, [m, n, k]), || {
            let (side, transpose, lda) = (side.letter(), transpose.letter(), leading(this.order()));
            let (nothing, tau, c, ldc) = (ptr::null(), ptr::null(), ptr::null_mut(), leading(m));
            let (mut answer, mut info) = (T::zero(), 0);
            // SAFETY: L5: a question about the workspace.
            unsafe {
                (routines.ormqr)(
                    &side,
                    &transpose,
                    &m,
                    &n,
                    &k,
                    nothing,
                    &lda,
                    tau,
                    c,
                    &ldc,
                    &mut answer,
                    &ASK,
                    &mut info,
                )
            };
            answered(answer, m.max(n))
        });
        Ok(this)
    }

    /// The rows of `q`, and of the reflectors.
    fn order(&self) -> Int {
        if self.side == Side::Left { self.m } else { self.n }
    }

    /// Whether `c` stays as it is.
    fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.k == 0
    }

    /// The lengths of the work memory for the reflectors and `c`: from the right, `gemv` multiplies `c` itself by one of
    /// them at a time.
    fn room(&self) -> [usize; 2] {
        if self.side == Side::Left || self.is_empty() {
            return [0; 2];
        }
        [room::<T>(len(self.n), len(self.k)), room::<T>(len(self.m), len(self.n))]
    }

    /// As much as this shape takes, and for complex `c q` copies of both.
    pub fn workspace(&self) -> Lengths {
        Lengths { work: len(self.lwork) + self.room().iter().sum::<usize>(), ..Lengths::default() }
    }

    /// Multiplies. The reflectors are the first `k` columns of `a`, below their diagonal, and `tau` their factors.
    pub fn run(&self, a: &[T], tau: &[T], c: &mut [T], workspace: Workspace<'_, T>) -> Int {
        let Ormqr { m, n, k, lwork, .. } = *self;
        assert!(a.len() >= len(self.order()) * len(k), "ormqr: a has fewer than k columns");
        assert_eq!(tau.len(), len(k), "ormqr: there is not one tau for each of k");
        assert_eq!(c.len(), len(m) * len(n), "ormqr: c is not m x n");
        workspace.check(self.workspace());
        if self.is_empty() {
            return 0;
        }
        let (work, memory) = workspace.work.split_at_mut(len(lwork));
        if self.side == Side::Left {
            return self.call(a, tau, c, work);
        }
        let (reflectors, memory) = memory.split_at_mut(self.room()[0]);
        let a = in_room(&a[..len(n) * len(k)], reflectors);
        with_room(c, memory, |c| self.call(a, tau, c, work))
    }

    /// Calls LAPACK, on slices whose lengths the caller has compared with the shape.
    fn call(&self, a: &[T], tau: &[T], c: &mut [T], work: &mut [T]) -> Int {
        let Ormqr { routines, side, transpose, m, n, k, lwork } = *self;
        let (side, transpose, lda, ldc) = (side.letter(), transpose.letter(), leading(self.order()), leading(m));
        let (a, tau, c, work) = (a.as_ptr(), tau.as_ptr(), c.as_mut_ptr(), work.as_mut_ptr());
        let mut info = 0;
        // SAFETY: L1, L4: `a` has `k` columns of the order of `q`, no fewer than k, `tau` has `k` and `work` `lwork`
        // elements, and `c` is `m x n`. Where `gemv` reads beyond `a` or `c`, that lies in work memory.
        unsafe {
            (routines.ormqr)(&side, &transpose, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &mut info);
        }
        info
    }
}
