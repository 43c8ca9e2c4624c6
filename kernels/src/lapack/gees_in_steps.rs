//! `gees` in its steps, of which two libraries serve, for batches of orders that neither serves well alone.
//!
//! In these orders, products of matrices are part of the iteration for eigenvalues. They are rounded otherwise in other
//! versions of OpenBLAS, and the last bit of one decides signs and phases of a Schur form: only SciPy's iteration makes the
//! forms that JAX and `scipy.linalg.schur` have. But it is in the reduction to Hessenberg form before it that SciPy's
//! threads would wait for each other, and that goes column by column in these orders: mostly, the OpenBLAS that is linked
//! in makes it with the same bits ([`agree`]).

use std::ffi::c_char;
use std::iter;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use num_traits::{Float, cast};

use super::flags::{Letter, Vectors};
use super::gees::{Gees, VERSIONS_DIFFER_FROM};
use super::library::Library;
use super::routines::{Int, Kind, Routines};
use super::scalar::Lapack;
use super::sizes::{leading, len};
use super::workspace::OwnedWorkspace;

/// Above, the reduction has products of matrices, too.
const ORDERS: RangeInclusive<usize> = VERSIONS_DIFFER_FROM..=128;

/// That `gebal` and `gebak` permute, and do not scale.
const PERMUTE: c_char = b'P' as c_char;
/// That `hseqr` finds the Schur form, and not the eigenvalues alone.
const FORM: c_char = b'S' as c_char;
/// That `gebak` transforms vectors of the right side.
const RIGHT: c_char = b'R' as c_char;

/// The routines that reduce matrices of order `n`, where SciPy's do the rest, and do not do all.
pub(super) fn reduction<T: Lapack>(n: usize) -> Option<&'static Routines<T>> {
    static AGREE: [OnceLock<bool>; 4] = [const { OnceLock::new() }; 4];
    let scipy = Library::scipy().filter(|_| ORDERS.contains(&n))?;
    let of_type = 2 * usize::from(T::COMPLEX) + usize::from(size_of::<T::RealPart>() == size_of::<f64>());
    let known = &AGREE[of_type];
    // Threads that come together here all find it out: none waits for another.
    let agree = known.get().copied().unwrap_or_else(|| {
        let agree = if T::COMPLEX { agree(scipy, T::complex) } else { agree::<T::RealPart>(scipy, |re, _| re) };
        let _ = known.set(agree);
        agree
    });
    agree.then(|| Library::openblas().routines())
}

/// Whether the form that SciPy's library makes in steps, with the reduction of ours, is its own, to the bit: it is not
/// where a processor has other kernels in the two, or where SciPy's threads divide the reduction, which rounds complex
/// numbers otherwise.
fn agree<T: Lapack>(scipy: &'static Library, number: impl Fn(T::RealPart, T::RealPart) -> T) -> bool {
    let n = 126; // near the end of `ORDERS`, where threads divide it, and not a multiple of 8, which they halve evenly
    let parts: Vec<_> = noise().map(|x| cast(x).unwrap_or_else(T::RealPart::nan)).take(2 * n * n).collect();
    let a: Vec<T> = parts.chunks_exact(2).map(|part| number(part[0], part[1])).collect();
    Gees::on(scipy, Vectors::Compute, n).is_ok_and(|whole| {
        let in_steps = whole.with_reduction(Library::openblas().routines());
        decompose(whole, n, &a) == decompose(in_steps, n, &a)
    })
}

/// What `gees` says, and leaves.
fn decompose<T: Lapack>(gees: Gees<T>, n: usize, a: &[T]) -> (Int, [Vec<T>; 4]) {
    let (mut t, mut vs) = (a.to_vec(), vec![T::zero(); n * n]);
    let [mut w, mut imaginary] = [n, if T::COMPLEX { 0 } else { n }].map(|n| vec![T::zero(); n]);
    let mut workspace = OwnedWorkspace::new(gees.workspace());
    let info = gees.run(&mut t, [&mut w, &mut imaginary], &mut vs, workspace.lend());
    (info, [t, w, imaginary, vs])
}

/// Numbers without a pattern, of 24 bits: a linear congruence, of Numerical Recipes.
fn noise() -> impl Iterator<Item = i32> {
    iter::successors(Some(1u32), |x| Some(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
        .map(|x| x.cast_signed() >> 8)
}

/// Whether `gees` takes these numbers as they are. It scales matrices near the limits of the type; the steps do not.
pub(super) fn take<T: Lapack>(a: &[T]) -> bool {
    let least = T::RealPart::min_positive_value().sqrt() / T::RealPart::epsilon();
    let least = least + least; // than its parts, a complex number is larger, but not twice as large
    let largest = a.iter().fold(T::RealPart::neg_infinity(), |largest, x| largest.max(x.re().abs()).max(x.im().abs()));
    (least..=least.recip()).contains(&largest)
}

/// The steps for one shape, on the libraries of each.
pub(super) struct Steps<T: Lapack> {
    pub(super) reduction: &'static Routines<T>,
    pub(super) iteration: &'static Routines<T>,
    pub(super) job: Vectors,
    pub(super) n: Int,
}

impl<T: Lapack> Steps<T> {
    /// As [`Gees::run`], for lengths that it has compared with the shape, and a matrix that [`take`] takes. `work` is as
    /// long as `gees` asks for, `scale` has `n` elements.
    pub(super) fn run(
        &self,
        a: &mut [T],
        [w, imaginary]: [&mut [T]; 2],
        vs: &mut [T],
        work: &mut [T],
        scale: &mut [T::RealPart],
    ) -> Int {
        let Steps { reduction, iteration, job, n } = *self;
        let (n, ld, letter) = (&n, &leading(n), &job.letter());
        let (tau, work) = work.split_at_mut(len(*n));
        let lwork = &Int::try_from(work.len()).unwrap_or(Int::MAX);
        let (mut low, mut high, mut info) = (0, 0, 0);
        let (scale, tau, work) = (scale.as_mut_ptr(), tau.as_mut_ptr(), work.as_mut_ptr());
        let h = a.as_mut_ptr();
        // SAFETY: L1, L4: `h` is `n x n`, and `scale` has `n` elements.
        unsafe { (iteration.gebal)(&PERMUTE, n, h, ld, &mut low, &mut high, scale, &mut info) };
        // SAFETY: as above; `tau` has `n` elements, and `work` has `lwork`, which is at least `n`. 1 <= low <= high <= n, as
        // `gebal` says.
        unsafe { (reduction.gehrd)(n, &low, &high, h, ld, tau, work, lwork, &mut info) };
        if job == Vectors::Compute {
            vs.copy_from_slice(a);
            // SAFETY: as above; `vs` is `n x n`.
            unsafe { (reduction.orghr)(n, &low, &high, vs.as_mut_ptr(), ld, tau, work, lwork, &mut info) };
        }
        let (h, z, w, imaginary) = (a.as_mut_ptr(), vs.as_mut_ptr(), w.as_mut_ptr(), imaginary.as_mut_ptr());
        match iteration.hseqr {
            // SAFETY: as above; `w` and `imaginary` have `n` elements, and `z` is `n x n`, or is not touched.
            Kind::Real(hseqr) => unsafe {
                hseqr(&FORM, letter, n, &low, &high, h, ld, w, imaginary, z, ld, work, lwork, &mut info);
            },
            // SAFETY: as above.
            Kind::Complex(hseqr) => unsafe {
                hseqr(&FORM, letter, n, &low, &high, h, ld, w, z, ld, work, lwork, &mut info);
            },
        }
        if job == Vectors::Compute {
            // SAFETY: as above.
            unsafe { (iteration.gebak)(&PERMUTE, &RIGHT, n, &low, &high, scale, n, z, ld, &mut 0) };
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both leave.
    fn whole_and_in_steps<T: Lapack>(job: Vectors, n: usize, a: &[T]) -> [(Int, [Vec<T>; 4]); 2] {
        let own = Library::openblas();
        let whole = Gees::on(own, job, n).unwrap();
        [whole, whole.with_reduction(own.routines())].map(|gees| decompose(gees, n, a))
    }

    #[test]
    fn the_steps_make_the_form_of_the_whole() {
        fn test<T: Lapack>(number: impl Fn(T::RealPart, T::RealPart) -> T) {
            for n in [76, 77, 101, 128] {
                let parts: Vec<_> = noise().map(|x| cast::<_, T::RealPart>(x).unwrap()).take(2 * n * n).collect();
                let a: Vec<T> = parts.chunks_exact(2).map(|part| number(part[0], part[1])).collect();
                // Rows and columns that `gebal` moves to the ends.
                let mut isolated = a.clone();
                for i in 0..n {
                    isolated[3 * n + i] = T::zero();
                    isolated[i * n + 5] = T::zero();
                }
                for (a, job) in [(&a, Vectors::Compute), (&a, Vectors::Skip), (&isolated, Vectors::Compute)] {
                    let [whole, in_steps] = whole_and_in_steps(job, n, a);
                    assert_eq!(whole.0, 0);
                    assert!(whole == in_steps, "{n} x {n}, {job:?}");
                }
            }
        }
        test::<f32>(|re, _| re);
        test::<f64>(|re, _| re);
        test::<num_complex::Complex<f32>>(num_complex::Complex::new);
        test::<num_complex::Complex<f64>>(num_complex::Complex::new);
    }

    #[test]
    fn numbers_that_are_scaled_are_left_to_the_whole() {
        let n = 76;
        for (factor, taken) in [(1.0, true), (1e-150, false), (1e150, false), (0.0, false), (f64::NAN, false)] {
            let a: Vec<f64> = noise().map(|x| factor * f64::from(x)).take(n * n).collect();
            assert_eq!(take(&a), taken, "{factor}");
            if !factor.is_nan() {
                let [whole, in_steps] = whole_and_in_steps(Vectors::Compute, n, &a);
                assert!(whole == in_steps, "{factor}");
            }
        }
    }
}
