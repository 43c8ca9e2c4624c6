//! Residuals of the targets that solve systems, multiply by Q or choose pivots, over types, shapes and batches.

use oxidax::testing::Pool;

use crate::for_each_scalar;
use crate::residuals::every_batch;
use crate::sample::{Matrix, Random, SHAPES, Sample, within};
use crate::sample_systems::{backward, matrix_of, pivoted_residual, product, triangles, whole_q};
use crate::targets::{Memory, Op, Problem, Target};

#[test]
fn solutions_of_triangular_systems_multiply_to_the_right_hand_sides() {
    fn test<T: Target>() {
        for (&(m, n), triangle) in SHAPES.iter().flat_map(|shape| triangles().into_iter().map(move |t| (shape, t))) {
            every_batch::<T>(Op::Trsm(triangle), m, n, |problem, outcome, i| {
                let (a, b) = (scaled(&problem.rest[i], triangle.order(m, n)), Matrix::of(m, n, &problem.a[i]));
                let x = outcome.of::<T>(0, i);
                let found = product(triangle, m, n, &problem.rest[i], &x);
                // A diagonal of ones is small beside the other elements here.
                let allowed = b.norm() + a * Matrix::of(m, n, &x).norm();
                let difference = found.map(|i, j, x| x - b.at(i, j)).norm();
                within(2.0, if difference == 0.0 { 0.0 } else { difference / (T::EPS * allowed) }, (triangle, m, n));
            });
        }
    }
    for_each_scalar!(test);
}

/// The norm of a square matrix.
fn scaled<T: Sample>(a: &[T], order: usize) -> f64 {
    Matrix::of(order, order, a).norm()
}

/// The diagonals of a problem, and the matrix of them.
fn diagonals<T: Target>(problem: &Problem<T>, i: usize) -> ([Vec<T>; 3], Matrix) {
    let n = problem.m;
    let diagonals = std::array::from_fn(|k| problem.rest[i][k * n..(k + 1) * n].to_vec());
    let matrix = matrix_of(&diagonals);
    (diagonals, matrix)
}

#[test]
fn solutions_of_tridiagonal_systems_multiply_to_the_right_hand_sides() {
    fn test<T: Target>() {
        for (n, k) in [0, 1, 2, 3, 8, 33, 65].into_iter().flat_map(|n| [(n, 0), (n, 1), (n, 4)]) {
            for (op, result) in [(Op::Gtsv, 3), (Op::Perturbed, 0)] {
                every_batch::<T>(op, n, k, |problem, outcome, i| {
                    let (_, a) = diagonals(problem, i);
                    let [x, b] = [&outcome.of::<T>(result, i), &problem.a[i]].map(|x| Matrix::of(n, k, x));
                    within(4.0, backward::<T>(&a, &x, &b), (op, n, k));
                });
            }
        }
    }
    for_each_scalar!(test);
}

/// The solution of one perturbed system.
fn perturbed<T: Target>(diagonals: [Vec<T>; 3], b: Vec<T>) -> Vec<T> {
    let (n, k) = (diagonals[0].len(), b.len() / diagonals[0].len());
    let problem = Problem { op: Op::Perturbed, m: n, n: k, a: vec![b], rest: vec![diagonals.concat()] };
    problem.call(&[], Memory::Shared, Pool::None).of(0, 0)
}

#[test]
fn singular_systems_have_solutions_that_are_finite_and_large() {
    fn test<T: Target>() {
        let number = |x: f64| T::of(x, 0.0);
        for n in [1, 2, 3, 20] {
            // Nothing but zeros; a zero row; and -1, 2, -1 with an eigenvalue for 2.
            let zeros = vec![T::zero(); n];
            let x = perturbed([zeros.clone(), zeros.clone(), zeros.clone()], vec![T::one(); n]);
            assert!(x.iter().all(|x| x.is_finite() && *x != T::zero()), "{n}: {x:?}");
            let mut d = vec![T::one(); n];
            d[n / 2] = T::zero();
            let x = perturbed([zeros.clone(), d, zeros.clone()], vec![T::one(); 2 * n]);
            let large = |i: usize| x[i].wide().norm() > 0.1 / T::EPS;
            assert!(large(n / 2) && large(n + n / 2) && x.iter().all(|x| x.is_finite()), "{n}: {x:?}");
            let eigenvalue = 2.0 * (std::f64::consts::PI / (n as f64 + 1.0)).cos();
            let (off, d) = (vec![number(-1.0); n], vec![number(eigenvalue); n]);
            let b = Random::new(n).matrix::<T>(n, 1);
            let x = perturbed([off.clone(), d.clone(), off.clone()], b.clone());
            // Inverse iteration: a vector that the matrix all but removes.
            let (a, x) = (matrix_of(&[off.clone(), d, off]), Matrix::of(n, 1, &x));
            assert!(x.norm().is_finite() && a.times(&x).norm() <= 50.0 * n as f64 * T::EPS * x.norm(), "{n}: {x:?}");
        }
    }
    for_each_scalar!(test);
}

#[test]
fn pivots_are_perturbed_only_as_far_as_nothing_overflows() {
    use num_traits::Float;
    fn test<T: Target>() {
        let tiny = T::RealPart::min_positive_value();
        let solve = |pivot: T, b: T| perturbed([vec![T::zero()], vec![pivot], vec![T::zero()]], vec![b])[0];
        // Of a normal and of a subnormal pivot, quotients that are numbers.
        let subnormal = tiny * T::RealPart::epsilon();
        for pivot in [tiny, subnormal] {
            let x = solve(T::from(pivot), T::from(pivot));
            assert!((x.wide() - 1.0).norm() <= 4.0 * T::EPS, "{pivot:?}: {x:?}");
        }
        for pivot in [T::zero(), T::from(subnormal), T::zero() - T::from(subnormal)] {
            let x = solve(pivot, T::one());
            assert!(x.is_finite() && x.wide().norm() > 1e30, "{pivot:?}: {x:?}");
        }
        // It keeps its sign.
        assert!(solve(T::zero() - T::from(subnormal), T::one()).wide().re < 0.0);
        let large = T::from(T::RealPart::max_value() / num_traits::NumCast::from(8).unwrap());
        assert!((solve(large, large).wide() - 1.0).norm() <= 4.0 * T::EPS);
        assert!(solve(T::NAN, T::one()).re().is_nan() && solve(T::one(), T::NAN).re().is_nan());
    }
    for_each_scalar!(test);
}

#[test]
fn products_with_q_are_those_with_its_matrix() {
    fn test<T: Target>() {
        for (&(m, n), form) in SHAPES.iter().flat_map(|shape| (0..4).map(move |form| (shape, form))) {
            let (left, transpose) = (form < 2, form % 2 == 1);
            let order = if left { m } else { n };
            for k in [0, order / 2, order] {
                every_batch::<T>(Op::Ormqr(k, left, transpose), m, n, |problem, outcome, i| {
                    let (tau, a) = problem.rest[i].split_at(k);
                    let (q, c) = (whole_q(order, a, tau), Matrix::of(m, n, &problem.a[i]));
                    let q = if transpose { q.adjoint() } else { q };
                    let expected = if left { q.times(&c) } else { c.times(&q) };
                    let found = Matrix::of(m, n, &outcome.of::<T>(0, i));
                    within(4.0, found.distance::<T>(&expected), (left, transpose, m, n, k));
                });
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn pivoted_factors_multiply_to_the_columns_in_their_order() {
    fn test<T: Target>() {
        for &(m, n) in SHAPES {
            every_batch::<T>(Op::Geqp3, m, n, |problem, outcome, i| {
                let (qr, pivots, tau) = (outcome.of::<T>(0, i), outcome.of::<i32>(1, i), outcome.of::<T>(2, i));
                within(4.0, pivoted_residual(m, n, &problem.a[i], &qr, &pivots, &tau), (m, n));
            });
        }
    }
    for_each_scalar!(test);
}
