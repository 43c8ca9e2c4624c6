//! Small real matrices, in safe Rust: one vector lane a matrix, or one matrix in blocks.
//!
//! LAPACK spends its time on a 4x4 on everything but arithmetic. Here, as many matrices as a vector has lanes are
//! transposed into vectors, factorised together, and transposed back. What is left over, and a matrix that comes alone,
//! has vectors along its columns or rows, by the same operations in the same order: **the bits of a result do not
//! depend on the batch**. A caller chooses between these kernels and LAPACK by size and type.
//!
//! Matrices are column-major, packed one after the other. In lanes, sizes are at most [`LARGEST`], of systems
//! [`LARGEST_SYSTEM`]; above it, `blocks` has what [`potrf_work`] and [`qr_work`] name.
#![forbid(unsafe_code)]

mod blocks;
mod getrf;
mod lanes;
mod potrf;
mod qr;
mod trsm;

use fearless_simd::{Level, Simd, SimdBase, SimdFloatElement, dispatch};
use num_traits::Float;

use crate::lapack::{Int, Lapack, Triangle, Uplo};

pub use getrf::getrf;
pub use potrf::{potrf, potrf_work};
pub use qr::{geqrf, orgqr, qr_work};
pub use trsm::{LARGEST_SYSTEM, trsm};

/// The largest size of a matrix in lanes: up to it, these kernels are faster than LAPACK's.
pub const LARGEST: usize = 32;

/// A scalar type that has such kernels: `f32` and `f64`.
pub trait Small: Lapack + Float + SimdFloatElement {}

impl Small for f32 {}
impl Small for f64 {}

/// The kernels of a type that has them, on the best instructions, for code that is generic over all of LAPACK's types.
pub trait Kernels<T>: Sync {
    /// How many matrices of `m x n` are factorised together.
    fn together(&self, m: usize, n: usize) -> usize;
    /// [`potrf_work`].
    fn potrf_work(&self, n: usize) -> Option<usize>;
    /// [`potrf`].
    fn potrf(&self, uplo: Uplo, n: usize, a: &mut [T], info: &mut [Int], work: &mut [T]);
    /// [`getrf`].
    fn getrf(&self, m: usize, n: usize, a: &mut [T], pivots: &mut [Int], info: &mut [Int]);
    /// [`qr_work`].
    fn qr_work(&self, m: usize, n: usize) -> Option<usize>;
    /// [`geqrf`].
    fn geqrf(&self, m: usize, n: usize, a: &mut [T], tau: &mut [T], work: &mut [T]);
    /// [`orgqr`].
    fn orgqr(&self, m: usize, n: usize, k: usize, a: &mut [T], tau: &[T], work: &mut [T]);
    /// [`trsm`].
    fn trsm(&self, triangle: Triangle, m: usize, n: usize, a: &[T], b: &mut [T]);
}

/// The kernels of every [`Small`] type.
pub struct Best;

impl<T: Small> Kernels<T> for Best {
    fn together(&self, m: usize, n: usize) -> usize {
        if m.max(n) <= LARGEST { Instructions::best().lanes::<T>() } else { 1 }
    }

    fn potrf_work(&self, n: usize) -> Option<usize> {
        potrf_work::<T>(Instructions::best(), n)
    }

    fn potrf(&self, uplo: Uplo, n: usize, a: &mut [T], info: &mut [Int], work: &mut [T]) {
        potrf(Instructions::best(), uplo, n, a, info, work);
    }

    fn getrf(&self, m: usize, n: usize, a: &mut [T], pivots: &mut [Int], info: &mut [Int]) {
        getrf(Instructions::best(), m, n, a, pivots, info);
    }

    fn qr_work(&self, m: usize, n: usize) -> Option<usize> {
        qr_work::<T>(Instructions::best(), m, n)
    }

    fn geqrf(&self, m: usize, n: usize, a: &mut [T], tau: &mut [T], work: &mut [T]) {
        geqrf(Instructions::best(), m, n, a, tau, work);
    }

    fn orgqr(&self, m: usize, n: usize, k: usize, a: &mut [T], tau: &[T], work: &mut [T]) {
        orgqr(Instructions::best(), m, n, k, a, tau, work);
    }

    fn trsm(&self, triangle: Triangle, m: usize, n: usize, a: &[T], b: &mut [T]) {
        trsm(Instructions::best(), triangle, m, n, a, b);
    }
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
    pub fn best() -> Self {
        Instructions(Level::new())
    }

    /// How many matrices a vector holds.
    pub fn lanes<T: Small>(self) -> usize {
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

/// A row, column or step in every lane.
#[inline(always)]
fn index<S: Simd, T: Small>(s: S, i: usize) -> Vector<S, T> {
    Vector::<S, T>::splat(s, From::from(i as u8))
}
