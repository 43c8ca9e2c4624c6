//! Call frames of jaxlib's targets, as JAX's lowering makes them, for batches of random matrices.

use oxidax::testing::{CallFrame, Pool, Results};
use oxidax::{Complex, Element};
use oxidax_kernels::lapack::{Eigenvectors, Geqrf, OwnedWorkspace, SchurVectors, SvdJob, Uplo};

use crate::sample::{Random, Sample};

/// A scalar type, with its letter in the names of targets.
pub trait Target: Sample<RealPart: Sample, ComplexOf: Sample> {
    const LETTER: char;
}

impl Target for f32 {
    const LETTER: char = 's';
}

impl Target for f64 {
    const LETTER: char = 'd';
}

impl Target for Complex<f32> {
    const LETTER: char = 'c';
}

impl Target for Complex<f64> {
    const LETTER: char = 'z';
}

/// What a target is asked to do.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op {
    Potrf(Uplo),
    Getrf,
    Geqrf,
    /// With so many reflectors.
    Orgqr(usize),
    Gesdd(SvdJob),
    Gesvd(SvdJob),
    Geev(Eigenvectors, Eigenvectors),
    Syevd(Eigenvectors, Uplo),
    Gees(SchurVectors),
    Gehrd,
    Sytrd(Uplo),
}

impl Op {
    pub fn target<T: Target>(self) -> String {
        let stem = match self {
            Op::Potrf(_) => "potrf",
            Op::Getrf => "getrf",
            Op::Geqrf => "geqrf",
            Op::Orgqr(_) if T::COMPLEX => "ungqr",
            Op::Orgqr(_) => "orgqr",
            Op::Gesdd(_) => "gesdd",
            Op::Gesvd(_) => "gesvd",
            Op::Geev(..) => "geev",
            Op::Syevd(..) if T::COMPLEX => "heevd",
            Op::Syevd(..) => "syevd",
            Op::Gees(_) => "gees",
            Op::Gehrd => "gehrd",
            Op::Sytrd(_) if T::COMPLEX => "hetrd",
            Op::Sytrd(_) => "sytrd",
        };
        format!("lapack_{}{stem}_ffi", T::LETTER)
    }

    /// Every target, with one choice of its attributes, for square matrices.
    pub fn all(n: usize) -> [Op; 11] {
        use Eigenvectors::Compute;
        [
            Op::Potrf(Uplo::Lower),
            Op::Getrf,
            Op::Geqrf,
            Op::Orgqr(n),
            Op::Gesdd(SvdJob::Some),
            Op::Gesvd(SvdJob::Some),
            Op::Geev(Compute, Compute),
            Op::Syevd(Compute, Uplo::Lower),
            Op::Gees(SchurVectors::Compute),
            Op::Gehrd,
            Op::Sytrd(Uplo::Upper),
        ]
    }

    /// The place of `info` among the results of type `T`, if there is one.
    pub fn info<T: Target>(self) -> Option<usize> {
        match self {
            Op::Potrf(_) => Some(1),
            Op::Getrf => Some(2),
            Op::Geqrf | Op::Orgqr(_) => None,
            Op::Gesdd(_) | Op::Gesvd(_) => Some(4),
            Op::Geev(..) => Some(if T::COMPLEX { 3 } else { 4 }),
            Op::Syevd(..) | Op::Gehrd => Some(2),
            Op::Gees(_) => Some(if T::COMPLEX { 4 } else { 5 }),
            Op::Sytrd(_) => Some(4),
        }
    }
}

/// Where the operand and the result of an `InOut` lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Memory {
    /// In one place, as under JAX.
    Shared,
    /// Apart, as XLA has it where the aliasing is not asked for.
    Apart,
}

/// Matrices of one shape for one target.
#[derive(Clone)]
pub struct Problem<T: Target> {
    pub op: Op,
    pub m: usize,
    pub n: usize,
    pub a: Vec<Vec<T>>,
    pub tau: Vec<Vec<T>>,
}

impl<T: Target> Problem<T> {
    /// So many random matrices: positive definite for `potrf`, reflectors for `orgqr`, Hermitian for `syevd` and `sytrd`.
    pub fn random(op: Op, m: usize, n: usize, count: usize) -> Self {
        let mut problem = Problem { op, m, n, a: Vec::new(), tau: Vec::new() };
        for seed in 0..count {
            let mut random = Random::new(seed * 1000 + m * 31 + n + 1);
            let mut a = match op {
                Op::Potrf(_) => random.definite(n),
                Op::Syevd(..) | Op::Sytrd(_) => random.hermitian(n),
                _ => random.matrix(m, n),
            };
            let mut tau = Vec::new();
            if let Op::Orgqr(k) = op {
                let geqrf = Geqrf::new(m, n).unwrap();
                tau = vec![T::zero(); n];
                geqrf.run(&mut a, &mut tau, OwnedWorkspace::new(geqrf.workspace()).lend());
                tau.truncate(k);
            }
            problem.a.push(a);
            problem.tau.push(tau);
        }
        problem
    }

    /// The matrices of a range, alone.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        Problem { a: self.a[range.clone()].to_vec(), tau: self.tau[range].to_vec(), ..*self }
    }

    pub fn frame(&self, batch: &[usize], memory: Memory) -> CallFrame {
        assert_eq!(batch.iter().product::<usize>(), self.a.len(), "the batch has another size");
        let (m, n, k) = (self.m, self.n, self.m.min(self.n));
        let dims = |core: &[usize]| batch.iter().chain(core).map(|&size| size as i64).collect::<Vec<_>>();
        let (a, shape) = (self.a.concat(), dims(&[m, n]));
        let frame = CallFrame::new(&self.op.target::<T>());
        if let Op::Geev(left, right) = self.op {
            let mut frame = frame.arg(&a, &shape);
            for _ in 0..if T::COMPLEX { 1 } else { 2 } {
                frame = frame.result::<T>(&dims(&[n]));
            }
            return frame
                .result::<T::ComplexOf>(&shape)
                .result::<T::ComplexOf>(&shape)
                .result::<i32>(&dims(&[]))
                .attr("compute_left", left as u8)
                .attr("compute_right", right as u8);
        }
        let frame = match memory {
            Memory::Shared => frame.inout(&a, &shape),
            Memory::Apart => frame.arg(&a, &shape).result::<T>(&shape),
        };
        match self.op {
            Op::Potrf(uplo) => frame.result::<i32>(&dims(&[])).attr("uplo", uplo as u8),
            Op::Getrf => frame.result::<i32>(&dims(&[k])).result::<i32>(&dims(&[])),
            Op::Geqrf => frame.result::<T>(&dims(&[k])),
            Op::Orgqr(k) => frame.arg(&self.tau.concat(), &dims(&[k])),
            Op::Gesdd(job) | Op::Gesvd(job) => {
                let (columns, rows) = if job == SvdJob::All { (m, n) } else { (k, k) };
                frame
                    .result::<T::RealPart>(&dims(&[k]))
                    .result::<T>(&dims(&[m, columns]))
                    .result::<T>(&dims(&[rows, n]))
                    .result::<i32>(&dims(&[]))
                    .attr("mode", job as u8)
            }
            Op::Geev(..) => unreachable!("returned above"),
            Op::Syevd(job, uplo) => frame
                .result::<T::RealPart>(&dims(&[n]))
                .result::<i32>(&dims(&[]))
                .attr("mode", job as u8)
                .attr("uplo", uplo as u8),
            Op::Gees(job) => {
                let mut frame = frame.result::<T>(&shape);
                for _ in 0..if T::COMPLEX { 1 } else { 2 } {
                    frame = frame.result::<T>(&dims(&[n]));
                }
                let frame = frame.result::<i32>(&dims(&[])).result::<i32>(&dims(&[]));
                frame.attr("mode", job as u8).attr("sort", b'N')
            }
            Op::Gehrd => frame
                .result::<T>(&dims(&[n.max(1) - 1]))
                .result::<i32>(&dims(&[]))
                .attr("low", 1i32)
                .attr("high", n as i32),
            Op::Sytrd(uplo) => frame
                .result::<T::RealPart>(&dims(&[n]))
                .result::<T::RealPart>(&dims(&[n.max(1) - 1]))
                .result::<T>(&dims(&[n.max(1) - 1]))
                .result::<i32>(&dims(&[]))
                .attr("uplo", uplo as u8),
        }
    }

    /// Every element of every result is written, or this panics.
    pub fn call(&self, batch: &[usize], memory: Memory, pool: Pool) -> Outcome {
        let frame = self.frame(batch, memory).pool(pool);
        let count = frame.rets.len();
        let results = frame.call().unwrap_or_else(|error| panic!("{error}"));
        for k in 0..count {
            let missing = results.written(k).iter().position(|written| !written);
            assert_eq!(missing, None, "{:?} {} x {}: element not written in result {k}", self.op, self.m, self.n);
        }
        Outcome { results, count, batch: self.a.len() }
    }
}

/// The results of a batch.
pub struct Outcome {
    results: Results,
    count: usize,
    batch: usize,
}

impl Outcome {
    /// The `k`-th result of the `i`-th matrix.
    pub fn of<E: Element>(&self, k: usize, i: usize) -> Vec<E> {
        let all = self.results.get::<E>(k);
        let len = all.len() / self.batch;
        all[i * len..(i + 1) * len].to_vec()
    }

    /// Every result of the `i`-th matrix, bit for bit.
    pub fn bytes(&self, i: usize) -> Vec<&[u8]> {
        let part = |k| {
            let all = self.results.bytes(k);
            let len = all.len() / self.batch;
            &all[i * len..(i + 1) * len]
        };
        (0..self.count).map(part).collect()
    }
}
