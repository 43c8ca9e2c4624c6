//! Shape rules: what the sizes of a call must be.

use oxidax::prelude::*;
use oxidax::testing::CallFrame;

use crate::{accept, refusal};

/// Fills `y` and says how long it is.
fn fill(y: &mut [i32]) {
    let len = y.len() as i32;
    y.fill(len);
}

fn lengths(results: &oxidax::testing::Results, k: usize, len: usize) {
    assert_eq!(results.get::<i32>(k), vec![len as i32; len]);
}

#[ffi_handler]
fn smaller_and_larger(
    #[shape(m, n)] a: &[u8],
    #[shape(min(m, n))] smaller: &mut [i32],
    #[shape(max(m, n))] larger: &mut [i32],
) {
    let _ = a;
    fill(smaller);
    fill(larger);
}

#[test]
fn min_and_max() {
    for (m, n) in [(2, 3), (3, 2), (2, 2), (0, 2)] {
        let frame = CallFrame::new("smaller_and_larger").arg::<u8>(&[], &[m, n]);
        let results = accept(frame.result::<i32>(&[m.min(n)]).result::<i32>(&[m.max(n)]));
        lengths(&results, 0, m.min(n) as usize);
        lengths(&results, 1, m.max(n) as usize);
    }
    let frame = CallFrame::new("smaller_and_larger").arg::<u8>(&[], &[2, 3]).result::<i32>(&[3]).result::<i32>(&[3]);
    assert_eq!(refusal(frame), "smaller_and_larger: result 0 \"smaller\": expected (min(m, n),) = (2,), got (3,)");
}

/// `/` and `%` round down.
#[ffi_handler]
fn arithmetic(
    #[shape(n)] x: &[u8],
    by: i64,
    #[shape(2 * n + 1, (n - 1) / 2, (0 - n) % 4)] y: &mut [i32],
    #[shape(n / by)] z: &mut [i32],
) {
    let _ = (x, by);
    fill(y);
    fill(z);
}

#[test]
fn arithmetic_of_dims_and_attributes() {
    let frame = |n: i64, by: i64, y: [i64; 3], z: i64| {
        CallFrame::new("arithmetic").arg::<u8>(&[], &[n]).result::<i32>(&y).result::<i32>(&[z]).attr("by", by)
    };
    accept(frame(5, 2, [11, 2, 3], 2));
    accept(frame(5, 5, [11, 2, 3], 1));
    accept(frame(5, 7, [11, 2, 3], 0));
    assert_eq!(
        refusal(frame(5, 0, [11, 2, 3], 2)),
        "arithmetic: result 1 \"z\": its dim `n / by` has no value: it overflows or divides by zero"
    );
    assert_eq!(refusal(frame(5, -2, [11, 2, 3], 2)), "arithmetic: result 1 \"z\": its dim `n / by` is negative: -3");
    assert_eq!(refusal(frame(0, 1, [1, 0, 0], 0)), "arithmetic: result 0 \"y\": its dim `(n - 1) / 2` is negative: -1");
}

#[ffi_handler]
fn chosen(
    #[shape(m, n)] a: &[u8],
    #[attr(default = true)] full: bool,
    #[attr(name = "width", default = 4)] w: i16,
    #[shape(if full { m } else { min(m, n) }, if w > 0 && !full || m == 9 { w } else { 1 / w })] y: &mut [i32],
) {
    let _ = (a, full, w);
    fill(y);
}

#[test]
fn attributes_choose_a_size() {
    let frame = |y: [i64; 2]| CallFrame::new("chosen").arg::<u8>(&[], &[3, 2]).result::<i32>(&y);
    accept(frame([3, 0]));
    accept(frame([3, 0]).attr("full", true).attr("width", 4i16));
    accept(frame([2, 4]).attr("full", false));
    accept(frame([2, 5]).attr("full", false).attr("width", 5i16));
    assert_eq!(
        refusal(frame([2, 4])),
        "chosen: result 0 \"y\": expected (if full { m } else { min(m, n) }, \
         if (((width > 0) && !full) || (m == 9)) { width } else { (1 / width) }) = (3, 0), got (2, 4)"
    );
}

#[test]
fn a_branch_that_is_not_taken_may_have_no_value() {
    let frame = CallFrame::new("chosen").arg::<u8>(&[], &[9, 2]).result::<i32>(&[9, 0]).attr("width", 0i16);
    accept(frame);
    let frame = CallFrame::new("chosen").arg::<u8>(&[], &[8, 2]).result::<i32>(&[8, 0]).attr("width", 0i16);
    assert!(refusal(frame).contains("has no value: it overflows or divides by zero"));
}

#[ffi_handler(require(m >= n, "a is wide"), require(n % 2 == 0 || force, "n is odd"))]
fn required(#[shape(m, n)] a: &[u8], #[attr(default = false)] force: bool, #[shape(m)] y: &mut [i32]) {
    let _ = (a, force);
    fill(y);
}

#[test]
fn conditions_hold_or_every_one_that_does_not_is_said() {
    let frame = |m: i64, n: i64| CallFrame::new("required").arg::<u8>(&[], &[m, n]).result::<i32>(&[m]);
    accept(frame(4, 2));
    accept(frame(3, 3).attr("force", true));
    assert_eq!(refusal(frame(3, 3)), "required: n is odd: `((n % 2) == 0) || force` does not hold");
    assert_eq!(
        refusal(frame(2, 3)),
        "required: a is wide: `m >= n` does not hold; n is odd: `((n % 2) == 0) || force` does not hold"
    );
}

#[ffi_handler(require(10 / k > 1, "k is too large"))]
fn required_quotient(k: u64, #[shape(n)] y: &mut [i32]) {
    let _ = k;
    fill(y);
}

#[test]
fn a_condition_without_a_value_does_not_hold() {
    let frame = |k: u64| CallFrame::new("required_quotient").result::<i32>(&[1]).attr("k", k);
    accept(frame(5));
    assert_eq!(refusal(frame(6)), "required_quotient: k is too large: `(10 / k) > 1` does not hold");
    let no_value = "required_quotient: k is too large: `(10 / k) > 1` has no value: it overflows or divides by zero";
    assert_eq!(refusal(frame(0)), no_value);
    assert_eq!(refusal(frame(u64::MAX)), no_value, "it is no i64");
}

#[ffi_handler]
fn overflowing(
    #[shape(n)] x: &[f32],
    #[shape(n * 4611686018427387904)] y: &mut [f32],
    #[shape(9223372036854775807 + n)] z: &mut [f32],
) {
    let _ = (x, y, z);
    panic!("called");
}

#[test]
fn a_size_that_overflows_is_the_size_of_nothing() {
    let frame = CallFrame::new("overflowing").arg::<f32>(&[], &[2]).result::<f32>(&[i64::MIN]).result::<f32>(&[1]);
    assert_eq!(refusal(frame), format!("overflowing: result 0 \"y\": a dim is negative: ({},)", i64::MIN));
    let frame = CallFrame::new("overflowing").arg::<f32>(&[], &[2]).result::<f32>(&[0]).result::<f32>(&[1]);
    assert_eq!(
        refusal(frame),
        "overflowing: result 0 \"y\": its dim `n * 4611686018427387904` has no value: it overflows or divides by zero; \
         result 1 \"z\": its dim `9223372036854775807 + n` has no value: it overflows or divides by zero"
    );
}

#[ffi_handler]
fn same_shape(#[shape(m, n)] x: &[f32], #[shape(m, n)] y: &mut [f32]) {
    y.copy_from_slice(x);
}

#[test]
fn sizes_beyond_memory_are_refused() {
    let frame = |dims: &[i64]| CallFrame::new("same_shape").arg::<f32>(&[], dims).result::<f32>(dims);
    let max = i64::MAX;
    for dims in
        [&[max, 1][..], &[1, max], &[max, max], &[1 << 32, 1 << 32], &[1 << 31, 1 << 30], &[2, 1 << 40, 1 << 40]]
    {
        let shape = format!("{dims:?}").replace('[', "(").replace(']', ")");
        assert_eq!(
            refusal(frame(dims)),
            format!(
                "same_shape: \"x\": {shape} has more elements than memory can hold; \
                 \"y\": {shape} has more elements than memory can hold"
            )
        );
    }
}

#[test]
fn a_batch_of_no_elements_does_not_hide_elements_beyond_memory() {
    for dims in [&[0, i64::MAX, i64::MAX][..], &[0, 1 << 62, 1], &[0, 1 << 40, 1 << 40], &[0, i64::MAX, 3, 2]] {
        let message = refusal(CallFrame::new("same_shape").arg::<f32>(&[], dims).result::<f32>(dims));
        assert!(message.contains("has more elements than memory can hold"), "{dims:?}: {message}");
    }
    // NumPy has such arrays too.
    let dims = [i64::MAX, i64::MAX, i64::MAX, 0];
    accept(CallFrame::new("same_shape").arg::<f32>(&[], &dims).result::<f32>(&dims));
    accept(CallFrame::new("same_volume").arg::<f32>(&[], &dims).result::<f32>(&dims));
}

#[ffi_handler]
fn same_volume(#[shape(k, m, n)] x: &[f32], #[shape(k, m, n)] y: &mut [f32]) {
    y.copy_from_slice(x);
}

#[test]
fn negative_sizes_are_refused() {
    for dims in [[-1, 2], [2, -1], [-1, -1], [i64::MIN, 1], [0, -1]] {
        let frame = CallFrame::new("same_shape").arg::<f32>(&[], &dims).result::<f32>(&dims);
        let shape = format!("({}, {})", dims[0], dims[1]);
        assert_eq!(
            refusal(frame),
            format!(
                "same_shape: argument 0 \"x\": a dim is negative: {shape}; result 0 \"y\": a dim is negative: {shape}"
            )
        );
    }
    let dims = [-3, 2, 2];
    let frame = CallFrame::new("same_shape").arg::<f32>(&[], &dims).result::<f32>(&dims);
    assert!(refusal(frame).starts_with("same_shape: argument 0 \"x\": a dim is negative: (-3, 2, 2)"));
}
