//! Random matrices of the four scalar types, and residuals in units of their eps, computed in f64.

use std::fmt::Debug;

use num_traits::Float;
use oxidax::Complex;
use oxidax_kernels::lapack::{Lapack, Uplo};

pub type Wide = Complex<f64>;

/// A scalar type of the tests.
pub trait Sample: Lapack {
    const EPS: f64;
    const INFINITY: Self;

    fn of(re: f64, im: f64) -> Self;
    fn wide(self) -> Wide;
    /// Its bits, for comparisons that tell NaN and signs of zero apart.
    fn bits(self) -> [u64; 2];
}

macro_rules! samples {
    ($($real:ident)*) => {
        $(
            impl Sample for $real {
                const EPS: f64 = $real::EPSILON as f64;
                const INFINITY: Self = $real::INFINITY;

                fn of(re: f64, _: f64) -> Self {
                    re as $real
                }

                fn wide(self) -> Wide {
                    Wide::new(self as f64, 0.0)
                }

                fn bits(self) -> [u64; 2] {
                    [self.to_bits().into(), 0]
                }
            }

            impl Sample for Complex<$real> {
                const EPS: f64 = $real::EPSILON as f64;
                const INFINITY: Self = Complex::new($real::INFINITY, 0.0);

                fn of(re: f64, im: f64) -> Self {
                    Complex::new(re as $real, im as $real)
                }

                fn wide(self) -> Wide {
                    Wide::new(self.re as f64, self.im as f64)
                }

                fn bits(self) -> [u64; 2] {
                    [self.re.to_bits().into(), self.im.to_bits().into()]
                }
            }
        )*
    };
}

samples! { f32 f64 }

/// Calls a generic test for each scalar type.
#[macro_export]
macro_rules! for_each_scalar {
    ($test:ident $(, $argument:expr)*) => {{
        $test::<f32>($($argument),*);
        $test::<f64>($($argument),*);
        $test::<oxidax::Complex<f32>>($($argument),*);
        $test::<oxidax::Complex<f64>>($($argument),*);
    }};
}

/// A generator of numbers in -1..1.
pub struct Random(u64);

impl Random {
    pub fn new(seed: usize) -> Self {
        Random((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn number(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn matrix<T: Sample>(&mut self, m: usize, n: usize) -> Vec<T> {
        (0..m * n).map(|_| T::of(self.number(), self.number())).collect()
    }

    /// Hermitian and positive definite.
    pub fn definite<T: Sample>(&mut self, n: usize) -> Vec<T> {
        let b = Matrix::of(n, n, &self.matrix::<T>(n, n));
        let mut a = b.times(&b.adjoint());
        for j in 0..n {
            a.data[j * n + j] += n as f64;
        }
        a.data.iter().map(|x| T::of(x.re, x.im)).collect()
    }

    /// Hermitian, with eigenvalues of both signs.
    pub fn hermitian<T: Sample>(&mut self, n: usize) -> Vec<T> {
        let b = Matrix::of(n, n, &self.matrix::<T>(n, n));
        (0..n * n).map(|x| b.at(x % n, x / n) + b.at(x / n, x % n).conj()).map(|x| T::of(x.re, x.im)).collect()
    }
}

/// Whether an element of a square matrix, counted through its columns, is in a triangle.
pub fn is_in(uplo: Uplo, n: usize, x: usize) -> bool {
    if uplo == Uplo::Lower { x % n >= x / n } else { x % n <= x / n }
}

/// A column-major matrix in double precision.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub m: usize,
    pub n: usize,
    pub data: Vec<Wide>,
}

impl Matrix {
    pub fn of<T: Sample>(m: usize, n: usize, data: &[T]) -> Self {
        assert_eq!(data.len(), m * n);
        Matrix { m, n, data: data.iter().map(|x| x.wide()).collect() }
    }

    pub fn from_fn(m: usize, n: usize, f: impl Fn(usize, usize) -> Wide) -> Self {
        Matrix { m, n, data: (0..m * n).map(|x| f(x % m, x / m)).collect() }
    }

    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, n, |i, j| Wide::new(f64::from(u8::from(i == j)), 0.0))
    }

    pub fn at(&self, i: usize, j: usize) -> Wide {
        self.data[j * self.m + i]
    }

    pub fn map(&self, f: impl Fn(usize, usize, Wide) -> Wide) -> Self {
        Self::from_fn(self.m, self.n, |i, j| f(i, j, self.at(i, j)))
    }

    pub fn adjoint(&self) -> Self {
        Self::from_fn(self.n, self.m, |i, j| self.at(j, i).conj())
    }

    /// The first `n` columns.
    pub fn columns(&self, n: usize) -> Self {
        Matrix { m: self.m, n, data: self.data[..self.m * n].to_vec() }
    }

    pub fn times(&self, other: &Matrix) -> Self {
        assert_eq!(self.n, other.m);
        let mut data = vec![Wide::new(0.0, 0.0); self.m * other.n];
        for j in 0..other.n {
            for k in 0..self.n {
                let factor = other.at(k, j);
                let column = &self.data[k * self.m..(k + 1) * self.m];
                for (x, y) in data[j * self.m..(j + 1) * self.m].iter_mut().zip(column) {
                    *x += y * factor;
                }
            }
        }
        Matrix { m: self.m, n: other.n, data }
    }

    pub fn norm(&self) -> f64 {
        self.data.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt()
    }

    /// `|self - other| / (eps |other| max(m, n))`, with NaN if there is one.
    pub fn distance<T: Sample>(&self, other: &Matrix) -> f64 {
        assert_eq!((self.m, self.n), (other.m, other.n));
        let difference = Matrix { data: self.data.iter().zip(&other.data).map(|(x, y)| x - y).collect(), ..*self };
        let scale = T::EPS * other.norm() * self.m.max(self.n) as f64;
        if difference.norm() == 0.0 { 0.0 } else { difference.norm() / scale }
    }
}

/// The product of reflectors `1 - tau v v^H`: the columns of `vectors`.
fn product(vectors: &Matrix, tau: impl Iterator<Item = Wide>) -> Matrix {
    let n = vectors.m;
    let mut q = Matrix::identity(n);
    for (v, tau) in vectors.data.chunks_exact(n.max(1)).zip(tau) {
        let image = q.times(&Matrix { m: n, n: 1, data: v.to_vec() }).data;
        for (column, v) in q.data.chunks_exact_mut(n).zip(v) {
            column.iter_mut().zip(&image).for_each(|(x, y)| *x -= tau * y * v.conj());
        }
    }
    q
}

/// The orthonormal matrix and the Hessenberg form of what `gehrd` leaves.
pub fn hessenberg<T: Sample>(n: usize, a: &[T], tau: &[T]) -> (Matrix, Matrix) {
    let a = Matrix::of(n, n, a);
    let [zero, one] = [0.0, 1.0].map(|x| Wide::new(x, 0.0));
    let vectors = Matrix::from_fn(n, tau.len(), |i, j| match i {
        _ if i <= j => zero,
        _ if i == j + 1 => one,
        _ => a.at(i, j),
    });
    let form = a.map(|i, j, x| if i <= j + 1 { x } else { zero });
    (product(&vectors, tau.iter().map(|x| x.wide())), form)
}

/// The orthonormal matrix and the tridiagonal form of what `sytrd` leaves.
pub fn tridiagonal<T: Sample<RealPart: Sample>>(
    uplo: Uplo,
    n: usize,
    a: &[T],
    [d, e]: [&[T::RealPart]; 2],
    tau: &[T],
) -> (Matrix, Matrix) {
    let form = Matrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => d[i].wide(),
        1 => e[i.min(j)].wide(),
        _ => Wide::new(0.0, 0.0),
    });
    if uplo == Uplo::Lower {
        return (hessenberg(n, a, tau).0, form);
    }
    // From the last one to the first.
    let a = Matrix::of(n, n, a);
    let vectors = Matrix::from_fn(n, tau.len(), |i, j| {
        let last = tau.len() - 1 - j;
        match i {
            _ if i < last => a.at(i, last + 1),
            _ if i == last => Wide::new(1.0, 0.0),
            _ => Wide::new(0.0, 0.0),
        }
    });
    (product(&vectors, tau.iter().rev().map(|x| x.wide())), form)
}

/// Empty, one, small, one past a block, wide, tall.
pub const SHAPES: &[(usize, usize)] = &[
    (0, 0),
    (0, 3),
    (3, 0),
    (1, 1),
    (1, 5),
    (5, 1),
    (2, 2),
    (3, 3),
    (8, 8),
    (33, 33),
    (65, 65),
    (4, 9),
    (9, 4),
    (17, 65),
    (65, 17),
    (129, 129),
    (10, 129),
    (129, 10),
];

/// Fails with the numbers where a residual is above `limit` units of eps.
#[track_caller]
pub fn within(limit: f64, residual: f64, what: impl Debug) {
    assert!(residual <= limit, "{what:?}: {residual:.3} units of eps, more than {limit}");
}

pub fn bits<T: Sample>(data: &[T]) -> Vec<[u64; 2]> {
    data.iter().map(|x| x.bits()).collect()
}

pub fn all_nan<T: Sample>(data: &[T]) -> bool {
    data.iter().all(|x| x.re().is_nan())
}
