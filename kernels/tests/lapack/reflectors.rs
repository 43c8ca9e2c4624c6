//! Products with Q, and QR factors with column pivoting.

use num_traits::Float;
use oxidax_kernels::lapack::{Geqp3, Int, Lapack, Ormqr, OwnedWorkspace, Side};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, SHAPES, Sample, all_nan, bits, within};
use crate::sample_systems::{pivoted_residual, reflectors};

#[test]
fn products_with_q_are_those_with_its_matrix() {
    fn test<T: Sample>() {
        for &(m, n) in SHAPES {
            for (side, adjoint) in [Side::Left, Side::Right].into_iter().flat_map(|side| [(side, false), (side, true)])
            {
                let order = if side == Side::Left { m } else { n };
                for k in [0, order / 2, order] {
                    let (a, tau, q) = reflectors::<T>(order, k, m + n);
                    let c = Random::new(n + 3).matrix::<T>(m, n);
                    let ormqr = Ormqr::new(side, adjoint, [m, n], k).unwrap();
                    let mut found = c.clone();
                    ormqr.run(&a, &tau, &mut found, OwnedWorkspace::new(ormqr.workspace()).lend());
                    let (q, c) = (if adjoint { q.adjoint() } else { q }, Matrix::of(m, n, &c));
                    let expected = if side == Side::Left { q.times(&c) } else { c.times(&q) };
                    let distance = Matrix::of(m, n, &found).distance::<T>(&expected);
                    within(4.0, distance, (side, adjoint, m, n, k));
                }
            }
        }
    }
    for_each_scalar!(test);
}

/// Factors with pivoting.
fn factorise<T: Lapack>(m: usize, n: usize, a: &[T], mut pivots: Vec<Int>) -> (Vec<T>, Vec<Int>, Vec<T>) {
    let geqp3 = Geqp3::new(m, n).unwrap();
    let (mut qr, mut tau) = (a.to_vec(), vec![T::NAN; m.min(n)]);
    assert_eq!(geqp3.run(&mut qr, &mut pivots, &mut tau, OwnedWorkspace::new(geqp3.workspace()).lend()), 0);
    (qr, pivots, tau)
}

#[test]
fn pivoted_factors_multiply_to_the_columns_in_their_order() {
    fn test<T: Sample>() {
        // LAPACK takes blocks of columns where there are more than 128.
        for &(m, n) in SHAPES.iter().chain(&[(150, 140)]) {
            let a = Random::new(m * 3 + n).matrix::<T>(m, n);
            let (qr, pivots, tau) = factorise(m, n, &a, vec![0; n]);
            let mut sorted = pivots.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (1..=n as Int).collect::<Vec<_>>(), "{m} x {n}");
            within(4.0, pivoted_residual(m, n, &a, &qr, &pivots, &tau), (m, n));
            let diagonal: Vec<f64> = (0..m.min(n)).map(|i| qr[i * m + i].wide().norm()).collect();
            assert!(diagonal.is_sorted_by(|x, y| *x >= y * (1.0 - 50.0 * T::EPS)), "{m} x {n}: {diagonal:?}");
        }
    }
    for_each_scalar!(test);
}

#[test]
fn columns_that_are_to_be_in_front_stay_there() {
    fn test<T: Sample>() {
        let a = Random::new(4).matrix::<T>(6, 5);
        // Whatever they are: LAPACK takes no number but 0 for what it says.
        for given in [[0, 0, 7, 0, 1], [0, 0, Int::MIN, 0, Int::MAX], [0, 0, -1, 0, -1], [0, 0, 3, 0, 3]] {
            let (qr, pivots, tau) = factorise(6, 5, &a, given.to_vec());
            assert_eq!(pivots[..2], [3, 5]);
            within(4.0, pivoted_residual(6, 5, &a, &qr, &pivots, &tau), given);
        }
    }
    for_each_scalar!(test);
}

#[test]
fn a_matrix_of_low_rank_shows_it() {
    fn test<T: Sample>() {
        let (m, n, rank) = (20, 12, 4);
        let (x, y) = (Random::new(1).matrix::<T>(m, rank), Random::new(2).matrix::<T>(rank, n));
        let product = Matrix::of(m, rank, &x).times(&Matrix::of(rank, n, &y));
        let a: Vec<T> = product.data.iter().map(|x| T::of(x.re, x.im)).collect();
        let (qr, pivots, tau) = factorise(m, n, &a, vec![0; n]);
        within(4.0, pivoted_residual(m, n, &a, &qr, &pivots, &tau), ());
        let size = |i: usize| qr[i * m + i].wide().norm();
        assert!(size(rank) < 20.0 * T::EPS * size(0) && size(rank - 1) > 1e-3 * size(0));
    }
    for_each_scalar!(test);
}

#[test]
fn pivoted_factors_of_what_is_not_finite_are_nan_and_the_columns_in_order() {
    fn test<T: Sample>() {
        for (m, n) in [(1, 1), (3, 3), (4, 9), (9, 4), (33, 33)] {
            for bad in [T::NAN, T::INFINITY] {
                for mut a in [Random::new(n).matrix::<T>(m, n), vec![bad; m * n]] {
                    a[m * n - 1] = bad;
                    let (qr, pivots, tau) = factorise(m, n, &a, vec![0; n]);
                    assert!(all_nan(&qr) && all_nan(&tau), "{m} x {n}");
                    assert_eq!(pivots, (1..=n as Int).collect::<Vec<_>>());
                }
            }
        }
        let (_, pivots, _) = factorise(2, 5, &[T::NAN; 10], vec![0, 0, 7, 0, 1]);
        assert_eq!(pivots, [3, 5, 1, 4, 2], "those in front, each for the one that stood there");
    }
    for_each_scalar!(test);
}

#[test]
fn pivoted_factors_near_the_end_of_the_range_are_those_of_smaller_numbers() {
    fn test<T: Sample>() {
        let (m, n) = (5, 4);
        let a: Vec<T> = Random::new(8).matrix(m, n);
        let factor = T::from(T::RealPart::max_value() / num_traits::NumCast::from(4).unwrap());
        let large: Vec<T> = a.iter().map(|&x| x * factor).collect();
        let (qr, pivots, tau) = factorise(m, n, &a, vec![0; n]);
        let (large, large_pivots, large_tau) = factorise(m, n, &large, vec![0; n]);
        assert_eq!(pivots, large_pivots);
        let distance = |x: &[T], y: &[T]| Matrix::of(x.len(), 1, x).distance::<T>(&Matrix::of(y.len(), 1, y));
        within(4.0, distance(&large_tau, &tau), "tau");
        let back: Vec<T> = large
            .iter()
            .enumerate()
            .map(|(x, &y)| if x % m <= x / m { y * T::from(factor.re().recip()) } else { y })
            .collect();
        within(4.0, distance(&back, &qr), "r and the reflectors");
    }
    for_each_scalar!(test);
}

#[test]
fn scaling_changes_no_bits_of_what_needs_none() {
    let a = Random::new(8).matrix::<f64>(5, 4);
    let doubled: Vec<f64> = a.iter().map(|x| x * 2f64.powi(900)).collect();
    let ((qr, pivots, tau), (large, large_pivots, large_tau)) =
        (factorise(5, 4, &a, vec![0; 4]), factorise(5, 4, &doubled, vec![0; 4]));
    assert_eq!((pivots, bits(&tau)), (large_pivots, bits(&large_tau)));
    assert_eq!(large[15].to_bits(), (qr[15] * 2f64.powi(900)).to_bits());
}
