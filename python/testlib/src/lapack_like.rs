//! What LAPACK's contracts need: column-major buffers, enums, scratch memory, XLA's threads, a target for each dtype.

use oxidax::prelude::*;

/// Which triangle of a matrix is meant.
#[derive(Clone, Copy, PartialEq, Debug, FfiAttr)]
#[repr(u8)]
pub enum Uplo {
    /// The lower one.
    Lower = b'L',
    /// The upper one.
    Upper = b'U',
}

/// How much of the result is wanted.
#[derive(Clone, Copy, PartialEq, Debug, FfiAttr)]
pub enum Extent {
    /// As many columns as rows.
    Full,
    /// As many columns as the matrix.
    Thin,
}

/// The matrix with the other triangle cleared, in memory as LAPACK has it, and the elements as they lie there.
#[ffi_handler(dtypes(T = [f32, f64, Complex<f32>, Complex<f64>]), batch = parallel)]
pub fn triangle<T: Scalar>(
    #[shape(m, n)] a: InOut<ColMajor<&mut [T]>>,
    #[attr(default = Uplo::Lower)] uplo: Uplo,
    #[dim] m: usize,
    #[scratch(m * n)] work: &mut [T],
    #[shape(m * n)] flat: &mut [T],
) {
    let mut a = a;
    work.copy_from_slice(&a);
    flat.copy_from_slice(work);
    for (k, x) in a.iter_mut().enumerate() {
        let (i, j) = (k % m, k / m);
        if (uplo == Uplo::Lower && i < j) || (uplo == Uplo::Upper && i > j) {
            *x = T::zero();
        }
    }
}

/// A matrix of ones whose size an enum chooses.
#[ffi_handler]
pub fn extent(
    #[shape(m, n)] a: &[f64],
    #[attr(default = Extent::Thin)] extent: Extent,
    #[shape(m, if extent == Extent::Full { m } else { n })] q: &mut [f64],
) {
    let _ = (a, extent);
    q.fill(1.0);
}

/// Something of another library's, of one target for all dtypes, replaced.
#[ffi_handler(dtypes(T = [f32, f64], I = [i32, i64]), target = { _: "somebody_elses_any" })]
pub fn replacement_of_any<T: Float, I: Element>(#[shape(n)] x: &[T], #[shape()] i: &I, #[shape(n)] y: &mut [T]) {
    let _ = i;
    y.copy_from_slice(x);
}

/// Something of another library's, replaced.
#[ffi_handler(dtypes(T = [f32, f64]), target = { f32: "somebody_elses_s", f64: "somebody_elses_d" })]
pub fn replacement<T: Float>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {
    y.copy_from_slice(x);
}
