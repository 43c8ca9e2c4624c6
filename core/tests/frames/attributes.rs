//! Attributes as XLA carries them: which are there, in which order, of which kind.

use oxidax::prelude::*;
use oxidax::testing::{Attr, CallFrame};

use crate::{accept, refusal};

/// Names that sort around each other by bytes, not by alphabet.
#[ffi_handler]
fn sorted(
    ab: i64,
    #[attr(name = "B")] upper_b: i64,
    a: i64,
    #[attr(name = "é")] accent: i64,
    a1: i64,
    _z: i64,
    #[attr(name = "A")] upper_a: i64,
    #[shape(7)] y: &mut [i64],
) {
    y.copy_from_slice(&[upper_a, upper_b, _z, a, a1, ab, accent]);
}

#[test]
fn attributes_are_found_in_the_order_of_bytes() {
    let mut frame = CallFrame::new("sorted").result::<i64>(&[7]);
    for (name, value) in [("ab", 6i64), ("a", 4), ("a1", 5), ("_z", 3), ("é", 7), ("A", 1), ("B", 2)] {
        frame = frame.attr(name, value);
    }
    assert_eq!(accept(frame).get::<i64>(0), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn attributes_are_found_in_a_batch_too() {
    let mut frame = CallFrame::new("sorted").result::<i64>(&[2, 7]);
    for (name, value) in [("ab", 6i64), ("a", 4), ("a1", 5), ("_z", 3), ("é", 7), ("A", 1), ("B", 2)] {
        frame = frame.attr(name, value);
    }
    assert_eq!(accept(frame).get::<i64>(0), [1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn every_missing_attribute_is_named() {
    let frame = CallFrame::new("sorted").result::<i64>(&[7]).attr("a", 1i64).attr("B", 1i32).attr("zz", 1i64);
    assert_eq!(
        refusal(frame),
        "sorted: attribute \"ab\": missing, expected s64; attribute \"B\": expected s64, got s32; \
         attribute \"é\": missing, expected s64; attribute \"a1\": missing, expected s64; \
         attribute \"_z\": missing, expected s64; attribute \"A\": missing, expected s64; attribute \"zz\": unknown"
    );
}

#[ffi_handler]
fn optional(
    #[attr(default = 7)] size: i64,
    flag: Option<bool>,
    #[attr(default = "none")] mode: &str,
    #[attr] weights: Option<&[f32]>,
    #[attr(default = &[1, 2])] steps: &[i64],
    #[shape(5)] y: &mut [i64],
) {
    let weights = weights.map_or(-1, |w| w.len() as i64);
    y.copy_from_slice(&[size, flag.map_or(-1, i64::from), mode.len() as i64, weights, steps.iter().sum()]);
}

#[test]
fn attributes_that_are_not_there_have_their_defaults() {
    let frame = || CallFrame::new("optional").result::<i64>(&[5]);
    assert_eq!(accept(frame()).get::<i64>(0), [7, -1, 4, -1, 3]);
    assert_eq!(accept(frame().attr("mode", "")).get::<i64>(0), [7, -1, 0, -1, 3]);
    assert_eq!(accept(frame().attr("size", 8i64).attr("flag", true)).get::<i64>(0), [8, 1, 4, -1, 3]);
    assert_eq!(accept(frame().attr("weights", &[1f32][..])).get::<i64>(0), [7, -1, 4, 1, 3]);
    let all = frame().attr("size", 8i64).attr("flag", false).attr("mode", "all");
    let all = all.attr("weights", &[0f32; 0][..]).attr("steps", &[5i64, 5][..]);
    assert_eq!(accept(all).get::<i64>(0), [8, 0, 3, 0, 10]);
}

#[test]
fn defaults_hold_in_a_batch() {
    let frame = CallFrame::new("optional").result::<i64>(&[2, 5]).attr("size", 1i64);
    assert_eq!(accept(frame).get::<i64>(0), [1, -1, 4, -1, 3, 1, -1, 4, -1, 3]);
}

#[test]
fn every_subset_of_optional_attributes_is_found() {
    for present in 0..32 {
        let given = |bit: i32| present & (1 << bit) != 0;
        let mut frame = CallFrame::new("optional").result::<i64>(&[5]);
        let mut expected = [7, -1, 4, -1, 3];
        if given(0) {
            (frame, expected[0]) = (frame.attr("size", 100i64), 100);
        }
        if given(1) {
            (frame, expected[1]) = (frame.attr("flag", true), 1);
        }
        if given(2) {
            (frame, expected[2]) = (frame.attr("mode", "m"), 1);
        }
        if given(3) {
            (frame, expected[3]) = (frame.attr("weights", &[1f32, 2.0][..]), 2);
        }
        if given(4) {
            (frame, expected[4]) = (frame.attr("steps", &[40i64][..]), 40);
        }
        assert_eq!(accept(frame).get::<i64>(0), expected, "subset {present:05b}");
    }
}

#[test]
fn an_unknown_attribute_does_not_pass_for_an_optional_one() {
    // As many as the handler has, so the count says nothing.
    let frame = CallFrame::new("optional").result::<i64>(&[5]).attr("flag", true).attr("mode", "m");
    let frame = frame.attr("sise", 1i64).attr("weights", &[1f32][..]).attr("steps", &[1i64][..]);
    assert_eq!(refusal(frame), "optional: attribute \"sise\": unknown");
}

#[ffi_handler]
fn typo(#[shape()] y: &mut f64, #[attr(default = 1.5)] eps: f64) {
    *y = eps;
}

#[ffi_handler]
fn typo_of_option(#[shape()] y: &mut f64, eps: Option<f64>) {
    *y = eps.unwrap_or(1.5);
}

#[test]
fn a_misspelt_attribute_is_never_dropped() {
    for name in ["typo", "typo_of_option"] {
        for dims in [&[][..], &[2]] {
            let frame = CallFrame::new(name).result::<f64>(dims).attr("esp", 1f64);
            assert_eq!(refusal(frame), format!("{name}: attribute \"esp\": unknown"));
        }
    }
}

#[test]
fn a_wrong_optional_attribute_is_refused_rather_than_defaulted() {
    let frame = CallFrame::new("typo").result::<f64>(&[]).attr("eps", 1f32);
    assert_eq!(refusal(frame), "typo: attribute \"eps\": expected f64, got f32");
    let frame = CallFrame::new("typo_of_option").result::<f64>(&[]).attr("eps", "1");
    assert_eq!(refusal(frame), "typo_of_option: attribute \"eps\": expected f64, got string \"1\"");
    let frame = CallFrame::new("typo_of_option").result::<f64>(&[]).attr("eps", Attr::Dictionary);
    assert_eq!(refusal(frame), "typo_of_option: attribute \"eps\": expected f64, got dictionary");
    let frame = CallFrame::new("typo_of_option").result::<f64>(&[]).attr("eps", &[1f64, 2.0][..]);
    assert_eq!(refusal(frame), "typo_of_option: attribute \"eps\": expected f64, got array of 2 f64");
    let frame = CallFrame::new("typo_of_option").result::<f64>(&[]).attr("eps", Attr::String(vec![0xff]));
    assert_eq!(refusal(frame), "typo_of_option: attribute \"eps\": expected f64, got string that is not UTF-8");
}

#[ffi_handler(dtypes(T = [f32, f64, u64]))]
fn attribute_of_the_dtype<T: Element>(#[shape(n)] x: &[T], by: T, #[shape(n)] y: &mut [T]) {
    let _ = x;
    y.fill(by);
}

#[test]
fn an_attribute_may_have_the_dtype_of_the_instance() {
    let frame = CallFrame::new("attribute_of_the_dtype").arg(&[0f32], &[1]).result::<f32>(&[1]).attr("by", 2f32);
    assert_eq!(accept(frame).get::<f32>(0), [2.0]);
    let frame = CallFrame::new("attribute_of_the_dtype").arg(&[0u64], &[1]).result::<u64>(&[1]).attr("by", u64::MAX);
    assert_eq!(accept(frame).get::<u64>(0), [u64::MAX]);
    let frame = CallFrame::new("attribute_of_the_dtype").arg(&[0f64], &[1]).result::<f64>(&[1]).attr("by", 2f32);
    assert_eq!(refusal(frame), "attribute_of_the_dtype: attribute \"by\": expected f64, got f32");
}
