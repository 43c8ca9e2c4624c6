//! Sizes: refused by name and number where they do not fit LAPACK's integers, before anything is allocated or called;
//! and the workspace lengths that LAPACK answers, kept per thread where a shape repeats.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use num_traits::{Float, One, ToPrimitive};
use oxidax::Error;

use super::routines::Int;
use super::scalar::Lapack;

/// A size as LAPACK's integer.
pub(super) fn int(name: &str, value: usize) -> Result<Int, Error> {
    product(name, value as u128)
}

/// A size that LAPACK computes in its own integers.
pub(super) fn product(name: &str, value: u128) -> Result<Int, Error> {
    Int::try_from(value).map_err(|_| {
        let most = Int::MAX;
        Error::invalid_argument(format!("{name} = {value} is more than LAPACK's 32-bit integers can count ({most})"))
    })
}

/// Refuses `what` unless `holds`.
pub(super) fn require(holds: bool, what: std::fmt::Arguments<'_>) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::invalid_argument(what.to_string())) }
}

/// The `lwork` by which LAPACK is asked for the workspace length, which it puts into the first element of `work`.
pub(super) const ASK: Int = -1;

/// A leading dimension: LAPACK wants at least 1.
pub(super) fn leading(rows: Int) -> Int {
    rows.max(1)
}

/// A length of LAPACK's as one of Rust's. Negative ones do not occur.
pub(super) fn len(length: Int) -> usize {
    usize::try_from(length).unwrap_or(0)
}

/// The workspace length in `answer`, where LAPACK puts it as a number of the matrix's type.
///
/// Numbers that large may have been rounded down, hence one unit in the last place more; and LAPACK may have overflowed
/// in computing it, hence `minimum`, which is what the documentation asks for.
pub(super) fn answered<T: Lapack>(answer: T, minimum: Int) -> Int {
    let length = answer.re();
    let exact = T::RealPart::epsilon().recip();
    let length = if length < exact { length } else { length * (T::RealPart::one() + T::RealPart::epsilon()) };
    length.ceil().to_i32().unwrap_or(minimum).max(minimum)
}

/// What a length is an answer to: the address of the routine, its options, and the shape.
pub(super) type Question = (usize, u32, [Int; 3]);

/// How many answers a thread keeps.
const KEPT: usize = 8;

thread_local! {
    static ANSWERS: RefCell<([(Question, Int); KEPT], usize)> =
        const { RefCell::new(([((0, 0, [0; 3]), 0); KEPT], 0)) };
}

/// The workspace length for a shape, from `ask` or from the last time that this thread asked.
pub(super) fn remembered(question: Question, ask: impl FnOnce() -> Int) -> Int {
    ANSWERS.with_borrow_mut(|(answers, next)| {
        if let Some((_, length)) = answers.iter().find(|(known, _)| *known == question) {
            return *length;
        }
        let length = ask();
        answers[*next] = (question, length);
        *next = (*next + 1) % KEPT;
        length
    })
}
