//! A matrix's results depend on nothing but the matrix: not on its batch, its neighbours, threads, or where it lies.

use oxidax::testing::{Place, Pool};
use oxidax_kernels::lapack::{Uplo, Vectors};

use crate::sample::all_nan;
use crate::targets::{Memory, Op, Outcome, Problem, Target};
use crate::{for_each_scalar, is_memcheck};

const POOLS: [Pool; 7] =
    [Pool::None, Pool::Threads(1), Pool::Threads(2), Pool::Threads(3), Pool::Threads(4), Pool::Busy(2), Pool::Busy(4)];

/// Each matrix in a call of its own.
fn alone<T: Target>(problem: &Problem<T>) -> Vec<Outcome> {
    (0..problem.a.len()).map(|i| problem.part(i..i + 1).call(&[], Memory::Shared, Pool::None)).collect()
}

#[test]
fn every_batch_and_every_pool_give_the_same_bits() {
    fn test<T: Target>() {
        let pools = if is_memcheck() { &POOLS[..3] } else { &POOLS };
        for (n, count) in [(1, 30), (4, 60), (17, 20), (33, 14), (65, 7)] {
            let count = if is_memcheck() { count / 5 + 1 } else { count };
            for op in Op::all(n) {
                let problem = Problem::<T>::random(op, n, n, count);
                let alone = alone(&problem);
                for (round, &pool) in pools.iter().enumerate() {
                    let memory = if round % 2 == 0 { Memory::Shared } else { Memory::Apart };
                    for size in [1, count / 3, count] {
                        let outcome = problem.part(0..size).call(&[size], memory, pool);
                        for (i, alone) in alone[..size].iter().enumerate() {
                            assert!(
                                outcome.bytes(i) == alone.bytes(0),
                                "{op:?} {n}: {i} of {size}, {pool:?}, {memory:?}"
                            );
                        }
                    }
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn batches_of_several_axes_are_in_row_major_order() {
    fn test<T: Target>() {
        for op in Op::all(5) {
            let problem = Problem::<T>::random(op, 5, 5, 12);
            let flat = problem.call(&[12], Memory::Shared, Pool::None);
            for batch in [&[3, 4][..], &[2, 3, 2], &[1, 12, 1]] {
                let outcome = problem.call(batch, Memory::Apart, Pool::Threads(2));
                for i in 0..12 {
                    assert!(outcome.bytes(i) == flat.bytes(i), "{op:?} in {batch:?}: {i}");
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn a_neighbour_that_is_not_finite_changes_nothing() {
    fn test<T: Target>() {
        for (n, op) in [3, 33].into_iter().flat_map(|n| Op::all(n).map(|op| (n, op))) {
            let mut problem = Problem::<T>::random(op, n, n, 9);
            for (i, value) in [(1, T::NAN), (4, T::INFINITY)] {
                problem.a[i][0] = value;
                problem.a[i][n * n - 1] = value;
            }
            problem.a[7].fill(T::NAN);
            let alone = alone(&problem);
            for pool in [Pool::None, Pool::Threads(3), Pool::Busy(3)] {
                let outcome = problem.call(&[9], Memory::Shared, pool);
                for (i, alone) in alone.iter().enumerate() {
                    assert!(outcome.bytes(i) == alone.bytes(0), "{op:?} {n}: {i}, {pool:?}");
                }
                let info: Vec<i32> =
                    op.info::<T>().map_or(vec![], |k| (0..9).map(|i| outcome.of::<i32>(k, i)[0]).collect());
                match op {
                    Op::Potrf(_) => assert!(info[1] == 1 && info[7] == 1, "{info:?}"),
                    Op::Gesdd(_) | Op::Gesvd(_) | Op::Geev(..) | Op::Syevd(..) => {
                        assert_eq!(info, [0, -4, 0, 0, -4, 0, 0, -4, 0]);
                    }
                    Op::Gees(_) => assert_eq!(info, [0, -5, 0, 0, -5, 0, 0, -5, 0]),
                    Op::Gehrd | Op::Sytrd(_) => assert_eq!(info, [0; 9]),
                    _ => assert!(info.iter().all(|&info| info >= 0)),
                }
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn what_lapack_is_not_shown_is_nan_in_every_result() {
    fn test<T: Target>() {
        let values = if T::COMPLEX { 1 } else { 2 };
        for op in Op::all(4) {
            let results = match op {
                Op::Gesdd(_) | Op::Gesvd(_) => 1..4,
                Op::Geev(..) => 0..values + 2,
                Op::Syevd(..) => 0..2,
                Op::Gees(_) => 0..2 + values,
                _ => continue,
            };
            let mut problem = Problem::<T>::random(op, 4, 4, 3);
            problem.a[1][7] = T::INFINITY;
            let outcome = problem.call(&[3], Memory::Apart, Pool::None);
            for k in results {
                let nan = |i| match (op, k) {
                    (Op::Gesdd(_) | Op::Gesvd(_) | Op::Syevd(..), 1) => all_nan(&outcome.of::<T::RealPart>(k, i)),
                    (Op::Geev(..), 2..) => all_nan(&outcome.of::<T::ComplexOf>(k, i)),
                    _ => all_nan(&outcome.of::<T>(k, i)),
                };
                assert_eq!([nan(0), nan(1), nan(2)], [false, true, false], "{op:?}: result {k}");
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn info_is_that_of_each_matrix() {
    fn test<T: Target>() {
        for pool in [Pool::None, Pool::Threads(2)] {
            for uplo in [Uplo::Lower, Uplo::Upper] {
                let mut problem = Problem::<T>::random(Op::Potrf(uplo), 4, 4, 40);
                for i in (0..40).step_by(7) {
                    problem.a[i][(i % 4) * 5] = T::of(-1.0, 0.0);
                }
                let outcome = problem.call(&[40], Memory::Shared, pool);
                for i in 0..40 {
                    let expected = if i % 7 == 0 { i as i32 % 4 + 1 } else { 0 };
                    assert_eq!(outcome.of::<i32>(1, i), [expected], "{i}");
                }
            }
            let mut problem = Problem::<T>::random(Op::Getrf, 4, 4, 40);
            for i in (0..40).step_by(7) {
                let column = i % 4;
                problem.a[i][column * 4..column * 4 + 4].fill(T::zero());
            }
            let outcome = problem.call(&[40], Memory::Shared, pool);
            for i in 0..40 {
                let expected = if i % 7 == 0 { i as i32 % 4 + 1 } else { 0 };
                assert_eq!(outcome.of::<i32>(2, i), [expected], "{i}");
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn the_other_triangle_is_not_read() {
    fn test<T: Target>() {
        let orders = [1, 5, 33, 129].into_iter().flat_map(|n| [(n, Uplo::Lower), (n, Uplo::Upper)]);
        let ops = [Op::Potrf, Op::Sytrd, |uplo| Op::Syevd(Vectors::Compute, uplo)];
        for ((n, uplo), op) in orders.flat_map(|order| ops.map(|op: fn(Uplo) -> Op| (order, op(order.1)))) {
            let clean = Problem::<T>::random(op, n, n, 2);
            let mut spoiled = clean.clone();
            let other = |x: usize| if uplo == Uplo::Lower { x % n < x / n } else { x % n > x / n };
            for a in &mut spoiled.a {
                a.iter_mut().enumerate().filter(|(x, _)| other(*x)).for_each(|(_, value)| *value = T::NAN);
            }
            let [clean, spoiled] = [clean, spoiled].map(|problem| problem.call(&[2], Memory::Apart, Pool::None));
            for i in 0..2 {
                assert_eq!(spoiled.of::<i32>(op.info::<T>().unwrap(), i), [0]);
                for (x, (a, b)) in clean.of::<T>(0, i).iter().zip(&spoiled.of::<T>(0, i)).enumerate() {
                    // Vectors fill the matrix.
                    let expected = if other(x) && !matches!(op, Op::Syevd(..)) { T::NAN } else { *a };
                    assert_eq!(b.bits(), expected.bits(), "{op:?} {n}: element {x}");
                }
                assert!(clean.bytes(i)[1..] == spoiled.bytes(i)[1..], "{op:?} {n}");
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn operands_that_lie_elsewhere_give_the_same_bits() {
    fn test<T: Target>() {
        for (op, n) in [8, 33].into_iter().flat_map(|n| Op::all(n).map(|op| (op, n))) {
            let problem = Problem::<T>::random(op, n, n, 3);
            let expected = problem.call(&[3], Memory::Shared, Pool::None);
            let mut frame = problem.frame(&[3], Memory::Apart);
            for operand in frame.args.iter_mut().chain(&mut frame.rets) {
                operand.place = Place::Shifted(size_of::<T::ComplexOf>());
            }
            let results = frame.call().unwrap();
            for k in 0..expected.bytes(0).len() {
                let all: Vec<&[u8]> = (0..3).map(|i| expected.bytes(i)[k]).collect();
                assert!(results.bytes(k) == all.concat(), "{op:?} {n}: result {k}");
            }
        }
    }
    for_each_scalar!(test);
}
