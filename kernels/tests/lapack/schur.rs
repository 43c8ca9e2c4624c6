//! Condensed forms of square matrices: Hessenberg and Schur.

use oxidax_kernels::lapack::{Gees, Gehrd, Int, OwnedWorkspace, Vectors};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, Sample, Wide, hessenberg, within};

const ORDERS: [usize; 9] = [0, 1, 2, 3, 8, 16, 33, 65, 129];
const ZERO: Wide = Wide::new(0.0, 0.0);

/// What `gehrd` leaves, poisoned before: the matrix, and the factors.
pub fn reduce<T: Sample>(n: usize, [low, high]: [Int; 2], a: &[T]) -> (Vec<T>, Vec<T>) {
    let plan = Gehrd::new(n, low, high).unwrap();
    let (mut a, mut tau) = (a.to_vec(), vec![T::of(7e7, 7e7); n.saturating_sub(1)]);
    assert_eq!(plan.run(&mut a, &mut tau, OwnedWorkspace::new(plan.workspace()).lend()), 0);
    (a, tau)
}

#[test]
fn the_hessenberg_form_is_similar_to_the_matrix() {
    fn test<T: Sample>() {
        for n in ORDERS {
            let a = Random::new(n).matrix::<T>(n, n);
            let (reduced, tau) = reduce(n, [1, n as Int], &a);
            let (q, form) = hessenberg(n, &reduced, &tau);
            within(4.0, q.adjoint().times(&q).distance::<T>(&Matrix::identity(n)), n);
            within(4.0, q.times(&form).times(&q.adjoint()).distance::<T>(&Matrix::of(n, n, &a)), n);
        }
    }
    for_each_scalar!(test);
}

#[test]
fn rows_and_columns_outside_of_a_range_are_not_reduced() {
    fn test<T: Sample>() {
        for (n, low, high) in [(1, 1, 1), (5, 2, 4), (5, 3, 3), (5, 1, 1), (40, 3, 37), (140, 2, 139)] {
            let range = low - 1..high;
            let triangular = |x: usize| x % n > x / n && !(range.contains(&(x % n)) && range.contains(&(x / n)));
            let mut a = Random::new(n).matrix::<T>(n, n);
            a.iter_mut().enumerate().filter(|(x, _)| triangular(*x)).for_each(|(_, value)| *value = T::zero());
            let (reduced, tau) = reduce(n, [low as Int, high as Int], &a);
            let outside = |i: usize| i + 1 < low || i + 1 >= high;
            assert!((0..n - 1).all(|i| !outside(i) || tau[i] == T::zero()), "{n} {low} {high}: {tau:?}");
            let (q, form) = hessenberg(n, &reduced, &tau);
            within(4.0, q.times(&form).times(&q.adjoint()).distance::<T>(&Matrix::of(n, n, &a)), (n, low, high));
            assert!((0..n).filter(|&i| outside(i)).all(|i| i + 1 >= n || form.at(i + 1, i) == ZERO));
        }
    }
    for_each_scalar!(test);
}

#[test]
fn the_hessenberg_form_lets_nan_through() {
    fn test<T: Sample>() {
        for n in [1, 2, 3, 40] {
            let (reduced, tau) = reduce(n, [1, n as Int], &vec![T::NAN; n * n]);
            assert!((0..n * n).filter(|x| x % n <= x / n).all(|x| !reduced[x].is_finite()), "{n}");
            assert!(tau.iter().take(n.saturating_sub(2)).all(|x| !x.is_finite()), "{n}: {tau:?}");
        }
    }
    for_each_scalar!(test);
}

/// The results of a Schur decomposition, poisoned before.
pub struct Schur<T: Sample> {
    pub info: Int,
    pub t: Vec<T>,
    pub w: [Vec<T>; 2],
    pub vs: Vec<T>,
}

pub fn schur<T: Sample>(job: Vectors, n: usize, a: &[T]) -> Schur<T> {
    let plan = Gees::new(job, n).unwrap();
    let poison = T::of(7e7, 7e7);
    let mut w = [vec![poison; n], vec![poison; if T::COMPLEX { 0 } else { n }]];
    let (mut t, mut vs) = (a.to_vec(), vec![poison; n * n]);
    let parts = w.each_mut().map(|w| w.as_mut_slice());
    let info = plan.run(&mut t, parts, &mut vs, OwnedWorkspace::new(plan.workspace()).lend());
    Schur { info, t, w, vs }
}

#[test]
fn schur_vectors_are_orthonormal_and_multiply_to_the_matrix() {
    fn test<T: Sample>() {
        for n in ORDERS {
            let data = Random::new(n + 2).matrix::<T>(n, n);
            let Schur { info, t, w, vs } = schur(Vectors::Compute, n, &data);
            assert_eq!(info, 0);
            let (t, vs, a) = (Matrix::of(n, n, &t), Matrix::of(n, n, &vs), Matrix::of(n, n, &data));
            within(5.0, vs.adjoint().times(&vs).distance::<T>(&Matrix::identity(n)), n);
            within(5.0, vs.times(&t).times(&vs.adjoint()).distance::<T>(&a), n);
            let below = |i: usize| t.at(i + 1, i) != ZERO;
            assert!((0..n * n).all(|x| x % n <= x / n + 1 || t.data[x] == ZERO), "{n}: not a Schur form");
            assert!((0..n.max(2) - 2).all(|i| !below(i) || !below(i + 1)), "{n}: a block of three");
            let real = |i: usize| i + 1 >= n || !below(i);
            assert!((0..n).all(|i| real(i) || !T::COMPLEX), "{n}: not triangular");
            // The diagonal holds the values, of a block their real parts.
            for (i, value) in w[0].iter().enumerate() {
                let value = value.wide();
                assert_eq!(value.re.to_bits(), t.at(i, i).re.to_bits(), "{n}: value {i}");
                if T::COMPLEX {
                    assert_eq!(value.im.to_bits(), t.at(i, i).im.to_bits(), "{n}: value {i}");
                } else if real(i) && (i == 0 || real(i - 1)) {
                    assert_eq!(w[1][i], T::zero(), "{n}: value {i}");
                } else {
                    assert!(w[1][i] != T::zero(), "{n}: value {i}");
                }
            }
            let alone = schur(Vectors::Skip, n, &data);
            assert_eq!(alone.info, 0);
            assert!(alone.vs.iter().all(|x| *x == T::zero()), "skipped vectors are zeros");
            within(5.0, Matrix::of(n, n, &alone.t).distance::<T>(&t), n);
        }
    }
    for_each_scalar!(test);
}

#[test]
fn real_matrices_have_conjugate_pairs() {
    fn test<T: Sample>() {
        // A rotation by 90 degrees beside a fixed axis.
        let a = [0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 3.0].map(|x| T::of(x, 0.0));
        let found = schur(Vectors::Compute, 3, &a);
        let wide = |w: &[T]| w.iter().map(|x| x.wide().re).collect::<Vec<_>>();
        assert_eq!(found.w.map(|w| wide(&w)), [[0.0, 0.0, 3.0], [1.0, -1.0, 0.0]]);
    }
    test::<f32>();
    test::<f64>();
}
