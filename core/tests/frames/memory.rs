//! Where buffers may lie: together, nowhere, and off their alignment.

use oxidax::prelude::*;
use oxidax::testing::{CallFrame, Place};

use crate::{accept, refusal};

#[ffi_handler]
fn sum(#[shape(n)] a: &[f32], #[shape(n)] b: &[f32], #[shape(n)] y: &mut [f32]) {
    for i in 0..y.len() {
        y[i] = a[i] + b[i];
    }
}

#[ffi_handler]
fn split(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32], #[shape(n)] z: &mut [f32]) {
    y.copy_from_slice(x);
    z.copy_from_slice(x);
}

#[ffi_handler]
fn rotate(#[shape(n)] mut x: InOut<&mut [f32]>, #[shape(n)] by: &[f32], #[shape(n)] mut z: InOut<&mut [f32]>) {
    for i in 0..x.len() {
        (x[i], z[i]) = (z[i] + by[i], x[i]);
    }
}

const SHARED: &str = "share memory, and one of them is a result: only `InOut` may do that";

/// A frame of `sum` whose operands have `n` elements in batches of `batch`.
fn sum_frame(batch: &[i64], places: [Place; 3]) -> CallFrame {
    let dims = [batch, &[4]].concat();
    let values: Vec<f32> = (0..dims.iter().product()).map(|i: i64| i as f32).collect();
    let [a, b, y] = places;
    let frame = CallFrame::new("sum").arg(&values, &dims).tweak_last_arg(|o| o.place = a);
    let frame = frame.arg(&values, &dims).tweak_last_arg(|o| o.place = b);
    // Room for other buffers to lie in its second half.
    let frame = frame.tweak_last_arg(|o| o.room = o.bytes.len());
    frame.result::<f32>(&dims).tweak_last_result(|o| o.place = y)
}

#[test]
fn one_buffer_may_be_two_arguments() {
    for batch in [&[][..], &[2]] {
        let results = accept(sum_frame(batch, [Place::Own, Place::InArgument(0, 0), Place::Own]));
        assert_eq!(results.get::<f32>(0)[..4], [0.0, 2.0, 4.0, 6.0]);
    }
}

#[test]
fn arguments_may_overlap_each_other_in_part() {
    accept(sum_frame(&[], [Place::InArgument(1, 8), Place::Own, Place::Own]));
}

#[test]
fn an_argument_never_shares_memory_with_a_result() {
    for batch in [&[][..], &[3]] {
        let bytes = 16 * batch.iter().product::<i64>() as usize;
        for offset in (0..bytes).step_by(4) {
            let message = refusal(sum_frame(batch, [Place::Own, Place::Own, Place::InArgument(1, offset)]));
            assert_eq!(message, format!("sum: \"b\" and \"y\" {SHARED}"), "{offset} bytes in");
        }
        accept(sum_frame(batch, [Place::Own, Place::Own, Place::InArgument(1, bytes)]));
    }
    let message = refusal(sum_frame(&[], [Place::InArgument(1, 0), Place::Own, Place::InArgument(1, 0)]));
    assert_eq!(message, format!("sum: \"a\" and \"y\" {SHARED}; \"b\" and \"y\" {SHARED}"));
}

#[test]
fn buffers_overlap_as_their_bytes_do() {
    // In one memory: `z` at 0, `x` at 32, and `y` anywhere.
    for offset in (0..=64).step_by(4) {
        let frame = CallFrame::new("split").arg(&[0f32; 4], &[4]).tweak_last_arg(|x| x.place = Place::InResult(1, 32));
        let frame = frame.result::<f32>(&[4]).tweak_last_result(|y| y.place = Place::InResult(1, offset));
        let frame = frame.result::<f32>(&[4]).tweak_last_result(|z| z.room = 64);
        let shared = [("\"x\" and \"y\"", 32), ("\"y\" and \"z\"", 0)];
        let problems = shared.into_iter().filter(|&(_, other)| (offset as i32 - other).abs() < 16);
        let problems: Vec<_> = problems.map(|(pair, _)| format!("{pair} {SHARED}")).collect();
        match frame.call() {
            Ok(_) => assert!(problems.is_empty(), "{offset}"),
            Err(error) => assert_eq!(error.message(), format!("split: {}", problems.join("; "))),
        }
    }
}

#[test]
fn two_results_share_no_memory() {
    for (offset, apart) in [(0, false), (4, false), (12, false), (16, true)] {
        let frame = CallFrame::new("split").arg(&[1f32; 4], &[4]).result::<f32>(&[4]);
        let frame = frame.tweak_last_result(|y| y.room = 64);
        let frame = frame.result::<f32>(&[4]).tweak_last_result(|z| z.place = Place::InResult(0, offset));
        match frame.call() {
            Ok(_) => assert!(apart),
            Err(error) => assert_eq!((error.message(), apart), (&*format!("split: \"y\" and \"z\" {SHARED}"), false)),
        }
    }
}

fn rotate_frame() -> CallFrame {
    CallFrame::new("rotate").inout(&[1f32, 2.0], &[2]).arg(&[10f32, 20.0], &[2]).inout(&[3f32, 4.0], &[2])
}

#[test]
fn an_inout_shares_memory_with_its_own_operand_alone() {
    let results = accept(rotate_frame());
    assert_eq!((results.get::<f32>(0), results.get::<f32>(1)), (vec![13.0, 24.0], vec![1.0, 2.0]));
    let crossed = rotate_frame().tweak_last_result(|z| z.place = Place::InArgument(0, 0));
    assert_eq!(refusal(crossed), format!("rotate: \"x\" and \"z\" {SHARED}"));
    let argument = rotate_frame().tweak_last_result(|z| z.place = Place::InArgument(1, 0));
    assert_eq!(refusal(argument), format!("rotate: \"by\" and \"z\" {SHARED}"));
}

#[test]
fn an_inout_that_lies_across_its_operand_is_refused() {
    for dims in [&[4][..], &[2, 2]] {
        for offset in [4, 8, 12] {
            let frame = CallFrame::new("rotate").arg(&[0f32; 4], dims).tweak_last_arg(|x| x.room = 64);
            let frame = frame.result::<f32>(dims).tweak_last_result(|x| x.place = Place::InArgument(0, offset));
            let frame = frame.arg(&[0f32; 4], dims).inout(&[0f32; 4], dims);
            assert_eq!(refusal(frame), "rotate: \"x\": its operand and its result share a part of their memory");
        }
    }
}

#[test]
fn the_operand_of_an_inout_that_is_copied_lies_in_no_other_result() {
    // The operand of `z` is where the result of `x` is.
    let frame = CallFrame::new("rotate").inout(&[1f32, 2.0], &[2]).arg(&[0f32; 2], &[2]).arg(&[0f32; 2], &[2]);
    let frame = frame.tweak_last_arg(|z| z.place = Place::InArgument(0, 4)).tweak_last_result(|x| x.room = 64);
    let frame = frame.result::<f32>(&[2]);
    let message = refusal(frame.tweak_arg(0, |x| x.room = 64));
    assert_eq!(message, format!("rotate: \"x\" and \"z\" {SHARED}"));
}

#[test]
fn two_operands_of_inouts_that_are_copied_may_be_one() {
    let frame = CallFrame::new("rotate").arg(&[1f32, 2.0], &[2]).result::<f32>(&[2]).arg(&[10f32, 20.0], &[2]);
    let frame = frame.arg(&[0f32; 2], &[2]).tweak_last_arg(|z| z.place = Place::InArgument(0, 0)).result::<f32>(&[2]);
    let results = accept(frame);
    assert_eq!((results.get::<f32>(0), results.get::<f32>(1)), (vec![11.0, 22.0], vec![1.0, 2.0]));
}

#[test]
fn a_buffer_of_no_elements_lies_anywhere() {
    for place in [Place::Null, Place::Own, Place::InArgument(0, 0)] {
        for dims in [&[0][..], &[3, 0], &[0, 4]] {
            let frame = CallFrame::new("split").arg::<f32>(&[], dims).tweak_last_arg(|x| {
                x.room = 64;
                if place == Place::Null {
                    x.place = Place::Null;
                }
            });
            let frame = frame.result::<f32>(dims).tweak_last_result(|y| y.place = place);
            accept(frame.result::<f32>(dims).tweak_last_result(|z| z.place = place));
        }
    }
    let frame = CallFrame::new("rotate").arg::<f32>(&[], &[0]).tweak_last_arg(|x| x.place = Place::Null);
    accept(frame.result::<f32>(&[0]).arg::<f32>(&[], &[0]).inout::<f32>(&[], &[0]));
}

#[test]
fn elements_have_memory() {
    for dims in [&[4][..], &[1, 4]] {
        let frame = || CallFrame::new("split").arg(&[0f32; 4], dims).result::<f32>(dims).result::<f32>(dims);
        let argument = frame().tweak_last_arg(|x| x.place = Place::Null);
        assert_eq!(refusal(argument), "split: argument 0 \"x\": it has no memory");
        let result = frame().tweak_last_result(|z| z.place = Place::Null);
        assert_eq!(refusal(result), "split: result 1 \"z\": it has no memory");
    }
}

#[ffi_handler(dtypes(T = [u8, u16, f32, f64, Complex<f32>, Complex<f64>]))]
fn aligned<T: Element>(#[shape(n)] x: &[T], #[shape(n)] y: &mut [T]) {
    assert!(x.as_ptr().is_aligned() && y.as_ptr().is_aligned());
    y.copy_from_slice(x);
}

fn shifts<T: Element + Default>() {
    let align = align_of::<T>();
    for shift in 0..=align {
        for dims in [&[2][..], &[1, 2]] {
            let frame = || CallFrame::new("aligned").arg(&[T::default(); 2], dims).result::<T>(dims);
            let argument = frame().tweak_last_arg(|x| x.place = Place::Shifted(shift)).call();
            let result = frame().tweak_last_result(|y| y.place = Place::Shifted(shift)).call();
            if shift % align == 0 {
                assert!(argument.is_ok() && result.is_ok(), "{:?} by {shift}", T::DTYPE);
            } else {
                let off = |head: &str| format!("aligned: {head}: its memory is not aligned to {align} bytes");
                assert_eq!(argument.unwrap_err().message(), off("argument 0 \"x\""));
                assert_eq!(result.unwrap_err().message(), off("result 0 \"y\""));
            }
        }
    }
}

#[test]
fn every_misalignment_is_refused() {
    shifts::<u8>();
    shifts::<u16>();
    shifts::<f32>();
    shifts::<f64>();
    shifts::<Complex<f32>>();
    shifts::<Complex<f64>>();
}
