//! Hermitian matrices: their tridiagonal form, eigenvalues and eigenvectors.

use num_traits::ToPrimitive;
use oxidax_kernels::lapack::{Int, OwnedWorkspace, Syevd, Sytrd, Uplo, Vectors};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, Sample, Wide, bits, is_in, tridiagonal, within};

const ORDERS: [usize; 9] = [0, 1, 2, 3, 8, 26, 33, 65, 129];
pub const TRIANGLES: [Uplo; 2] = [Uplo::Lower, Uplo::Upper];

/// With NaN outside of a triangle, and on the diagonal of a complex matrix in the part that does not count.
fn spoilt<T: Sample>(uplo: Uplo, n: usize, a: &[T]) -> Vec<T> {
    let diagonal = |x: T| if T::COMPLEX { T::of(x.wide().re, f64::NAN) } else { x };
    let element = |(x, &value)| match x % n == x / n {
        true => diagonal(value),
        false if is_in(uplo, n, x) => value,
        false => T::NAN,
    };
    a.iter().enumerate().map(element).collect()
}

/// The results of an eigenvalue decomposition, poisoned before: info, values and vectors.
pub fn eigh<T: Sample>(job: Vectors, uplo: Uplo, n: usize, a: &[T]) -> (Int, Vec<T::RealPart>, Vec<T>) {
    let plan = Syevd::new(job, uplo, n).unwrap();
    let (mut v, mut w) = (a.to_vec(), vec![T::of(7e7, 0.0).re(); n]);
    let info = plan.run(&mut v, &mut w, OwnedWorkspace::new(plan.workspace()).lend());
    (info, w, v)
}

#[test]
fn eigenvectors_are_orthonormal_and_multiply_to_the_matrix_of_one_triangle() {
    fn test<T: Sample<RealPart: Sample>>() {
        for (n, uplo) in ORDERS.iter().flat_map(|&n| TRIANGLES.map(|uplo| (n, uplo))) {
            let full = Random::new(n).hermitian::<T>(n);
            let a = Matrix::of(n, n, &full);
            let spoilt = spoilt(uplo, n, &full);
            let (info, w, v) = eigh(Vectors::Compute, uplo, n, &spoilt);
            assert_eq!(info, 0);
            assert!(w.is_sorted());
            let v = Matrix::of(n, n, &v);
            within(5.0, v.adjoint().times(&v).distance::<T>(&Matrix::identity(n)), (uplo, n));
            let product = v.map(|_, j, x| x * w[j].to_f64().unwrap()).times(&v.adjoint());
            within(5.0, product.distance::<T>(&a), (uplo, n));
            let (info, alone, skipped) = eigh(Vectors::Skip, uplo, n, &spoilt);
            assert_eq!(info, 0);
            assert!(skipped.iter().all(|x| *x == T::zero()), "skipped vectors are zeros");
            let [alone, w] = [alone, w].map(|w| Matrix::of(n, 1, &w));
            within(5.0, alone.distance::<T>(&w), (uplo, n));
        }
    }
    for_each_scalar!(test);
}

#[test]
fn known_eigenvalues() {
    fn test<T: Sample>() {
        let number = |x: f64| T::of(x, 0.0);
        // The second difference of n points has the eigenvalues 2 - 2 cos(k pi / (n + 1)).
        for n in [2usize, 5, 40] {
            let a: Vec<T> = (0..n * n)
                .map(|x| match (x % n).abs_diff(x / n) {
                    0 => number(2.0),
                    1 => number(-1.0),
                    _ => T::zero(),
                })
                .collect();
            let (info, w, _) = eigh(Vectors::Compute, Uplo::Lower, n, &a);
            assert_eq!(info, 0);
            for (k, w) in w.iter().enumerate() {
                let angle = (k + 1) as f64 * std::f64::consts::PI / (n + 1) as f64;
                within(10.0, (w.to_f64().unwrap() - 2.0 + 2.0 * angle.cos()).abs() / T::EPS, (n, k));
            }
        }
        // One value many times: every vector is an eigenvector.
        let (info, w, v) = eigh(Vectors::Compute, Uplo::Upper, 40, &{
            let mut a = vec![T::zero(); 1600];
            a.iter_mut().step_by(41).for_each(|x| *x = number(3.0));
            a
        });
        assert_eq!(info, 0);
        assert!(w.iter().all(|w| w.to_f64() == Some(3.0)));
        within(0.0, Matrix::of(40, 40, &v).map(|_, _, x| x * x).distance::<T>(&Matrix::identity(40)), "unit vectors");
    }
    for_each_scalar!(test);
}

/// What `sytrd` leaves, poisoned before: the matrix, both diagonals and the factors.
pub fn reduce<T: Sample>(uplo: Uplo, n: usize, a: &[T]) -> (Vec<T>, [Vec<T::RealPart>; 2], Vec<T>) {
    let plan = Sytrd::new(uplo, n).unwrap();
    let beside = n.saturating_sub(1);
    let poison = T::of(7e7, 7e7);
    let (mut a, mut tau) = (a.to_vec(), vec![poison; beside]);
    let (mut d, mut e) = (vec![poison.re(); n], vec![poison.re(); beside]);
    let mut workspace = OwnedWorkspace::new(plan.workspace());
    assert_eq!(plan.run(&mut a, &mut d, &mut e, &mut tau, workspace.lend()), 0);
    (a, [d, e], tau)
}

#[test]
fn the_tridiagonal_form_is_of_one_triangle_and_leaves_the_other() {
    fn test<T: Sample<RealPart: Sample>>() {
        for (n, uplo) in ORDERS.iter().flat_map(|&n| TRIANGLES.map(|uplo| (n, uplo))) {
            let full = Random::new(n + 1).hermitian::<T>(n);
            let spoilt = spoilt(uplo, n, &full);
            let (reduced, [d, e], tau) = reduce(uplo, n, &spoilt);
            for (x, (now, before)) in bits(&reduced).iter().zip(bits(&spoilt)).enumerate() {
                assert!(is_in(uplo, n, x) || *now == before, "{uplo:?} {n}: element {x} was written");
            }
            let (q, form) = tridiagonal(uplo, n, &reduced, [&d, &e], &tau);
            within(4.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(n)), (uplo, n));
            within(4.0, q.times(&form).times(&q.adjoint()).distance::<T>(&Matrix::of(n, n, &full)), (uplo, n));
            // Both diagonals are in the matrix, too; an imaginary part that does not count stays there.
            let packed = Matrix::of(n, n, &reduced);
            let beside = |i: usize| if uplo == Uplo::Lower { packed.at(i + 1, i) } else { packed.at(i, i + 1) };
            assert!((0..n).all(|i| packed.at(i, i).re == d[i].wide().re), "{uplo:?} {n}");
            assert!((0..e.len()).all(|i| beside(i) == e[i].wide()), "{uplo:?} {n}");
        }
    }
    for_each_scalar!(test);
}

#[test]
fn the_tridiagonal_form_lets_nan_through() {
    fn test<T: Sample<RealPart: Sample>>() {
        for (n, uplo) in [1, 2, 3, 40].into_iter().flat_map(|n| TRIANGLES.map(|uplo| (n, uplo))) {
            let (_, [d, e], _) = reduce::<T>(uplo, n, &vec![T::NAN; n * n]);
            assert!(d.iter().all(|x| x.wide().re.is_nan()), "{uplo:?} {n}");
            assert!(e.iter().all(|x| x.wide().re.is_nan()), "{uplo:?} {n}");
        }
        assert_eq!(reduce::<T>(Uplo::Lower, 1, &[T::INFINITY]).1[0][0].wide(), Wide::new(f64::INFINITY, 0.0));
    }
    for_each_scalar!(test);
}
