//! What a refusal says: every mistake of a call, in one message.

use oxidax::ErrorCode;
use oxidax::prelude::*;
use oxidax::testing::{CallFrame, Place};

use crate::{accept, refusal};

#[ffi_handler]
fn solve(
    #[shape(n, n)] a: &[f64],
    #[shape(n, k)] b: InOut<&mut [f64]>,
    lower: bool,
    #[attr(default = 1)] block: i64,
    #[shape(n)] pivots: &mut [i32],
) {
    let _ = (a, b, lower, block);
    pivots.fill(0);
}

fn good() -> CallFrame {
    let frame = CallFrame::new("solve").arg(&[0f64; 9], &[3, 3]).inout(&[0f64; 6], &[3, 2]).result::<i32>(&[3]);
    frame.attr("lower", true).attr("block", 64i64)
}

#[test]
fn every_mistake_of_a_call_is_in_one_message() {
    accept(good());
    let frame = CallFrame::new("solve").arg(&[0f32; 9], &[3, 3]).inout(&[0f64; 8], &[4, 2]).result::<i32>(&[5]);
    let frame = frame.attr("lowr", true).attr("block", 64i32);
    assert_eq!(
        refusal(frame),
        "solve: argument 0 \"a\": expected f64, got f32; \
         attribute \"lower\": missing, expected pred; \
         attribute \"block\": expected s64, got s32; \
         attribute \"lowr\": unknown; \
         argument 1 \"b\": expected (n, k) = (3, 2), got (4, 2); \
         result 1 \"pivots\": expected (n,) = (3,), got (5,)"
    );
}

#[test]
fn a_refusal_is_an_invalid_argument() {
    let error = good().attr("more", 1i64).call().unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert_eq!(error.message(), "solve: attribute \"more\": unknown");
}

#[test]
fn shapes_and_batches_are_told_together() {
    let frame = CallFrame::new("solve").arg(&[0f64; 18], &[2, 3, 3]).inout(&[0f64; 6], &[3, 3, 2]);
    let frame = frame.result::<i32>(&[3, 4]).attr("lower", 1i8);
    assert_eq!(
        refusal(frame),
        "solve: attribute \"lower\": expected pred, got s8; \
         result 1 \"pivots\": expected (n,) = (3,), got (4,); \
         argument 0 \"a\": its batch axes (2,) do not fit the batch (3,)"
    );
}

#[test]
fn a_wrong_number_of_operands_is_refused() {
    let nothing = CallFrame::new("solve").attr("lower", true);
    assert_eq!(refusal(nothing), "solve: expected 2 arguments, got 0; expected 2 results, got 0");
    assert_eq!(refusal(good().arg(&[0u8], &[1])), "solve: expected 2 arguments, got 3");
    assert_eq!(refusal(good().result::<u8>(&[1])), "solve: expected 2 results, got 3");
    let fewer = CallFrame::new("solve").arg(&[0f32], &[1, 1]).result::<f64>(&[1, 1]).result::<i32>(&[1]);
    assert_eq!(
        refusal(fewer.attr("lower", true)),
        "solve: expected 2 arguments, got 1; argument 0 \"a\": expected f64, got f32"
    );
}

#[test]
fn an_operand_that_is_no_buffer_is_refused() {
    for kind in [0, 2, -1, i32::MAX] {
        let argument = good().tweak_arg(0, |a| a.kind = kind);
        assert_eq!(refusal(argument), "solve: argument 0 \"a\": expected a buffer");
        let result = good().tweak_result(1, |p| p.kind = kind);
        assert_eq!(refusal(result), "solve: result 1 \"pivots\": expected a buffer");
        let both = good().tweak_arg(1, |b| b.kind = kind).tweak_result(0, |b| b.kind = kind);
        assert_eq!(refusal(both), "solve: argument 1 \"b\": expected a buffer; result 0 \"b\": expected a buffer");
    }
}

#[test]
fn a_token_is_no_buffer_of_numbers() {
    for place in [Place::Null, Place::Own] {
        let frame = CallFrame::new("solve").arg(&[0f64], &[]).tweak_last_arg(|a| {
            (a.dtype, a.place) = (17, place);
        });
        let frame = frame.inout(&[0f64; 6], &[3, 2]).result::<i32>(&[3]).attr("lower", true);
        assert_eq!(
            refusal(frame),
            "solve: argument 0 \"a\": expected f64, got token; argument 0 \"a\": expected rank 2 or more, got 0"
        );
    }
}

#[test]
fn a_rank_that_is_too_small_is_refused() {
    let frame = |dims: &[i64]| {
        CallFrame::new("solve").arg(&[0f64; 3], dims).inout(&[0f64; 6], &[3, 2]).result::<i32>(&[3]).attr("lower", true)
    };
    assert_eq!(refusal(frame(&[3])), "solve: argument 0 \"a\": expected rank 2 or more, got 1");
    assert_eq!(refusal(frame(&[])), "solve: argument 0 \"a\": expected rank 2 or more, got 0");
}

#[test]
fn a_rank_that_cannot_be_is_not_followed() {
    for (rank, message) in [
        (-1, "expected rank 2 or more, got -1".to_owned()),
        (i64::MIN, format!("expected rank 2 or more, got {}", i64::MIN)),
        (65, "rank 65: at most 64 dims are supported".to_owned()),
        (i64::MAX, format!("rank {}: at most 64 dims are supported", i64::MAX)),
    ] {
        let argument = good().tweak_arg(0, |a| a.rank = rank);
        assert_eq!(refusal(argument), format!("solve: argument 0 \"a\": {message}"));
    }
    let result = good().tweak_result(1, |p| p.rank = i64::MAX);
    assert_eq!(
        refusal(result),
        format!("solve: result 1 \"pivots\": rank {}: at most 64 dims are supported", i64::MAX)
    );
}

#[test]
fn attributes_where_there_should_be_none_are_named() {
    let frame = CallFrame::new("bare").result::<u8>(&[1]).attr("", 1i64).attr("b\n\"", 1i64).attr("ä", 1i64);
    assert_eq!(
        refusal(frame),
        "bare: attribute \"\": unknown; attribute \"b\\n\\\"\": unknown; attribute \"ä\": unknown"
    );
}

#[ffi_handler]
fn bare(#[shape(n)] y: &mut [u8]) {
    y.fill(0);
}

#[ffi_handler]
fn r#type(#[shape(r#in)] r#fn: &[u8], r#loop: i64, #[shape(r#in)] r#mut: &mut [u8]) {
    let _ = (r#fn, r#loop);
    r#mut.fill(0);
}

#[test]
fn raw_names_are_said_without_their_prefix() {
    accept(CallFrame::new("type").arg(&[0u8], &[1]).result::<u8>(&[1]).attr("loop", 1i64));
    assert_eq!(
        refusal(CallFrame::new("type").arg(&[0u8], &[1]).result::<u8>(&[2])),
        "type: attribute \"loop\": missing, expected s64; result 0 \"mut\": expected (in,) = (1,), got (2,)"
    );
}
