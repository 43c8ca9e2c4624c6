//! What a handler returns when it fails, and how that becomes a status of XLA.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt;

/// XLA's status codes (`XLA_FFI_Error_Code`), which are those of `absl::StatusCode` without OK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
#[expect(missing_docs, reason = "the names are absl's")]
pub enum ErrorCode {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

/// A failure of a handler: a status code and a message. In Python: `XlaRuntimeError: CODE: <operation>: <message>`.
///
/// Any `std::error::Error` converts into it with code INTERNAL, so `?` works on other crates' errors. One pointer wide,
/// so that success costs nothing.
///
/// ```
/// use oxidax::{Error, ErrorCode};
/// fn parse(text: &str) -> Result<f64, Error> {
///     if text.is_empty() {
///         return Err(Error::invalid_argument("empty"));
///     }
///     Ok(text.parse::<f64>()?)
/// }
/// assert_eq!(parse("").unwrap_err().code(), ErrorCode::InvalidArgument);
/// assert_eq!(parse("x").unwrap_err().code(), ErrorCode::Internal);
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    code: ErrorCode,
    message: Cow<'static, str>,
}

impl Error {
    /// A failure with a code of one's choice.
    #[cold]
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Error(Box::new(Inner { code, message: message.into() }))
    }

    /// A failure of the operation itself (INTERNAL).
    #[cold]
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorCode::Internal, message)
    }

    /// A failure that the caller's values cause (INVALID_ARGUMENT).
    #[cold]
    pub fn invalid_argument(message: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorCode::InvalidArgument, message)
    }

    /// The status code.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The message, without the operation's name.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub(crate) fn prefixed(mut self, prefix: fmt::Arguments<'_>) -> Self {
        self.0.message = format!("{prefix}{}", self.0.message).into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code(), self.message())
    }
}

// `Error` itself is no `std::error::Error`, which is what makes this impl possible (as in anyhow).
impl<E: std::error::Error> From<E> for Error {
    #[cold]
    fn from(error: E) -> Self {
        Error::internal(error.to_string())
    }
}

/// What a handler may return: `()`, or `Result<(), E>` with `E: Into<oxidax::Error>`.
#[diagnostic::on_unimplemented(
    message = "a handler returns `()` or `Result<(), E>` with `E: Into<oxidax::Error>`, not `{Self}`",
    label = "not an outcome of a handler",
    note = "results are `&mut` parameters with `#[shape(..)]`",
    note = "every `std::error::Error` converts into `oxidax::Error`; for a text, use `oxidax::Error::internal(text)`"
)]
pub trait Outcome {
    /// The outcome as a result.
    fn finish(self) -> Result<(), Error>;
}

#[diagnostic::do_not_recommend]
impl Outcome for () {
    #[inline(always)]
    fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<E: Into<Error>> Outcome for Result<(), E> {
    #[inline(always)]
    fn finish(self) -> Result<(), Error> {
        self.map_err(Into::into)
    }
}
