//! Triangular and tridiagonal systems: residuals over types and shapes, singular ones, and what is neither read nor written.

use num_traits::Float;
use oxidax_kernels::lapack::{Diag, Gtsv, Side, Transpose, Triangle, Trsm, Uplo};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, SHAPES, Sample, bits, within};
use crate::sample_systems::{backward, product, triangles, triangular, tridiagonal};

#[test]
fn triangular_systems_are_solved_from_what_is_read() {
    fn test<T: Sample>() {
        for (&(m, n), triangle) in SHAPES.iter().flat_map(|shape| triangles().into_iter().map(move |t| (shape, t))) {
            let a = triangular(triangle, triangle.order(m, n), m + n, T::NAN);
            let b = Random::new(n + 1).matrix::<T>(m, n);
            let mut x = b.clone();
            Trsm::new(triangle, m, n).unwrap().run(&a, &mut x);
            within(2.0, product(triangle, m, n, &a, &x).distance::<T>(&Matrix::of(m, n, &b)), (triangle, m, n));
        }
    }
    for_each_scalar!(test);
}

#[test]
fn a_zero_on_the_diagonal_divides() {
    fn test<T: Sample>() {
        for n in [2, 33] {
            let triangle =
                Triangle { side: Side::Left, uplo: Uplo::Lower, transpose: Transpose::No, diag: Diag::NonUnit };
            let (mut a, mut b) = (vec![T::zero(); n * n], vec![T::one(); n]);
            a.iter_mut().step_by(n + 1).skip(1).for_each(|x| *x = T::one());
            Trsm::new(triangle, n, 1).unwrap().run(&a, &mut b);
            assert!(!b[0].is_finite(), "{n}: {:?}", b[0]);
        }
    }
    for_each_scalar!(test);
}

#[test]
fn tridiagonal_systems_are_solved_with_swaps() {
    fn test<T: Sample>() {
        for (n, k) in [0, 1, 2, 3, 8, 33, 129].into_iter().flat_map(|n| [(n, 0), (n, 1), (n, 3)]) {
            for seed in 0..5 {
                let (mut diagonals, a) = tridiagonal::<T>(n, seed);
                let b = Random::new(seed + 9).matrix::<T>(n, k);
                if n > 0 {
                    diagonals[0][0] = T::NAN;
                    diagonals[2][n - 1] = T::NAN;
                }
                let ([dl, d, du], mut x) = (&mut diagonals, b.clone());
                assert_eq!(Gtsv::new(n, k).unwrap().run(dl, d, du, &mut x), 0);
                within(4.0, backward::<T>(&a, &Matrix::of(n, k, &x), &Matrix::of(n, k, &b)), (n, k, seed));
                assert!(n == 0 || (dl[0].re().is_nan() && du[n - 1].re().is_nan()), "the ends were written");
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn a_tridiagonal_system_tells_the_pivot_that_is_zero() {
    fn test<T: Sample>() {
        for (n, at) in [(1, 0), (2, 1), (7, 0), (7, 3), (7, 6)] {
            let [mut dl, mut du] = [(); 2].map(|()| vec![T::zero(); n]);
            let (mut d, mut b) = (vec![T::one(); n], vec![T::one(); 2 * n]);
            d[at] = T::zero();
            assert_eq!(Gtsv::new(n, 2).unwrap().run(&mut dl, &mut d, &mut du, &mut b), at as i32 + 1);
        }
    }
    for_each_scalar!(test);
}

#[test]
fn systems_let_nan_through() {
    fn test<T: Sample>() {
        for n in [1, 4, 33] {
            let ([mut dl, mut d, mut du], _) = tridiagonal::<T>(n, 0);
            d[n - 1] = T::NAN;
            let mut b = vec![T::one(); n];
            assert_eq!(Gtsv::new(n, 1).unwrap().run(&mut dl, &mut d, &mut du, &mut b), 0);
            assert!(b.iter().any(|x| !x.is_finite()), "{n}: gtsv");
            for triangle in triangles() {
                let a = triangular(triangle, n, 1, T::zero());
                let mut b = vec![T::one(); n * n];
                b[n * n - 1] = T::NAN;
                Trsm::new(triangle, n, n).unwrap().run(&a, &mut b);
                assert!(b.iter().any(|x| !x.is_finite()), "{n}: trsm, {triangle:?}");
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn a_system_of_one_right_hand_side_is_that_of_several() {
    fn test<T: Sample>() {
        // In LAPACK's and BLAS's code each is a case of its own.
        let n = 20;
        let (diagonals, _) = tridiagonal::<T>(n, 3);
        let b = Random::new(5).matrix::<T>(n, 4);
        let solve = |b: &[T]| {
            let ([dl, d, du], mut x) = (&mut diagonals.clone(), b.to_vec());
            assert_eq!(Gtsv::new(n, b.len() / n).unwrap().run(dl, d, du, &mut x), 0);
            x
        };
        let several = solve(&b);
        for (b, x) in b.chunks_exact(n).zip(several.chunks_exact(n)) {
            assert_eq!(bits(&solve(b)), bits(x));
        }
    }
    for_each_scalar!(test);
}
