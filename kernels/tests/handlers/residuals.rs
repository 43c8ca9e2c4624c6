//! Residuals of every target over types, shapes and batches, in units of eps.

use num_traits::ToPrimitive;
use oxidax::testing::Pool;
use oxidax_kernels::lapack::{SvdJob, Uplo, Vectors};

use crate::sample::{Matrix, SHAPES, Wide, within};
use crate::targets::{Memory, Op, Outcome, Problem, Target};
use crate::{for_each_scalar, is_memcheck};

/// Batches of no axes, no elements, one and many.
pub const BATCHES: &[&[usize]] = &[&[], &[0], &[1], &[2, 0], &[2, 2]];
const FEW: &[&[usize]] = &[&[], &[2]];
pub const ORDERS: &[usize] = &[0, 1, 2, 3, 8, 33, 65, 129];
const ZERO: Wide = Wide::new(0.0, 0.0);

/// Calls a target for every batch, in shared and in separate memory, and `check` for every matrix.
pub fn every_batch<T: Target>(op: Op, m: usize, n: usize, check: impl Fn(&Problem<T>, &Outcome, usize)) {
    // Most of the time would be the residuals': valgrind sees larger matrices in `bounds`.
    if is_memcheck() && m.max(n) > 65 {
        return;
    }
    let problem = Problem::random(op, m, n, 4);
    let batches = if is_memcheck() { FEW } else { BATCHES };
    for (&batch, memory) in batches.iter().zip([Memory::Shared, Memory::Apart].into_iter().cycle()) {
        let problem = problem.part(0..batch.iter().product());
        let outcome = problem.call(batch, memory, Pool::None);
        for i in 0..problem.a.len() {
            if let Some(info) = op.info::<T>() {
                assert_eq!(outcome.of::<i32>(info, i), [0], "{op:?} {m} x {n} in {batch:?}");
            }
            check(&problem, &outcome, i);
        }
    }
}

#[test]
fn cholesky_factors_multiply_to_the_matrix_and_leave_the_other_triangle() {
    fn test<T: Target>() {
        for (&n, uplo) in ORDERS.iter().flat_map(|n| [(n, Uplo::Lower), (n, Uplo::Upper)]) {
            every_batch::<T>(Op::Potrf(uplo), n, n, |problem, outcome, i| {
                let (a, factor) = (&problem.a[i], outcome.of::<T>(0, i));
                let is_wanted = |row, column| if uplo == Uplo::Lower { row >= column } else { row <= column };
                for (x, (now, before)) in factor.iter().zip(a).enumerate() {
                    assert!(is_wanted(x % n, x / n) || now.bits() == before.bits(), "{uplo:?} {n}: {x} was written");
                }
                let factor = Matrix::of(n, n, &factor).map(|i, j, x| if is_wanted(i, j) { x } else { ZERO });
                let adjoint = factor.adjoint();
                let product = if uplo == Uplo::Lower { factor.times(&adjoint) } else { adjoint.times(&factor) };
                within(2.0, product.distance::<T>(&Matrix::of(n, n, a)), (uplo, n));
            });
        }
    }
    for_each_scalar!(test);
}

#[test]
fn lu_factors_multiply_to_the_matrix() {
    fn test<T: Target>() {
        for &(m, n) in SHAPES {
            every_batch::<T>(Op::Getrf, m, n, |problem, outcome, i| {
                let (lu, k) = (Matrix::of(m, n, &outcome.of::<T>(0, i)), m.min(n));
                let lower = Matrix::from_fn(m, k, |i, j| match i.cmp(&j) {
                    std::cmp::Ordering::Less => ZERO,
                    std::cmp::Ordering::Equal => Wide::new(1.0, 0.0),
                    std::cmp::Ordering::Greater => lu.at(i, j),
                });
                let upper = Matrix::from_fn(k, n, |i, j| if i <= j { lu.at(i, j) } else { ZERO });
                let mut product = lower.times(&upper);
                for (row, &pivot) in outcome.of::<i32>(1, i).iter().enumerate().rev() {
                    assert!((row as i32 + 1..=m as i32).contains(&pivot), "{m} x {n}: pivot {row} is {pivot}");
                    for j in 0..n {
                        product.data.swap(j * m + row, j * m + pivot as usize - 1);
                    }
                }
                within(4.0, product.distance::<T>(&Matrix::of(m, n, &problem.a[i])), (m, n));
            });
        }
    }
    for_each_scalar!(test);
}

#[test]
fn q_is_orthonormal_and_q_times_r_is_the_matrix() {
    fn test<T: Target>() {
        for &(m, n) in SHAPES {
            let k = m.min(n);
            every_batch::<T>(Op::Geqrf, m, n, |problem, outcome, i| {
                let (packed, tau) = (outcome.of::<T>(0, i), outcome.of::<T>(1, i));
                let r = Matrix::of(m, n, &packed);
                let r = Matrix::from_fn(k, n, |i, j| if i <= j { r.at(i, j) } else { ZERO });
                let reflectors =
                    Problem { op: Op::Orgqr(k), m, n: k, a: vec![packed[..m * k].to_vec()], rest: vec![tau] };
                let q = Matrix::of(m, k, &reflectors.call(&[], Memory::Shared, Pool::None).of::<T>(0, 0));
                within(4.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(k)), (m, n));
                within(2.0, q.times(&r).distance::<T>(&Matrix::of(m, n, &problem.a[i])), (m, n));
            });
        }
    }
    for_each_scalar!(test);
}

#[test]
fn products_of_reflectors_are_orthonormal_whatever_their_number() {
    fn test<T: Target>() {
        for &(m, n) in SHAPES.iter().filter(|(m, n)| m >= n) {
            for k in [0, n / 2, n] {
                every_batch::<T>(Op::Orgqr(k), m, n, |_, outcome, i| {
                    let q = Matrix::of(m, n, &outcome.of::<T>(0, i));
                    within(4.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(n)), (m, n, k));
                    assert!(k > 0 || q.data == Matrix::identity(m).columns(n).data, "no reflectors, no identity");
                });
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn singular_vectors_are_orthonormal_and_multiply_to_the_matrix() {
    fn test<T: Target>() {
        let ops = [Op::Gesdd, Op::Gesvd].into_iter().flat_map(|op| [(op, SvdJob::All), (op, SvdJob::Some)]);
        for (&(m, n), (op, job)) in SHAPES.iter().flat_map(|shape| ops.clone().map(move |op| (shape, op))) {
            let k = m.min(n);
            every_batch::<T>(op(job), m, n, |problem, outcome, i| {
                let s = outcome.of::<T::RealPart>(1, i);
                assert!(s.is_sorted_by(|x, y| x >= y), "{job:?} {m} x {n}");
                let (columns, rows) = if job == SvdJob::All { (m, n) } else { (k, k) };
                let u = Matrix::of(m, columns, &outcome.of::<T>(2, i));
                let v = Matrix::of(rows, n, &outcome.of::<T>(3, i)).adjoint();
                within(5.0, u.adjoint().times(&u).distance::<T>(&Matrix::identity(columns)), (job, m, n));
                within(5.0, v.adjoint().times(&v).distance::<T>(&Matrix::identity(rows)), (job, m, n));
                let scaled = u.columns(k).map(|_, j, x| x * s[j].to_f64().unwrap());
                let product = scaled.times(&v.columns(k).adjoint());
                within(5.0, product.distance::<T>(&Matrix::of(m, n, &problem.a[i])), (job, m, n));
            });
        }
    }
    for_each_scalar!(test);
}

#[test]
fn singular_values_alone_are_those_with_vectors() {
    fn test<T: Target>() {
        for (&(m, n), op) in SHAPES.iter().flat_map(|shape| [(shape, Op::Gesdd as fn(_) -> _), (shape, Op::Gesvd)]) {
            let k = m.min(n);
            let with = Problem::<T>::random(op(SvdJob::Some), m, n, 4).call(&[4], Memory::Shared, Pool::None);
            every_batch::<T>(op(SvdJob::None), m, n, |_, outcome, i| {
                let column = |s: Vec<T::RealPart>| Matrix::of(k, 1, &s);
                let (alone, with) = (column(outcome.of(1, i)), column(with.of(1, i)));
                within(5.0, alone.distance::<T>(&with), (m, n));
                let vectors = [outcome.of::<T>(2, i), outcome.of::<T>(3, i)].concat();
                assert!(vectors.iter().all(|x| *x == T::zero()), "vectors of no job are zeros");
            });
        }
    }
    for_each_scalar!(test);
}

#[test]
fn eigenvectors_are_scaled_by_the_matrix() {
    fn test<T: Target>() {
        use Vectors::{Compute, Skip};
        for (&n, sides) in
            ORDERS.iter().flat_map(|n| [(n, (Compute, Compute)), (n, (Skip, Compute)), (n, (Compute, Skip))])
        {
            every_batch::<T>(Op::Geev(sides.0, sides.1), n, n, |problem, outcome, i| {
                let (w, first): (Vec<Wide>, usize) = if T::COMPLEX {
                    (Matrix::of(n, 1, &outcome.of::<T>(0, i)).data, 1)
                } else {
                    let [re, im] = [0, 1].map(|k| Matrix::of(n, 1, &outcome.of::<T>(k, i)).data);
                    (re.iter().zip(&im).map(|(re, im)| Wide::new(re.re, im.re)).collect(), 2)
                };
                let a = Matrix::of(n, n, &problem.a[i]);
                let vectors = |k| Matrix::of(n, n, &outcome.of::<T::ComplexOf>(k, i));
                let sides = [(sides.0, a.adjoint(), true), (sides.1, a, false)];
                for ((side, a, conjugate), v) in sides.into_iter().zip([vectors(first), vectors(first + 1)]) {
                    if side == Skip {
                        assert!(v.data.iter().all(|&x| x == ZERO), "skipped vectors are zeros");
                        continue;
                    }
                    for column in v.data.chunks_exact(n.max(1)) {
                        let length = column.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
                        within(5.0 * (n as f64).sqrt(), (length - 1.0).abs() / T::EPS, n);
                    }
                    let scaled = v.map(|_, j, x| x * if conjugate { w[j].conj() } else { w[j] });
                    // Relative to the matrix, not to the product.
                    let difference = a.times(&v).distance::<T>(&scaled) * scaled.norm();
                    within(5.0, if n == 0 { 0.0 } else { difference / a.norm() }, n);
                }
            });
        }
    }
    for_each_scalar!(test);
}
