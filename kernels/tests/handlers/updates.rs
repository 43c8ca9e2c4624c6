//! `cholesky_update`, `symmetric_product`, their derivatives and `threefry2x32` through call frames: every element is
//! written, and no bit depends on the batch or the threads. (Values are compared with references in Python.)

use oxidax::testing::{CallFrame, Pool, Results};
use oxidax::{ErrorCode, ThreadPool};
use oxidax_kernels::lapack::{Gemm, Transpose};
use oxidax_kernels::linalg::symmetric_product;

use crate::for_each_scalar;
use crate::sample::{Matrix, Random, Sample, bits, within};
use crate::targets::Target;

/// Operands and results of one element of a batch, by their core dims, and attributes.
struct Call {
    name: &'static str,
    operands: Vec<Vec<usize>>,
    results: Vec<Vec<usize>>,
    factors: bool,
}

impl Call {
    fn all<T: Target>(n: usize, k: usize) -> Vec<Call> {
        let (a, c, w) = (vec![n, k], vec![n, n], vec![n]);
        let call = |name, operands: &[&Vec<usize>], results: &[&Vec<usize>], factors| {
            let owned = |list: &[&Vec<usize>]| list.iter().map(|&dims| dims.clone()).collect();
            Call { name, operands: owned(operands), results: owned(results), factors }
        };
        let products = [
            call("symmetric_product", &[&a, &c], &[&c], true),
            call("symmetric_product_jvp", &[&a, &a, &c], &[&c], true),
            call("symmetric_product_bwd", &[&a, &c], &[&a, &c], true),
        ];
        let updates = [
            call("cholesky_update", &[&c, &w], &[&c], false),
            call("cholesky_update_jvp", &[&c, &w, &c, &c, &w], &[&c], false),
            call("cholesky_update_bwd", &[&c, &w, &c, &c], &[&c, &w], false),
        ];
        products.into_iter().chain(updates.into_iter().filter(|_| !T::COMPLEX)).collect()
    }

    /// The elements of a range of a batch of random operands. Each is its own, whatever the batch.
    fn run<T: Target>(&self, elements: std::ops::Range<usize>, batch: &[usize], pool: Pool) -> (Results, usize) {
        assert_eq!(batch.iter().product::<usize>(), elements.len());
        let dims = |core: &[usize]| batch.iter().chain(core).map(|&size| size as i64).collect::<Vec<_>>();
        let mut frame = CallFrame::new(&format!("oxidax_kernels.{}", self.name));
        for (i, core) in self.operands.iter().enumerate() {
            let size = core.iter().product();
            let one = |element| Random::new(element * 10 + i + 1).matrix::<T>(size, 1);
            frame = frame.arg(&elements.clone().flat_map(one).collect::<Vec<_>>(), &dims(core));
        }
        for core in &self.results {
            frame = frame.result::<T>(&dims(core));
        }
        if self.factors {
            frame = frame.attr("alpha", 0.5).attr("beta", -2.0);
        }
        let results = frame.pool(pool).call().unwrap_or_else(|error| panic!("{error}"));
        for k in 0..self.results.len() {
            assert!(results.written(k).iter().all(|&written| written), "{}: result {k}", self.name);
        }
        (results, self.results.len())
    }
}

/// Of one element of a batch, every result, bit for bit.
fn part((results, count): &(Results, usize), i: usize, of: usize) -> Vec<Vec<u8>> {
    let part = |k| {
        let len = results.bytes(k).len() / of;
        results.bytes(k)[i * len..(i + 1) * len].to_vec()
    };
    (0..*count).map(part).collect()
}

#[test]
fn every_batch_and_pool_gives_the_bits_of_an_element_alone() {
    fn test<T: Target>() {
        for (n, k) in [(0, 0), (0, 3), (3, 0), (1, 1), (5, 4), (33, 65), (65, 1), (130, 70)] {
            for call in Call::all::<T>(n, k) {
                let alone: Vec<_> = (0..6).map(|i| part(&call.run::<T>(i..i + 1, &[], Pool::None), 0, 1)).collect();
                call.run::<T>(0..0, &[0, 2], Pool::None);
                let pools = [Pool::None, Pool::Threads(2), Pool::Busy(3)];
                for (batch, pool) in [&[6][..], &[2, 3], &[6, 1]].into_iter().zip(pools) {
                    let outcome = call.run::<T>(0..6, batch, pool);
                    for (i, alone) in alone.iter().enumerate() {
                        assert!(part(&outcome, i, 6) == *alone, "{} {n} {k}: {i} in {batch:?}", call.name);
                    }
                }
                let shared = call.run::<T>(2..3, &[], Pool::Threads(4));
                assert!(part(&shared, 0, 1) == alone[2], "{} {n} {k}: alone, on threads", call.name);
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn symmetric_products_from_rust() {
    fn test<T: Sample>() {
        for (n, k) in [(0, 3), (1, 1), (4, 0), (9, 5), (65, 33)] {
            let (a, c): (Vec<T>, Vec<T>) = (Random::new(n + 1).matrix(n, k), Random::new(k + 5).matrix(n, n));
            let mut product = vec![T::NAN; n * n];
            symmetric_product(&a, &c, 0.5, -2.0, n, k, ThreadPool::none(), &mut product).unwrap();
            let rows = Matrix::from_fn(n, k, |i, j| a[i * k + j].wide());
            // `times` the transpose, without conjugating.
            let expected = rows.times(&Matrix::from_fn(k, n, |i, j| rows.at(j, i)));
            let expected = expected.map(|i, j, x| x * 0.5 - c[i.max(j) * n + i.min(j)].wide() * 2.0);
            within(4.0, Matrix::from_fn(n, n, |i, j| product[i * n + j].wide()).distance::<T>(&expected), (n, k));
        }
    }
    for_each_scalar!(test);
}

#[test]
fn gemm_multiplies_each_form_into_a_part() {
    fn test<T: Sample>() {
        use Transpose::{Adjoint, No, Plain};
        let (m, n, k, ldc) = (5, 4, 3, 7);
        for op in [No, Plain, Adjoint].into_iter().flat_map(|a| [No, Plain, Adjoint].map(|b| [a, b])) {
            let sizes = |op, rows, columns| if op == No { (rows, columns) } else { (columns, rows) };
            let form = |op, x: &Matrix| match op {
                No => x.clone(),
                Plain => Matrix::from_fn(x.n, x.m, |i, j| x.at(j, i)),
                Adjoint => x.adjoint(),
            };
            let ((ma, na), (mb, nb)) = (sizes(op[0], m, k), sizes(op[1], k, n));
            let (a, b): (Vec<T>, Vec<T>) = (Random::new(1).matrix(ma, na), Random::new(2).matrix(mb, nb));
            let before: Vec<T> = Random::new(3).matrix(ldc, n);
            let mut c = before.clone();
            Gemm::new(op, [m, n, k], ldc).unwrap().run(T::of(2.0, 0.0), &a, &b, T::of(-1.0, 0.0), &mut c);
            let product = form(op[0], &Matrix::of(ma, na, &a)).times(&form(op[1], &Matrix::of(mb, nb, &b)));
            let before_wide = Matrix::of(ldc, n, &before);
            let expected = product.map(|i, j, x| x * 2.0 - before_wide.at(i, j));
            let found = Matrix::of(ldc, n, &c);
            within(2.0, Matrix::from_fn(m, n, |i, j| found.at(i, j)).distance::<T>(&expected), op);
            for j in 0..n {
                assert_eq!(bits(&c[j * ldc + m..(j + 1) * ldc]), bits(&before[j * ldc + m..(j + 1) * ldc]));
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn sizes_that_gemm_cannot_count_are_refused() {
    for (sizes, ldc, message) in [
        ([1 << 31, 1, 1], 1 << 31, "m = 2147483648 is more"),
        ([1, 1 << 31, 1], 1, "n = 2147483648 is more"),
        ([1, 1, 1 << 31], 1, "k = 2147483648 is more"),
        ([2, 2, 2], 1, "2 rows do not fit columns of length 1"),
    ] {
        let error = Gemm::new([Transpose::No; 2], sizes, ldc).err().expect("too large");
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().starts_with(message), "{error}");
    }
}

#[test]
fn hashes_do_not_depend_on_threads_or_shapes() {
    let words = |seed: usize, len: usize| -> Vec<u32> {
        let mut random = Random::new(seed);
        (0..len).map(|_| (random.number() * 2e9) as i64 as u32).collect()
    };
    let (len, keys) = (30_000, words(1, 2));
    let (x0, x1) = (words(2, len), words(3, len));
    let call = |dims: &[i64], pool| {
        let frame = CallFrame::new("oxidax_kernels.threefry2x32");
        let frame = frame.arg(&keys[..1], &[]).arg(&keys[1..], &[1]).arg(&x0, dims).arg(&x1, dims);
        let results = frame.result::<u32>(dims).result::<u32>(dims).pool(pool).call().unwrap();
        assert!((0..2).all(|k| results.written(k).iter().all(|&written| written)));
        [results.get::<u32>(0), results.get::<u32>(1)]
    };
    let expected = call(&[len as i64], Pool::None);
    assert_ne!(expected[0], expected[1]);
    for (dims, pool) in [(&[30_000][..], Pool::Threads(3)), (&[3, 10_000], Pool::Busy(2)), (&[300, 1, 100], Pool::None)]
    {
        assert!(call(dims, pool) == expected, "{dims:?}");
    }
}
