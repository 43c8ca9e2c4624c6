//! Sparse matrices through call frames: every element is written, no bit depends on the batch or the threads, and the
//! target of jaxlib's takes every dtype. (Values are compared with references in Python.)

use oxidax::testing::{CallFrame, Pool};
use oxidax::{Complex, Element, ErrorCode};

use crate::for_each_scalar;
use crate::sample::{Random, bits};
use crate::targets::Target;

/// The places of a matrix of `rows x columns`: an empty row, a full one, some entries elsewhere, and padding.
fn places(rows: usize, columns: usize, seed: usize) -> (Vec<i32>, Vec<i32>) {
    let mut random = Random::new(seed + 1);
    let mut below = |n: usize| ((random.number() + 1.0) / 2.0 * n as f64) as usize;
    let (mut indices, mut indptr) = (Vec::new(), vec![0]);
    for i in 0..rows {
        let count = [below(columns), 0, 3 * columns][if i < 2 { i + 1 } else { 0 }];
        indices.extend((0..count).map(|_| below(columns) as i32));
        indptr.push(indices.len() as i32);
    }
    indices.extend([columns as i32; 2]);
    (indices, indptr)
}

#[test]
fn every_batch_and_pool_gives_the_bits_of_a_matrix_alone() {
    fn test<T: Target>() {
        for (m, n, k) in [(1, 1, 1), (5, 4, 1), (4, 3, 2), (900, 40, 1), (200, 50, 9)] {
            let (indices, indptr) = places(m, n, m);
            let nnz = indices.len();
            let data: Vec<T> = Random::new(1).matrix(nnz, 4);
            let (rhs, ct): (Vec<T>, Vec<T>) = (Random::new(2).matrix(n * k, 4), Random::new(3).matrix(m * k, 4));
            let dims = |batch: &[usize], core: &[usize]| -> Vec<i64> {
                batch.iter().chain(core).map(|&size| size as i64).collect()
            };
            let call = |name: &str, elements: std::ops::Range<usize>, batch: &[usize], pool| {
                let part = |all: &[T], len: usize| all[elements.start * len..elements.end * len].to_vec();
                let frame = CallFrame::new(&format!("oxidax_kernels.{name}"))
                    .arg(&part(&data, nnz), &dims(batch, &[nnz]))
                    .arg(&indices, &[nnz as i64])
                    .arg(&indptr, &[m as i64 + 1])
                    .arg(&part(&rhs, n * k), &dims(batch, &[n, k]));
                let frame = match name {
                    "csr_matmul_bwd" => frame
                        .arg(&part(&ct, m * k), &dims(batch, &[m, k]))
                        .result::<T>(&dims(batch, &[nnz]))
                        .result::<T>(&dims(batch, &[n, k])),
                    "csr_matmul_jvp" => frame
                        .arg(&part(&data, nnz), &dims(batch, &[nnz]))
                        .arg(&part(&rhs, n * k), &dims(batch, &[n, k]))
                        .result::<T>(&dims(batch, &[m, k])),
                    _ => frame.result::<T>(&dims(batch, &[m, k])),
                };
                let count = frame.rets.len();
                let results = frame.pool(pool).call().unwrap_or_else(|error| panic!("{error}"));
                let all = (0..count).map(|k| {
                    assert!(results.written(k).iter().all(|&written| written), "{name}: result {k}");
                    let bytes = results.bytes(k);
                    bytes.chunks(bytes.len() / elements.len()).map(<[u8]>::to_vec).collect::<Vec<_>>()
                });
                all.collect::<Vec<_>>()
            };
            for name in ["csr_matmul", "csr_matmul_jvp", "csr_matmul_bwd"] {
                let alone: Vec<_> = (0..4).map(|i| call(name, i..i + 1, &[], Pool::None)).collect();
                assert!(call(name, 1..2, &[], Pool::Threads(3)) == alone[1], "{name} {m} {n} {k}: on threads");
                for (batch, pool) in [(&[4][..], Pool::None), (&[2, 2], Pool::Threads(2)), (&[4, 1], Pool::Busy(3))] {
                    for (result, elements) in call(name, 0..4, batch, pool).iter().enumerate() {
                        for (i, bytes) in elements.iter().enumerate() {
                            assert!(*bytes == alone[i][result][0], "{name} {m} {n} {k}: {i} in {batch:?}");
                        }
                    }
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn systems_are_solved_alike_whatever_the_batch() {
    fn test<T: Target>() {
        for (n, reorder) in [(1, 1), (4, 0), (30, 1)] {
            // Three entries in each row, one of them on the diagonal.
            let (mut indices, mut indptr) = (Vec::new(), vec![0i64]);
            for i in 0..n as i64 {
                indices.extend([(i * 7 + 1) % n as i64, i, (i + 1) % n as i64]);
                indptr.push(indices.len() as i64);
            }
            let nnz = indices.len();
            let mut data: Vec<T> = Random::new(n).matrix(nnz, 4);
            data.iter_mut().skip(1).step_by(3).for_each(|x| *x = *x + T::of(5.0, 0.0));
            let b: Vec<T> = Random::new(n + 1).matrix(n, 4);
            let call = |name: &str, elements: std::ops::Range<usize>, batch: &[i64], pool| {
                let dims = |core: usize| batch.iter().copied().chain([core as i64]).collect::<Vec<_>>();
                let part = |all: &[T], len: usize| all[elements.start * len..elements.end * len].to_vec();
                let frame = CallFrame::new(&format!("oxidax_kernels.{name}"))
                    .arg(&part(&data, nnz), &dims(nnz))
                    .arg(&indices, &[nnz as i64])
                    .arg(&indptr, &[n as i64 + 1])
                    .arg(&part(&b, n), &dims(n));
                let frame = match name {
                    "spsolve_jvp" => frame.arg(&part(&data, nnz), &dims(nnz)).arg(&part(&b, n), &dims(n)),
                    "spsolve_bwd" => frame.arg(&part(&b, n), &dims(n)).result::<T>(&dims(nnz)),
                    _ => frame,
                };
                let frame = frame.result::<T>(&dims(n)).attr("reorder", reorder);
                let count = frame.rets.len();
                let results = frame.pool(pool).call().unwrap_or_else(|error| panic!("{error}"));
                let all = (0..count).map(|k| {
                    assert!(results.written(k).iter().all(|&written| written), "{name}: result {k}");
                    let found = results.get::<T>(k);
                    assert!(found.iter().all(|x| x.is_finite()), "{name} {n}");
                    found.chunks(found.len() / elements.len()).map(bits).collect::<Vec<_>>()
                });
                all.collect::<Vec<_>>()
            };
            for name in ["spsolve", "spsolve_jvp", "spsolve_bwd"] {
                let alone: Vec<_> = (0..4).map(|i| call(name, i..i + 1, &[], Pool::None)).collect();
                for (batch, pool) in [(&[4][..], Pool::None), (&[2, 2], Pool::Threads(2)), (&[4, 1], Pool::Busy(3))] {
                    for (result, elements) in call(name, 0..4, batch, pool).iter().enumerate() {
                        for (i, found) in elements.iter().enumerate() {
                            assert!(*found == alone[i][result][0], "{name} {n}: {i} in {batch:?}");
                        }
                    }
                }
            }
        }
    }
    for_each_scalar!(test);
}

/// `[1 0 2; 0 0 3]` times a matrix, with numbers of one dtype.
fn product<T: Element, I: Element>(number: impl Fn(i32) -> T, place: impl Fn(i32) -> I, width: i64) -> Vec<T> {
    let frame = CallFrame::new("cpu_csr_sparse_dense_ffi")
        .arg(&[1, 2, 3].map(&number), &[3])
        .arg(&[0, 2, 3].map(&place), &[3])
        .arg(&[0, 2, 2].map(&place), &[3]);
    let rhs: Vec<T> = (0..3 * width.max(1) as i32).map(number).collect();
    let shape = |rows| if width == 0 { vec![rows] } else { vec![rows, width] };
    frame.arg(&rhs, &shape(3)).result::<T>(&shape(2)).call().unwrap_or_else(|error| panic!("{error}")).get(0)
}

#[test]
fn the_target_takes_every_dtype_as_vectors_and_as_matrices() {
    fn test<T: Element + PartialEq>(number: impl Fn(i32) -> T + Copy) {
        let expected = |numbers: &[i32]| numbers.iter().map(|&x| number(x)).collect::<Vec<_>>();
        for (width, numbers) in [(0, &[4, 6][..]), (1, &[4, 6]), (2, &[8, 11, 12, 15])] {
            assert!(product(number, |x| x, width) == expected(numbers), "{width}");
            assert!(product(number, i64::from, width) == expected(numbers), "{width}");
        }
    }
    test(|x| x);
    test(i64::from);
    test(|x| x as f32);
    test(f64::from);
    test(|x| Complex::new(x as f32, 0.0));
    test(|x| Complex::new(f64::from(x), 0.0));
}

#[test]
fn the_targets_indices_are_all_of_one_dtype() {
    let frame = CallFrame::new("cpu_csr_sparse_dense_ffi").arg(&[1f32], &[1]).arg(&[0i32, 1], &[2]).arg(&[0i64], &[1]);
    let error = frame.arg(&[1f32], &[1]).result::<f32>(&[1]).call().unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("\"indices\": expected s32, got s64"), "{error}");
}
