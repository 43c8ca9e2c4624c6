//! The routine table: names and signatures of LAPACK's routines and BLAS's, one row each, over the scalar type `E`.
//!
//! A row makes a field of [`Routines`], its signature (compared by the compiler with the four prototypes of `lapack-sys` or
//! `blas-sys`), and the names under which SciPy's routine is looked up. To add a routine, add a row here and a file beside
//! this one.

use std::ffi::{c_char, c_void};
use std::mem::transmute;

use blas_sys as blas;
use lapack_sys as sys;
use num_complex::Complex;
use openblas_src as _; // brings the library that `lapack_sys` and `blas_sys` declare

use super::library::Library;

/// LAPACK's integer.
pub type Int = i32;

/// What a signature says of its scalar type: the type of its parts. `lapack-sys` has complex types of its own.
pub trait Number {
    /// The type of the real and imaginary parts.
    type Real;
}

macro_rules! elements {
    ($($element:ty, $real:ty;)*) => { $(impl Number for $element { type Real = $real; })* };
}

elements! {
    f32, f32;
    f64, f64;
    Complex<f32>, f32;
    Complex<f64>, f64;
    sys::c_float_complex, f32;
    sys::c_double_complex, f64;
}

/// A routine whose signature differs between the real types and the complex ones.
#[derive(Clone, Copy)]
pub(super) enum Kind<R, C> {
    Real(R),
    Complex(C),
}

// The vocabulary of the rows: `In` is only read, `Out` is written, or read and written.
type Flag = *const c_char;
type Size = *const Int;
type In<X> = *const X;
type Out<X> = *mut X;
type Real<E> = <E as Number>::Real;
/// Which eigenvalues come first, by both parts of one of a real matrix, or by one of a complex matrix. We never say.
type ByParts<E> = Option<unsafe extern "C" fn(In<E>, In<E>) -> Int>;
type ByValue<E> = Option<unsafe extern "C" fn(In<E>) -> Int>;

/// The routine of `address`, with the signature that the row gives.
macro_rules! from_address {
    ($signature:ty, $name:ident, $find:ident) => {
        // SAFETY: L3: `find` answers a name with the address of the routine of that name, and not with null.
        unsafe { transmute::<*const c_void, $signature>($find(stringify!($name).trim_end_matches('_'))?) }
    };
}

/// A routine over the complex type of the crate that declares it, as one over ours.
macro_rules! over {
    ($stem:ident, $routine:path, $foreign:ty, $ours:ty) => {
        // SAFETY: L2: the two complex types have one layout, so that pointers to them are passed alike.
        unsafe { transmute::<$stem<$foreign>, $stem<$ours>>($routine) }
    };
}

macro_rules! routines {
    (
        one signature { $($stem:ident = $s:ident $d:ident $c:ident $z:ident ($($argument:ty),* $(,)?);)* }
        one signature, of BLAS {
            $($level:ident = $ls:ident $ld:ident $lc:ident $lz:ident ($($operand:ty),* $(,)?);)*
        }
        two signatures {
            $($both:ident = $bs:ident $bd:ident ($($real:ty),* $(,)?) | $bc:ident $bz:ident ($($complex:ty),* $(,)?);)*
        }
    ) => {
        #[allow(non_camel_case_types, reason = "named after the rows")]
        mod signature {
            use super::*;
            $(pub(in super::super) type $stem<E> = unsafe extern "C" fn($($argument),*);)*
            $(pub(in super::super) type $level<E> = unsafe extern "C" fn($($operand),*);)*
            pub(in super::super) mod real {
                use super::*;
                $(pub(in super::super::super) type $both<E> = unsafe extern "C" fn($($real),*);)*
            }
            pub(in super::super) mod complex {
                use super::*;
                $(pub(in super::super::super) type $both<E> = unsafe extern "C" fn($($complex),*);)*
            }
        }
        use signature::*;

        /// The routines of one library for one scalar type.
        #[derive(Clone, Copy)]
        pub struct Routines<E: Number> {
            $(pub(super) $stem: $stem<E>,)*
            $(pub(super) $level: $level<E>,)*
            $(pub(super) $both: Kind<real::$both<E>, complex::$both<E>>,)*
        }

        /// OpenBLAS, linked into this library: one thread a call.
        pub(super) static OPENBLAS: Library = Library {
            name: "openblas",
            s: Routines { $($stem: sys::$s,)* $($level: blas::$ls,)* $($both: Kind::Real(sys::$bs),)* },
            d: Routines { $($stem: sys::$d,)* $($level: blas::$ld,)* $($both: Kind::Real(sys::$bd),)* },
            c: {
                use complex::*;
                Routines {
                    $($stem: over!($stem, sys::$c, sys::c_float_complex, Complex<f32>),)*
                    $($level: over!($level, blas::$lc, blas::c_float_complex, Complex<f32>),)*
                    $($both: Kind::Complex(over!($both, sys::$bc, sys::c_float_complex, Complex<f32>)),)*
                }
            },
            z: {
                use complex::*;
                Routines {
                    $($stem: over!($stem, sys::$z, sys::c_double_complex, Complex<f64>),)*
                    $($level: over!($level, blas::$lz, blas::c_double_complex, Complex<f64>),)*
                    $($both: Kind::Complex(over!($both, sys::$bz, sys::c_double_complex, Complex<f64>)),)*
                }
            },
        };

        /// The table of a library whose routines `find` finds by name (`dpotrf`), or the first error of `find`.
        ///
        /// # Safety
        ///
        /// Clause L3: what `find` returns is the address of the routine of that name, with 32-bit integers, valid for ever.
        pub(super) unsafe fn from_addresses<X>(
            name: &'static str,
            find: impl Fn(&'static str) -> Result<*const c_void, X>,
        ) -> Result<Library, X> {
            Ok(Library {
                name,
                s: Routines {
                    $($stem: from_address!($stem<f32>, $s, find),)*
                    $($level: from_address!($level<f32>, $ls, find),)*
                    $($both: Kind::Real(from_address!(real::$both<f32>, $bs, find)),)*
                },
                d: Routines {
                    $($stem: from_address!($stem<f64>, $d, find),)*
                    $($level: from_address!($level<f64>, $ld, find),)*
                    $($both: Kind::Real(from_address!(real::$both<f64>, $bd, find)),)*
                },
                c: Routines {
                    $($stem: from_address!($stem<Complex<f32>>, $c, find),)*
                    $($level: from_address!($level<Complex<f32>>, $lc, find),)*
                    $($both: Kind::Complex(from_address!(complex::$both<Complex<f32>>, $bc, find)),)*
                },
                z: Routines {
                    $($stem: from_address!($stem<Complex<f64>>, $z, find),)*
                    $($level: from_address!($level<Complex<f64>>, $lz, find),)*
                    $($both: Kind::Complex(from_address!(complex::$both<Complex<f64>>, $bz, find)),)*
                },
            })
        }
    };
}

routines! {
    one signature {
        // uplo, n, a, lda, info
        potrf = spotrf_ dpotrf_ cpotrf_ zpotrf_ (Flag, Size, Out<E>, Size, Out<Int>);
        // m, n, a, lda, ipiv, info
        getrf = sgetrf_ dgetrf_ cgetrf_ zgetrf_ (Size, Size, Out<E>, Size, Out<Int>, Out<Int>);
        // m, n, a, lda, tau, work, lwork, info
        geqrf = sgeqrf_ dgeqrf_ cgeqrf_ zgeqrf_ (Size, Size, Out<E>, Size, Out<E>, Out<E>, Size, Out<Int>);
        // m, n, k, a, lda, tau, work, lwork, info
        orgqr = sorgqr_ dorgqr_ cungqr_ zungqr_ (Size, Size, Size, Out<E>, Size, In<E>, Out<E>, Size, Out<Int>);
        // side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, info
        ormqr = sormqr_ dormqr_ cunmqr_ zunmqr_ (
            Flag, Flag, Size, Size, Size, In<E>, Size, In<E>, Out<E>, Size, Out<E>, Size, Out<Int>,
        );
        // direct, storev, n, k, v, ldv, tau, t, ldt
        larft = slarft_ dlarft_ clarft_ zlarft_ (Flag, Flag, Size, Size, In<E>, Size, In<E>, Out<E>, Size);
        // side, trans, direct, storev, m, n, k, v, ldv, t, ldt, c, ldc, work, ldwork
        larfb = slarfb_ dlarfb_ clarfb_ zlarfb_ (
            Flag, Flag, Flag, Flag, Size, Size, Size, In<E>, Size, In<E>, Size, Out<E>, Size, Out<E>, Size,
        );
        // uplo, trans, diag, n, nrhs, a, lda, b, ldb, info
        trtrs = strtrs_ dtrtrs_ ctrtrs_ ztrtrs_ (Flag, Flag, Flag, Size, Size, In<E>, Size, Out<E>, Size, Out<Int>);
        // n, ilo, ihi, a, lda, tau, work, lwork, info
        gehrd = sgehrd_ dgehrd_ cgehrd_ zgehrd_ (Size, Size, Size, Out<E>, Size, Out<E>, Out<E>, Size, Out<Int>);
        // n, ilo, ihi, a, lda, tau, work, lwork, info
        orghr = sorghr_ dorghr_ cunghr_ zunghr_ (Size, Size, Size, Out<E>, Size, In<E>, Out<E>, Size, Out<Int>);
        // job, n, a, lda, ilo, ihi, scale, info
        gebal = sgebal_ dgebal_ cgebal_ zgebal_ (Flag, Size, Out<E>, Size, Out<Int>, Out<Int>, Out<Real<E>>, Out<Int>);
        // job, side, n, ilo, ihi, scale, m, v, ldv, info
        gebak = sgebak_ dgebak_ cgebak_ zgebak_ (
            Flag, Flag, Size, Size, Size, In<Real<E>>, Size, Out<E>, Size, Out<Int>,
        );
        // uplo, n, a, lda, d, e, tau, work, lwork, info
        sytrd = ssytrd_ dsytrd_ chetrd_ zhetrd_ (
            Flag, Size, Out<E>, Size, Out<Real<E>>, Out<Real<E>>, Out<E>, Out<E>, Size, Out<Int>,
        );
        // n, nrhs, dl, d, du, b, ldb, info
        gtsv = sgtsv_ dgtsv_ cgtsv_ zgtsv_ (Size, Size, Out<E>, Out<E>, Out<E>, Out<E>, Size, Out<Int>);
    }

    one signature, of BLAS {
        // transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
        gemm = sgemm_ dgemm_ cgemm_ zgemm_ (
            Flag, Flag, Size, Size, Size, In<E>, In<E>, Size, In<E>, Size, In<E>, Out<E>, Size,
        );
        // side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb
        trsm = strsm_ dtrsm_ ctrsm_ ztrsm_ (
            Flag, Flag, Flag, Flag, Size, Size, In<E>, In<E>, Size, Out<E>, Size,
        );
    }

    two signatures {
        // m, n, a, lda, jpvt, tau, work, lwork, [rwork,] info
        geqp3 = sgeqp3_ dgeqp3_ (
            Size, Size, Out<E>, Size, Out<Int>, Out<E>, Out<E>, Size, Out<Int>,
        ) | cgeqp3_ zgeqp3_ (
            Size, Size, Out<E>, Size, Out<Int>, Out<E>, Out<E>, Size, Out<Real<E>>, Out<Int>,
        );
        // jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, [rwork,] iwork, info
        gesdd = sgesdd_ dgesdd_ (
            Flag, Size, Size, Out<E>, Size, Out<Real<E>>, Out<E>, Size, Out<E>, Size, Out<E>, Size, Out<Int>, Out<Int>,
        ) | cgesdd_ zgesdd_ (
            Flag, Size, Size, Out<E>, Size, Out<Real<E>>, Out<E>, Size, Out<E>, Size, Out<E>, Size, Out<Real<E>>, Out<Int>,
            Out<Int>,
        );
        // jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, [rwork,] info
        gesvd = sgesvd_ dgesvd_ (
            Flag, Flag, Size, Size, Out<E>, Size, Out<Real<E>>, Out<E>, Size, Out<E>, Size, Out<E>, Size, Out<Int>,
        ) | cgesvd_ zgesvd_ (
            Flag, Flag, Size, Size, Out<E>, Size, Out<Real<E>>, Out<E>, Size, Out<E>, Size, Out<E>, Size, Out<Real<E>>,
            Out<Int>,
        );
        // jobvl, jobvr, n, a, lda, (wr, wi | w), vl, ldvl, vr, ldvr, work, lwork, [rwork,] info
        geev = sgeev_ dgeev_ (
            Flag, Flag, Size, Out<E>, Size, Out<Real<E>>, Out<Real<E>>, Out<E>, Size, Out<E>, Size, Out<E>, Size, Out<Int>,
        ) | cgeev_ zgeev_ (
            Flag, Flag, Size, Out<E>, Size, Out<E>, Out<E>, Size, Out<E>, Size, Out<E>, Size, Out<Real<E>>, Out<Int>,
        );
        // jobz, uplo, n, a, lda, w, work, lwork, [rwork, lrwork,] iwork, liwork, info
        syevd = ssyevd_ dsyevd_ (
            Flag, Flag, Size, Out<E>, Size, Out<Real<E>>, Out<E>, Size, Out<Int>, Size, Out<Int>,
        ) | cheevd_ zheevd_ (
            Flag, Flag, Size, Out<E>, Size, Out<Real<E>>, Out<E>, Size, Out<Real<E>>, Size, Out<Int>, Size, Out<Int>,
        );
        // job, compz, n, ilo, ihi, h, ldh, (wr, wi | w), z, ldz, work, lwork, info
        hseqr = shseqr_ dhseqr_ (
            Flag, Flag, Size, Size, Size, Out<E>, Size, Out<E>, Out<E>, Out<E>, Size, Out<E>, Size, Out<Int>,
        ) | chseqr_ zhseqr_ (
            Flag, Flag, Size, Size, Size, Out<E>, Size, Out<E>, Out<E>, Size, Out<E>, Size, Out<Int>,
        );
        // jobvs, sort, select, n, a, lda, sdim, (wr, wi | w), vs, ldvs, work, lwork, [rwork,] bwork, info
        gees = sgees_ dgees_ (
            Flag, Flag, ByParts<E>, Size, Out<E>, Size, Out<Int>, Out<E>, Out<E>, Out<E>, Size, Out<E>, Size, Out<Int>,
            Out<Int>,
        ) | cgees_ zgees_ (
            Flag, Flag, ByValue<E>, Size, Out<E>, Size, Out<Int>, Out<E>, Out<E>, Size, Out<E>, Size, Out<Real<E>>,
            Out<Int>, Out<Int>,
        );
    }
}
