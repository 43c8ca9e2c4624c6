//! `gemm`: the product of two matrices. It is of BLAS, so it has no row in the table: SciPy's LAPACK lacks it.

use std::ffi::c_char;

use num_complex::Complex;
use oxidax::Error;

use super::flags::{Letter, Transpose};
use super::routines::Int;
use super::scalar::Lapack;
use super::sizes::{Sizes, leading, len};

type Signature<E> = unsafe extern "C" fn(
    *const c_char, // transa
    *const c_char, // transb
    *const Int,    // m
    *const Int,    // n
    *const Int,    // k
    *const E,      // alpha
    *const E,      // a
    *const Int,    // lda
    *const E,      // b
    *const Int,    // ldb
    *const E,      // beta
    *mut E,        // c
    *const Int,    // ldc
);

/// A type that BLAS multiplies.
pub trait Product: Sized {
    /// The routine of the OpenBLAS that is linked in.
    #[doc(hidden)]
    const GEMM: Gemm_<Self>;
}

/// A routine that nobody else can call.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Gemm_<E>(Signature<E>);

macro_rules! products {
    ($($scalar:ty, $name:ident;)*) => {
        $(impl Product for $scalar {
            const GEMM: Gemm_<Self> = {
                // SAFETY: L12: declared as in BLAS's documentation.
                unsafe extern "C" {
                    fn $name(
                        transa: *const c_char,
                        transb: *const c_char,
                        m: *const Int,
                        n: *const Int,
                        k: *const Int,
                        alpha: *const $scalar,
                        a: *const $scalar,
                        lda: *const Int,
                        b: *const $scalar,
                        ldb: *const Int,
                        beta: *const $scalar,
                        c: *mut $scalar,
                        ldc: *const Int,
                    );
                }
                Gemm_($name)
            };
        })*
    };
}

products! {
    f32, sgemm_;
    f64, dgemm_;
    Complex<f32>, cgemm_;
    Complex<f64>, zgemm_;
}

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
        let sizes = Sizes("gemm");
        sizes.require(m <= ldc, format_args!("{m} rows do not fit columns of length {ldc}"))?;
        let [m, n, k] = [sizes.int("m", m)?, sizes.int("n", n)?, sizes.int("k", k)?];
        Ok(Gemm { op, sizes: [m, n, k], ldc: sizes.int("ldc", ldc)? })
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
        // SAFETY: L4, L12: the operands are dense, and `c` has `n` columns of `m` elements, `ldc` apart.
        unsafe { (T::GEMM.0)(&transa, &transb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc) };
    }
}
