//! Our own operations through call frames and as functions: every element is written, a matrix's results depend on the
//! matrix alone, and a matrix that fails is NaN. (Values of all of them are compared with references in Python.)

use oxidax::testing::{CallFrame, Pool, Results};
use oxidax::{ColMajor, ErrorCode, Scratch};
use oxidax_kernels::linalg::{cholesky, lu, qr};

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, SHAPES, Sample, Wide, all_nan, bits, within};
use crate::targets::Target;

/// An operation, with one choice of its attributes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Op {
    Cholesky(bool),
    CholeskyJvp(bool),
    CholeskyBwd(bool),
    Lu,
    Qr(&'static str),
    Svd(bool),
    Svdvals,
    SvdvalsFwd,
    Eig,
    Eigvals,
}

impl Op {
    /// Those that take matrices of `m x n`.
    fn all(m: usize, n: usize) -> Vec<Op> {
        use Op::*;
        let any = [Lu, Qr("reduced"), Qr("complete"), Qr("r"), Svd(true), Svd(false), Svdvals, SvdvalsFwd];
        let square = [true, false].map(|lower| [Cholesky(lower), CholeskyJvp(lower), CholeskyBwd(lower)]);
        let square = square.into_iter().flatten().chain([Eig, Eigvals]).filter(|_| m == n);
        any.into_iter().chain(square).collect()
    }

    /// A frame for matrices that lie one behind the other.
    fn frame<T: Target>(self, m: usize, n: usize, batch: &[usize], a: &[T]) -> CallFrame {
        let k = m.min(n);
        let dims = |core: &[usize]| batch.iter().chain(core).map(|&size| size as i64).collect::<Vec<_>>();
        let square = dims(&[m, n]);
        let frame = |name: &str| CallFrame::new(&format!("oxidax_kernels.{name}")).arg(a, &square);
        match self {
            Op::Cholesky(lower) => frame("cholesky").attr("lower", lower).result::<T>(&square),
            Op::CholeskyJvp(lower) => frame("cholesky_jvp").arg(a, &square).attr("lower", lower).result::<T>(&square),
            Op::CholeskyBwd(lower) => frame("cholesky_bwd").arg(a, &square).attr("lower", lower).result::<T>(&square),
            Op::Lu => frame("lu").result::<T>(&square).result::<i32>(&dims(&[k])).result::<i32>(&dims(&[m])),
            Op::Qr(mode) => {
                let [columns, rows] = match mode {
                    "complete" => [m, m],
                    "r" => [0, k],
                    _ => [k, k],
                };
                frame("qr").attr("mode", mode).result::<T>(&dims(&[m, columns])).result::<T>(&dims(&[rows, n]))
            }
            Op::Svd(full) => frame("svd")
                .attr("full_matrices", full)
                .result::<T>(&dims(&[m, if full { m } else { k }]))
                .result::<T::RealPart>(&dims(&[k]))
                .result::<T>(&dims(&[if full { n } else { k }, n])),
            Op::Svdvals => frame("svdvals").result::<T::RealPart>(&dims(&[k])),
            Op::SvdvalsFwd => frame("svdvals_fwd")
                .result::<T::RealPart>(&dims(&[k]))
                .result::<T>(&dims(&[m, k]))
                .result::<T>(&dims(&[k, n])),
            Op::Eig => frame("eig").result::<T::ComplexOf>(&dims(&[n])).result::<T::ComplexOf>(&square),
            Op::Eigvals => frame("eigvals").result::<T::ComplexOf>(&dims(&[n])),
        }
    }

    /// Calls it; panics unless every element of every result is written.
    fn call<T: Target>(self, [m, n]: [usize; 2], batch: &[usize], a: &[T], pool: Pool) -> (Results, usize) {
        let frame = self.frame(m, n, batch, a).pool(pool);
        let count = frame.rets.len();
        let results = frame.call().unwrap_or_else(|error| panic!("{error}"));
        for k in 0..count {
            assert!(results.written(k).iter().all(|&written| written), "{self:?} {m} x {n} in {batch:?}: result {k}");
        }
        (results, count)
    }
}

/// Of one matrix of a batch, every result, bit for bit.
fn part((results, count): &(Results, usize), i: usize, of: usize) -> Vec<Vec<u8>> {
    let part = |k| {
        let len = results.bytes(k).len() / of;
        results.bytes(k)[i * len..(i + 1) * len].to_vec()
    };
    (0..*count).map(part).collect()
}

/// Positive definite where they are square.
fn matrices<T: Sample>(m: usize, n: usize, count: usize) -> Vec<T> {
    let one = |i| {
        let mut random = Random::new(m * 31 + n * 7 + i);
        if m == n { random.definite(n) } else { random.matrix(m, n) }
    };
    (0..count).flat_map(one).collect()
}

#[test]
fn every_shape_batch_and_pool_gives_the_bits_of_a_matrix_alone() {
    fn test<T: Target>() {
        for &(m, n) in SHAPES.iter().filter(|(m, n)| m.max(n) < &100) {
            let a = matrices::<T>(m, n, 6);
            for op in Op::all(m, n) {
                let alone: Vec<_> = (0..6)
                    .map(|i| part(&op.call([m, n], &[], &a[i * m * n..(i + 1) * m * n], Pool::None), 0, 1))
                    .collect();
                op.call::<T>([m, n], &[0, 3], &[], Pool::None);
                for (batch, pool) in [(&[6][..], Pool::None), (&[2, 3], Pool::Threads(2)), (&[6, 1], Pool::Busy(2))] {
                    let outcome = op.call([m, n], batch, &a, pool);
                    for (i, alone) in alone.iter().enumerate() {
                        assert!(part(&outcome, i, 6) == *alone, "{op:?} {m} x {n}: {i} in {batch:?}");
                    }
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn matrices_that_are_not_square_are_refused() {
    for op in Op::all(3, 3).into_iter().filter(|op| !Op::all(2, 3).contains(op)) {
        let error = op.frame(2, 3, &[], &[1.0; 6]).call().expect_err("not square");
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().contains("\"a\"") || error.message().contains("\"factor\""), "{error}");
    }
}

#[test]
fn cholesky_is_a_triangle_of_rows() {
    fn test<T: Sample>() {
        for (n, lower) in [0, 1, 2, 5, 33, 65, 129].into_iter().flat_map(|n| [(n, true), (n, false)]) {
            let outside = |x: usize| if lower { x / n < x % n } else { x / n > x % n };
            let full: Vec<T> = Random::new(n).definite(n);
            // Rows first: the transpose of the matrix, which is its conjugate.
            let transposed: Vec<T> = (0..n * n).map(|x| full[(x % n) * n + x / n]).collect();
            let spoilt: Vec<T> = (0..n * n).map(|x| if outside(x) { T::NAN } else { transposed[x] }).collect();
            let mut factor = vec![T::NAN; n * n];
            cholesky::cholesky(&spoilt, lower, n, &mut factor).unwrap();
            assert!((0..n * n).filter(|&x| outside(x)).all(|x| factor[x] == T::zero()), "{lower} {n}");
            let factor = Matrix::from_fn(n, n, |i, j| factor[i * n + j].wide());
            let product = if lower { factor.times(&factor.adjoint()) } else { factor.adjoint().times(&factor) };
            within(2.0, product.distance::<T>(&Matrix::of(n, n, &full)), (lower, n));
        }
    }
    for_each_scalar!(test);
}

#[test]
fn what_cannot_be_factorised_is_nan_in_its_triangle() {
    fn test<T: Sample>() {
        for lower in [true, false] {
            for a in [[1.0, 2.0, 2.0, 1.0], [f64::NAN, 0.0, 0.0, 1.0], [1.0, f64::NAN, f64::NAN, 1.0]] {
                let mut factor = [T::one(); 4];
                cholesky::cholesky(&a.map(|x| T::of(x, 0.0)), lower, 2, &mut factor).unwrap();
                let [a, b, c, d] = factor;
                assert!(all_nan(&[a, if lower { c } else { b }, d]), "{factor:?}");
                assert_eq!(if lower { b } else { c }, T::zero());
                let (mut tangent, mut cotangent) = ([T::zero(); 4], [T::zero(); 4]);
                let [jvp, bwd] = [&mut tangent, &mut cotangent];
                use oxidax_kernels::linalg::cholesky_derivatives::{cholesky_bwd, cholesky_jvp};
                Scratch::with(|scratch| cholesky_jvp(&factor, &[T::one(); 4], lower, 2, scratch, jvp)).unwrap();
                Scratch::with(|scratch| cholesky_bwd(&factor, &[T::one(); 4], lower, 2, scratch, bwd)).unwrap();
                for derivative in [tangent, cotangent] {
                    let [a, b, c, d] = derivative;
                    assert!(all_nan(&[a, if lower { c } else { b }, d]), "{derivative:?}");
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn the_permutation_of_lu_is_that_of_its_pivots() {
    fn test<T: Sample>() {
        for &(m, n) in SHAPES {
            let a: Vec<T> = Random::new(m + n).matrix(m, n);
            let (mut factors, mut pivots, mut rows) = (a.clone(), vec![-1; m.min(n)], vec![-1; m]);
            let result = ColMajor::new(factors.as_mut_slice());
            lu::lu(ColMajor::new(a.as_slice()), m, n, result, &mut pivots, &mut rows).unwrap();
            let factors = Matrix::of(m, n, &factors);
            let k = m.min(n);
            let one = Wide::new(1.0, 0.0);
            let part = |i: usize, j: usize, keep: bool| if keep { factors.at(i, j) } else { Wide::new(0.0, 0.0) };
            let l = Matrix::from_fn(m, k, |i, j| if i == j { one } else { part(i, j, i > j) });
            let u = Matrix::from_fn(k, n, |i, j| part(i, j, i <= j));
            let a = Matrix::of(m, n, &a);
            within(4.0, l.times(&u).distance::<T>(&a.map(|i, j, _| a.at(rows[i] as usize, j))), (m, n));
        }
    }
    for_each_scalar!(test);
}

#[test]
fn every_mode_of_qr_has_the_same_reflectors() {
    fn test<T: Sample>() {
        for &(m, n) in SHAPES {
            let a: Vec<T> = Random::new(m + n).matrix(m, n);
            let k = m.min(n);
            let factors = |mode, columns: usize, rows: usize| {
                let (mut q, mut r) = (vec![T::NAN; m * columns], vec![T::NAN; rows * n]);
                let results = (ColMajor::new(q.as_mut_slice()), ColMajor::new(r.as_mut_slice()));
                Scratch::with(|scratch| {
                    qr::qr(ColMajor::new(a.as_slice()), mode, m, n, scratch, results.0, results.1).unwrap();
                });
                (q, r)
            };
            let (reduced, complete) = (factors(qr::Mode::Reduced, k, k), factors(qr::Mode::Complete, m, m));
            let r = factors(qr::Mode::R, 0, k).1;
            assert_eq!(bits(&r), bits(&reduced.1), "{m} x {n}");
            let (square, tall) = (Matrix::of(m, m, &complete.0), Matrix::of(m, n, &complete.1));
            within(4.0, square.adjoint().times(&square).distance::<T>(&Matrix::identity(m)), (m, n));
            within(4.0, square.times(&tall).distance::<T>(&Matrix::of(m, n, &a)), (m, n));
            within(2.0, square.columns(k).distance::<T>(&Matrix::of(m, k, &reduced.0)), (m, n));
        }
    }
    for_each_scalar!(test);
}
