//! Which instance of a handler a call gets.

use num_traits::ToPrimitive;
use oxidax::prelude::*;
use oxidax::testing::CallFrame;

use crate::{accept, refusal};

#[ffi_handler(dtypes(T = [f32, f64], I = [i32, i64, u8]))]
fn take<T: Element, I: Element + ToPrimitive>(
    #[shape(n)] x: &[T],
    #[shape(k)] index: &[I],
    #[shape(k)] y: &mut [T],
) -> Result<(), Error> {
    for (y, index) in y.iter_mut().zip(index) {
        let index = index.to_usize().filter(|&i| i < x.len());
        *y = x[index.ok_or_else(|| Error::new(ErrorCode::OutOfRange, "no such index"))?];
    }
    Ok(())
}

fn takes<T: Element + PartialEq + From<u8>, I: Element + From<u8>>() {
    let x = [10, 20, 30].map(T::from);
    let frame = CallFrame::new("take").arg(&x, &[3]).arg(&[2, 0].map(I::from), &[2]).result::<T>(&[2]);
    assert_eq!(accept(frame).get::<T>(0), [30, 10].map(T::from));
}

#[test]
fn two_variables_form_a_product() {
    takes::<f32, i32>();
    takes::<f32, i64>();
    takes::<f32, u8>();
    takes::<f64, i32>();
    takes::<f64, i64>();
    takes::<f64, u8>();
}

#[test]
fn a_dtype_outside_the_product_is_refused_with_those_inside() {
    let frame = CallFrame::new("take").arg(&[1i16], &[1]).arg(&[0f32], &[1]).result::<f32>(&[1]);
    assert_eq!(
        refusal(frame),
        "take: argument 0 \"x\": expected f32 or f64, got s16; \
         argument 1 \"index\": expected s32 or s64 or u8, got f32"
    );
}

#[test]
fn what_the_chosen_instance_says_of_the_other_buffers_is_checked() {
    let frame = CallFrame::new("take").arg(&[1f64], &[1]).arg(&[0i32], &[1]).result::<f32>(&[1]);
    assert_eq!(refusal(frame), "take: result 0 \"y\": expected f64, got f32");
}

/// A dtype and another one that goes with it.
trait Paired: Element {
    type Other: Element;
}

impl Paired for f32 {
    type Other = i32;
}
impl Paired for f64 {
    type Other = i32;
}
impl Paired for f16 {
    type Other = i64;
}

/// The first buffer tells one instance from the others, and the second tells those apart.
#[ffi_handler(dtypes(T = [f32, f64, f16]))]
fn paired<T: Paired>(#[shape(n)] o: &[T::Other], #[shape(n)] x: &[T], scale: T, #[shape(n)] y: &mut [T]) {
    let _ = (o, scale);
    y.copy_from_slice(x);
}

#[test]
fn two_buffers_together_choose_the_instance() {
    let results =
        accept(CallFrame::new("paired").arg(&[0i32], &[1]).arg(&[2f64], &[1]).attr("scale", 1f64).result::<f64>(&[1]));
    assert_eq!(results.get::<f64>(0), [2.0]);
    let half = f16::from_f32(2.0);
    let results =
        accept(CallFrame::new("paired").arg(&[0i64], &[1]).arg(&[half], &[1]).attr("scale", half).result::<f16>(&[1]));
    assert_eq!(results.get::<f16>(0), [half]);
}

#[test]
fn a_combination_that_no_instance_has_is_refused_with_all_that_there_are() {
    let frame = || CallFrame::new("paired").arg(&[0i64], &[1]).arg(&[2f32], &[1]).result::<f32>(&[1]);
    let instances = "no instance takes these dtypes together; the instances are (o: s32, x: f32, y: f32), \
                     (o: s32, x: f64, y: f64), (o: s64, x: f16, y: f16)";
    assert_eq!(refusal(frame().attr("scale", 1f32)), format!("paired: {instances}"));
    assert_eq!(
        refusal(frame().attr("scale", 1i8)),
        format!("paired: attribute \"scale\": expected f32 or f64 or f16 (as array of u16), got s8; {instances}"),
        "with another mistake"
    );
}

#[test]
fn an_attribute_of_any_instances_type_is_no_mistake_where_the_dtypes_are() {
    let frame = CallFrame::new("paired").arg(&[0i32], &[1]).arg(&[2u8], &[1]).attr("scale", 1f64).result::<u8>(&[1]);
    assert_eq!(
        refusal(frame),
        "paired: argument 1 \"x\": expected f32 or f64 or f16, got u8; result 0 \"y\": expected f32 or f64 or f16, got u8"
    );
}

#[ffi_handler(dtypes(T = [f64, f32]))]
fn two<T: Element>(#[shape(n)] x: &[T], #[shape(n)] z: &[T], #[shape(n)] y: &mut [T]) {
    let _ = z;
    y.copy_from_slice(x);
}

#[test]
fn no_buffer_at_all_chooses_no_instance() {
    assert_eq!(refusal(CallFrame::new("two")), "two: expected 2 arguments, got 0; expected 1 result, got 0");
}

#[test]
fn the_alignment_is_that_of_the_dtype_that_came() {
    // Aligned for an f32, and of the first instance's f64 nothing is known.
    let frame =
        CallFrame::new("two").arg(&[1f32], &[1]).tweak_last_arg(|x| x.place = oxidax::testing::Place::Shifted(4));
    let frame = frame.arg(&[1u8], &[1]).result::<f32>(&[1]).attr("more", 1i32);
    assert_eq!(refusal(frame), "two: argument 1 \"z\": expected f32, got u8; attribute \"more\": unknown");
    let frame = CallFrame::new("two").arg(&[1u8], &[1]).arg(&[1f32], &[1]);
    let frame = frame.tweak_last_arg(|x| x.place = oxidax::testing::Place::Shifted(4)).result::<f32>(&[1]);
    assert_eq!(refusal(frame), "two: argument 0 \"x\": expected f64 or f32, got u8");
}

#[ffi_handler(dtypes(A = [i8, i16, i32, i64, u8, u16, u32, u64], B = [i8, i16, i32, i64, u8, u16, u32, u64]))]
fn sizes<A: Element, B: Element>(#[shape()] a: &A, #[shape()] b: &B, #[shape(2)] y: &mut [i32]) {
    let _ = (a, b);
    y.copy_from_slice(&[size_of::<A>() as i32, size_of::<B>() as i32]);
}

#[test]
fn sixty_four_instances_are_told_apart() {
    fn check<A: Element + Default, B: Element + Default>() {
        let frame = CallFrame::new("sizes").arg(&[A::default()], &[]).arg(&[B::default()], &[]).result::<i32>(&[2]);
        assert_eq!(accept(frame).get::<i32>(0), [size_of::<A>() as i32, size_of::<B>() as i32]);
    }
    check::<i8, u64>();
    check::<u64, i8>();
    check::<u16, i32>();
    check::<i64, i64>();
}
