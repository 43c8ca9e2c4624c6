//! Debugging entry points: each prints its calls, or fills the results before them, and then calls the handler's own.
//!
//! `OXIDAX_DEBUG=trace,poison` makes the registry hand them to the host instead of the handlers' own; `oxidax_debug` gives
//! them to whoever asks. The handlers' own entry points know nothing of them.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use crate::abi::{self, Frame, List, MAX_RANK};
use crate::dtype::DType;
use crate::handler::{EntryPoint, OpInfo, Returned};
use crate::sys::{XLA_FFI_Buffer, XLA_FFI_CallFrame};

/// The variable that is read once, when the library's manifest is made.
const VARIABLE: &str = "OXIDAX_DEBUG";
/// A NaN of every floating dtype, and -1 of every signed integer.
const VISIBLE: u8 = 0xff;

/// What the variable asks for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Options {
    trace: bool,
    poison: bool,
}

impl Options {
    /// What the variable asks for, and the words that mean nothing.
    fn parse(text: &str) -> (Options, Vec<&str>) {
        let mut options = Options::default();
        let mut unknown = Vec::new();
        for word in text.split(',').map(str::trim) {
            match word {
                "trace" => options.trace = true,
                "poison" => options.poison = true,
                "" => {}
                _ => unknown.push(word),
            }
        }
        (options, unknown)
    }

    fn of_environment() -> Options {
        static OPTIONS: OnceLock<Options> = OnceLock::new();
        *OPTIONS.get_or_init(|| {
            let text = std::env::var(VARIABLE).unwrap_or_default();
            let (options, unknown) = Options::parse(&text);
            for word in unknown {
                print(&format!("{VARIABLE}: unknown option {word:?}: there are trace and poison"));
            }
            options
        })
    }
}

/// Whether the environment asks for debugging entry points.
pub(crate) fn is_on() -> bool {
    Options::of_environment() != Options::default()
}

/// The byte that results are filled with, instead of what the environment says; negative: there is none.
static FILL: AtomicI32 = AtomicI32::new(-1);

/// Fills results with the low byte of `byte` from now on; a negative one leaves it to the environment.
pub(crate) fn set_fill(byte: i32) {
    FILL.store(byte, Ordering::Relaxed);
}

/// Calls a handler that XLA called, with what was asked for around it.
///
/// # Safety
///
/// As for `execute`, which is the handler's own entry point (UNSAFE.md, clause F).
pub(crate) unsafe fn call(
    frame: *mut XLA_FFI_CallFrame,
    info: &OpInfo,
    host_memory: bool,
    execute: EntryPoint,
) -> Returned {
    // SAFETY: F1: as the caller promises.
    let seen = unsafe { Frame::new(frame) };
    if seen.answer_metadata(info.command_buffer) {
        return ptr::null_mut();
    }
    let options = Options::of_environment();
    let fill = match FILL.load(Ordering::Relaxed) {
        byte @ 0.. => Some(byte as u8),
        _ => options.poison.then_some(VISIBLE),
    };
    if let Some(byte) = fill.filter(|_| host_memory) {
        // SAFETY: F1, F3: the call's own results, which nobody reads before the handler has written them.
        unsafe { poison(seen, byte) };
    }
    let line = options.trace.then(|| describe(seen, info));
    let start = Instant::now();
    // SAFETY: F1: as the caller promises.
    let returned = unsafe { execute(frame) };
    if let Some(line) = line {
        let outcome = if returned.is_null() { "in" } else { "failed in" };
        print(&format!("{line} {outcome} {:.1?}", start.elapsed()));
    }
    returned
}

/// Fills every result that shares no memory with an operand: one that does is an `InOut`'s, and holds its operand.
///
/// # Safety
///
/// Results are host memory, which nobody reads before the handler has written it (clauses F1, F3).
unsafe fn poison(frame: Frame<'_>, byte: u8) {
    for result in buffers(frame, List::Rets) {
        let Some((data, len)) = memory(result) else { continue };
        let shares = |operand: &XLA_FFI_Buffer| {
            memory(operand).is_some_and(|(other, size)| {
                other.addr() < data.addr().saturating_add(len) && data.addr() < other.addr().saturating_add(size)
            })
        };
        if !buffers(frame, List::Args).any(shares) {
            // SAFETY: F3: as many bytes as its dims and dtype say.
            unsafe { data.cast::<u8>().write_bytes(byte, len) };
        }
    }
}

fn buffers<'f>(frame: Frame<'f>, list: List) -> impl Iterator<Item = &'f XLA_FFI_Buffer> {
    let [args, rets, _] = frame.counts();
    let count = if list == List::Args { args } else { rets };
    (0..count.max(0) as usize).filter_map(move |k| frame.buffer(list, k))
}

/// The dims of a buffer, if its rank is to be believed.
fn dims(buffer: &XLA_FFI_Buffer) -> Option<&[i64]> {
    (0..=MAX_RANK).contains(&buffer.rank).then(|| abi::dims(buffer))
}

/// Where a buffer lies, and its bytes; nothing for one without memory, or of a dtype or dims that no handler takes.
fn memory(buffer: &XLA_FFI_Buffer) -> Option<(*mut c_void, usize)> {
    let size = DType::of_code(buffer.dtype)?.size();
    let bytes = dims(buffer)?.iter().try_fold(size, |n, &dim| n.checked_mul(usize::try_from(dim).ok()?))?;
    (bytes > 0 && !buffer.data.is_null()).then_some((buffer.data, bytes))
}

/// `rms_norm.rms_norm(f32[2,3]) -> f32[2,3]`
fn describe(frame: Frame<'_>, info: &OpInfo) -> String {
    let mut line = match info.target {
        Some(target) => target.to_owned(),
        None => format!("{}.{}", info.crate_name(), info.name),
    };
    let list = |list| buffers(frame, list).map(shape).collect::<Vec<_>>().join(", ");
    let _ = write!(line, "({}) -> {}", list(List::Args), list(List::Rets));
    line
}

fn shape(buffer: &XLA_FFI_Buffer) -> String {
    let dims = match dims(buffer) {
        Some(dims) => dims.iter().map(i64::to_string).collect::<Vec<_>>().join(","),
        None => format!("rank {}", buffer.rank),
    };
    format!("{}[{dims}]", DType::name_of(buffer.dtype))
}

/// One line on the standard error, which may be closed.
fn print(text: &str) {
    let _ = io::stderr().lock().write_all(format!("oxidax: {text}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::{Options, memory, shape};
    use crate::sys::XLA_FFI_Buffer;

    #[test]
    fn a_rank_that_nobody_believes_is_not_read() {
        let mut byte = 0u8;
        for rank in [-1, 65, i64::MAX] {
            let data = ptr::from_mut(&mut byte).cast();
            let (struct_size, extension_start) = (size_of::<XLA_FFI_Buffer>(), ptr::null_mut());
            let buffer = XLA_FFI_Buffer { struct_size, extension_start, dtype: 11, data, rank, dims: ptr::null() };
            assert!(memory(&buffer).is_none());
            assert_eq!(shape(&buffer), format!("f32[rank {rank}]"));
        }
    }

    #[test]
    fn the_variable_is_a_list_of_words() {
        let options = |trace, poison| Options { trace, poison };
        assert_eq!(Options::parse(""), (options(false, false), vec![]));
        assert_eq!(Options::parse("trace"), (options(true, false), vec![]));
        assert_eq!(Options::parse(" poison, trace,"), (options(true, true), vec![]));
        assert_eq!(Options::parse("trace,all"), (options(true, false), vec!["all"]));
    }
}
