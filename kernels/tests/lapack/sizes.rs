//! Sizes beyond LAPACK's 32-bit integers are refused by name and number, before anything is allocated.

use oxidax::{Complex, Error, ErrorCode};
use oxidax_kernels::lapack::{
    Diag, Gees, Geev, Gehrd, Geqp3, Geqrf, Gesdd, Gesvd, Getrf, Gtsv, Orgqr, Ormqr, Potrf, Side, SvdJob, Syevd, Sytrd,
    Transpose, Triangle, Trsm, Trtrs, Uplo, Vectors,
};

#[track_caller]
fn refused<X>(outcome: Result<X, Error>, message: &str) {
    let error = outcome.err().expect("a size that is refused");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains(message), "{error}");
}

#[test]
fn a_size_that_does_not_fit_is_named() {
    let n = 1 << 31;
    refused(Potrf::<f32>::new(Uplo::Lower, n), "n = 2147483648 is more than LAPACK's 32-bit integers");
    refused(Getrf::<f32>::new(n, 1), "m = 2147483648");
    refused(Geqrf::<f64>::new(1, n), "n = 2147483648");
    refused(Orgqr::<f64>::new(n, 1, 1), "m = 2147483648");
    refused(Gesdd::<f64>::new(SvdJob::None, n, 1), "m = 2147483648");
    refused(Geev::<f64>::new(Vectors::Skip, Vectors::Skip, n), "n = 2147483648");
    refused(Geqp3::<f64>::new(1, n), "n = 2147483648");
    refused(Geqp3::<f64>::new(1, n / 2), "its workspace, 3 * n + 1 = 3221225473");
    refused(Gtsv::<f64>::new(n, 1), "n = 2147483648");
    refused(Gtsv::<f32>::new(1, n), "k = 2147483648");
    refused(Ormqr::<f64>::new(Side::Right, false, [n, 1], 1), "m = 2147483648");
    let triangle = Triangle { side: Side::Left, uplo: Uplo::Upper, transpose: Transpose::No, diag: Diag::Unit };
    refused(Trsm::<f64>::new(triangle, n, 1), "m = 2147483648");
    refused(Trtrs::<f64>::new(Uplo::Lower, Transpose::No, n), "n = 2147483648");
    refused(Syevd::<f32>::new(Vectors::Skip, Uplo::Lower, n), "n = 2147483648");
    refused(Gees::<f32>::new(Vectors::Skip, n), "n = 2147483648");
    refused(Gehrd::<f32>::new(n, 1, 1), "n = 2147483648");
    refused(Sytrd::<Complex<f64>>::new(Uplo::Lower, n), "n = 2147483648");
    assert!(Potrf::<f32>::new(Uplo::Lower, n - 1).is_ok());
}

#[test]
fn a_workspace_that_does_not_fit_is_named() {
    refused(Gesdd::<f64>::new(SvdJob::Some, 27_000, 27_000), "its workspace, 4 * k * k + 7 * k");
    refused(Gesdd::<f64>::new(SvdJob::Some, 27_000, 27_000), "= 2916216000 is");
    refused(Gesdd::<f64>::new(SvdJob::None, 53_130, 53_130), "m * n = 2822796900");
    refused(Gesvd::<f32>::new(SvdJob::All, 53_130, 53_130), "m * n = 2822796900");
    refused(Gesdd::<Complex<f32>>::new(SvdJob::Some, 21_000, 21_000), "its real workspace");
    refused(Geev::<f32>::new(Vectors::Skip, Vectors::Skip, 1 << 30), "its workspace, 4 * n = 4294967296");
    let [with, without] = [Vectors::Compute, Vectors::Skip];
    refused(Syevd::<f64>::new(with, Uplo::Lower, 32_759), "its workspace, 2 * n * n + 38 * n + 4161 = 2147553165");
    refused(Syevd::<f64>::new(without, Uplo::Lower, 46_340), "its workspace, n * n + 66 * n = 2150454040");
    refused(Gees::<f64>::new(Vectors::Skip, 1 << 26), "its workspace, 67 * n + 4160 = 4496298048");
    refused(Gehrd::<f64>::new(1 << 26, 1, 1), "its workspace, 64 * n + 4160 = 4294971456");
    refused(Sytrd::<f64>::new(Uplo::Lower, 1 << 26), "its workspace, 64 * n = 4294967296");
    assert!(Syevd::<Complex<f32>>::new(with, Uplo::Lower, 32_758).is_ok());
    assert!(Syevd::<f64>::new(without, Uplo::Lower, 46_307).is_ok());
    assert!(Gesdd::<f64>::new(SvdJob::None, 27_000, 27_000).is_ok());
    assert!(Gesdd::<f32>::new(SvdJob::Some, 20_000, 20_000).is_ok());
}

#[test]
fn workspaces_for_large_matrices_are_no_shorter_than_documented() {
    // An f32 cannot say such a number exactly.
    let lengths = Gesdd::<f32>::new(SvdJob::Some, 20_001, 20_001).unwrap().workspace();
    assert!(lengths.work >= 4 * 20_001 * 20_001 + 7 * 20_001 + 20_001 * 20_001);
}

#[test]
fn impossible_ranges_of_a_hessenberg_form_are_refused() {
    for (n, low, high) in [(3, 0, 3), (3, 4, 3), (3, 2, 1), (3, 1, 4), (0, 0, 0), (0, 1, 1), (2, -1, 2)] {
        let message = format!("low = {low} and high = {high} are not 1 <= low <= high <= n with n = {n}");
        refused(Gehrd::<f32>::new(n, low, high), &message);
    }
}

#[test]
fn impossible_shapes_of_q_are_refused() {
    refused(Orgqr::<f32>::new(2, 3, 2), "3 columns of length 2 cannot be orthonormal");
    refused(Orgqr::<Complex<f32>>::new(3, 2, 3), "3 reflectors are more than the 2 columns");
    refused(Ormqr::<f32>::new(Side::Left, true, [2, 9], 3), "3 reflectors are more than the 2 rows of q");
    refused(Ormqr::<Complex<f64>>::new(Side::Right, true, [9, 2], 3), "3 reflectors are more than the 2");
}
