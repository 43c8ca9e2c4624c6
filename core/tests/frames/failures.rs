//! What the author's function may do wrong: errors of every code, and panics of every kind.

use std::panic::panic_any;

use oxidax::prelude::*;
use oxidax::testing::CallFrame;

const CODES: [ErrorCode; 16] = [
    ErrorCode::Cancelled,
    ErrorCode::Unknown,
    ErrorCode::InvalidArgument,
    ErrorCode::DeadlineExceeded,
    ErrorCode::NotFound,
    ErrorCode::AlreadyExists,
    ErrorCode::PermissionDenied,
    ErrorCode::ResourceExhausted,
    ErrorCode::FailedPrecondition,
    ErrorCode::Aborted,
    ErrorCode::OutOfRange,
    ErrorCode::Unimplemented,
    ErrorCode::Internal,
    ErrorCode::Unavailable,
    ErrorCode::DataLoss,
    ErrorCode::Unauthenticated,
];

#[ffi_handler]
fn failing(code: i64, message: &str, #[shape()] y: &mut f32) -> Result<(), Error> {
    *y = 0.0;
    Err(Error::new(CODES[code as usize - 1], message.to_owned()))
}

fn failure(code: i64, message: &str) -> Error {
    CallFrame::new("failing").result::<f32>(&[]).attr("code", code).attr("message", message).call().unwrap_err()
}

#[test]
fn every_code_arrives_with_the_message_under_the_operations_name() {
    for (code, number) in CODES.into_iter().zip(1..) {
        let error = failure(number, "it is so");
        assert_eq!((error.code(), error.message()), (code, "failing: it is so"));
        assert_eq!(code as i64, number);
    }
}

#[test]
fn any_text_is_a_message() {
    assert_eq!(failure(13, "").message(), "failing: ");
    assert_eq!(failure(13, "ä\n\t€").message(), "failing: ä\n\t€");
    assert_eq!(failure(13, "a\0b\0").message(), "failing: a\u{fffd}b\u{fffd}", "C strings end at a NUL");
    let long = "é".repeat(100_000);
    assert_eq!(failure(13, &long).message(), format!("failing: {long}"));
}

#[ffi_handler]
fn parsing(text: &str, #[shape()] y: &mut f64) -> Result<(), std::num::ParseFloatError> {
    *y = text.parse()?;
    Ok(())
}

#[test]
fn an_error_of_another_type_is_internal() {
    let error = CallFrame::new("parsing").result::<f64>(&[]).attr("text", "1.x").call().unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::Internal, "parsing: invalid float literal"));
}

/// Panics again when it is dropped, with itself as payload if `levels` is not 0.
struct Bomb {
    levels: usize,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        match self.levels {
            0 => panic!("the payload panics too"),
            levels => panic_any(Bomb { levels: levels - 1 }),
        }
    }
}

#[ffi_handler]
fn panicking(how: &str, #[shape()] y: &mut f32) {
    match how {
        "str" => panic!("a text"),
        "String" => panic!("a text of {}", 7),
        "other" => panic_any(7),
        "bomb" => panic_any(Bomb { levels: 0 }),
        "bombs" => panic_any(Bomb { levels: 3 }),
        "nul" => panic!("a\0b"),
        "index" => *y = [1.0][how.len()],
        _ => *y = 1.0,
    }
}

#[test]
fn a_panic_is_an_internal_error() {
    for (how, message) in [
        ("str", "panicking: panicked: a text"),
        ("String", "panicking: panicked: a text of 7"),
        ("other", "panicking: panicked: the panic has no message"),
        ("bomb", "panicking: panicked: the panic has no message"),
        ("bombs", "panicking: panicked: the panic has no message"),
        ("nul", "panicking: panicked: a\u{fffd}b"),
        ("index", "panicking: panicked: index out of bounds: the len is 1 but the index is 5"),
    ] {
        for dims in [&[][..], &[3]] {
            let error = CallFrame::new("panicking").result::<f32>(dims).attr("how", how).call().unwrap_err();
            assert_eq!((error.code(), error.message()), (ErrorCode::Internal, message));
        }
    }
    let results = CallFrame::new("panicking").result::<f32>(&[]).attr("how", "not").call().unwrap();
    assert_eq!(results.get::<f32>(0), [1.0], "the handler still works");
}

struct Fussy;

impl From<Fussy> for Error {
    fn from(_: Fussy) -> Error {
        panic!("no error is made of this")
    }
}

#[ffi_handler]
fn fussy(#[shape()] y: &mut f32) -> Result<(), Fussy> {
    *y = 0.0;
    Err(Fussy)
}

#[test]
fn a_conversion_that_panics_is_an_internal_error() {
    let error = CallFrame::new("fussy").result::<f32>(&[]).call().unwrap_err();
    assert_eq!(error.message(), "fussy: panicked: no error is made of this");
}

#[ffi_handler]
fn lazy(#[shape(n)] y: &mut [f32]) {
    y[0] = 1.0;
}

#[test]
#[should_panic(expected = "element 1 of result 0 was not written")]
fn the_test_frame_sees_an_element_that_was_not_written() {
    CallFrame::new("lazy").result::<f32>(&[2]).call().unwrap().get::<f32>(0);
}
