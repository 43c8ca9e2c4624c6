//! The small kernels against LAPACK, and against themselves in other batches.

use num_traits::Float;
use oxidax_kernels::lapack::{Diag, Getrf, Int, Lapack, Potrf, Transpose, Trsm, Uplo};
use oxidax_kernels::small::{Instructions, Kernels, LARGEST, Small};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, Sample, bits, within};
use crate::sample_systems::{product, triangles, triangular};

/// Up to two vectors of lanes, and every rest.
const BATCHES: [usize; 9] = [0, 1, 2, 3, 5, 8, 16, 17, 37];
const SIZES: [usize; 14] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, LARGEST];

/// In blocks, one past a block, whole vectors, the largest.
const IN_BLOCKS: [usize; 7] = [33, 34, 37, 40, 63, 64, 128];

/// The kernels as they are compiled in the library.
pub fn kernels<T: Lapack>(on: &Instructions) -> &dyn Kernels<T> {
    T::small(on).expect("kernels of this type")
}

/// What it held before does not matter.
fn work<T: Lapack>(on: Instructions, n: usize) -> Vec<T> {
    vec![T::NAN; T::factors(&on).potrf_work(n).expect("a size for these kernels")]
}

/// Of Cholesky factors, those that the kernels serve.
fn sizes<T: Lapack>(on: Instructions) -> impl Iterator<Item = usize> {
    SIZES.into_iter().chain(IN_BLOCKS).filter(move |&n| T::factors(&on).potrf_work(n).is_some())
}

fn batch_of<T>(count: usize, matrix: impl Fn(usize) -> Vec<T>) -> Vec<T> {
    (0..count).flat_map(matrix).collect()
}

/// Equal bits, or NaN on both sides, of each part.
fn same<T: Sample>(a: &[T], b: &[T]) -> bool {
    let are_nan = |x: &T, y: &T| [x.re().is_nan(), x.im().is_nan()] == [y.re().is_nan(), y.im().is_nan()];
    let is_nan = |x: &T| x.re().is_nan() || x.im().is_nan();
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.bits() == y.bits() || is_nan(x) && are_nan(x, y))
}

#[test]
fn cholesky_of_a_batch_is_that_of_lapack() {
    fn test<T: Sample>(on: Instructions) {
        for (n, uplo) in sizes::<T>(on).flat_map(|n| [(n, Uplo::Lower), (n, Uplo::Upper)]) {
            let given = batch_of(37, |seed| {
                let mut a = Random::new(seed).definite::<T>(n);
                for (x, element) in a.iter_mut().enumerate() {
                    let (i, j) = (x % n, x / n);
                    if if uplo == Uplo::Lower { i < j } else { i > j } {
                        *element = T::NAN;
                    }
                }
                a
            });
            let mut whole = given.clone();
            let mut info = [-1; 37];
            T::factors(&on).potrf(uplo, n, &mut whole, &mut info, &mut work(on, n));
            assert_eq!(info, [0; 37]);
            let lapack = Potrf::new(uplo, n).unwrap();
            for (found, given) in whole.chunks_exact((n * n).max(1)).zip(given.chunks_exact((n * n).max(1))) {
                let mut expected = given.to_vec();
                lapack.run(&mut expected);
                for (x, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    assert!(found.re().is_nan() == expected.re().is_nan(), "{uplo:?} {n}: element {x}");
                }
                let finite = |a: &[T]| {
                    Matrix::of(
                        n,
                        n,
                        &a.iter().map(|x| if x.re().is_nan() { T::zero() } else { *x }).collect::<Vec<_>>(),
                    )
                };
                within(2.0, finite(found).distance::<T>(&finite(&expected)), (uplo, n));
            }
            for count in BATCHES {
                let mut part = given[..count * n * n].to_vec();
                T::factors(&on).potrf(uplo, n, &mut part, &mut vec![-1; count], &mut work(on, n));
                assert!(bits(&part) == bits(&whole[..count * n * n]), "{uplo:?} {n}: a batch of {count}");
            }
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

#[test]
fn cholesky_of_a_batch_tells_which_matrix_fails_and_where() {
    fn test<T: Sample>(on: Instructions) {
        for n in sizes::<T>(on).filter(|&n| n > 0) {
            for count in [1, 2, 16, 37] {
                let mut a = batch_of(count, |seed| Random::new(seed).definite::<T>(n));
                let expected: Vec<Int> = (0..count)
                    .map(|matrix| {
                        let at = matrix % n;
                        let bad = [None, Some(T::of(-1.0, 0.0)), Some(T::NAN)][matrix % 3];
                        bad.map_or(0, |bad| {
                            a[matrix * n * n + at * n + at] = bad;
                            at as Int + 1
                        })
                    })
                    .collect();
                let mut info = vec![-1; count];
                T::factors(&on).potrf(Uplo::Lower, n, &mut a, &mut info, &mut work(on, n));
                assert_eq!(info, expected, "{n}");
            }
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

#[test]
fn lu_of_a_batch_is_that_of_lapack() {
    fn test<T: Sample>(on: Instructions) {
        for (m, n) in SIZES.iter().flat_map(|&m| [(m, m), (m, 3), (3, m), (m, LARGEST)]) {
            if !T::factors(&on).has_getrf(m, n) {
                continue;
            }
            let (size, k) = (m * n, m.min(n));
            let given = batch_of(37, |seed| Random::new(seed + 1).matrix::<T>(m, n));
            let (mut whole, mut pivots, mut info) = (given.clone(), vec![-1; 37 * k], [-1; 37]);
            T::factors(&on).getrf(m, n, &mut whole, &mut pivots, &mut info);
            assert_eq!(info, [0; 37]);
            let lapack = Getrf::new(m, n).unwrap();
            for x in 0..37 {
                let (mut expected, mut expected_pivots) = (given[x * size..][..size].to_vec(), vec![0; k]);
                lapack.run(&mut expected, &mut expected_pivots);
                assert_eq!(pivots[x * k..][..k], expected_pivots, "{m} x {n}");
                let found = Matrix::of(m, n, &whole[x * size..][..size]);
                // Elimination amplifies what the two round differently.
                within(50.0, found.distance::<T>(&Matrix::of(m, n, &expected)), (m, n));
            }
            for count in BATCHES {
                let (mut part, mut part_pivots) = (given[..count * size].to_vec(), vec![-1; count * k]);
                T::factors(&on).getrf(m, n, &mut part, &mut part_pivots, &mut vec![-1; count]);
                assert!(bits(&part) == bits(&whole[..count * size]), "{m} x {n}: a batch of {count}");
                assert_eq!(part_pivots, pivots[..count * k]);
            }
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

#[test]
fn lu_of_unusual_matrices_does_not_depend_on_the_batch() {
    fn test<T: Sample>(on: Instructions) {
        let number = |x: f64| T::of(x, 0.0);
        for n in SIZES.into_iter().filter(|&n| n > 0 && T::factors(&on).has_getrf(n, n)) {
            // Ties, zeros, subnormal pivots, infinities, NaN, each beside ordinary matrices.
            let matrix = |seed: usize| {
                let mut a = Random::new(seed).matrix::<T>(n, n);
                match seed % 7 {
                    0 => a.fill(T::one()),
                    1 => a.fill(T::zero()),
                    2 => a.iter_mut().for_each(|x| *x = *x * T::from(T::RealPart::min_positive_value())),
                    3 => a[seed % (n * n)] = T::INFINITY,
                    4 => a[seed % (n * n)] = T::NAN,
                    5 => a.iter_mut().enumerate().for_each(|(x, y)| *y = number((x % 3) as f64 - 1.0)),
                    _ => {}
                }
                a
            };
            let given = batch_of(37, matrix);
            let (mut whole, mut pivots, mut info) = (given.clone(), vec![0; 37 * n], [-1; 37]);
            T::factors(&on).getrf(n, n, &mut whole, &mut pivots, &mut info);
            for x in 0..37 {
                let (mut alone, mut alone_pivots, mut alone_info) = (matrix(x), vec![0; n], [-1]);
                T::factors(&on).getrf(n, n, &mut alone, &mut alone_pivots, &mut alone_info);
                assert!(same(&alone, &whole[x * n * n..][..n * n]), "{n}: matrix {x}");
                assert_eq!((&alone_pivots[..], alone_info[0]), (&pivots[x * n..][..n], info[x]), "{n}: matrix {x}");
                assert!(alone_pivots.iter().enumerate().all(|(i, p)| (i as Int + 1..=n as Int).contains(p)));
                if x % 7 == 1 {
                    assert_eq!(info[x], 1);
                }
            }
        }
    }
    for on in Instructions::all() {
        for_each_scalar!(test, on);
    }
}

/// Right-hand sides, and so many unknowns.
const SYSTEMS: [(usize, usize); 10] = [(0, 3), (3, 0), (1, 1), (4, 4), (4, 1), (1, 4), (8, 8), (5, 7), (8, 2), (2, 8)];

#[test]
fn triangular_systems_of_a_batch_are_solved_from_what_is_read() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        for ((m, n), triangle) in SYSTEMS.into_iter().flat_map(|shape| triangles().into_iter().map(move |t| (shape, t)))
        {
            let (order, outside) = (triangle.order(m, n), <T as Lapack>::NAN);
            let a = batch_of(37, |seed| triangular(triangle, order, seed + 1, outside));
            let b = batch_of(37, |seed| Random::new(seed + 99).matrix::<T>(m, n));
            let mut whole = b.clone();
            kernels::<T>(&on).trsm(triangle, m, n, &a, &mut whole);
            let lapack = Trsm::new(triangle, m, n).unwrap();
            let systems = a.chunks_exact((order * order).max(1)).zip(b.chunks_exact((m * n).max(1)));
            for ((a, b), x) in systems.zip(whole.chunks_exact((m * n).max(1))) {
                let found = product(triangle, m, n, a, x);
                within(2.0, found.distance::<T>(&Matrix::of(m, n, b)), (triangle, m, n));
                let mut expected = b.to_vec();
                lapack.run(a, &mut expected);
                within(4.0, Matrix::of(m, n, x).distance::<T>(&Matrix::of(m, n, &expected)), (triangle, m, n));
            }
            for count in BATCHES {
                let mut part = b[..count * m * n].to_vec();
                kernels::<T>(&on).trsm(triangle, m, n, &a[..count * order * order], &mut part);
                assert!(bits(&part) == bits(&whole[..count * m * n]), "{triangle:?} {m} x {n}: a batch of {count}");
            }
        }
    }
    for on in Instructions::all() {
        test::<f32>(on);
        test::<f64>(on);
    }
}

#[test]
fn triangular_systems_have_the_same_bits_alone_whatever_they_hold() {
    fn test<T: Sample<RealPart = T> + Small>(on: Instructions) {
        for (m, n) in SYSTEMS.into_iter().filter(|(m, n)| m * n > 0) {
            for triangle in triangles().into_iter().filter(|t| t.transpose == Transpose::No && t.diag == Diag::NonUnit)
            {
                let order = triangle.order(m, n);
                let matrix = |seed: usize| {
                    let mut a = triangular(triangle, order, seed, T::zero());
                    let at = seed % order * (order + 1);
                    match seed % 6 {
                        1 => a[at] = T::zero(),
                        2 => a[at] = <T as Float>::nan(),
                        3 => a[at] = <T as Float>::infinity(),
                        _ => {}
                    }
                    a
                };
                let right = |seed: usize| {
                    let mut b = Random::new(seed).matrix::<T>(m, n);
                    if seed % 5 == 2 {
                        b.fill(T::zero());
                    }
                    b
                };
                let (a, mut whole) = (batch_of(37, matrix), batch_of(37, right));
                kernels::<T>(&on).trsm(triangle, m, n, &a, &mut whole);
                for x in 0..37 {
                    let mut alone = right(x);
                    kernels::<T>(&on).trsm(triangle, m, n, &matrix(x), &mut alone);
                    let part = &whole[x * m * n..][..m * n];
                    assert!(bits(&alone) == bits(part), "{triangle:?} {m} x {n}: system {x}");
                    if matches!(x % 6, 0 | 3..) {
                        assert!(part.iter().all(|x| Float::is_finite(*x)), "{triangle:?} {m} x {n}: system {x}");
                    }
                    if x % 6 == 2 && x % 5 != 2 {
                        assert!(part.iter().any(|x| x.is_nan()), "{triangle:?} {m} x {n}: system {x}");
                    }
                }
            }
        }
    }
    for on in Instructions::all() {
        test::<f32>(on);
        test::<f64>(on);
    }
}
