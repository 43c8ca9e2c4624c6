//! Factorisations without iteration: residuals over types and shapes, and info.

use oxidax_kernels::lapack::{Geqrf, Getrf, Int, Lapack, Orgqr, OwnedWorkspace, Potrf, Transpose, Trtrs, Uplo};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, SHAPES, Sample, Wide, all_nan, bits, within};

const ORDERS: &[usize] = &[0, 1, 2, 3, 16, 33, 65, 129];

fn is_wanted(uplo: Uplo, i: usize, j: usize) -> bool {
    if uplo == Uplo::Lower { i >= j } else { i <= j }
}

#[test]
fn cholesky_reads_and_writes_one_triangle() {
    fn test<T: Sample>() {
        for (&n, uplo) in ORDERS.iter().flat_map(|n| [(n, Uplo::Lower), (n, Uplo::Upper)]) {
            let full = Random::new(n).definite::<T>(n);
            let mut a = full.clone();
            for j in 0..n {
                for i in (0..n).filter(|&i| !is_wanted(uplo, i, j)) {
                    a[j * n + i] = T::NAN;
                }
            }
            let before = bits(&a);
            assert_eq!(Potrf::new(uplo, n).unwrap().run(&mut a), 0);
            for (x, (now, before)) in bits(&a).iter().zip(&before).enumerate() {
                assert!(is_wanted(uplo, x % n, x / n) || now == before, "{uplo:?} {n}: element {x} was written");
            }
            let zero = Wide::new(0.0, 0.0);
            let factor = Matrix::of(n, n, &a).map(|i, j, x| if is_wanted(uplo, i, j) { x } else { zero });
            let product =
                if uplo == Uplo::Lower { factor.times(&factor.adjoint()) } else { factor.adjoint().times(&factor) };
            within(2.0, product.distance::<T>(&Matrix::of(n, n, &full)), (uplo, n));
        }
    }
    for_each_scalar!(test);
}

#[test]
fn cholesky_tells_the_minor_that_is_not_definite() {
    fn test<T: Sample>() {
        let number = |x: f64| T::of(x, 0.0);
        for uplo in [Uplo::Lower, Uplo::Upper] {
            let info = |n: usize, mut a: Vec<T>| Potrf::new(uplo, n).unwrap().run(&mut a);
            assert_eq!(info(2, [1.0, 2.0, 2.0, 1.0].map(number).to_vec()), 2);
            assert_eq!(info(3, (0..9).map(|x| number(f64::from(x))).collect()), 1);
            assert_eq!(info(2, vec![T::NAN, T::zero(), T::zero(), T::one()]), 1);
            assert_eq!(info(2, vec![T::one(), T::NAN, T::NAN, T::one()]), 2);
            assert_eq!(info(2, vec![T::one(), T::zero(), T::zero(), T::NAN]), 2);
            assert_eq!(info(2, vec![T::INFINITY, T::zero(), T::zero(), T::one()]), 0);
            for n in [65, 129] {
                let mut a = Random::new(n).definite::<T>(n);
                a[(n - 3) * n + n - 3] = T::NAN;
                assert_eq!(info(n, a), n as Int - 2);
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn cholesky_takes_the_diagonal_for_real() {
    use oxidax::Complex;
    let mut a = [Complex::new(9.0, 5.0)];
    assert_eq!(Potrf::new(Uplo::Lower, 1).unwrap().run(&mut a), 0);
    assert_eq!(a[0], Complex::new(3.0, 0.0));
}

/// `l u` with the rows swapped back.
fn product_of_lu(m: usize, n: usize, lu: &Matrix, pivots: &[Int]) -> Matrix {
    let k = m.min(n);
    let lower = Matrix::from_fn(m, k, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => Wide::new(0.0, 0.0),
        std::cmp::Ordering::Equal => Wide::new(1.0, 0.0),
        std::cmp::Ordering::Greater => lu.at(i, j),
    });
    let upper = Matrix::from_fn(k, n, |i, j| if i <= j { lu.at(i, j) } else { Wide::new(0.0, 0.0) });
    let mut product = lower.times(&upper);
    for (i, &pivot) in pivots.iter().enumerate().rev() {
        for j in 0..n {
            product.data.swap(j * m + i, j * m + pivot as usize - 1);
        }
    }
    product
}

#[test]
fn lu_factors_multiply_to_the_matrix() {
    fn test<T: Sample>() {
        for &(m, n) in SHAPES {
            let a = Random::new(m * 7 + n).matrix::<T>(m, n);
            let (mut lu, mut pivots) = (a.clone(), vec![-7; m.min(n)]);
            assert_eq!(Getrf::new(m, n).unwrap().run(&mut lu, &mut pivots), 0);
            let product = product_of_lu(m, n, &Matrix::of(m, n, &lu), &pivots);
            within(4.0, product.distance::<T>(&Matrix::of(m, n, &a)), (m, n));
        }
    }
    for_each_scalar!(test);
}

#[test]
fn singular_matrices_have_lu_factors() {
    fn test<T: Sample>() {
        let two = Getrf::new(2, 2).unwrap();
        let mut pivots = [0; 2];
        let mut zero = [T::zero(); 4];
        assert_eq!(two.run(&mut zero, &mut pivots), 1);
        assert_eq!((zero, pivots), ([T::zero(); 4], [1, 2]));
        // Columns (1, 2) and (2, 4).
        let mut a = [1.0, 2.0, 2.0, 4.0].map(|x| T::of(x, 0.0));
        assert_eq!(two.run(&mut a, &mut pivots), 2);
        assert_eq!((a, pivots), ([2.0, 0.5, 4.0, 0.0].map(|x| T::of(x, 0.0)), [2, 2]));
    }
    for_each_scalar!(test);
}

#[test]
fn pivots_are_rows_whatever_the_matrix_holds() {
    fn test<T: Sample>() {
        for &(m, n) in SHAPES {
            for at in 0..3 {
                let mut a = Random::new(m + n).matrix::<T>(m, n);
                match at {
                    0 => a.fill(T::NAN),
                    1 => a.fill(T::INFINITY),
                    _ => a.iter_mut().step_by(3).for_each(|x| *x = T::NAN),
                }
                let mut pivots = vec![0; m.min(n)];
                assert!(Getrf::new(m, n).unwrap().run(&mut a, &mut pivots) >= 0);
                for (i, &pivot) in pivots.iter().enumerate() {
                    assert!((i as Int + 1..=m as Int).contains(&pivot), "{m} x {n}: pivot {i} is {pivot}");
                }
                assert!(a.is_empty() || a.iter().any(|x| !x.is_finite()), "{m} x {n}");
            }
        }
    }
    for_each_scalar!(test);
}

/// The reflectors and their factors.
fn factorise<T: Lapack>(m: usize, n: usize, a: &[T]) -> (Vec<T>, Vec<T>) {
    let geqrf = Geqrf::new(m, n).unwrap();
    let (mut qr, mut tau) = (a.to_vec(), vec![T::NAN; m.min(n)]);
    assert_eq!(geqrf.run(&mut qr, &mut tau, OwnedWorkspace::new(geqrf.workspace()).lend()), 0);
    (qr, tau)
}

#[test]
fn q_is_orthonormal_and_q_times_r_is_the_matrix() {
    fn test<T: Sample>() {
        for &(m, n) in SHAPES {
            let k = m.min(n);
            let a = Random::new(m * 5 + n).matrix::<T>(m, n);
            let (qr, tau) = factorise(m, n, &a);
            let r = Matrix::of(m, n, &qr);
            let r = Matrix::from_fn(k, n, |i, j| if i <= j { r.at(i, j) } else { Wide::new(0.0, 0.0) });
            // As many columns as the matrix has, and all m of them.
            for columns in [k, m] {
                let mut q = qr[..m * k].to_vec();
                q.resize(m * columns, T::NAN);
                let orgqr = Orgqr::new(m, columns, k).unwrap();
                assert_eq!(orgqr.run(&mut q, &tau, OwnedWorkspace::new(orgqr.workspace()).lend()), 0);
                let q = Matrix::of(m, columns, &q);
                within(2.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(columns)), (m, n, columns));
                within(2.0, q.columns(k).times(&r).distance::<T>(&Matrix::of(m, n, &a)), (m, n, columns));
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn without_reflectors_q_is_the_identity() {
    fn test<T: Sample>() {
        for (m, n) in [(1, 1), (4, 4), (65, 3)] {
            let mut q = vec![T::NAN; m * n];
            let orgqr = Orgqr::new(m, n, 0).unwrap();
            assert_eq!(orgqr.run(&mut q, &[], OwnedWorkspace::new(orgqr.workspace()).lend()), 0);
            assert_eq!(Matrix::of(m, n, &q).data, Matrix::identity(m).columns(n).data);
        }
    }
    for_each_scalar!(test);
}

#[test]
fn direct_routines_let_nan_through() {
    fn test<T: Sample>() {
        let (qr, tau) = factorise(3, 3, &[T::NAN; 9]);
        assert!(all_nan(&qr[6..7]) && !tau[0].is_finite());
    }
    for_each_scalar!(test);
}

#[test]
fn triangular_systems_are_solved_from_one_triangle() {
    fn test<T: Sample>() {
        for (&n, uplo) in ORDERS.iter().flat_map(|n| [(n, Uplo::Lower), (n, Uplo::Upper)]) {
            for transpose in [Transpose::No, Transpose::Plain, Transpose::Adjoint] {
                let mut random = Random::new(n + 1);
                let (full, b) = (random.definite::<T>(n), random.matrix::<T>(n, n));
                let triangle = |outside: T| -> Vec<T> {
                    (0..n * n).map(|x| if is_wanted(uplo, x % n, x / n) { full[x] } else { outside }).collect()
                };
                let mut x = b.clone();
                assert_eq!(Trtrs::new(uplo, transpose, n).unwrap().run(&triangle(T::NAN), &mut x), 0);
                let a = Matrix::of(n, n, &triangle(T::zero()));
                let a = match transpose {
                    Transpose::No => a,
                    Transpose::Plain => a.adjoint().map(|_, _, x| x.conj()),
                    Transpose::Adjoint => a.adjoint(),
                };
                let product = a.times(&Matrix::of(n, n, &x));
                within(4.0, product.distance::<T>(&Matrix::of(n, n, &b)), (uplo, transpose, n));
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn a_singular_triangle_leaves_the_right_hand_sides() {
    fn test<T: Sample>() {
        for first in [1.0, f64::NAN] {
            let a = [first, 0.0, 3.0, 0.0].map(|x| T::of(x, 0.0));
            let mut b = [1.0, 2.0, 3.0, 4.0].map(|x| T::of(x, 0.0));
            let before = b;
            assert_eq!(Trtrs::new(Uplo::Upper, Transpose::No, 2).unwrap().run(&a, &mut b), 2);
            assert_eq!(b, before);
        }
    }
    for_each_scalar!(test);
}
