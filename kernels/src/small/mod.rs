//! Small matrices, in safe Rust: one vector lane a matrix, or one real matrix in blocks.
//!
//! LAPACK spends its time on a 4x4 on everything but arithmetic. Here, as many matrices as a vector has lanes are
//! transposed into vectors, factorised together, and transposed back. What is left over, and a matrix that comes alone,
//! has vectors along its columns or rows, by the same operations in the same order: **the bits of a result do not
//! depend on the batch**. A caller chooses between these kernels and LAPACK by size and type. Of complex
//! matrices, factors alone are computed here (`complex`).
//!
//! Matrices are column-major, packed one after the other. In lanes, sizes are at most [`LARGEST`], of triangular
//! systems a quarter of it, of tridiagonal ones what the cache holds; above it, `blocks` has what `potrf_work` and
//! `qr_work` of [`Factors`] name, and it has every size of `ormqr`, `gehrd` and `sytrd`.
#![forbid(unsafe_code)]

mod blocks;
mod complex;
mod getrf;
mod gtsv;
mod lanes;
mod potrf;
mod qr;
mod trsm;

use std::sync::OnceLock;

use bytemuck::Pod;
use fearless_simd::{Level, Simd, SimdBase, SimdFloatElement, dispatch};
use num_traits::Float;

use crate::lapack::{Int, Lapack, Triangle, Uplo};

/// The largest size of a matrix in lanes: up to it, these kernels are faster than LAPACK's.
pub const LARGEST: usize = 32;

/// A scalar type that has all kernels, `f32` or `f64`; complex types have those of [`Factors`].
pub trait Small: Lapack<RealPart = Self> + Float + SimdFloatElement + Pod {}

impl Small for f32 {}
impl Small for f64 {}

/// Whether to divide by `x`, where else to multiply with its inverse: that of a subnormal number may be infinite, and that
/// of a very large one is subnormal, which is 0 under XLA. For zero, both are the same.
fn divides<T: Small>(x: T) -> bool {
    let (size, least) = (x.abs(), T::min_positive_value());
    (size < least && size != T::zero()) || size > least.recip()
}

/// The lanes of [`divides`].
#[inline(always)]
fn lanes_divide<S: Simd, T: Small>(s: S, x: Vector<S, T>) -> <Vector<S, T> as SimdBase<S>>::Mask {
    let (size, least) = (x.abs(), T::min_positive_value());
    let is_zero = size.simd_eq(Vector::<S, T>::splat(s, T::zero()));
    let (least, most) = (Vector::<S, T>::splat(s, least), Vector::<S, T>::splat(s, least.recip()));
    (size.simd_lt(least) & !is_zero) | size.simd_gt(most)
}

/// Kernels that factorise, for code that is generic over all of LAPACK's types: see [`Lapack::factors`].
pub trait Factors<T: Lapack>: Sync {
    /// How many matrices of `m x n` are factorised together.
    fn together(&self, m: usize, n: usize) -> usize;

    /// The length of the work memory for the factor of `n x n`; none of a size for which LAPACK is the faster one.
    fn potrf_work(&self, n: usize) -> Option<usize>;

    /// `a = l l^H` or `a = u^H u`, in place, for each of `info.len()` matrices of `n x n`.
    ///
    /// Only the triangle `uplo` is used, the other one keeps its bits; `work` is as long as
    /// [`potrf_work`](Self::potrf_work) says. info > 0: the leading minor of that order is not positive definite (or not a
    /// number), and what the factor is from there on is open.
    fn potrf(&self, uplo: Uplo, n: usize, a: &mut [T], info: &mut [Int], work: &mut [T]);

    /// Whether [`getrf`](Self::getrf) serves a shape; for others LAPACK is the faster one.
    fn has_getrf(&self, m: usize, n: usize) -> bool;

    /// `a = p l u`, in place, for each of `info.len()` matrices of `m x n`, a shape that it serves.
    ///
    /// `pivots` holds `min(m, n)` for each matrix, counted from 1. The pivot is the first of the largest elements, as in
    /// LAPACK. info > 0: that pivot, the first of them, is zero.
    fn getrf(&self, m: usize, n: usize, a: &mut [T], pivots: &mut [Int], info: &mut [Int]);

    /// The length of the work memory for QR of `m x n`; none of a shape for which LAPACK is the faster one.
    fn qr_work(&self, m: usize, n: usize) -> Option<usize>;

    /// `a = q r`, in place, for each of some matrices of `m x n`, as LAPACK's `geqrf`.
    ///
    /// `tau` holds `min(m, n)` for each matrix; `work` is as long as [`qr_work`](Self::qr_work) says. Input that is not
    /// finite propagates.
    fn geqrf(&self, m: usize, n: usize, a: &mut [T], tau: &mut [T], work: &mut [T]);

    /// The first `n` columns of the product of `k` reflectors of length `m`, in their place, for each of some matrices, as
    /// LAPACK's `orgqr`; `k <= n <= m`.
    ///
    /// `tau` holds `k` for each matrix; `work` is as long as [`qr_work`](Self::qr_work) says.
    fn orgqr(&self, m: usize, n: usize, k: usize, a: &mut [T], tau: &[T], work: &mut [T]);
}

/// All kernels of a real type: see [`Lapack::small`].
pub trait Kernels<T: Lapack>: Factors<T> {
    /// The length of the work memory for the product of `k` reflectors and `m x n`; none of a shape for which LAPACK is the
    /// faster one.
    fn ormqr_work(&self, m: usize, n: usize, k: usize) -> Option<usize>;

    /// `q c`, or `q^T c`, in place of `c`, for one matrix of that shape, `m x n`, as LAPACK's `ormqr` from the left.
    ///
    /// `a` has at least as many columns, of length `m`, as `tau` elements; `work` is as long as
    /// [`ormqr_work`](Self::ormqr_work) says. Input that is not finite propagates.
    fn ormqr(&self, transpose: bool, shape: [usize; 2], a: &[T], tau: &[T], c: &mut [T], work: &mut [T]);

    /// The length of the work memory for the tridiagonal form of `n x n`; none of a size for which LAPACK is the faster one.
    fn sytrd_work(&self, n: usize) -> Option<usize>;

    /// `a = q t q^T`, in place, for one symmetric matrix of `n x n`, as LAPACK's `sytrd`; `t` has the diagonal `d` and beside
    /// it `e`.
    ///
    /// Only the triangle `uplo` is used, the other one keeps its bits. `d` has `n` elements, `e` and `tau` have `n - 1`;
    /// `work` is as long as [`sytrd_work`](Self::sytrd_work) says. Input that is not finite propagates.
    fn sytrd(
        &self,
        uplo: Uplo,
        a: &mut [T],
        d: &mut [T::RealPart],
        e: &mut [T::RealPart],
        tau: &mut [T],
        work: &mut [T],
    );

    /// The length of the work memory for the Hessenberg form of `n x n`; none of a size for which LAPACK is the faster one.
    fn gehrd_work(&self, n: usize) -> Option<usize>;

    /// `a = q h q^T`, in place, for one matrix of `n x n`, as LAPACK's `gehrd` of all its rows and columns.
    ///
    /// `tau` has `n - 1` elements; `work` is as long as [`gehrd_work`](Self::gehrd_work) says. Input that is not finite
    /// propagates.
    fn gehrd(&self, n: usize, a: &mut [T], tau: &mut [T], work: &mut [T]);

    /// Whether [`trsm`](Self::trsm) serves a shape; for others OpenBLAS is the faster one.
    fn has_trsm(&self, m: usize, n: usize) -> bool;

    /// `op(a) x = b` or `x op(a) = b`, in place of `b`, for each of a batch of systems; `b` is `m x n`, a shape that it
    /// serves.
    ///
    /// Only one triangle of `a` is used. As in OpenBLAS, the inverses of its diagonal multiply: a zero gives infinities and
    /// NaN.
    fn trsm(&self, triangle: Triangle, m: usize, n: usize, a: &[T], b: &mut [T]);

    /// How many tridiagonal systems are solved together.
    fn gtsv_together(&self) -> usize;

    /// The length of the work memory for tridiagonal systems of `n` equations and `k` right-hand sides; none of a size for
    /// which LAPACK is the faster one.
    fn gtsv_work(&self, n: usize, k: usize) -> Option<usize>;

    /// `a x = b`, in place of `b`, for each of `info.len()` systems; `b` is `n x k`.
    ///
    /// The diagonals are `dl`, `d` and `du` of LAPACK's `gtsv`, each with `n` elements a system: the first of `dl` and the
    /// last of `du` are not read. `work` is as long as [`gtsv_work`](Self::gtsv_work) says. info > 0: that pivot, the first
    /// of them, is zero, and what `b` is then is open. Input that is not finite propagates.
    fn gtsv(&self, shape: [usize; 2], diagonals: [&[T]; 3], b: &mut [T], info: &mut [Int], work: &mut [T]);
}

impl<T: Small> Factors<T> for Instructions {
    fn together(&self, m: usize, n: usize) -> usize {
        if m.max(n) <= LARGEST { self.lanes::<T>() } else { 1 }
    }

    fn potrf_work(&self, n: usize) -> Option<usize> {
        potrf::work::<T>(*self, n)
    }

    fn potrf(&self, uplo: Uplo, n: usize, a: &mut [T], info: &mut [Int], work: &mut [T]) {
        potrf::potrf(*self, uplo, n, a, info, work);
    }

    fn has_getrf(&self, m: usize, n: usize) -> bool {
        m.max(n) <= LARGEST
    }

    fn getrf(&self, m: usize, n: usize, a: &mut [T], pivots: &mut [Int], info: &mut [Int]) {
        getrf::getrf(*self, m, n, a, pivots, info);
    }

    fn qr_work(&self, m: usize, n: usize) -> Option<usize> {
        qr::work::<T>(*self, m, n)
    }

    fn geqrf(&self, m: usize, n: usize, a: &mut [T], tau: &mut [T], work: &mut [T]) {
        qr::geqrf(*self, m, n, a, tau, work);
    }

    fn orgqr(&self, m: usize, n: usize, k: usize, a: &mut [T], tau: &[T], work: &mut [T]) {
        qr::orgqr(*self, m, n, k, a, tau, work);
    }
}

impl<T: Small> Kernels<T> for Instructions {
    fn ormqr_work(&self, m: usize, n: usize, k: usize) -> Option<usize> {
        blocks::serve_ormqr(m, n, k).then(|| blocks::qr_work::<T>(*self, m, n))
    }

    fn ormqr(&self, transpose: bool, [m, n]: [usize; 2], a: &[T], tau: &[T], c: &mut [T], work: &mut [T]) {
        assert!(tau.len() <= m, "ormqr: there are more reflectors than rows");
        assert!(a.len() >= m * tau.len(), "ormqr: a has fewer columns than there are tau");
        assert_eq!(c.len(), m * n, "ormqr: c is not m x n");
        blocks::ormqr(*self, transpose, [m, n], a, tau, c, work);
    }

    fn sytrd_work(&self, n: usize) -> Option<usize> {
        (n <= blocks::LARGEST_FORM).then(|| blocks::form_work::<T>(*self, n))
    }

    fn sytrd(&self, uplo: Uplo, a: &mut [T], d: &mut [T], e: &mut [T], tau: &mut [T], work: &mut [T]) {
        let (n, beside) = (d.len(), d.len().saturating_sub(1));
        assert_eq!(a.len(), n * n, "sytrd: a is not n x n");
        assert_eq!((e.len(), tau.len()), (beside, beside), "sytrd: e or tau has not n - 1 elements");
        if n > 0 {
            blocks::sytrd(*self, uplo, a, [d, e, tau], work);
        }
    }

    fn gehrd_work(&self, n: usize) -> Option<usize> {
        (n <= blocks::LARGEST_FORM).then(|| blocks::form_work::<T>(*self, n))
    }

    fn gehrd(&self, n: usize, a: &mut [T], tau: &mut [T], work: &mut [T]) {
        assert_eq!(a.len(), n * n, "gehrd: a is not n x n");
        assert_eq!(tau.len(), n.saturating_sub(1), "gehrd: tau has not n - 1 elements");
        if n > 0 {
            blocks::gehrd(*self, n, a, tau, work);
        }
    }

    fn has_trsm(&self, m: usize, n: usize) -> bool {
        m.max(n) <= trsm::LARGEST_SYSTEM
    }

    fn trsm(&self, triangle: Triangle, m: usize, n: usize, a: &[T], b: &mut [T]) {
        trsm::trsm(*self, triangle, m, n, a, b);
    }

    fn gtsv_together(&self) -> usize {
        gtsv::VECTORS * self.lanes::<T>()
    }

    fn gtsv_work(&self, n: usize, k: usize) -> Option<usize> {
        gtsv::work::<T>(*self, n, k)
    }

    fn gtsv(&self, shape: [usize; 2], diagonals: [&[T]; 3], b: &mut [T], info: &mut [Int], work: &mut [T]) {
        gtsv::gtsv(*self, shape, diagonals, b, info, work);
    }
}

/// The kernels that factorise a shape, and the length of the work memory that they take for it, as one of their methods says.
pub(crate) fn factorising<T: Lapack>(
    length: impl FnOnce(&dyn Factors<T>) -> Option<usize>,
) -> Option<(&'static dyn Factors<T>, usize)> {
    let factors = T::factors(Instructions::best());
    Some((factors, length(factors)?))
}

/// As [`factorising`], of all kernels.
pub(crate) fn serving<T: Lapack>(
    length: impl FnOnce(&dyn Kernels<T>) -> Option<usize>,
) -> Option<(&'static dyn Kernels<T>, usize)> {
    let small = T::small(Instructions::best())?;
    Some((small, length(small)?))
}

/// The vector of an instruction set.
type Vector<S, T> = <T as SimdFloatElement>::Native<S>;

/// The length of a buffer in which a column is longer by one than its matrix, for matrices of up to 8 and [`LARGEST`] rows
/// and columns: at a distance of 2 KiB, elements of one row would meet in one place of the cache.
const IN_LANES: [usize; 2] = [8 * 9, LARGEST * (LARGEST + 1)];

/// The length of a buffer in which columns are filled up to whole vectors.
const ALONE: [usize; 2] = [8 * 16, LARGEST * LARGEST];

/// Where each element of an `m x n` matrix, counted through its columns, stands in a buffer whose columns (or rows, if
/// `transposed`) are `stride` apart. A table, which takes no division for each element.
fn places(m: usize, n: usize, stride: usize, transposed: bool) -> [u16; LARGEST * LARGEST] {
    let mut places = [0; LARGEST * LARGEST];
    for (j, column) in places.chunks_exact_mut(m).enumerate().take(n) {
        for (i, place) in column.iter_mut().enumerate() {
            *place = if transposed { i * stride + j } else { j * stride + i } as u16;
        }
    }
    places
}

/// A set of vector instructions of this processor. The bits of a result depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Instructions(Level);

impl Instructions {
    /// The best ones: what to use.
    pub fn best() -> &'static Self {
        static BEST: OnceLock<Instructions> = OnceLock::new();
        BEST.get_or_init(|| Instructions(Level::new()))
    }

    /// How many matrices a vector holds.
    fn lanes<T: Small>(self) -> usize {
        fn lanes<S: Simd, T: Small>(_: S) -> usize {
            Vector::<S, T>::LEN
        }
        dispatch!(self.0, s => lanes::<_, T>(s))
    }

    /// All that this processor has, for tests.
    pub fn all() -> Vec<Self> {
        let best = Level::new();
        #[cfg(target_arch = "x86_64")]
        let others =
            [best.as_avx2().map(Level::Avx2), best.as_sse4_2().map(Level::Sse4_2), best.as_sse2().map(Level::Sse2)];
        #[cfg(not(target_arch = "x86_64"))]
        let others: [Option<Level>; 0] = [];
        [Some(best)].into_iter().chain(others).flatten().map(Instructions).collect()
    }
}

/// Whether `count` matrices are worth a vector, which costs the same for one matrix as for one in each lane.
fn worth_lanes<S: Simd, T: Small>(count: usize) -> bool {
    3 * count >= Vector::<S, T>::LEN
}

/// The bits of a NaN say which operands it comes from, in an order that is the compiler's choice: they are set here.
fn settle<'a, T: Small>(elements: impl Iterator<Item = &'a mut T>) {
    elements.filter(|x| x.is_nan()).for_each(|x| *x = T::nan());
}

/// As [`settle`], of all elements. The search has no branch, so that it becomes vector instructions.
fn settle_all<T: Small>(elements: &mut [T]) {
    if elements.iter().fold(false, |any, x| any | x.is_nan()) {
        settle(elements.iter_mut());
    }
}

/// A row, column or step in every lane.
#[inline(always)]
fn index<S: Simd, T: Small>(s: S, i: usize) -> Vector<S, T> {
    Vector::<S, T>::splat(s, From::from(i as u8))
}
