//! Input on which LAPACK hangs, crashes or invents numbers: NaN in every result, promptly, with info as jaxlib gives it.

use num_traits::Float;
use oxidax_kernels::lapack::{Lapack, Uplo, Vectors};

use crate::for_each_scalar;
use crate::hermitian::{TRIANGLES, eigh};
use crate::iterative::{JOBS, SIDES, eig, svd};
use crate::sample::{Random, Sample, all_nan, is_in};
use crate::schur::schur;

/// Matrices that are not finite, of the order given.
fn bad<T: Sample>(m: usize, n: usize) -> Vec<Vec<T>> {
    let mut ones = vec![T::one(); m * n];
    ones[0] = T::INFINITY; // on which gesdd hangs
    let mut last = Random::new(n).matrix(m, n);
    last[m * n - 1] = T::NAN;
    let mut negative = Random::new(m).matrix(m, n);
    negative[m * n / 2] = -T::INFINITY;
    vec![ones, last, negative, vec![T::NAN; m * n]]
}

#[test]
fn singular_values_of_what_is_not_finite_are_nan() {
    fn test<T: Sample>() {
        for (m, n) in [(1, 1), (2, 2), (3, 3), (3, 2), (2, 3), (33, 30)] {
            for (a, job) in bad::<T>(m, n).iter().flat_map(|a| JOBS.map(|job| (a, job))) {
                for by_halves in [true, false] {
                    let found = svd(by_halves, job, m, n, a);
                    assert_eq!(found.info, -4, "{job:?} {m} x {n}");
                    assert!(found.s.iter().all(|x| x.is_nan()), "{job:?} {m} x {n}");
                    assert!(all_nan(&found.u) && all_nan(&found.vt), "{job:?} {m} x {n}");
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn eigenvalues_of_what_is_not_finite_are_nan() {
    fn test<T: Sample<ComplexOf: Sample>>() {
        for n in [1, 2, 3, 33] {
            for (a, side) in bad::<T>(n, n).iter().flat_map(|a| SIDES.map(|side| (a, side))) {
                let found = eig(side, Vectors::Compute, n, a);
                assert_eq!(found.info, -4);
                assert!(all_nan(&found.w) && all_nan(&found.vl) && all_nan(&found.vr));
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn eigenvalues_of_a_triangle_that_is_not_finite_are_nan() {
    fn test<T: Sample<RealPart: Sample>>() {
        for n in [1, 2, 3, 33] {
            for (uplo, side) in TRIANGLES.into_iter().flat_map(|uplo| SIDES.map(|side| (uplo, side))) {
                for at in (0..n * n).step_by(if n < 5 { 1 } else { 97 }).chain([n * n - 1]) {
                    for bad in [T::NAN, T::INFINITY, T::zero() - T::INFINITY] {
                        let mut a = Random::new(n).hermitian::<T>(n);
                        a[at] = bad;
                        let (info, w, v) = eigh(side, uplo, n, &a);
                        if is_in(uplo, n, at) {
                            assert_eq!(info, -4, "{uplo:?} {n}: element {at}");
                            assert!(all_nan(&w) && all_nan(&v), "{uplo:?} {n}: element {at}");
                        } else {
                            assert_eq!(info, 0, "{uplo:?} {n}: element {at}");
                            assert!(!w.iter().any(|x| x.wide().re.is_nan()) && v.iter().all(|x| x.is_finite()));
                        }
                    }
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn the_schur_form_of_what_is_not_finite_is_nan() {
    fn test<T: Sample>() {
        for n in [1, 2, 3, 33] {
            for (a, job) in bad::<T>(n, n).iter().flat_map(|a| [Vectors::Compute, Vectors::Skip].map(|job| (a, job))) {
                let found = schur(job, n, a);
                assert_eq!(found.info, -5);
                assert!(all_nan(&found.t) && all_nan(&found.vs) && found.w.iter().all(|w| all_nan(w)));
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn numbers_near_the_ends_of_the_range_are_finite() {
    fn test<T: Sample<ComplexOf: Sample, RealPart: Sample>>() {
        for scale in [T::RealPart::max_value(), T::RealPart::min_positive_value()] {
            let a = [scale, num_traits::zero(), num_traits::zero(), scale].map(|x| {
                let x = num_traits::ToPrimitive::to_f64(&x).unwrap() / 4.0;
                T::of(x, 0.0)
            });
            let found = svd(true, JOBS[0], 2, 2, &a);
            assert!(found.info == 0 && found.s.iter().all(|&s| s == a[0].re()), "{a:?}: {:?}", found.s);
            let (info, w, _) = eigh(SIDES[0], Uplo::Lower, 2, &a);
            let near = |w: T::RealPart| (w.wide().re / a[0].wide().re - 1.0).abs() <= 2.0 * T::EPS;
            assert!(info == 0 && w.iter().all(|&w| near(w)), "{a:?}: {w:?}");
            let found = schur(Vectors::Compute, 2, &a);
            assert!(found.info == 0 && found.w[0].iter().all(|&w| w == a[0]));
            let found = eig(SIDES[0], SIDES[0], 2, &a);
            assert!(found.info == 0 && found.w.iter().all(|w| w.re() == a[0].re()));
        }
    }
    for_each_scalar!(test);
}
