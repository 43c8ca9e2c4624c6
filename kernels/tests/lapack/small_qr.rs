//! The kernels for QR of small matrices against LAPACK, and against themselves in other batches.

use num_traits::Float;
use oxidax_kernels::lapack::{Geqrf, Lapack, Library, Orgqr, OwnedWorkspace};
use oxidax_kernels::small::{Instructions, LARGEST};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, Sample, Wide, bits, within};

/// Empty, one, square, wide, tall: in lanes, and in blocks, one before, at and past whole vectors, blocks and the largest size.
const SHAPES: [(usize, usize); 37] = [
    (0, 0),
    (0, 5),
    (5, 0),
    (1, 1),
    (1, 7),
    (7, 1),
    (2, 2),
    (3, 3),
    (4, 4),
    (5, 5),
    (8, 8),
    (9, 9),
    (3, 8),
    (8, 3),
    (16, 16),
    (17, 16),
    (16, 17),
    (31, 32),
    (32, 31),
    (32, 32),
    (4, 32),
    (32, 4),
    (1, 33),
    (3, 33),
    (33, 33),
    (34, 33),
    (33, 34),
    (40, 40),
    (41, 39),
    (39, 41),
    (50, 13),
    (13, 50),
    (64, 64),
    (65, 71),
    (128, 128),
    (129, 127),
    (2, 256),
];

/// Two vectors of lanes, and every rest; in blocks, two.
fn counts(m: usize, n: usize) -> &'static [usize] {
    if m.max(n) <= LARGEST { &[1, 2, 3, 5, 8, 16, 17, 37] } else { &[1, 2] }
}

/// Whether the kernels serve a shape.
fn serves<T: Sample>(on: Instructions, (m, n): (usize, usize)) -> bool {
    T::factors(&on).qr_work(m, n).is_some()
}

fn work<T: Sample>(on: Instructions, m: usize, n: usize) -> Vec<T> {
    // What it held before does not matter.
    vec![T::NAN; T::factors(&on).qr_work(m, n).expect("a shape for these kernels")]
}

fn geqrf<T: Sample>(on: Instructions, m: usize, n: usize, a: &[T]) -> (Vec<T>, Vec<T>) {
    let count = a.len() / (m * n).max(1);
    let (mut qr, mut tau) = (a.to_vec(), vec![T::NAN; m.min(n) * count]);
    T::factors(&on).geqrf(m, n, &mut qr, &mut tau, &mut work(on, m, n));
    (qr, tau)
}

fn orgqr<T: Sample>(on: Instructions, m: usize, n: usize, k: usize, a: &[T], tau: &[T]) -> Vec<T> {
    let mut q = a.to_vec();
    T::factors(&on).orgqr(m, n, k, &mut q, tau, &mut work(on, m, n));
    q
}

/// LAPACK's own.
fn expected<T: Sample>(m: usize, n: usize, a: &[T]) -> (Vec<T>, Vec<T>) {
    let geqrf = Geqrf::on(Library::openblas(), m, n).unwrap();
    let (mut qr, mut tau) = (a.to_vec(), vec![T::NAN; m.min(n)]);
    geqrf.run(&mut qr, &mut tau, OwnedWorkspace::new(geqrf.workspace()).lend());
    (qr, tau)
}

/// Fails unless `q` is orthonormal and `q r` is `a`, for the reflectors in `qr`.
#[track_caller]
fn check<T: Sample>(on: Instructions, (m, n): (usize, usize), a: &[T], qr: &[T], tau: &[T]) {
    let k = m.min(n);
    let zero = Wide::new(0.0, 0.0);
    // A complex product is four, and as many roundings.
    let limit = if T::COMPLEX { 4.0 } else { 2.0 };
    let r = Matrix::of(m, n, qr);
    let r = Matrix::from_fn(k, n, |i, j| if i <= j { r.at(i, j) } else { zero });
    // As many columns as there are reflectors, one more, and all.
    for columns in [k, (k + 1).min(m), m] {
        if !serves::<T>(on, (m, columns)) {
            continue;
        }
        let mut q = qr[..m * k].to_vec();
        q.resize(m * columns, T::NAN);
        let q = Matrix::of(m, columns, &orgqr(on, m, columns, k, &q, tau));
        within(limit, q.adjoint().times(&q).distance::<T>(&Matrix::identity(columns)), (on, m, n, columns));
        within(limit, q.columns(k).times(&r).distance::<T>(&Matrix::of(m, n, a)), (on, m, n, columns));
    }
}

#[test]
fn factors_are_those_of_lapack_in_every_batch() {
    fn test<T: Sample>(on: Instructions) {
        for (m, n) in SHAPES.into_iter().filter(|&shape| serves::<T>(on, shape)) {
            let (size, k, counts) = (m * n, m.min(n), counts(m, n));
            let most = counts[counts.len() - 1];
            let a: Vec<T> = (0..most).flat_map(|seed| Random::new(seed + 1).matrix::<T>(m, n)).collect();
            let (qr, tau) = geqrf(on, m, n, &a);
            let square = k * m;
            let reflectors: Vec<T> = qr.chunks_exact(size.max(1)).flat_map(|qr| qr[..square].iter().copied()).collect();
            let q = orgqr(on, m, k, k, &reflectors, &tau);
            for x in 0..most.min(3) {
                let (a, qr, tau) = (&a[x * size..][..size], &qr[x * size..][..size], &tau[x * k..][..k]);
                let (expected, expected_tau) = expected(m, n, a);
                // What the two round differently is amplified where a column is nearly one of those before it.
                within(50.0, Matrix::of(m, n, qr).distance::<T>(&Matrix::of(m, n, &expected)), (on, m, n));
                within(50.0, Matrix::of(k, 1, tau).distance::<T>(&Matrix::of(k, 1, &expected_tau)), (on, m, n));
                check(on, (m, n), a, qr, tau);
                let mut expected_q = qr[..square].to_vec();
                let lapack = Orgqr::on(Library::openblas(), m, k, k).unwrap();
                lapack.run(&mut expected_q, tau, OwnedWorkspace::new(lapack.workspace()).lend());
                let q = Matrix::of(m, k, &q[x * square..][..square]);
                within(4.0, q.distance::<T>(&Matrix::of(m, k, &expected_q)), (on, m, n));
            }
            for &count in counts {
                let (part, part_tau) = geqrf(on, m, n, &a[..count * size]);
                assert!(bits(&part) == bits(&qr[..count * size]), "{m} x {n}: a batch of {count}");
                assert!(bits(&part_tau) == bits(&tau[..count * k]), "{m} x {n}: tau in a batch of {count}");
                let part = orgqr(on, m, k, k, &reflectors[..count * square], &tau[..count * k]);
                assert!(bits(&part) == bits(&q[..count * square]), "{m} x {n}: q in a batch of {count}");
            }
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

#[test]
fn columns_near_the_ends_of_the_range_are_factorised() {
    fn test<T: Sample>(on: Instructions) {
        let (least, most, epsilon) =
            (T::RealPart::min_positive_value(), T::RealPart::max_value(), T::RealPart::epsilon());
        let number = |x: f64| T::of(x, 0.0).re();
        let tiny = least * epsilon;
        let shapes = [(4, 4), (9, 7), (16, 16), (32, 32), (40, 40), (41, 39), (65, 65)];
        for (m, n) in shapes.into_iter().filter(|&shape| serves::<T>(on, shape)) {
            for scale in [tiny * number(1000.0), least, epsilon, most.sqrt()] {
                // All columns, and every other one beside ordinary ones.
                for step in [1, 2] {
                    let mut a = Random::new(m).matrix::<T>(m, n);
                    a.chunks_exact_mut(m).step_by(step).flatten().for_each(|x| *x = *x * T::from(scale));
                    let (qr, tau) = geqrf(on, m, n, &a);
                    assert!(qr.iter().chain(&tau).all(|&x| x.is_finite()), "{on:?} {m} x {n} of {scale:?}");
                    let (_, expected_tau) = expected(m, n, &a);
                    if scale > tiny * number(1e6) {
                        check(on, (m, n), &a, &qr, &tau);
                        within(
                            100.0 * m as f64,
                            Matrix::of(n, 1, &tau).distance::<T>(&Matrix::of(n, 1, &expected_tau)),
                            (on, m, n),
                        );
                    }
                }
            }
            // Squares of these overflow, and so would their sum.
            let large = most / number(8.0 * (m as f64).sqrt());
            let (qr, tau) = geqrf(on, m, n, &vec![T::from(large); m * n]);
            assert!(qr.iter().chain(&tau).all(|&x| x.is_finite()), "{on:?} {m} x {n} of {large:?}");
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

#[test]
fn a_column_without_a_tail_has_no_reflector() {
    fn test<T: Sample>(on: Instructions) {
        for n in [1, 3, 4, 9, 16, 32, 33, 40, 65].into_iter().filter(|&n| serves::<T>(on, (n, n))) {
            // Zeros, the identity, and what is triangular stay as they are.
            let mut random = Random::new(n);
            let triangle: Vec<T> =
                (0..n * n).map(|x| if x % n <= x / n { T::of(random.number(), 0.0) } else { T::zero() }).collect();
            let identity: Vec<T> = (0..n * n).map(|x| T::of(f64::from(u8::from(x % (n + 1) == 0)), 0.0)).collect();
            for a in [vec![T::zero(); n * n], identity.clone(), triangle] {
                let (qr, tau) = geqrf(on, n, n, &a);
                assert!(qr == a && tau == vec![T::zero(); n], "{on:?} {n}");
                assert!(orgqr(on, n, n, n, &qr, &tau) == identity, "{on:?} {n}");
            }
            // A negative diagonal is no reason either; a tail that is 0 in one column is.
            let mut a = Random::new(n).matrix::<T>(n, n);
            a[..n].fill(T::zero());
            a[0] = T::of(-3.0, 0.0);
            let (qr, tau) = geqrf(on, n, n, &a);
            assert!(qr[0] == a[0] && tau[0] == T::zero());
            check(on, (n, n), &a, &qr, &tau);
            // Without reflectors, q is the identity.
            assert!(orgqr(on, n, n, 0, &a, &[]) == identity);
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

#[test]
fn signs_are_those_of_lapack() {
    fn test<T: Sample>(on: Instructions) {
        for (alpha, beta) in [(3.0, -5.0), (-3.0, 5.0), (0.0, -4.0)] {
            for n in [2, 40].into_iter().filter(|&n| serves::<T>(on, (n, n))) {
                let mut a = Random::new(n).matrix::<T>(n, n);
                a[..n].fill(T::zero());
                (a[0], a[1]) = (T::of(alpha, 0.0), T::of(4.0, 0.0));
                let (qr, tau) = geqrf(on, n, n, &a);
                assert_eq!(qr[0], T::of(beta, 0.0), "{on:?} {n}");
                within(1.0, (qr[1].wide().re - 4.0 / (alpha - beta)).abs() / T::EPS, n);
                within(2.0, (tau[0].wide().re - (beta - alpha) / beta).abs() / T::EPS, n);
            }
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

#[test]
fn what_is_not_finite_propagates_in_its_own_matrix() {
    fn test<T: Sample>(on: Instructions) {
        for n in [1, 4, 9, 16, 32, 40].into_iter().filter(|&n| serves::<T>(on, (n, n))) {
            for value in [T::NAN, T::INFINITY, -T::INFINITY] {
                let matrix = |seed: usize| {
                    let mut a = Random::new(seed + 1).matrix::<T>(n, n);
                    if seed == 1 {
                        a[n / 2] = value;
                    }
                    a
                };
                let a: Vec<T> = (0..5).flat_map(matrix).collect();
                let (qr, tau) = geqrf(on, n, n, &a);
                let q = orgqr(on, n, n, n, &qr, &tau);
                for seed in 0..5 {
                    let part = seed * n * n..(seed + 1) * n * n;
                    let (alone, alone_tau) = geqrf(on, n, n, &matrix(seed));
                    let alone_q = orgqr(on, n, n, n, &alone, &alone_tau);
                    for (found, alone) in [(&qr, alone), (&q, alone_q)] {
                        assert!(bits(&found[part.clone()]) == bits(&alone), "{on:?} {n}: matrix {seed}");
                    }
                    let finite = qr[part].iter().all(|&x| x.is_finite());
                    assert_eq!(finite, seed != 1, "{on:?} {n}: matrix {seed} with {value:?}");
                }
                if n > 1 {
                    assert!(!tau[n].is_finite(), "{on:?} {n}: tau with {value:?}");
                }
            }
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

#[test]
fn shapes_for_which_lapack_is_faster_are_left_to_it() {
    fn test<T: Lapack>(on: Instructions) {
        let small = T::factors(&on);
        assert_eq!(small.qr_work(32, 1), Some(0));
        for (m, n) in [(257, 257), (1, 257), (257, 200), (33, 8), (33, 0), (0, 33)] {
            assert_eq!(small.qr_work(m, n), None, "{m} x {n}");
        }
        assert_eq!(small.qr_work(256, 256).is_some_and(|length| length > 256 * 256), !T::COMPLEX);
        assert_eq!(small.potrf_work(16), Some(0));
        assert_eq!(small.potrf_work(17).is_some(), !T::COMPLEX);
        let largest = if T::COMPLEX { 16 } else { 32 };
        for (m, n) in [(largest, largest), (1, largest), (largest, 0)] {
            assert!(small.has_getrf(m, n) && !small.has_getrf(m + largest, n) && !small.has_getrf(m, n + largest + 1));
        }
    }
    for_each_scalar!(test, *Instructions::best());
}
