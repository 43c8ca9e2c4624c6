//! The four scalar types of LAPACK: s, d, c and z.
#![forbid(unsafe_code)]

use num_complex::Complex;
use oxidax::{Float, Scalar};

use super::flags::Uplo;
use super::library::Library;
use super::routines::{Number, Routines};
use crate::small::{Factors, Instructions, Kernels};

/// A scalar type that LAPACK has routines for: `f32`, `f64`, `Complex<f32>`, `Complex<f64>`.
#[diagnostic::on_unimplemented(
    message = "LAPACK has no routines for `{Self}`",
    note = "it has them for `f32`, `f64`, `Complex<f32>` and `Complex<f64>`"
)]
pub trait Lapack: Scalar + Number<Real = Self::RealPart> + From<Self::RealPart> {
    // `Scalar::Real` and `Scalar::Complex` again, because a bound on those here would be a bound on itself.
    /// The type of its real and imaginary parts: `Self` for a real type.
    type RealPart: Lapack<RealPart = Self::RealPart, ComplexOf = Self::ComplexOf> + Float;
    /// The complex type with such parts: `Self` for a complex type.
    type ComplexOf: Lapack<RealPart = Self::RealPart, ComplexOf = Self::ComplexOf>;
    /// Whether it is a complex type.
    const COMPLEX: bool;
    /// Not a number, in both parts.
    const NAN: Self;

    /// Whether neither part is infinite or not a number.
    fn is_finite(self) -> bool;
    /// The real part.
    fn re(self) -> Self::RealPart;
    /// The imaginary part: zero for a real type.
    fn im(self) -> Self::RealPart;
    /// The complex conjugate: itself for a real type.
    fn conj(self) -> Self;
    /// A complex number of its parts.
    fn complex(re: Self::RealPart, im: Self::RealPart) -> Self::ComplexOf;
    /// The routines of this type in a library.
    fn routines(library: &Library) -> &Routines<Self>;
    /// The kernels that factorise small matrices, on some instructions.
    fn factors(on: &Instructions) -> &dyn Factors<Self>;
    /// All kernels for small matrices on some instructions, of a type that has them.
    fn small(on: &Instructions) -> Option<&dyn Kernels<Self>>;
}

macro_rules! scalars {
    ($(
        $letter:ident $scalar:ty, $real:ty, $complex:literal, $nan:expr, |$on:ident| $small:expr,
        |$x:ident| $finite:expr, $re:expr, $im:expr, $conj:expr;
    )*) => {
        $(impl Lapack for $scalar {
            type RealPart = $real;
            type ComplexOf = Complex<$real>;
            const COMPLEX: bool = $complex;
            const NAN: Self = $nan;

            #[inline(always)]
            fn is_finite(self) -> bool {
                let $x = self;
                $finite
            }

            #[inline(always)]
            fn re(self) -> $real {
                let $x = self;
                $re
            }

            #[inline(always)]
            fn im(self) -> $real {
                let $x = self;
                $im
            }

            #[inline(always)]
            fn conj(self) -> Self {
                let $x = self;
                $conj
            }

            #[inline(always)]
            fn complex(re: $real, im: $real) -> Complex<$real> {
                Complex::new(re, im)
            }

            #[inline(always)]
            fn routines(library: &Library) -> &Routines<Self> {
                &library.$letter
            }

            // Where these are inlined in another crate, they compile all kernels again.
            #[inline(never)]
            fn factors(on: &Instructions) -> &dyn Factors<Self> {
                on
            }

            #[inline(never)]
            fn small($on: &Instructions) -> Option<&dyn Kernels<Self>> {
                $small
            }
        })*
    };
}

scalars! {
    // letter, type, real part, complex?, not a number, all small kernels
    //     finite?, the real part, the imaginary part, the conjugate
    s f32, f32, false, f32::NAN, |on| Some(on),
        |x| x.is_finite(), x, { let _ = x; 0.0 }, x;
    d f64, f64, false, f64::NAN, |on| Some(on),
        |x| x.is_finite(), x, { let _ = x; 0.0 }, x;
    c Complex<f32>, f32, true, Complex::new(f32::NAN, f32::NAN), |_on| None,
        |x| x.re.is_finite() & x.im.is_finite(), x.re, x.im, Complex::conj(&x);
    z Complex<f64>, f64, true, Complex::new(f64::NAN, f64::NAN), |_on| None,
        |x| x.re.is_finite() & x.im.is_finite(), x.re, x.im, Complex::conj(&x);
}

/// Whether every element is finite.
pub(super) fn all_finite<T: Lapack>(a: &[T]) -> bool {
    // A chunk has no branch, so that it becomes vector instructions.
    a.chunks(128).all(|chunk| chunk.iter().fold(true, |finite, x| finite & x.is_finite()))
}

/// Whether every element of a triangle of an `n x n` matrix is finite; of the diagonal the real part counts.
pub(super) fn triangle_is_finite<T: Lapack>(uplo: Uplo, n: usize, a: &[T]) -> bool {
    a.chunks_exact(n.max(1)).enumerate().all(|(j, column)| {
        let beside = if uplo == Uplo::Upper { &column[..j] } else { &column[j + 1..] };
        column[j].re().is_finite() && all_finite(beside)
    })
}

/// Writes the identity, `m x n`.
pub(super) fn fill_identity<T: Lapack>(m: usize, a: &mut [T]) {
    a.fill(T::zero());
    for (j, column) in a.chunks_exact_mut(m.max(1)).enumerate().take(m) {
        column[j] = T::one();
    }
}
