//! Calls that do not keep to the contract: refused with the name of what is wrong, before LAPACK sees anything.

use oxidax::testing::CallFrame;
use oxidax::{Element, ErrorCode};
use oxidax_kernels::lapack::{Diag, Side, SvdJob, Transpose, Triangle, Uplo, Vectors};

use crate::for_each_scalar;
use crate::targets::{Memory, Op, Problem, Target};

/// Refused as invalid, with every text in the message.
#[track_caller]
fn refused(frame: CallFrame, texts: &[&str]) {
    let error = frame.call().expect_err("the call is refused");
    assert_eq!(error.code(), ErrorCode::InvalidArgument, "{error}");
    for text in texts {
        assert!(error.message().contains(text), "{text:?} is not in: {error}");
    }
}

fn frame<T: Target>(op: Op) -> CallFrame {
    Problem::<T>::random(op, 3, 3, 2).frame(&[2], Memory::Apart)
}

/// Every target that has attributes, with their names.
fn with_attributes() -> [(Op, &'static str); 14] {
    let trsm = Op::Trsm(TRIANGLE);
    let geev = Op::Geev(Vectors::Skip, Vectors::Compute);
    let syevd = Op::Syevd(Vectors::Skip, Uplo::Upper);
    let gees = Op::Gees(Vectors::Skip);
    [
        (Op::Potrf(Uplo::Upper), "uplo"),
        (Op::Gesdd(SvdJob::Some), "mode"),
        (Op::Gesvd(SvdJob::All), "mode"),
        (geev, "compute_left"),
        (geev, "compute_right"),
        (syevd, "mode"),
        (syevd, "uplo"),
        (gees, "mode"),
        (gees, "sort"),
        (Op::Sytrd(Uplo::Upper), "uplo"),
        (trsm, "side"),
        (trsm, "uplo"),
        (trsm, "trans_x"),
        (trsm, "diag"),
    ]
}

const TRIANGLE: Triangle =
    Triangle { side: Side::Right, uplo: Uplo::Lower, transpose: Transpose::No, diag: Diag::NonUnit };

/// The first operand, in quotes.
fn first(op: Op) -> &'static str {
    if let Op::Gtsv | Op::Perturbed = op { "\"dl\"" } else { "\"a\"" }
}

#[test]
fn attributes_that_are_missing_or_of_another_kind() {
    fn test<T: Target>() {
        for (op, name) in with_attributes() {
            let without = || {
                let mut frame = frame::<T>(op);
                frame.attrs.retain(|(attr, _)| attr != name);
                frame
            };
            refused(without(), &[name, "missing"]);
            refused(without().attr(name, b'L' as i8), &[name, "u8", "s8"]);
            refused(without().attr(name, "L"), &[name, "u8", "string"]);
            refused(without().attr(name, b'X'), &[name, "88"]);
            refused(without().attr(name, 0u8), &[name, "0"]);
        }
    }
    for_each_scalar!(test);
}

#[test]
fn lower_case_letters_are_not_taken() {
    let mut frame = frame::<f64>(Op::Potrf(Uplo::Lower));
    frame.attrs.clear();
    refused(frame.attr("uplo", b'l'), &["uplo", "108", "76 (lower)", "85 (upper)"]);
}

#[test]
fn letters_that_jaxlib_refuses_too() {
    fn test<T: Target>() {
        let with = |op, name: &str, letter: u8| {
            let mut frame = frame::<T>(op);
            frame.attrs.retain(|(attr, _)| attr != name);
            frame.attr(name, letter)
        };
        refused(with(Op::Gesvd(SvdJob::Some), "mode", b'O'), &["gesvd", "mode", "79"]);
        refused(with(Op::Gees(Vectors::Compute), "sort", b'S'), &["gees", "sort", "83", "78 (no)"]);
    }
    for_each_scalar!(test);
}

#[test]
fn ranges_of_a_hessenberg_form_that_are_no_rows() {
    fn test<T: Target>() {
        let with = |low: i32, high: i32| {
            let mut frame = frame::<T>(Op::Gehrd);
            frame.attrs.clear();
            frame.attr("low", low).attr("high", high)
        };
        refused(with(0, 3), &["gehrd", "low = 0 and high = 3", "n = 3"]);
        refused(with(1, 4), &["gehrd", "low = 1 and high = 4", "n = 3"]);
        let mut missing = frame::<T>(Op::Gehrd);
        missing.attrs.clear();
        refused(missing.attr("low", 1u8), &["low", "s32", "u8", "high", "missing"]);
    }
    for_each_scalar!(test);
}

#[test]
fn shapes_that_do_not_fit() {
    fn test<T: Target>() {
        for op in Op::all(3) {
            let wrong = |dims: &[i64]| {
                let dims = dims.to_vec();
                frame::<T>(op).tweak_arg(0, |a| (a.dims, a.rank) = (dims.clone(), dims.len() as i64))
            };
            refused(wrong(&[]), &[first(op)]);
            refused(wrong(&[2, 4, 3]), &[]);
            refused(wrong(&[5, 3, 3]), &[]);
            for k in 0..frame::<T>(op).rets.len() {
                refused(frame::<T>(op).tweak_result(k, |result| result.dims[0] = 1), &[]);
                let last = frame::<T>(op).tweak_result(k, |result| {
                    let last = result.dims.len() - 1;
                    result.dims[last] += 1;
                });
                refused(last, &[]);
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn dtypes_that_do_not_fit() {
    fn test<T: Target>() {
        for op in Op::all(3) {
            let wide = i64::DTYPE;
            refused(frame::<T>(op).tweak_arg(0, |a| a.dtype = wide.code()), &[first(op), "got s64"]);
            for k in 0..frame::<T>(op).rets.len() {
                refused(frame::<T>(op).tweak_result(k, |result| result.dtype = wide.code()), &["s64"]);
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn operands_that_are_missing_or_too_many() {
    for op in Op::all(3) {
        let mut missing = frame::<f32>(op);
        missing.rets.pop();
        refused(missing, &[]);
        refused(frame::<f32>(op).arg(&[1.0f32], &[1]), &[]);
    }
}

#[test]
fn more_reflectors_than_columns_or_columns_than_rows() {
    fn test<T: Target>() {
        let call = |m: i64, n: i64, k: i64| {
            let zeros = |count: i64| vec![T::zero(); count as usize];
            CallFrame::new(&Op::Orgqr(0).target::<T>()).inout(&zeros(m * n), &[m, n]).arg(&zeros(k), &[k])
        };
        refused(call(3, 4, 2), &["not wider than high", "m >= n"]);
        refused(call(4, 3, 4), &["more reflectors than columns", "n >= k"]);
    }
    for_each_scalar!(test);
}

#[test]
fn booleans_that_are_missing_or_of_another_kind() {
    fn test<T: Target>() {
        for name in ["left", "transpose"] {
            let without = || {
                let mut frame = frame::<T>(Op::Ormqr(2, true, false));
                frame.attrs.retain(|(attr, _)| attr != name);
                frame
            };
            refused(without(), &[name, "missing"]);
            refused(without().attr(name, b'L'), &[name, "pred", "u8"]);
        }
    }
    for_each_scalar!(test);
}

#[test]
fn reflectors_that_do_not_fit_what_they_multiply() {
    fn test<T: Target>() {
        let call = |[r, columns]: [i64; 2], k: i64, [m, n]: [i64; 2], left: bool| {
            let zeros = |count: i64| vec![T::zero(); count as usize];
            CallFrame::new(&Op::Ormqr(0, left, false).target::<T>())
                .arg(&zeros(r * columns), &[r, columns])
                .arg(&zeros(k), &[k])
                .inout(&zeros(m * n), &[m, n])
                .attr("left", left)
                .attr("transpose", false)
        };
        assert!(call([4, 3], 2, [4, 5], true).call().is_ok());
        refused(call([4, 3], 2, [5, 4], true), &["the length of what they multiply"]);
        refused(call([4, 3], 2, [4, 5], false), &["the length of what they multiply"]);
        refused(call([4, 1], 2, [4, 5], true), &["more reflectors than columns"]);
        refused(call([2, 3], 3, [2, 5], true), &["more reflectors than rows"]);
    }
    for_each_scalar!(test);
}

#[test]
fn operands_of_other_batches_than_the_results() {
    fn test<T: Target>() {
        // On small kernels and on LAPACK's.
        for n in [3usize, 40] {
            let size = n as i64;
            let (one, three) = (vec![T::one(); n * n], vec![T::one(); 3 * n * n]);
            for dims in [&[size, size][..], &[1, size, size]] {
                let frame = CallFrame::new(&Op::Trsm(TRIANGLE).target::<T>()).arg(&one, dims);
                let frame = frame.inout(&three, &[3, size, size]).attr("side", b'L').attr("uplo", b'L');
                let frame = frame.attr("trans_x", b'N').attr("diag", b'N');
                refused(frame, &["\"a\" has", &format!("{} in the batch of the results", 3 * n * n)]);
            }
            for dims in [&[size][..], &[1, size]] {
                let frame = CallFrame::new(&Op::Orgqr(n).target::<T>()).inout(&three, &[3, size, size]);
                refused(frame.arg(&one[..n], dims), &["\"tau\" has", &format!("{} in the batch of", 3 * n)]);
            }
        }
    }
    for_each_scalar!(test);
}

#[test]
fn triangles_on_a_side_where_they_do_not_fit() {
    fn test<T: Target>() {
        let wrong = Problem::<T>::random(Op::Trsm(TRIANGLE), 2, 3, 1).frame(&[], Memory::Shared);
        let mut other = wrong;
        other.attrs.retain(|(name, _)| name != "side");
        refused(other.attr("side", b'L'), &["a has as many rows as b to the left"]);
    }
    for_each_scalar!(test);
}

#[test]
fn matrices_that_lapack_cannot_count() {
    fn test<T: Target>() {
        // Without elements, so that a size of more than 32 bits needs no memory.
        let huge = 1i64 << 32;
        let geqrf = CallFrame::new(&Op::Geqrf.target::<T>()).inout::<T>(&[], &[huge, 0]).result::<T>(&[0]);
        refused(geqrf, &["geqrf", "4294967296", "32-bit"]);
        let getrf =
            CallFrame::new(&Op::Getrf.target::<T>()).inout::<T>(&[], &[0, huge]).result::<i32>(&[0]).result::<i32>(&[]);
        refused(getrf, &["getrf", "4294967296", "32-bit"]);
    }
    for_each_scalar!(test);
}
