//! Input on which LAPACK hangs, crashes or invents numbers: NaN in every result, promptly, with info as jaxlib gives it.

use num_traits::Float;
use oxidax_kernels::lapack::{Eigenvectors, Lapack};

use crate::for_each_scalar;
use crate::iterative::{JOBS, SIDES, eig, svd};
use crate::sample::{Random, Sample, all_nan};

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
                let found = eig(side, Eigenvectors::Compute, n, a);
                assert_eq!(found.info, -4);
                assert!(all_nan(&found.w) && all_nan(&found.vl) && all_nan(&found.vr));
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn numbers_near_the_ends_of_the_range_are_finite() {
    fn test<T: Sample<ComplexOf: Sample>>() {
        for scale in [T::RealPart::max_value(), T::RealPart::min_positive_value()] {
            let a = [scale, num_traits::zero(), num_traits::zero(), scale].map(|x| {
                let x = num_traits::ToPrimitive::to_f64(&x).unwrap() / 4.0;
                T::of(x, 0.0)
            });
            let found = svd(true, JOBS[0], 2, 2, &a);
            assert!(found.info == 0 && found.s.iter().all(|&s| s == a[0].re()), "{a:?}: {:?}", found.s);
            let found = eig(SIDES[0], SIDES[0], 2, &a);
            assert!(found.info == 0 && found.w.iter().all(|w| w.re() == a[0].re()));
        }
    }
    for_each_scalar!(test);
}
