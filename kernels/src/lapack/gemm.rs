//! `gemm`: the product of two matrices. Of BLAS, not LAPACK.

use oxidax::Error;

use super::flags::{Letter, Transpose};
use super::library::Library;
use super::routines::{Int, Routines};
use super::scalar::Lapack;
use super::sizes::{self, leading, len};

/// `c = alpha op(a) op(b) + beta c`, for `op(a)` of `m x k`, `op(b)` of `k x n`, and `c` in columns of its own length.
///
/// With `beta` zero `c` is not read, with `alpha` zero `a` and `b` are not. Otherwise, what is not finite propagates. One
/// thread computes it.
#[derive(Clone, Copy)]
pub struct Gemm {
    op: [Transpose; 2],
    sizes: [Int; 3],
    ldc: Int,
}

impl Gemm {
    /// For one shape, `m`, `n` and `k`, and the length of the columns that `c` is part of.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if a size does not fit BLAS's integers, or unless `m <= ldc`.
    pub fn new(op: [Transpose; 2], [m, n, k]: [usize; 3], ldc: usize) -> Result<Self, Error> {
        sizes::require(m <= ldc, format_args!("{m} rows do not fit columns of length {ldc}"))?;
        let [m, n, k] = [sizes::int("m", m)?, sizes::int("n", n)?, sizes::int("k", k)?];
        Ok(Gemm { op, sizes: [m, n, k], ldc: sizes::int("ldc", ldc)? })
    }

    /// The product of the first `m` and `n` rows and columns alone.
    pub fn part(self, m: usize, n: usize) -> Self {
        assert!(m <= len(self.sizes[0]) && n <= len(self.sizes[1]), "gemm: the part is larger than the whole");
        Gemm { sizes: [m as Int, n as Int, self.sizes[2]], ..self }
    }

    /// Multiplies. Of `c`, each column's first `m` elements are written.
    pub fn run<T: Lapack>(&self, alpha: T, a: &[T], b: &[T], beta: T, c: &mut [T]) {
        let Gemm { op, sizes: [m, n, k], ldc } = *self;
        if m == 0 || n == 0 {
            return;
        }
        assert_eq!((a.len(), b.len()), (len(m) * len(k), len(k) * len(n)), "gemm: a or b is not of its shape");
        assert!(c.len() >= (len(n) - 1) * len(ldc) + len(m), "gemm: c is too short");
        let rows = |op, no, yes| leading(if op == Transpose::No { no } else { yes });
        let (lda, ldb) = (rows(op[0], m, k), rows(op[1], k, n));
        let [transa, transb] = op.map(Letter::letter);
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        let routines: &Routines<T> = Library::openblas().routines();
        // SAFETY: L1, L4: the operands are dense, and `c` has `n` columns of `m` elements, `ldc` apart.
        unsafe { (routines.gemm)(&transa, &transb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc) };
    }
}
