//! Every element type as argument and as result.

use oxidax::prelude::*;
use oxidax::testing::CallFrame;

use crate::{accept, refusal};

#[ffi_handler(dtypes(T = [Pred, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>]))]
fn copy<T: Element>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {
    y.copy_from_slice(x);
}

/// The dtype of the only buffer that tells is that of the result.
#[ffi_handler(dtypes(T = [Pred, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>]))]
fn default_values<T: Element + Default>(#[shape(n)] y: &mut [T]) {
    y.fill(T::default());
}

#[ffi_handler]
fn only_f32(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    y.copy_from_slice(x);
}

fn survives<T: Element + Default>(values: &[T]) {
    let n = values.len() as i64;
    let shown = |values: &[T]| format!("{values:?}");
    let flat = accept(CallFrame::new("copy").arg(values, &[n]).result::<T>(&[n]));
    assert_eq!(shown(&flat.get::<T>(0)), shown(values), "{:?}", T::DTYPE);
    let batched = accept(CallFrame::new("copy").arg(values, &[n, 1]).result::<T>(&[n, 1]));
    assert_eq!(shown(&batched.get::<T>(0)), shown(values), "{:?} in a batch", T::DTYPE);
    let filled = accept(CallFrame::new("default_values").result::<T>(&[n]));
    assert_eq!(shown(&filled.get::<T>(0)), shown(&vec![T::default(); values.len()]), "{:?} as result", T::DTYPE);
    let empty = accept(CallFrame::new("copy").arg::<T>(&[], &[0]).result::<T>(&[0]));
    assert!(empty.get::<T>(0).is_empty());
}

#[test]
fn every_dtype_is_an_argument_and_a_result() {
    survives(&[Pred::new(true), Pred::new(false), Pred::new(true)]);
    survives(&[i8::MIN, -1, 0, i8::MAX]);
    survives(&[i16::MIN, -1, 0, i16::MAX]);
    survives(&[i32::MIN, -1, 0, i32::MAX]);
    survives(&[i64::MIN, -1, 0, i64::MAX]);
    survives(&[0, 1, u8::MAX]);
    survives(&[0, 1, u16::MAX]);
    survives(&[0, 1, u32::MAX]);
    survives(&[0, 1, u64::MAX]);
    survives(&[f16::MIN, f16::NEG_ZERO, f16::INFINITY, f16::NAN, f16::MIN_POSITIVE_SUBNORMAL]);
    survives(&[bf16::MIN, bf16::NEG_ZERO, bf16::INFINITY, bf16::NAN, bf16::MIN_POSITIVE_SUBNORMAL]);
    survives(&[f32::MIN, -0.0, f32::INFINITY, f32::NAN, f32::from_bits(1)]);
    survives(&[f64::MIN, -0.0, f64::INFINITY, f64::NAN, f64::from_bits(1)]);
    survives(&[Complex::new(1f32, -2.0), Complex::new(f32::NAN, f32::INFINITY)]);
    survives(&[Complex::new(1f64, -2.0), Complex::new(f64::NAN, f64::INFINITY)]);
}

#[ffi_handler]
fn count_true(#[shape(n)] x: &[Pred], #[shape()] count: &mut i64, #[shape(n)] not: &mut [Pred]) {
    *count = x.iter().filter(|x| x.get()).count() as i64;
    for (not, x) in not.iter_mut().zip(x) {
        *not = Pred::new(!x.get());
    }
}

#[test]
fn a_boolean_is_true_whatever_its_byte_and_written_as_0_or_1() {
    let bytes = vec![0, 1, 2, 255, 0];
    let frame = CallFrame::new("count_true").arg(&[Pred::new(false); 5], &[5]).tweak_last_arg(|x| x.bytes = bytes);
    let results = accept(frame.result::<i64>(&[]).result::<Pred>(&[5]));
    assert_eq!(results.get::<i64>(0), [3]);
    assert_eq!(results.get::<Pred>(1), [true, false, false, false, true].map(Pred::new));
    assert_eq!(results.bytes(1), [1, 0, 0, 0, 1]);
}

#[test]
fn any_other_dtype_is_refused_by_its_name() {
    let names = [
        (1, "pred"),
        (2, "s8"),
        (3, "s16"),
        (4, "s32"),
        (5, "s64"),
        (6, "u8"),
        (7, "u16"),
        (8, "u32"),
        (9, "u64"),
        (10, "f16"),
        (12, "f64"),
        (15, "c64"),
        (16, "bf16"),
        (17, "token"),
        (18, "c128"),
        (0, "dtype 0 (unsupported)"),
        (20, "dtype 20 (unsupported)"),
        (-1, "dtype -1 (unsupported)"),
        (i32::MAX, "dtype 2147483647 (unsupported)"),
    ];
    for (code, name) in names {
        let frame = || CallFrame::new("only_f32").arg(&[1f32; 2], &[2]).result::<f32>(&[2]);
        let argument = refusal(frame().tweak_last_arg(|x| x.dtype = code));
        assert_eq!(argument, format!("only_f32: argument 0 \"x\": expected f32, got {name}"));
        let result = refusal(frame().tweak_last_result(|y| y.dtype = code));
        assert_eq!(result, format!("only_f32: result 0 \"y\": expected f32, got {name}"));
    }
}

#[test]
fn the_dtypes_of_all_instances_are_welcome_and_no_other() {
    let all = "pred or s8 or s16 or s32 or s64 or u8 or u16 or u32 or u64 or f16 or bf16 or f32 or f64 or c64 or c128";
    let frame = CallFrame::new("copy").arg(&[1f32], &[1]).tweak_last_arg(|x| x.dtype = 17).result::<f32>(&[1]);
    assert_eq!(refusal(frame), format!("copy: argument 0 \"x\": expected {all}, got token"));
}
