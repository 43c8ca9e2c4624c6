//! Residuals of the targets that reduce a square matrix: to its eigenvalues, a triangle, or a few diagonals.

use num_traits::ToPrimitive;
use oxidax::testing::Pool;
use oxidax_kernels::lapack::{Uplo, Vectors};

use crate::for_each_scalar;
use crate::residuals::{ORDERS, every_batch};
use crate::sample::{Matrix, Wide, hessenberg, is_in, tridiagonal, within};
use crate::targets::{Memory, Op, Problem, Target};

const TRIANGLES: [Uplo; 2] = [Uplo::Lower, Uplo::Upper];

#[test]
fn eigenvectors_of_a_hermitian_matrix_are_orthonormal_and_multiply_to_it() {
    fn test<T: Target>() {
        for (&n, uplo) in ORDERS.iter().flat_map(|n| TRIANGLES.map(|uplo| (n, uplo))) {
            every_batch::<T>(Op::Syevd(Vectors::Compute, uplo), n, n, |problem, outcome, i| {
                let (v, w) = (Matrix::of(n, n, &outcome.of::<T>(0, i)), outcome.of::<T::RealPart>(1, i));
                assert!(w.is_sorted(), "{uplo:?} {n}");
                within(5.0, v.adjoint().times(&v).distance::<T>(&Matrix::identity(n)), (uplo, n));
                let product = v.map(|_, j, x| x * w[j].to_f64().unwrap()).times(&v.adjoint());
                within(5.0, product.distance::<T>(&Matrix::of(n, n, &problem.a[i])), (uplo, n));
            });
            let with = Problem::<T>::random(Op::Syevd(Vectors::Compute, uplo), n, n, 4);
            let with = with.call(&[4], Memory::Shared, Pool::None);
            every_batch::<T>(Op::Syevd(Vectors::Skip, uplo), n, n, |_, outcome, i| {
                assert!(outcome.of::<T>(0, i).iter().all(|x| *x == T::zero()), "skipped vectors are zeros");
                let [alone, with] = [outcome, &with].map(|found| Matrix::of(n, 1, &found.of::<T::RealPart>(1, i)));
                within(5.0, alone.distance::<T>(&with), (uplo, n));
            });
        }
    }
    for_each_scalar!(test);
}

#[test]
fn schur_vectors_are_orthonormal_and_multiply_to_the_matrix() {
    fn test<T: Target>() {
        for (&n, job) in ORDERS.iter().flat_map(|n| [(n, Vectors::Compute), (n, Vectors::Skip)]) {
            every_batch::<T>(Op::Gees(job), n, n, |problem, outcome, i| {
                let (t, vs) = (Matrix::of(n, n, &outcome.of::<T>(0, i)), Matrix::of(n, n, &outcome.of::<T>(1, i)));
                let below = if T::COMPLEX { 0 } else { 1 };
                let zero = Wide::new(0.0, 0.0);
                assert!((0..n * n).all(|x| x % n <= x / n + below || t.data[x] == zero), "{n}: not a Schur form");
                let values = outcome.of::<T>(2, i);
                assert!((0..n).all(|j| values[j].wide().re == t.at(j, j).re), "{n}: values are not on the diagonal");
                let selected = if T::COMPLEX { 3 } else { 4 };
                assert_eq!(outcome.of::<i32>(selected, i), [0]);
                if job == Vectors::Skip {
                    return assert!(vs.data.iter().all(|&x| x == zero), "skipped vectors are zeros");
                }
                within(5.0, vs.adjoint().times(&vs).distance::<T>(&Matrix::identity(n)), n);
                let product = vs.times(&t).times(&vs.adjoint());
                within(5.0, product.distance::<T>(&Matrix::of(n, n, &problem.a[i])), n);
            });
        }
    }
    for_each_scalar!(test);
}

#[test]
fn the_hessenberg_form_is_similar_to_the_matrix() {
    fn test<T: Target>() {
        for &n in ORDERS {
            every_batch::<T>(Op::Gehrd, n, n, |problem, outcome, i| {
                let (q, form) = hessenberg(n, &outcome.of::<T>(0, i), &outcome.of::<T>(1, i));
                within(4.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(n)), n);
                let product = q.times(&form).times(&q.adjoint());
                within(4.0, product.distance::<T>(&Matrix::of(n, n, &problem.a[i])), n);
            });
        }
    }
    for_each_scalar!(test);
}

#[test]
fn the_tridiagonal_form_is_similar_to_the_matrix_and_leaves_the_other_triangle() {
    fn test<T: Target>() {
        for (&n, uplo) in ORDERS.iter().flat_map(|n| TRIANGLES.map(|uplo| (n, uplo))) {
            every_batch::<T>(Op::Sytrd(uplo), n, n, |problem, outcome, i| {
                let packed = outcome.of::<T>(0, i);
                for (x, (now, before)) in packed.iter().zip(&problem.a[i]).enumerate() {
                    assert!(is_in(uplo, n, x) || now.bits() == before.bits(), "{uplo:?} {n}: {x} was written");
                }
                let [d, e] = [1, 2].map(|k| outcome.of::<T::RealPart>(k, i));
                let (q, form) = tridiagonal(uplo, n, &packed, [&d, &e], &outcome.of::<T>(3, i));
                within(4.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(n)), (uplo, n));
                let product = q.times(&form).times(&q.adjoint());
                within(4.0, product.distance::<T>(&Matrix::of(n, n, &problem.a[i])), (uplo, n));
            });
        }
    }
    for_each_scalar!(test);
}
