//! Batch axes: which there may be, and how often the function is called.

use std::cell::Cell;

use oxidax::prelude::*;
use oxidax::testing::{CallFrame, Place};

use crate::{accept, refusal};

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// The calls of the function that one call of the handler makes; a frame calls it twice.
fn calls(frame: CallFrame) -> usize {
    CALLS.set(0);
    accept(frame);
    CALLS.get() / 2
}

#[ffi_handler]
fn each(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    CALLS.set(CALLS.get() + 1);
    y.copy_from_slice(x);
}

#[ffi_handler(batch = whole)]
fn whole(#[shape(.., n)] x: Shaped<'_, &[f32]>, #[shape(.., n)] y: Shaped<'_, &mut [f32]>) {
    CALLS.set(CALLS.get() + 1);
    assert_eq!(x.len(), x.dims().iter().product::<usize>());
    let n = *y.dims().last().unwrap();
    for row in y.into_inner().chunks_mut(n.max(1)) {
        row.copy_from_slice(&x[..n]);
    }
}

#[ffi_handler(batch = none)]
fn none(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
    CALLS.set(CALLS.get() + 1);
    y.copy_from_slice(x);
}

fn frame(name: &str, x: &[i64], y: &[i64]) -> CallFrame {
    CallFrame::new(name).arg::<f32>(&[], x).result::<f32>(y)
}

#[test]
fn each_is_called_once_for_each_element() {
    assert_eq!(calls(frame("each", &[3], &[3])), 1);
    assert_eq!(calls(frame("each", &[4, 3], &[4, 3])), 4);
    assert_eq!(calls(frame("each", &[2, 1, 4, 3], &[2, 1, 4, 3])), 8);
    assert_eq!(calls(frame("each", &[3], &[2, 4, 3])), 8, "one operand for all of them");
}

#[test]
fn each_is_not_called_for_a_batch_of_size_0() {
    assert_eq!(calls(frame("each", &[0, 3], &[0, 3])), 0);
    assert_eq!(calls(frame("each", &[3], &[2, 0, 5, 3])), 0);
    let null = frame("each", &[0, 3], &[0, 3]).tweak_last_arg(|x| x.place = Place::Null);
    assert_eq!(calls(null.tweak_last_result(|y| y.place = Place::Null)), 0);
}

#[test]
fn a_core_of_no_elements_is_called_once_because_nothing_tells_batch_elements_apart() {
    assert_eq!(calls(frame("each", &[0], &[0])), 1);
    assert_eq!(calls(frame("each", &[5, 0], &[5, 0])), 1);
    assert_eq!(calls(frame("each", &[i64::MAX, 0], &[i64::MAX, 0])), 1, "which ends");
    let null = frame("each", &[5, 0], &[5, 0]).tweak_last_arg(|x| x.place = Place::Null);
    assert_eq!(calls(null.tweak_last_result(|y| y.place = Place::Null)), 1);
    assert_eq!(calls(frame("each", &[0, 0], &[0, 0])), 0);
    let frame = CallFrame::new("two_results").arg::<f32>(&[], &[2, 3, 0]).result::<f32>(&[2, 3, 0]);
    assert_eq!(accept(frame.result::<f32>(&[2, 3])).get::<f32>(1), [0.0; 6], "where another result has elements");
}

#[test]
fn whole_is_called_once_with_the_leading_axes() {
    assert_eq!(calls(frame("whole", &[3], &[3])), 1);
    assert_eq!(calls(frame("whole", &[3], &[4, 2, 3])), 1);
    assert_eq!(calls(frame("whole", &[1, 2, 3], &[4, 2, 3])), 1);
    assert_eq!(calls(frame("whole", &[1, 1, 1, 2, 3], &[4, 2, 3])), 1);
    assert_eq!(calls(frame("whole", &[3], &[0, 3])), 1, "it looks at the shape itself");
    assert_eq!(
        refusal(frame("whole", &[2, 3], &[4, 3])),
        "whole: argument 0 \"x\": its batch axes (2,) do not fit the batch (4,)"
    );
}

#[test]
fn none_takes_no_leading_axes() {
    assert_eq!(calls(frame("none", &[3], &[3])), 1);
    assert_eq!(
        refusal(frame("none", &[1, 3], &[2, 3])),
        "none: argument 0 \"x\": expected rank 1 (`batch = none`), got 2; \
         result 0 \"y\": expected rank 1 (`batch = none`), got 2"
    );
}

#[test]
fn extra_leading_axes_of_size_1_are_legal() {
    assert_eq!(calls(frame("each", &[1, 1, 3], &[3])), 1);
    assert_eq!(calls(frame("each", &[1, 1, 4, 3], &[4, 3])), 4);
    assert_eq!(calls(frame("each", &[1, 1, 1, 3], &[4, 3])), 4);
    let extra = [&[1; 40][..], &[3]].concat();
    assert_eq!(calls(frame("each", &extra, &[4, 3])), 4);
    assert_eq!(
        refusal(frame("each", &[2, 1, 3], &[1, 3])),
        "each: argument 0 \"x\": its batch axes (2, 1) do not fit the batch (1,)"
    );
    assert_eq!(
        refusal(frame("each", &[0, 4, 3], &[4, 3])),
        "each: argument 0 \"x\": its batch axes (0, 4) do not fit the batch (4,)"
    );
}

#[test]
fn results_have_the_whole_batch() {
    let frame =
        |y: &[i64], z: &[i64]| CallFrame::new("two_results").arg::<f32>(&[], &[2, 3]).result::<f32>(y).result::<f32>(z);
    accept(frame(&[2, 3], &[2]));
    assert_eq!(
        refusal(frame(&[2, 3], &[1])),
        "two_results: result 1 \"z\": its batch axes (1,) do not fit the batch (2,)"
    );
    assert_eq!(
        refusal(frame(&[2, 3], &[])),
        "two_results: result 1 \"z\": its batch axes () do not fit the batch (2,)"
    );
    assert_eq!(
        refusal(frame(&[1, 3], &[1])),
        "two_results: argument 0 \"x\": its batch axes (2,) do not fit the batch (1,)"
    );
}

#[ffi_handler]
fn two_results(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32], #[shape()] z: &mut f32) {
    y.copy_from_slice(x);
    *z = x.iter().sum();
}

#[test]
fn sixteen_batch_axes_are_the_most() {
    let dims = |axes: usize| [vec![1; axes - 1], vec![2, 3]].concat();
    assert_eq!(calls(frame("each", &dims(16), &dims(16))), 2);
    assert_eq!(refusal(frame("each", &dims(17), &dims(17))), "each: 17 batch axes: at most 16 are supported");
    assert_eq!(calls(frame("whole", &dims(17), &dims(17))), 1, "it has no loop");
}

#[test]
fn sixteen_axes_of_size_2_are_walked_in_order() {
    let batch = [2i64; 16];
    let dims = [&batch[..], &[1]].concat();
    let values: Vec<i64> = (0..1 << 16).collect();
    let frame = CallFrame::new("numbered").arg(&values, &dims).result::<i64>(&dims).inout(&[0i64; 1 << 16], &dims);
    NUMBER.set(0);
    let results = accept(frame);
    assert_eq!(results.get::<i64>(0), values);
    assert_eq!(results.get::<i64>(1), values);
}

thread_local! {
    static NUMBER: Cell<i64> = const { Cell::new(0) };
}

/// Counts its calls up to 2^16.
#[ffi_handler]
fn numbered(#[shape(1)] x: &[i64], #[shape(1)] y: &mut [i64], #[shape(1)] mut number: InOut<&mut [i64]>) {
    y[0] = x[0];
    number[0] += NUMBER.get();
    NUMBER.set((NUMBER.get() + 1) % (1 << 16));
}

#[ffi_handler]
fn positive_root(#[shape()] x: &f64, #[shape()] root: &mut f64) -> Result<(), Error> {
    if *x < 0.0 {
        return Err(Error::new(ErrorCode::OutOfRange, format!("{x} is negative")));
    }
    *root = x.sqrt();
    Ok(())
}

#[test]
fn the_lowest_element_that_fails_is_named() {
    let frame = |x: &[f64], dims: &[i64]| CallFrame::new("positive_root").arg(x, dims).result::<f64>(dims);
    let failure = |frame: CallFrame| {
        let error = frame.call().unwrap_err();
        assert_eq!(error.code(), ErrorCode::OutOfRange);
        error.message().to_owned()
    };
    assert_eq!(failure(frame(&[-1.0], &[])), "positive_root: -1 is negative");
    assert_eq!(failure(frame(&[1.0, -2.0, -3.0], &[3])), "positive_root: batch element 1: -2 is negative");
    assert_eq!(failure(frame(&[-1.0], &[1])), "positive_root: batch element 0: -1 is negative");
    let mut values = [1.0; 12];
    (values[7], values[11]) = (-7.0, -11.0);
    assert_eq!(failure(frame(&values, &[2, 3, 2])), "positive_root: batch element [1, 0, 1]: -7 is negative");
}

#[ffi_handler]
fn accumulate(#[shape(n)] x: &[f64], #[shape(n)] mut acc: InOut<&mut [f64]>) {
    for (acc, x) in acc.iter_mut().zip(x) {
        *acc += x;
    }
}

#[test]
fn an_inout_in_a_batch_is_its_operand_whether_aliased_or_not() {
    let acc: Vec<f64> = (0..6).map(f64::from).collect();
    let expected = [10.0, 21.0, 12.0, 23.0, 14.0, 25.0];
    let x = || CallFrame::new("accumulate").arg(&[10f64, 20.0], &[2]);
    assert_eq!(accept(x().inout(&acc, &[3, 2])).get::<f64>(0), expected);
    assert_eq!(accept(x().arg(&acc, &[3, 2]).result::<f64>(&[3, 2])).get::<f64>(0), expected);
    assert_eq!(
        refusal(x().arg(&acc[..2], &[1, 2]).result::<f64>(&[3, 2])),
        "accumulate: argument 1 \"acc\": expected (3, 2) as result 0, which shares its memory, got (1, 2)"
    );
}

#[ffi_handler(batch = whole)]
fn accumulate_whole(#[shape(.., n)] mut acc: InOut<Shaped<'_, &mut [i32]>>) {
    let sum = acc.iter().sum();
    acc.fill(sum);
}

#[test]
fn an_inout_of_a_whole_batch_is_its_operand_whether_aliased_or_not() {
    let values = [1, 2, 3, 4];
    assert_eq!(accept(CallFrame::new("accumulate_whole").inout(&values, &[2, 2])).get::<i32>(0), [10; 4]);
    let frame = CallFrame::new("accumulate_whole").arg(&values, &[2, 2]).result::<i32>(&[2, 2]);
    assert_eq!(accept(frame).get::<i32>(0), [10; 4]);
}
