//! What `#[ffi_handler]` implements for a function, and the entry point that XLA calls.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use serde_json::Value as Json;

use crate::abi::Frame;
use crate::debug;
use crate::decode::{Decoder, Fast};
use crate::error::{Error, ErrorCode};
use crate::plan::{Instance, Plan, Selector, Spec};
use crate::platform::Platform;
use crate::shape::{Sink, Sizes, Text, Trees};
use crate::slow::{self, ShapeCheck};
use crate::sys::{XLA_FFI_CallFrame, XLA_FFI_Error};

/// How a handler meets leading axes beyond its core dims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batch {
    /// The function is called once for each batch element.
    Each,
    /// The same, on XLA's threads.
    Parallel,
    /// The function is called once and sees the leading axes.
    Whole,
    /// There must be none.
    None,
}

impl Batch {
    /// Whether the function sees one batch element at a time.
    pub(crate) fn loops(self) -> bool {
        matches!(self, Batch::Each | Batch::Parallel)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Batch::Each => "each",
            Batch::Parallel => "parallel",
            Batch::Whole => "whole",
            Batch::None => "none",
        }
    }
}

/// A reference to a rule's definition.
pub type Rule = fn() -> &'static OpInfo;

/// The reverse-mode rule.
pub struct Vjp {
    /// Returns the primal results and the residuals; absent if there are no residuals.
    pub fwd: Option<Rule>,
    /// Returns the cotangents of the inputs.
    pub bwd: Rule,
}

/// What the macro knows of a handler, whatever its dtypes.
pub struct OpInfo {
    /// The function's name.
    pub name: &'static str,
    /// The module's path, beginning with the crate.
    pub module: &'static str,
    /// The function's documentation.
    pub doc: &'static str,
    /// The target's name, if it is not `<crate>.<name>`.
    pub target: Option<&'static str>,
    /// Whether its targets are another library's, whose place it takes.
    pub drop_in: bool,
    /// How batch axes are met.
    pub batch: Batch,
    /// Whether a CUDA handler may be captured into a graph.
    pub command_buffer: bool,
    /// The names of the dims.
    pub dims: &'static [&'static str],
    /// The attributes that stand in shapes, by the names XLA carries.
    pub shape_attrs: &'static [&'static str],
    /// The reverse-mode rule.
    pub vjp: Option<Vjp>,
    /// The forward-mode rule.
    pub jvp: Option<Rule>,
}

/// A handler, whatever its dtypes.
pub trait Operation: Sized + 'static {
    /// Where it runs.
    type Platform: Platform;
    /// Its definition.
    const INFO: &'static OpInfo;

    /// Tells a reader each buffer's dims and each condition, until it stops. `values` are the dims, then the attributes in shapes.
    fn shapes<S: Sink>(sink: &mut S, values: &[S::V]) -> bool;
}

/// A handler for one choice of dtypes: `G` is the tuple of its type parameters.
pub trait Kernel<G>: Operation {
    /// Its parameters.
    const PARAMS: &'static [Spec];
    /// Where they stand in a call frame.
    const PLAN: Plan;

    /// The most threads that share a batch of elements with these dims.
    fn threads(_dims: &[i64]) -> usize {
        usize::MAX
    }

    /// Decodes every parameter and calls the function. `None` where the decoder leaves the call to the slow tier, or
    /// found an attribute whose type refuses it; the function has not been called then.
    fn run<'f, D: Decoder<'f>>(decoder: D) -> Option<Finish>;
}

/// A handler with its dtypes.
pub trait Handler: Operation {
    /// Every choice of dtypes.
    const INSTANCES: &'static [Instance];

    /// Chooses an instance and runs it.
    fn dispatch(cx: Cx<'_>) -> Returned;
}

/// What the user's function made of a call.
pub type Finish = Result<(), Error>;

/// What XLA gets: null for success.
pub type Returned = *mut XLA_FFI_Error;

/// A call, as an expansion sees it.
#[derive(Clone, Copy)]
pub struct Cx<'f>(pub(crate) Frame<'f>);

impl Cx<'_> {
    /// Whether the dtypes of this call are those of the `k`-th instance.
    #[inline(always)]
    pub fn selects(self, selector: &Selector, k: usize) -> bool {
        let mut s = 0;
        while s < selector.len {
            let (list, slot) = selector.buffers[s];
            match self.0.buffer(list, slot as usize) {
                Some(buffer) if buffer.dtype == selector.codes[k][s] => {}
                _ => return false,
            }
            s += 1;
        }
        true
    }
}

/// Runs one instance of a handler: the fast tier, then, for batches and mistakes, the slow one.
#[inline(always)]
pub fn run<K: Kernel<G>, G>(cx: Cx<'_>) -> Returned {
    // With optional attributes a call may have fewer: the slow tier takes it.
    let fast = if cx.0.has_counts(const { K::PLAN.counts }) { K::run(Fast(cx.0)) } else { None };
    match fast {
        Some(Ok(())) => ptr::null_mut(),
        Some(Err(error)) => fail(cx.0, K::INFO, error),
        None => slow::run(cx.0, const { &crate::plan::instance::<K, G>() }),
    }
}

/// No instance has the dtypes of this call.
#[cold]
#[inline(never)]
pub fn no_instance<H: Handler>(cx: Cx<'_>) -> Returned {
    slow::refuse(cx.0, H::INSTANCES)
}

/// The user's error, under the operation's name.
#[cold]
#[inline(never)]
pub(crate) fn fail(frame: Frame<'_>, info: &OpInfo, error: Error) -> Returned {
    let error = error.prefixed(format_args!("{}: ", info.name));
    frame.error(error.code(), error.message())
}

/// The definition's shape rule, as the functions that read it without knowing the handler's type.
pub struct Shapes {
    pub(crate) check: for<'a, 'b> fn(&mut Sizes<ShapeCheck<'a, 'b>>, &[i64]) -> bool,
    pub(crate) text: fn(&mut Text, &[String]) -> bool,
    pub(crate) trees: fn(&mut Trees, &[Json]) -> bool,
}

impl Shapes {
    pub(crate) const fn of<O: Operation>() -> Self {
        Shapes {
            check: |sink, values| O::shapes(sink, values),
            text: |sink, values| O::shapes(sink, values),
            trees: |sink, values| O::shapes(sink, values),
        }
    }
}

/// What XLA calls.
pub(crate) type EntryPoint = unsafe extern "C" fn(*mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error;

/// The entry points of one target.
#[derive(Clone, Copy)]
pub(crate) struct EntryPoints {
    /// The handler's own.
    pub(crate) execute: EntryPoint,
    /// The one that calls it with what `OXIDAX_DEBUG` asks for.
    pub(crate) debug: EntryPoint,
}

impl EntryPoints {
    /// Of one instance that has a target of its own.
    pub(crate) const fn of_instance<K: Kernel<G>, G>() -> Self {
        EntryPoints { execute: entry_of_instance::<K, G>, debug: debug_entry_of_instance::<K, G> }
    }
}

/// A handler in the registry.
pub struct HandlerDef {
    pub(crate) info: &'static OpInfo,
    pub(crate) platform: &'static str,
    pub(crate) instances: &'static [Instance],
    /// Chooses among the instances.
    pub(crate) entries: EntryPoints,
}

inventory::collect!(HandlerDef);

impl HandlerDef {
    /// The definition of a handler.
    pub const fn of<H: Handler>() -> Self {
        HandlerDef {
            info: H::INFO,
            platform: <H::Platform as Platform>::NAME,
            instances: H::INSTANCES,
            entries: EntryPoints { execute: entry::<H>, debug: debug_entry::<H> },
        }
    }
}

impl OpInfo {
    pub(crate) fn crate_name(&self) -> &'static str {
        self.module.split("::").next().unwrap_or(self.module)
    }

    pub(crate) fn id(&self) -> String {
        format!("{}::{}", self.module, self.name)
    }
}

/// The entry point of a handler whose instances share a target.
///
/// # Safety
///
/// As [`enter`].
unsafe extern "C" fn entry<H: Handler>(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: F1: as the caller promises.
    unsafe { enter(frame, H::INFO, H::dispatch) }
}

/// The entry point of one instance.
///
/// # Safety
///
/// As [`enter`].
unsafe extern "C" fn entry_of_instance<K: Kernel<G>, G>(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: F1: as the caller promises.
    unsafe { enter(frame, K::INFO, run::<K, G>) }
}

/// The debugging entry point of a handler whose instances share a target.
///
/// # Safety
///
/// As [`enter`].
unsafe extern "C" fn debug_entry<H: Handler>(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: F1: as the caller promises.
    unsafe { debug::call(frame, H::INFO, H::Platform::HOST_MEMORY, entry::<H>) }
}

/// The debugging entry point of one instance.
///
/// # Safety
///
/// As [`enter`].
unsafe extern "C" fn debug_entry_of_instance<K: Kernel<G>, G>(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: F1: as the caller promises.
    unsafe { debug::call(frame, K::INFO, K::Platform::HOST_MEMORY, entry_of_instance::<K, G>) }
}

/// What XLA calls. Panics stop here.
///
/// # Safety
///
/// `frame` is a call frame as `c_api.h` describes it, valid for the call (UNSAFE.md, clause F).
#[inline(always)]
unsafe fn enter(frame: *mut XLA_FFI_CallFrame, info: &OpInfo, call: impl FnOnce(Cx<'_>) -> Returned) -> Returned {
    // SAFETY: F1: as the caller promises.
    let frame = unsafe { Frame::new(frame) };
    if frame.answer_metadata(info.command_buffer) {
        return ptr::null_mut();
    }
    fence(|| call(Cx(frame)), |panic| panicked(frame, info, panic))
}

/// Runs what may panic, as the user's code may.
#[inline(always)]
pub(crate) fn fence<R>(f: impl FnOnce() -> R, caught: impl FnOnce(Panic) -> R) -> R {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(returned) => returned,
        Err(payload) => caught(Panic(payload)),
    }
}

/// A panic that was caught. It must be [ended](Panic::end).
pub(crate) struct Panic(Box<dyn Any + Send>);

impl Panic {
    /// What the panic says.
    fn text(&self) -> &str {
        match (self.0.downcast_ref::<&str>(), self.0.downcast_ref::<String>()) {
            (Some(text), _) => text,
            (None, Some(text)) => text,
            (None, None) => "the panic has no message",
        }
    }

    /// Drops the payload. That may panic again, and a second panic must not leave this function.
    pub(crate) fn end(self) {
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(self.0))) {
            std::mem::forget(second);
        }
    }
}

#[cold]
#[inline(never)]
fn panicked(frame: Frame<'_>, info: &OpInfo, panic: Panic) -> Returned {
    let returned = frame.error(ErrorCode::Internal, &format!("{}: panicked: {}", info.name, panic.text()));
    panic.end();
    returned
}
