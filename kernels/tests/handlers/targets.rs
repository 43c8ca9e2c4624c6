//! Call frames of jaxlib's targets, as JAX's lowering makes them, for batches of random matrices.

use oxidax::testing::{CallFrame, Pool, Results};
use oxidax::{Complex, Element};
use oxidax_kernels::lapack::{Diag, Geqrf, OwnedWorkspace, Side, SvdJob, Transpose, Triangle, Uplo, Vectors};

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
    /// Multiplication by so many reflectors, from the left or not, transposed or not.
    Ormqr(usize, bool, bool),
    Geqp3,
    Trsm(Triangle),
    Gtsv,
    /// `tridiagonal_solve_perturbed`, one target for every type.
    Perturbed,
    Gesdd(SvdJob),
    Gesvd(SvdJob),
    Geev(Vectors, Vectors),
    Syevd(Vectors, Uplo),
    Gees(Vectors),
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
            Op::Ormqr(..) if T::COMPLEX => "unmqr",
            Op::Ormqr(..) => "ormqr",
            Op::Geqp3 => "geqp3",
            Op::Trsm(_) => "trsm",
            Op::Gtsv => "gtsv",
            Op::Perturbed => return "tridiagonal_solve_perturbed_ffi".to_owned(),
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
    pub fn all(n: usize) -> [Op; 17] {
        use Vectors::Compute;
        let triangle = Triangle { side: Side::Left, uplo: Uplo::Lower, transpose: Transpose::No, diag: Diag::NonUnit };
        [
            Op::Potrf(Uplo::Lower),
            Op::Getrf,
            Op::Geqrf,
            Op::Orgqr(n),
            Op::Ormqr(n, true, true),
            Op::Ormqr(n, false, false),
            Op::Geqp3,
            Op::Trsm(triangle),
            Op::Gtsv,
            Op::Perturbed,
            Op::Gesdd(SvdJob::Some),
            Op::Gesvd(SvdJob::Some),
            Op::Geev(Compute, Compute),
            Op::Syevd(Compute, Uplo::Lower),
            Op::Gees(Compute),
            Op::Gehrd,
            Op::Sytrd(Uplo::Upper),
        ]
    }

    /// The place of `info` among the results of type `T`, if there is one.
    pub fn info<T: Target>(self) -> Option<usize> {
        match self {
            Op::Potrf(_) => Some(1),
            Op::Getrf => Some(2),
            Op::Geqrf | Op::Orgqr(_) | Op::Ormqr(..) | Op::Geqp3 | Op::Trsm(_) | Op::Perturbed => None,
            Op::Gtsv | Op::Gesdd(_) | Op::Gesvd(_) => Some(4),
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

/// Matrices of one shape for one target, and what else it is given with each: `tau` for `orgqr`; `tau` and the
/// reflectors for `ormqr`; the triangular matrix for `trsm`; the diagonals, one after the other, for the tridiagonal ones.
#[derive(Clone)]
pub struct Problem<T: Target> {
    pub op: Op,
    pub m: usize,
    pub n: usize,
    pub a: Vec<Vec<T>>,
    pub rest: Vec<Vec<T>>,
}

impl<T: Target> Problem<T> {
    /// So many random matrices: positive definite for `potrf`, Hermitian for `syevd` and `sytrd`, reflectors for `orgqr`,
    /// right-hand sides for systems.
    pub fn random(op: Op, m: usize, n: usize, count: usize) -> Self {
        let mut problem = Problem { op, m, n, a: Vec::new(), rest: Vec::new() };
        for seed in 0..count {
            let mut random = Random::new(seed * 1000 + m * 31 + n + 1);
            let mut a = match op {
                Op::Potrf(_) => random.definite(n),
                Op::Syevd(..) | Op::Sytrd(_) => random.hermitian(n),
                _ => random.matrix(m, n),
            };
            let rest = match op {
                Op::Orgqr(k) => {
                    let mut tau = factorise(&mut a, m, n);
                    tau.truncate(k);
                    tau
                }
                Op::Ormqr(k, left, _) => {
                    let order = if left { m } else { n };
                    let mut reflectors = random.matrix(order, k);
                    let mut tau = factorise(&mut reflectors, order, k);
                    tau.extend(reflectors);
                    tau
                }
                Op::Trsm(triangle) => {
                    let order = triangle.order(m, n);
                    let mut a = random.matrix::<T>(order, order);
                    a.iter_mut().step_by(order + 1).for_each(|x| *x = *x + T::of(order as f64, 0.0));
                    a
                }
                Op::Gtsv | Op::Perturbed => random.matrix(m, 3),
                _ => Vec::new(),
            };
            problem.a.push(a);
            problem.rest.push(rest);
        }
        problem
    }

    /// The matrices of a range, alone.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        Problem { a: self.a[range.clone()].to_vec(), rest: self.rest[range].to_vec(), ..*self }
    }

    pub fn frame(&self, batch: &[usize], memory: Memory) -> CallFrame {
        assert_eq!(batch.iter().product::<usize>(), self.a.len(), "the batch has another size");
        let (m, n, k) = (self.m, self.n, self.m.min(self.n));
        let dims = |core: &[usize]| batch.iter().chain(core).map(|&size| size as i64).collect::<Vec<_>>();
        let (a, shape) = (self.a.concat(), dims(&[m, n]));
        let frame = CallFrame::new(&self.op.target::<T>());
        // Of what else is given with each matrix, so many elements.
        let part = |from: usize, to: usize| self.rest.iter().flat_map(|rest| &rest[from..to]).copied().collect();
        let inout = |frame: CallFrame, values: &[T], dims: &[i64]| match memory {
            Memory::Shared => frame.inout(values, dims),
            Memory::Apart => frame.arg(values, dims).result::<T>(dims),
        };
        match self.op {
            Op::Ormqr(k, left, transpose) => {
                let order = if left { m } else { n };
                let (tau, reflectors): (Vec<T>, Vec<T>) = (part(0, k), part(k, k + order * k));
                let frame = frame.arg(&reflectors, &dims(&[order, k])).arg(&tau, &dims(&[k]));
                return inout(frame, &a, &shape).attr("left", left).attr("transpose", transpose);
            }
            Op::Trsm(Triangle { side, uplo, transpose, diag }) => {
                let order = if side == Side::Left { m } else { n };
                let frame = frame.arg::<T>(&part(0, order * order), &dims(&[order, order]));
                return inout(frame, &a, &shape)
                    .attr("side", side as u8)
                    .attr("uplo", uplo as u8)
                    .attr("trans_x", transpose as u8)
                    .attr("diag", diag as u8);
            }
            Op::Gtsv | Op::Perturbed => {
                let diagonals: [Vec<T>; 3] = std::array::from_fn(|i| part(i * m, (i + 1) * m));
                if self.op == Op::Perturbed {
                    let frame = diagonals.iter().fold(frame, |frame, diagonal| frame.arg(diagonal, &dims(&[m])));
                    return frame.arg(&a, &shape).result::<T>(&shape);
                }
                let frame = diagonals.iter().fold(frame, |frame, diagonal| inout(frame, diagonal, &dims(&[m])));
                return inout(frame, &a, &shape).result::<i32>(&dims(&[]));
            }
            _ => {}
        }
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
        let frame = inout(frame, &a, &shape);
        match self.op {
            Op::Potrf(uplo) => frame.result::<i32>(&dims(&[])).attr("uplo", uplo as u8),
            Op::Getrf => frame.result::<i32>(&dims(&[k])).result::<i32>(&dims(&[])),
            Op::Geqrf => frame.result::<T>(&dims(&[k])),
            Op::Orgqr(k) => frame.arg(&self.rest.concat(), &dims(&[k])),
            Op::Geqp3 => {
                let pivots = vec![0i32; n * self.a.len()];
                match memory {
                    Memory::Shared => frame.inout(&pivots, &dims(&[n])),
                    Memory::Apart => frame.arg(&pivots, &dims(&[n])).result::<i32>(&dims(&[n])),
                }
                .result::<T>(&dims(&[k]))
            }
            Op::Gesdd(job) | Op::Gesvd(job) => {
                let (columns, rows) = if job == SvdJob::All { (m, n) } else { (k, k) };
                frame
                    .result::<T::RealPart>(&dims(&[k]))
                    .result::<T>(&dims(&[m, columns]))
                    .result::<T>(&dims(&[rows, n]))
                    .result::<i32>(&dims(&[]))
                    .attr("mode", job as u8)
            }
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
            Op::Ormqr(..) | Op::Trsm(_) | Op::Gtsv | Op::Perturbed | Op::Geev(..) => unreachable!("returned above"),
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

/// Makes reflectors of a matrix; returns their factors.
fn factorise<T: Target>(a: &mut [T], m: usize, n: usize) -> Vec<T> {
    let (geqrf, mut tau) = (Geqrf::new(m, n).unwrap(), vec![T::zero(); m.min(n)]);
    geqrf.run(a, &mut tau, OwnedWorkspace::new(geqrf.workspace()).lend());
    tau
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
