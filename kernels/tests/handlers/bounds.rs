//! Every option of every target, on shapes about the sizes at which paths change: everything is written, and nothing
//! beyond. Frames have buffers of exactly their size; `make memcheck` runs these with each read and write compared with it.

use oxidax::testing::Pool;
use oxidax_kernels::lapack::{Diag, Side, SvdJob, Transpose, Triangle, Uplo, Vectors};

use crate::for_each_scalar;
use crate::targets::{Memory, Op, Problem, Target};

/// Every target that takes a matrix of this shape, with every choice of its attributes.
fn every_option(m: usize, n: usize) -> Vec<Op> {
    let mut ops = vec![Op::Getrf, Op::Geqrf, Op::Geqp3, Op::Gtsv, Op::Perturbed];
    for side in [Side::Left, Side::Right] {
        for uplo in [Uplo::Lower, Uplo::Upper] {
            for transpose in [Transpose::No, Transpose::Plain, Transpose::Adjoint] {
                ops.extend([Diag::Unit, Diag::NonUnit].map(|diag| Op::Trsm(Triangle { side, uplo, transpose, diag })));
            }
        }
    }
    for job in [SvdJob::All, SvdJob::Some, SvdJob::None] {
        ops.extend([Op::Gesdd(job), Op::Gesvd(job)]);
    }
    for (left, transpose) in [(true, true), (true, false), (false, true), (false, false)] {
        let order = if left { m } else { n };
        let mut counts = [0, 1, 5, 33, order].map(|k| k.min(order)).to_vec();
        counts.dedup();
        ops.extend(counts.into_iter().map(|k| Op::Ormqr(k, left, transpose)));
    }
    if m >= n {
        let mut counts = [0, 1, n / 2, n].map(|k| k.min(n)).to_vec();
        counts.dedup();
        ops.extend(counts.into_iter().map(Op::Orgqr));
    }
    if m == n {
        for uplo in [Uplo::Lower, Uplo::Upper] {
            ops.extend([Op::Potrf(uplo), Op::Sytrd(uplo)]);
            ops.extend([Vectors::Compute, Vectors::Skip].map(|vectors| Op::Syevd(vectors, uplo)));
        }
        ops.push(Op::Gehrd);
        for vectors in [Vectors::Compute, Vectors::Skip] {
            ops.extend([Op::Gees(vectors), Op::Geev(Vectors::Compute, vectors), Op::Geev(Vectors::Skip, vectors)]);
        }
    }
    ops
}

fn call_all<T: Target>(shapes: &[(usize, usize)], batches: &[&[usize]]) {
    for &(m, n) in shapes {
        for op in every_option(m, n) {
            for batch in batches {
                let problem = Problem::<T>::random(op, m, n, batch.iter().product());
                for memory in [Memory::Shared, Memory::Apart] {
                    problem.call(batch, memory, Pool::Threads(2));
                }
            }
        }
    }
}

#[test]
fn every_option_writes_everything() {
    const SHAPES: [(usize, usize); 13] =
        [(0, 0), (0, 3), (3, 0), (1, 1), (1, 2), (2, 1), (5, 3), (3, 5), (9, 8), (8, 9), (17, 17), (33, 33), (1, 40)];
    fn test<T: Target>() {
        call_all::<T>(&SHAPES, &[&[], &[0], &[2, 0], &[3]]);
    }
    for_each_scalar!(test);
}

#[test]
#[ignore = "long: `make memcheck`"]
fn every_option_writes_everything_of_large_matrices() {
    const SHAPES: [(usize, usize); 9] =
        [(32, 32), (33, 32), (32, 33), (131, 131), (140, 3), (3, 140), (257, 1), (1, 257), (70, 150)];
    fn test<T: Target>() {
        call_all::<T>(&SHAPES, &[&[]]);
    }
    for_each_scalar!(test);
}
