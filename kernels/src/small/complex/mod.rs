//! Small complex matrices: one vector lane a matrix, with real and imaginary parts in vectors of their own.
//!
//! A matrix that comes alone has its columns in the lanes for QR. For `potrf` and `getrf` it has the vectors to itself, which
//! takes some microseconds longer than LAPACK at most, and has the bits that it has in a batch.

mod getrf;
mod potrf;
mod qr;

use fearless_simd::{Select, Simd, SimdBase, SimdFloat};
use num_complex::Complex;

use super::{Factors, Instructions, Small, Vector};
use crate::lapack::{Int, Lapack, Uplo};

/// The largest size of a complex matrix in lanes: up to it, these kernels are faster than LAPACK's.
const LARGEST: usize = 32;

/// The largest size of a matrix that has the vectors to itself where it comes alone.
const LARGEST_ALONE: usize = 16;

/// The length of a buffer for matrices of up to 8, [`LARGEST_ALONE`] and [`LARGEST`] rows and columns: see [`places`].
const BUFFER: [usize; 3] = [2 * 8 * 9, 2 * LARGEST_ALONE * (LARGEST_ALONE + 1), 2 * LARGEST * (LARGEST + 1)];

impl<T: Small> Factors<Complex<T>> for Instructions
where
    Complex<T>: Lapack<RealPart = T>,
{
    fn together(&self, m: usize, n: usize) -> usize {
        if m.max(n) <= LARGEST { self.lanes::<T>() } else { 1 }
    }

    fn potrf_work(&self, n: usize) -> Option<usize> {
        (n <= LARGEST_ALONE).then_some(0)
    }

    fn potrf(&self, uplo: Uplo, n: usize, a: &mut [Complex<T>], info: &mut [Int], _: &mut [Complex<T>]) {
        potrf::potrf(*self, uplo, n, a, info);
    }

    fn has_getrf(&self, m: usize, n: usize) -> bool {
        m.max(n) <= LARGEST_ALONE
    }

    fn getrf(&self, m: usize, n: usize, a: &mut [Complex<T>], pivots: &mut [Int], info: &mut [Int]) {
        getrf::getrf(*self, m, n, a, pivots, info);
    }

    fn qr_work(&self, m: usize, n: usize) -> Option<usize> {
        (m.max(n) <= LARGEST).then_some(0)
    }

    fn geqrf(&self, m: usize, n: usize, a: &mut [Complex<T>], tau: &mut [Complex<T>], _: &mut [Complex<T>]) {
        qr::geqrf(*self, m, n, a, tau);
    }

    fn orgqr(&self, m: usize, n: usize, k: usize, a: &mut [Complex<T>], tau: &[Complex<T>], _: &mut [Complex<T>]) {
        qr::orgqr(*self, [m, n, k], a, tau);
    }
}

/// A complex number in every lane.
#[derive(Clone, Copy)]
struct Number<S: Simd, T: Small> {
    re: Vector<S, T>,
    im: Vector<S, T>,
}

impl<S: Simd, T: Small> Number<S, T> {
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Number {
            re: self.re.mul_add(other.re, -(self.im * other.im)),
            im: self.re.mul_add(other.im, self.im * other.re),
        }
    }

    /// Its product with `x`, and `sum`.
    #[inline(always)]
    fn mul_add(self, x: Self, sum: Self) -> Self {
        Number {
            re: self.re.mul_add(x.re, (-self.im).mul_add(x.im, sum.re)),
            im: self.re.mul_add(x.im, self.im.mul_add(x.re, sum.im)),
        }
    }

    #[inline(always)]
    fn conj(self) -> Self {
        Number { im: -self.im, ..self }
    }

    #[inline(always)]
    fn negate(self) -> Self {
        Number { re: -self.re, im: -self.im }
    }

    /// Both parts divided by a real number.
    #[inline(always)]
    fn over(self, divisor: Vector<S, T>) -> Self {
        Number { re: self.re / divisor, im: self.im / divisor }
    }

    /// Itself in the lanes of a mask, another one elsewhere.
    #[inline(always)]
    fn only(self, here: <Vector<S, T> as SimdBase<S>>::Mask, other: Self) -> Self {
        Number { re: here.select(self.re, other.re), im: here.select(self.im, other.im) }
    }
}

/// Where each part of an element of an `m x n` matrix, counted through its columns, stands in a buffer: in it, a column is
/// `m + 1` real parts, and as many imaginary ones, so that two elements of a row do not meet in one place of the cache. If
/// `transposed`, the buffer has the rows of a square matrix for its columns.
fn places(m: usize, n: usize, transposed: bool) -> [u16; 2 * LARGEST * LARGEST] {
    let mut places = [0; 2 * LARGEST * LARGEST];
    let place = |i, j, part| ((2 * j + part) * (m + 1) + i) as u16;
    for (j, column) in places.chunks_exact_mut(2 * m).enumerate().take(n) {
        for (x, to) in column.iter_mut().enumerate() {
            let (i, part) = (x / 2, x % 2);
            *to = if transposed { place(j, i, part) } else { place(i, j, part) };
        }
    }
    places
}
