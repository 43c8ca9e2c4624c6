//! The kernels for Hessenberg and tridiagonal forms, and for products with Q, on every set of instructions.

use num_traits::Float;
use oxidax_kernels::lapack::{Library, Ormqr, OwnedWorkspace, Side, Uplo};
use oxidax_kernels::small::{Instructions, Small};

use crate::sample::{Matrix, Random, Sample, bits, hessenberg, tridiagonal, within};
use crate::sample_systems::reflectors;
use crate::small::kernels;

/// One before, at and past whole vectors and fours of columns, and the largest.
const ORDERS: [usize; 16] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 65, 130, 256];

fn poison<T: Float>(length: usize) -> Vec<T> {
    vec![T::nan(); length]
}

fn gehrd<T: Small>(on: Instructions, n: usize, a: &[T]) -> (Vec<T>, Vec<T>) {
    let kernels = kernels::<T>(&on);
    let (mut a, mut tau) = (a.to_vec(), poison(n.saturating_sub(1)));
    kernels.gehrd(n, &mut a, &mut tau, &mut poison(kernels.gehrd_work(n).expect("a size for these kernels")));
    (a, tau)
}

/// `a`, `d`, `e` and `tau`.
fn sytrd<T: Small>(on: Instructions, uplo: Uplo, n: usize, a: &[T]) -> [Vec<T>; 4] {
    let kernels = kernels::<T>(&on);
    let beside = n.saturating_sub(1);
    let [mut a, mut d, mut e, mut tau] = [a.to_vec(), poison(n), poison(beside), poison(beside)];
    let mut work = poison(kernels.sytrd_work(n).expect("a size for these kernels"));
    kernels.sytrd(uplo, &mut a, &mut d, &mut e, &mut tau, &mut work);
    [a, d, e, tau]
}

#[test]
fn hessenberg_forms_are_similar_to_the_matrix() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        for n in ORDERS {
            let a = Random::new(n).matrix::<T>(n, n);
            let (reduced, tau) = gehrd(on, n, &a);
            let (q, form) = hessenberg(n, &reduced, &tau);
            within(4.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(n)), (on, n));
            within(4.0, q.times(&form).times(&q.adjoint()).distance::<T>(&Matrix::of(n, n, &a)), (on, n));
        }
    }
    for on in Instructions::all() {
        test::<f32>(on);
        test::<f64>(on);
    }
}

#[test]
fn tridiagonal_forms_are_similar_to_the_matrix_and_of_one_triangle() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        for (n, uplo) in ORDERS.into_iter().flat_map(|n| [(n, Uplo::Lower), (n, Uplo::Upper)]) {
            let whole = Random::new(n).hermitian::<T>(n);
            let stored = |x: usize| (uplo == Uplo::Lower) == (x % n >= x / n) || x % n == x / n;
            let mut a = whole.clone();
            (0..n * n).filter(|&x| !stored(x)).for_each(|x| a[x] = <T as Float>::nan());
            let [a, d, e, tau] = sytrd(on, uplo, n, &a);
            assert!((0..n * n).all(|x| stored(x) || a[x].is_nan()), "{on:?} {n} {uplo:?}");
            // The form is in the matrix too, as LAPACK has it.
            let beside = |i: usize| if uplo == Uplo::Lower { i * n + i + 1 } else { (i + 1) * n + i };
            assert!((0..n).all(|i| a[i * (n + 1)] == d[i]) && (1..n).all(|i| a[beside(i - 1)] == e[i - 1]));
            let (q, form) = tridiagonal(uplo, n, &a, [&d, &e], &tau);
            within(4.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(n)), (on, n, uplo));
            let distance = q.times(&form).times(&q.adjoint()).distance::<T>(&Matrix::of(n, n, &whole));
            within(4.0, distance, (on, n, uplo));
        }
    }
    for on in Instructions::all() {
        test::<f32>(on);
        test::<f64>(on);
    }
}

#[test]
fn products_with_q_are_those_of_lapack() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        for (m, n) in [(4, 1), (5, 3), (8, 8), (9, 20), (33, 2), (33, 40), (64, 65), (130, 7), (256, 256)] {
            for (k, transpose) in [4, 7, 8, m].into_iter().flat_map(|k| [(k, true), (k, false)]) {
                if k > m {
                    continue;
                }
                let (a, tau, _) = reflectors::<T>(m, k, m + n);
                let c = Random::new(n).matrix::<T>(m, n);
                let (kernels, mut found, mut expected) = (kernels::<T>(&on), c.clone(), c);
                let mut work = poison(kernels.ormqr_work(m, n, k).expect("a shape for these kernels"));
                kernels.ormqr(transpose, [m, n], &a, &tau, &mut found, &mut work);
                let plan = Ormqr::on(Library::openblas(), Side::Left, transpose, [m, n], k).unwrap();
                plan.run(&a, &tau, &mut expected, OwnedWorkspace::new(plan.workspace()).lend());
                let distance = Matrix::of(m, n, &found).distance::<T>(&Matrix::of(m, n, &expected));
                within(4.0, distance, (on, m, n, k, transpose));
            }
        }
    }
    for on in Instructions::all() {
        test::<f32>(on);
        test::<f64>(on);
    }
}

#[test]
fn columns_that_need_no_reflector_have_none() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        for n in [1, 3, 8, 33] {
            let mut random = Random::new(n);
            let banded: Vec<T> = (0..n * n)
                .map(|x| if (x % n).abs_diff(x / n) <= 1 { T::of(random.number(), 0.0) } else { T::zero() })
                .collect();
            let (reduced, tau) = gehrd(on, n, &banded);
            assert!(bits(&reduced) == bits(&banded) && tau.iter().all(|tau| *tau == T::zero()), "{on:?} {n}");
            let [reduced, d, e, tau] = sytrd(on, Uplo::Lower, n, &banded);
            assert!(bits(&reduced) == bits(&banded) && tau.iter().all(|tau| *tau == T::zero()), "{on:?} {n}");
            assert!((0..n).all(|i| d[i] == banded[i * n + i]) && (1..n).all(|i| e[i - 1] == banded[(i - 1) * n + i]));
        }
    }
    for on in Instructions::all() {
        test::<f32>(on);
        test::<f64>(on);
    }
}

#[test]
fn forms_of_what_is_near_the_ends_of_the_range_are_those_of_ordinary_numbers() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        for n in [3, 9, 40] {
            let a = Random::new(n).hermitian::<T>(n);
            // Powers of two, which change no digits.
            let (large, small) = (T::max_value().sqrt().log2().floor().exp2(), T::min_positive_value() / T::epsilon());
            for scale in [large, small * small.recip().sqrt().log2().floor().exp2() * T::epsilon()] {
                let scaled: Vec<T> = a.iter().map(|&x| x * scale).collect();
                let unscaled = |x: &[T]| x.iter().map(|&x| x / scale).collect::<Vec<_>>();
                let ([_, d, e, _], [_, found_d, found_e, _]) =
                    (sytrd(on, Uplo::Lower, n, &a), sytrd(on, Uplo::Lower, n, &scaled));
                for (expected, found) in [(d, found_d), (e, found_e)] {
                    let (found, size) = (unscaled(&found), expected.len());
                    let distance = Matrix::of(size, 1, &found).distance::<T>(&Matrix::of(size, 1, &expected));
                    within(50.0, distance, (on, n, scale));
                }
            }
        }
    }
    for on in Instructions::all() {
        test::<f32>(on);
        test::<f64>(on);
    }
}

#[test]
fn forms_let_nan_through() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        for n in [1, 2, 3, 40] {
            let nan = poison::<T>(n * n);
            let (reduced, tau) = gehrd(on, n, &nan);
            assert!((0..n * n).filter(|x| x % n <= x / n).all(|x| reduced[x].is_nan()), "{on:?} {n}");
            assert!(tau.iter().take(n.saturating_sub(2)).all(|x| x.is_nan()), "{on:?} {n}: {tau:?}");
            let [_, d, e, tau] = sytrd(on, Uplo::Upper, n, &nan);
            assert!(d.iter().chain(&e).all(|x| x.is_nan()), "{on:?} {n}");
            assert!(tau.iter().skip(1).all(|x| x.is_nan()), "{on:?} {n}: {tau:?}");
        }
    }
    for on in Instructions::all() {
        test::<f32>(on);
        test::<f64>(on);
    }
}
