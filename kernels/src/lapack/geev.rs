//! `geev`: eigenvalues, and left and right eigenvectors, of a square matrix.

use std::any::TypeId;

use oxidax::Error;

use super::flags::{Letter, Vectors};
use super::library::Library;
use super::room::BEYOND;
use super::routines::{Int, Kind, Routines};
use super::scalar::{Lapack, all_finite};
use super::sizes::{self, ASK, answered, leading, len, remembered};
use super::workspace::{Lengths, Workspace};

/// info of a matrix that is not finite, as jaxlib gives it.
const NOT_FINITE: Int = -4;

/// `a vr = vr diag(w)` and `vl^H a = diag(w) vl^H`, for `a` of `n x n`.
///
/// Vectors are complex columns of length 1 for real matrices too. A matrix that is not finite is not shown to LAPACK; it
/// and one that does not converge give NaN in every result. Vectors that are skipped are zeros.
#[derive(Clone, Copy)]
pub struct Geev<T: Lapack> {
    routines: &'static Routines<T>,
    left: Vectors,
    right: Vectors,
    n: Int,
    lwork: Int,
}

impl<T: Lapack> Geev<T> {
    /// For one shape.
    ///
    /// # Errors
    ///
    /// INVALID_ARGUMENT if `n`, or the workspace, does not fit LAPACK's integers.
    pub fn new(left: Vectors, right: Vectors, n: usize) -> Result<Self, Error> {
        Self::on(Self::library(n), left, right, n)
    }

    /// The library that serves the shape.
    pub fn library(n: usize) -> &'static Library {
        Library::serving(n)
    }

    /// As [`new`](Self::new), on a library of one's choice.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn on(library: &'static Library, left: Vectors, right: Vectors, n: usize) -> Result<Self, Error> {
        let mut this = Geev { routines: library.routines(), left, right, n: sizes::int("n", n)?, lwork: 0 };
        sizes::product("its workspace, 4 * n", 4 * n as u128)?;
        if n > 0 {
            this.lwork = this.ask();
        }
        Ok(this)
    }

    fn ask(&self) -> Int {
        let address = match self.routines.geev {
            Kind::Real(routine) => routine as usize,
            Kind::Complex(routine) => routine as usize,
        };
        let options = self.left as u32 * 256 + self.right as u32;
        remembered((address, options, [self.n, 0, 0]), || {
            let mut answer = [T::zero()];
            // `ztrevc3` answers a question in `real` too.
            let mut real = [num_traits::zero()];
            let nothing = Raw { a: &mut [], values: Values::none(), left: &mut [], right: &mut [], real: &mut real };
            self.call(ASK, nothing, &mut answer);
            let minimum = if T::COMPLEX { 2 } else { 4 };
            answered(answer[0], minimum * self.n)
        })
    }

    /// How much work memory this shape takes: LAPACK's, a copy of the matrix, and for real matrices the vectors as LAPACK
    /// packs them and the two parts of the values.
    pub fn workspace(&self) -> Lengths {
        let n = len(self.n);
        let [left, right] = self.packed();
        Lengths { work: len(self.lwork) + n * (n + BEYOND) + left + right, real: 2 * n, int: 0 }
    }

    /// Decomposes `a`; `w` has `n` elements, `vl` and `vr` are `n x n`, or of any length where they are skipped.
    /// info > 0: the algorithm did not converge.
    pub fn run(
        &self,
        a: &[T],
        w: &mut [T::ComplexOf],
        vl: &mut [T::ComplexOf],
        vr: &mut [T::ComplexOf],
        workspace: Workspace<'_, T>,
    ) -> Int {
        let n = len(self.n);
        assert_eq!(w.len(), n, "geev: w has not n elements");
        workspace.check(self.workspace());
        if T::COMPLEX {
            return self.decompose(a, Values { whole: w, ..Values::none() }, vl, vr, workspace);
        }
        let Workspace { work, real, int } = workspace;
        let (re, rest) = real.split_at_mut(n);
        let im = &mut rest[..n];
        let values = Values { re, im, whole: &mut [] };
        let info = self.decompose(a, values, vl, vr, Workspace { work, real: &mut [], int });
        for ((w, &re), &im) in w.iter_mut().zip(&*re).zip(&*im) {
            *w = T::complex(re, im);
        }
        info
    }

    /// As [`run`](Self::run), for a real matrix, with the real and the imaginary parts of the values apart.
    pub fn run_parts(
        &self,
        a: &[T],
        wr: &mut [T::RealPart],
        wi: &mut [T::RealPart],
        vl: &mut [T::ComplexOf],
        vr: &mut [T::ComplexOf],
        workspace: Workspace<'_, T>,
    ) -> Int {
        assert!(!T::COMPLEX, "geev: the values of a complex matrix are not kept in parts");
        assert_eq!((wr.len(), wi.len()), (len(self.n), len(self.n)), "geev: wr or wi has not n elements");
        workspace.check(self.workspace());
        self.decompose(a, Values { re: wr, im: wi, whole: &mut [] }, vl, vr, workspace)
    }

    fn decompose(
        &self,
        a: &[T],
        mut values: Values<'_, T>,
        vl: &mut [T::ComplexOf],
        vr: &mut [T::ComplexOf],
        workspace: Workspace<'_, T>,
    ) -> Int {
        let n = len(self.n);
        assert_eq!(a.len(), n * n, "geev: a is not n x n");
        for (side, vectors) in [(self.left, &*vl), (self.right, &*vr)] {
            assert!(side == Vectors::Skip || vectors.len() == n * n, "geev: vl or vr is not n x n");
        }
        if n == 0 {
            return 0;
        }
        if !all_finite(a) {
            return fail(NOT_FINITE, values, vl, vr);
        }
        let (work, rest) = workspace.work.split_at_mut(len(self.lwork));
        let (copy, packed) = rest.split_at_mut(n * n);
        copy.copy_from_slice(a);
        let [packed_left, packed_right] = self.packed();
        let (left, rest) = packed.split_at_mut(packed_left);
        let right = &mut rest[..packed_right];
        let raw = Raw {
            a: copy,
            values: values.reborrow(),
            left: if T::COMPLEX { as_complex(vl) } else { &mut *left },
            right: if T::COMPLEX { as_complex(vr) } else { &mut *right },
            real: workspace.real,
        };
        let info = self.call(self.lwork, raw, work);
        if info != 0 {
            return fail(info, values, vl, vr);
        }
        for (side, vectors, packed) in [(self.left, vl, left), (self.right, vr, right)] {
            if side == Vectors::Skip {
                vectors.fill(num_traits::zero());
            } else if !T::COMPLEX {
                unpack::<T>(n, values.im, packed, vectors);
            }
        }
        0
    }

    /// Calls LAPACK, or asks it with `lwork` of [`ASK`].
    fn call(&self, lwork: Int, raw: Raw<'_, T>, work: &mut [T]) -> Int {
        let Geev { routines, left, right, n, .. } = *self;
        let (left, right) = (left.letter(), right.letter());
        let (a, ld, work) = (raw.a.as_mut_ptr(), leading(n), work.as_mut_ptr());
        let (vl, vr) = (raw.left.as_mut_ptr(), raw.right.as_mut_ptr());
        let Values { re, im, whole } = raw.values;
        let mut info = 0;
        match routines.geev {
            Kind::Real(geev) => {
                let (wr, wi) = (re.as_mut_ptr(), im.as_mut_ptr());
                // SAFETY: L1, and L4 (the caller compared every length with the shape) or L5 (`lwork` is `ASK`).
                unsafe { geev(&left, &right, &n, a, &ld, wr, wi, vl, &ld, vr, &ld, work, &lwork, &mut info) }
            }
            Kind::Complex(geev) => {
                let (w, real) = (as_complex::<T>(whole).as_mut_ptr(), raw.real.as_mut_ptr());
                // SAFETY: as above; `real` has `2 n` elements.
                unsafe { geev(&left, &right, &n, a, &ld, w, vl, &ld, vr, &ld, work, &lwork, real, &mut info) }
            }
        }
        info
    }

    /// The lengths of the two matrices of vectors as LAPACK packs them for real types, where they are computed.
    fn packed(&self) -> [usize; 2] {
        [self.left, self.right].map(|side| match side {
            Vectors::Compute if !T::COMPLEX => len(self.n) * len(self.n),
            _ => 0,
        })
    }
}

/// Eigenvalues: of a real matrix in two parts, of a complex one whole. What is not used is empty.
struct Values<'a, T: Lapack> {
    re: &'a mut [T::RealPart],
    im: &'a mut [T::RealPart],
    whole: &'a mut [T::ComplexOf],
}

impl<T: Lapack> Values<'_, T> {
    fn none() -> Self {
        Values { re: &mut [], im: &mut [], whole: &mut [] }
    }

    fn reborrow(&mut self) -> Values<'_, T> {
        Values { re: self.re, im: self.im, whole: self.whole }
    }
}

/// What LAPACK sees, beside `work`.
struct Raw<'a, T: Lapack> {
    a: &'a mut [T],
    values: Values<'a, T>,
    left: &'a mut [T],
    right: &'a mut [T],
    real: &'a mut [T::RealPart],
}

/// Writes NaN into every result.
fn fail<T: Lapack>(info: Int, values: Values<'_, T>, vl: &mut [T::ComplexOf], vr: &mut [T::ComplexOf]) -> Int {
    values.re.fill(T::RealPart::NAN);
    values.im.fill(T::RealPart::NAN);
    values.whole.fill(T::ComplexOf::NAN);
    vl.fill(T::ComplexOf::NAN);
    vr.fill(T::ComplexOf::NAN);
    info
}

/// The vectors of a real matrix from LAPACK's packed form: a column for a real value, two columns, real and imaginary
/// part, for a pair of conjugate values.
fn unpack<T: Lapack>(n: usize, imaginary: &[T::RealPart], packed: &[T], vectors: &mut [T::ComplexOf]) {
    let zero = num_traits::zero::<T::RealPart>();
    let mut columns = packed.chunks_exact(n).zip(vectors.chunks_exact_mut(n)).zip(imaginary);
    while let Some(((re, vector), &value)) = columns.next() {
        let pair = if value == zero { None } else { columns.next() };
        match pair {
            Some(((im, conjugate), _)) => {
                for (((re, im), x), y) in re.iter().zip(im).zip(vector).zip(conjugate) {
                    *x = T::complex(re.re(), im.re());
                    *y = T::complex(re.re(), -im.re());
                }
            }
            None => {
                for (re, x) in re.iter().zip(vector) {
                    *x = T::complex(re.re(), zero);
                }
            }
        }
    }
}

/// For a complex type, which is its own `ComplexOf`, the same slice.
fn as_complex<T: Lapack>(slice: &mut [T::ComplexOf]) -> &mut [T] {
    assert!(TypeId::of::<T>() == TypeId::of::<T::ComplexOf>(), "the type is not complex");
    // SAFETY: L10: the two types were just found to be one.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), slice.len()) }
}
