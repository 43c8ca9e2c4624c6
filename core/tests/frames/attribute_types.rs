//! Every type of attribute: numbers of every dtype, arrays, strings.

use oxidax::prelude::*;
use oxidax::testing::{Attr, CallFrame};

use crate::{accept, refusal};

#[ffi_handler(dtypes(T = [Pred, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>]))]
fn scalar_attribute<T: Element>(value: T, #[shape()] y: &mut T) {
    *y = value;
}

#[ffi_handler(dtypes(T = [Pred, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>]))]
fn array_attribute<T: Element>(#[attr] values: &[T], #[shape(n)] y: &mut [T]) {
    assert_eq!(values.len(), y.len());
    y.copy_from_slice(values);
}

/// As XLA carries it, or would if it carried the dtype: what `carried` says.
fn decodes<T: Element>(values: &[T], name: &str, carried: &str) {
    let shown = |values: &[T]| format!("{values:?}");
    for &value in values {
        for dims in [&[][..], &[1]] {
            let results = accept(CallFrame::new("scalar_attribute").result::<T>(dims).attr("value", value));
            assert_eq!(shown(&results.get::<T>(0)), shown(&[value]), "{name}");
        }
    }
    for len in 0..=values.len() {
        let values = &values[..len];
        let results = accept(CallFrame::new("array_attribute").result::<T>(&[len as i64]).attr("values", values));
        assert_eq!(shown(&results.get::<T>(0)), shown(values), "array of {len} {name}");
    }
    let text = refusal(CallFrame::new("scalar_attribute").result::<T>(&[]).attr("value", "text"));
    assert_eq!(text, format!("scalar_attribute: attribute \"value\": expected {carried}, got string \"text\""));
    let none = refusal(CallFrame::new("array_attribute").result::<T>(&[0]));
    let expected = match carried.split_once(" (as array of ") {
        Some((_, wire)) if wire.strip_suffix(')') != Some(name) => format!("array of {name} (as {wire}"),
        _ if name == "pred" => "array of pred (as u8)".to_owned(),
        _ => format!("array of {name}"),
    };
    assert_eq!(none, format!("array_attribute: attribute \"values\": missing, expected {expected}"));
}

#[test]
fn every_dtype_is_an_attribute_alone_and_in_an_array() {
    decodes(&[Pred::new(true), Pred::new(false)], "pred", "pred");
    decodes(&[i8::MIN, 0, i8::MAX], "s8", "s8");
    decodes(&[i16::MIN, 0, i16::MAX], "s16", "s16");
    decodes(&[i32::MIN, 0, i32::MAX], "s32", "s32");
    decodes(&[i64::MIN, 0, i64::MAX], "s64", "s64");
    decodes(&[0, u8::MAX], "u8", "u8");
    decodes(&[0, u16::MAX], "u16", "u16");
    decodes(&[0, u32::MAX], "u32", "u32");
    decodes(&[0, u64::MAX], "u64", "u64 (as array of u64)");
    decodes(&[f16::MIN, f16::NAN], "f16", "f16 (as array of u16)");
    decodes(&[bf16::MIN, bf16::NAN], "bf16", "bf16 (as array of u16)");
    decodes(&[f32::MIN, f32::NAN, -0.0], "f32", "f32");
    decodes(&[f64::MIN, f64::NAN, -0.0], "f64", "f64");
    decodes(&[Complex::new(1f32, 2.0), Complex::new(-0.0, f32::NAN)], "c64", "c64 (as array of f32)");
    decodes(&[Complex::new(1f64, 2.0), Complex::new(-0.0, f64::NAN)], "c128", "c128 (as array of f64)");
}

#[test]
fn a_scalar_in_an_array_is_exactly_one() {
    let frame = |len: usize| CallFrame::new("scalar_attribute").result::<u64>(&[]).attr("value", &vec![1u64; len][..]);
    assert_eq!(accept(frame(1)).get::<u64>(0), [1]);
    let message =
        |got: &str| format!("scalar_attribute: attribute \"value\": expected u64 (as array of u64), got {got}");
    assert_eq!(refusal(frame(0)), message("array of 0 u64"));
    assert_eq!(refusal(frame(2)), message("array of 2 u64"));
}

#[test]
fn a_complex_number_is_a_pair() {
    let frame = |len: usize| {
        CallFrame::new("array_attribute").result::<Complex<f64>>(&[1]).attr("values", &vec![1f64; len][..])
    };
    assert_eq!(accept(frame(2)).get::<Complex<f64>>(0), [Complex::new(1.0, 1.0)]);
    let message =
        |got: &str| format!("array_attribute: attribute \"values\": expected array of c128 (as f64), got {got}");
    assert_eq!(refusal(frame(3)), message("array of 3 f64"));
    assert_eq!(refusal(frame(1)), message("array of 1 f64"));
}

#[test]
fn a_boolean_attribute_is_true_whatever_its_byte() {
    for (byte, truth) in [(0, false), (1, true), (2, true), (255, true)] {
        let frame = CallFrame::new("scalar_attribute").result::<Pred>(&[]).attr("value", Attr::Scalar(1, vec![byte]));
        assert_eq!(accept(frame).get::<Pred>(0), [Pred::new(truth)]);
        let frame = CallFrame::new("a_bool").result::<i32>(&[]).attr("value", Attr::Scalar(1, vec![byte]));
        assert_eq!(accept(frame).get::<i32>(0), [i32::from(truth)]);
    }
    let array = Attr::Array(6, vec![0, 1, 2, 255], 4);
    let results = accept(CallFrame::new("array_attribute").result::<Pred>(&[4]).attr("values", array));
    assert_eq!(results.get::<Pred>(0), [false, true, true, true].map(Pred::new));
}

#[ffi_handler]
fn a_bool(value: bool, #[shape()] y: &mut i32) {
    *y = value.into();
}

#[test]
fn no_dtype_passes_for_another() {
    let scalars: [(&str, Attr); 10] = [
        ("s8", 1i8.into()),
        ("s16", 1i16.into()),
        ("s32", 1i32.into()),
        ("s64", 1i64.into()),
        ("u8", 1u8.into()),
        ("u16", 1u16.into()),
        ("u32", 1u32.into()),
        ("f32", 1f32.into()),
        ("f64", 1f64.into()),
        ("pred", true.into()),
    ];
    for (name, attr) in &scalars {
        let call = CallFrame::new("scalar_attribute").result::<i32>(&[]).attr("value", attr.clone()).call();
        assert_eq!(call.is_ok(), *name == "s32", "{name}");
        let call = CallFrame::new("a_bool").result::<i32>(&[]).attr("value", attr.clone()).call();
        assert_eq!(call.is_ok(), *name == "pred", "{name}");
    }
    for code in [-1, 0, 1, 10, 15, 16, 17, 18, 19, 33, i32::MAX] {
        let attr = Attr::Scalar(code, vec![0; 16]);
        let call = CallFrame::new("scalar_attribute").result::<i32>(&[]).attr("value", attr).call();
        assert!(call.is_err(), "dtype {code}");
        let attr = Attr::Array(code, vec![0; 16], 1);
        let call = CallFrame::new("array_attribute").result::<i32>(&[1]).attr("values", attr).call();
        assert!(call.is_err(), "array of dtype {code}");
    }
}

#[ffi_handler]
fn text(value: &str, #[shape(n)] y: &mut [u8]) {
    assert_eq!(value.len(), y.len());
    y.copy_from_slice(value.as_bytes());
}

#[test]
fn strings_of_every_length_arrive() {
    for len in 0..=40 {
        let ascii: String = ('!'..='~').take(len).collect();
        let umlauts: String = "ä".repeat(len / 2) + &"x".repeat(len % 2);
        let nul = "\0".repeat(len);
        for value in [ascii, umlauts, nul] {
            let frame = CallFrame::new("text").result::<u8>(&[len as i64]).attr("value", &*value);
            assert_eq!(String::from_utf8(accept(frame).get::<u8>(0)).unwrap(), value);
        }
    }
}

#[test]
fn a_string_that_is_not_utf_8_is_refused_at_every_length_and_place() {
    for len in 1..=40 {
        for place in 0..len {
            let mut bytes = vec![b'x'; len];
            bytes[place] = 0xc3; // the first of two bytes, without its second
            let frame = CallFrame::new("text").result::<u8>(&[len as i64]).attr("value", Attr::String(bytes));
            let message = "text: attribute \"value\": expected string, got string that is not UTF-8";
            assert_eq!(refusal(frame), message, "length {len}, byte {place}");
        }
    }
}

#[test]
fn nothing_else_is_a_string() {
    for (attr, got) in
        [(Attr::from(1i64), "s64"), (Attr::from(&[b'x'][..]), "array of 1 u8"), (Attr::Dictionary, "dictionary")]
    {
        let frame = CallFrame::new("text").result::<u8>(&[1]).attr("value", attr);
        assert_eq!(refusal(frame), format!("text: attribute \"value\": expected string, got {got}"));
    }
}
