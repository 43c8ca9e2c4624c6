//! Systems and reflectors of random numbers, and what they mean in double precision.

use oxidax_kernels::lapack::{Diag, Geqrf, Int, Orgqr, OwnedWorkspace, Side, Transpose, Triangle, Uplo};

use crate::sample::{Matrix, Random, Sample, Wide};

/// Every choice of what is read.
pub fn triangles() -> Vec<Triangle> {
    let mut all = Vec::new();
    for side in [Side::Left, Side::Right] {
        for uplo in [Uplo::Upper, Uplo::Lower] {
            for transpose in [Transpose::No, Transpose::Plain, Transpose::Adjoint] {
                all.extend([Diag::Unit, Diag::NonUnit].map(|diag| Triangle { side, uplo, transpose, diag }));
            }
        }
    }
    all
}

/// A matrix of a small condition number, with `outside` wherever the triangle is not read.
pub fn triangular<T: Sample>(triangle: Triangle, order: usize, seed: usize, outside: T) -> Vec<T> {
    let mut a = Random::new(seed).matrix::<T>(order, order);
    for (x, element) in a.iter_mut().enumerate() {
        let (i, j) = (x % order, x / order);
        let wanted = if triangle.uplo == Uplo::Lower { i > j } else { i < j };
        let size = if i == j { 2.0 } else { 0.0 };
        let small = element.wide() / order as f64 + size;
        *element =
            if wanted || (i == j && triangle.diag == Diag::NonUnit) { T::of(small.re, small.im) } else { outside };
    }
    a
}

/// `op(a)`, with its ones and zeros.
pub fn op<T: Sample>(triangle: Triangle, order: usize, a: &[T]) -> Matrix {
    let wanted = |i, j| if triangle.uplo == Uplo::Lower { i >= j } else { i <= j };
    let a = Matrix::of(order, order, a).map(|i, j, x| match (i == j && triangle.diag == Diag::Unit, wanted(i, j)) {
        (true, _) => Wide::new(1.0, 0.0),
        (false, true) => x,
        (false, false) => Wide::new(0.0, 0.0),
    });
    match triangle.transpose {
        Transpose::No => a,
        Transpose::Plain => a.adjoint().map(|_, _, x| x.conj()),
        Transpose::Adjoint => a.adjoint(),
    }
}

/// `op(a) x`, or `x op(a)`.
pub fn product<T: Sample>(triangle: Triangle, m: usize, n: usize, a: &[T], x: &[T]) -> Matrix {
    let (op, x) = (op(triangle, triangle.order(m, n), a), Matrix::of(m, n, x));
    if triangle.side == Side::Left { op.times(&x) } else { x.times(&op) }
}

/// The diagonals, and the matrix of them.
pub fn tridiagonal<T: Sample>(n: usize, seed: usize) -> ([Vec<T>; 3], Matrix) {
    let mut random = Random::new(seed + 1);
    let diagonals = [(); 3].map(|()| random.matrix::<T>(n, 1));
    let matrix = matrix_of(&diagonals);
    (diagonals, matrix)
}

pub fn matrix_of<T: Sample>([dl, d, du]: &[Vec<T>; 3]) -> Matrix {
    Matrix::from_fn(d.len(), d.len(), |i, j| match (i, j) {
        _ if i == j => d[i].wide(),
        _ if i == j + 1 => dl[i].wide(),
        _ if i + 1 == j => du[i].wide(),
        _ => Wide::new(0.0, 0.0),
    })
}

/// `|a x - b|` in units of eps, over what the norms of `a` and `x` allow.
pub fn backward<T: Sample>(a: &Matrix, x: &Matrix, b: &Matrix) -> f64 {
    let product = a.times(x);
    let difference = product.map(|i, j, y| y - b.at(i, j)).norm();
    if difference == 0.0 { 0.0 } else { difference / (T::EPS * (a.norm() * x.norm() + b.norm())) }
}

/// The reflectors of a random matrix of `order x k`, their factors, and the whole of Q.
pub fn reflectors<T: Sample>(order: usize, k: usize, seed: usize) -> (Vec<T>, Vec<T>, Matrix) {
    let mut a = Random::new(seed + 1).matrix::<T>(order, k);
    let (geqrf, mut tau) = (Geqrf::new(order, k).unwrap(), vec![T::zero(); k]);
    geqrf.run(&mut a, &mut tau, OwnedWorkspace::new(geqrf.workspace()).lend());
    (a.clone(), tau.clone(), whole_q(order, &a, &tau))
}

/// The square Q of reflectors.
pub fn whole_q<T: Sample>(order: usize, a: &[T], tau: &[T]) -> Matrix {
    let mut q = a[..order * tau.len()].to_vec();
    q.resize(order * order, T::zero());
    let orgqr = Orgqr::new(order, order, tau.len()).unwrap();
    orgqr.run(&mut q, tau, OwnedWorkspace::new(orgqr.workspace()).lend());
    Matrix::of(order, order, &q)
}

/// `q r` in units of eps from the columns of `a` that the pivots name.
pub fn pivoted_residual<T: Sample>(m: usize, n: usize, a: &[T], qr: &[T], pivots: &[Int], tau: &[T]) -> f64 {
    let packed = Matrix::of(m, n, qr);
    let r = packed.map(|i, j, x| if i <= j { x } else { Wide::new(0.0, 0.0) });
    let a = Matrix::of(m, n, a);
    let permuted = Matrix::from_fn(m, n, |i, j| a.at(i, pivots[j] as usize - 1));
    whole_q(m, qr, tau).times(&r).distance::<T>(&permuted)
}
