//! The only reader of a call frame's pointers: the frame as safe, bounds-checked accessors.
//!
//! Everything here rests on UNSAFE.md, clause F: what XLA hands over is a frame as `c_api.h` describes it, alive for the
//! length of the call. Sizes, counts and types inside it are checked before use.

use std::ffi::{CString, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;

use crate::dtype::{DType, Element, Pred};
use crate::error::ErrorCode;
use crate::sys::*;

/// A call of XLA, alive for `'f`.
#[derive(Clone, Copy)]
pub struct Frame<'f>(&'f XLA_FFI_CallFrame);

// SAFETY: F1: nothing changes the frame during the call, and the API's functions may be called from any thread.
unsafe impl Sync for Frame<'_> {}

/// The operands or the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum List {
    Args,
    Rets,
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            List::Args => "argument",
            List::Rets => "result",
        })
    }
}

impl<'f> Frame<'f> {
    /// # Safety
    ///
    /// `frame` is what XLA passed to a handler (clause F), and `'f` ends with the call.
    #[inline(always)]
    pub(crate) unsafe fn new(frame: *mut XLA_FFI_CallFrame) -> Self {
        // The results' memory is uninitialised as far as anyone can tell, and is about to be written through `&mut [T]`.
        // For the compiler it comes from foreign code; this keeps that true should it ever see both sides.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: F1: no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", in(reg) frame, options(nostack, preserves_flags))
        };
        // SAFETY: F1: the frame is valid for the call.
        Frame(unsafe { &*frame })
    }

    /// The frame for a type that cannot name its lifetime.
    ///
    /// # Safety
    ///
    /// It is not used after the call (clause D1).
    pub(crate) unsafe fn forget_lifetime(self) -> Frame<'static> {
        // SAFETY: F1: as the caller promises.
        Frame(unsafe { &*ptr::from_ref(self.0) })
    }

    /// Whether there are so many operands, results and attributes.
    #[inline(always)]
    pub(crate) fn has_counts(self, [args, rets, attrs]: [i64; 3]) -> bool {
        // One by one: compared as arrays they are gathered into vector registers first.
        self.0.args.size == args && self.0.rets.size == rets && self.0.attrs.size == attrs
    }

    /// The number of operands, results and attributes.
    pub(crate) fn counts(self) -> [i64; 3] {
        [self.0.args.size, self.0.rets.size, self.0.attrs.size]
    }

    /// The `k`-th buffer of a list, if there is one and it is a buffer.
    #[inline(always)]
    pub(crate) fn buffer(self, list: List, k: usize) -> Option<&'f XLA_FFI_Buffer> {
        let (size, types, buffers) = match list {
            List::Args => (self.0.args.size, self.0.args.types, self.0.args.args),
            List::Rets => (self.0.rets.size, self.0.rets.types, self.0.rets.rets),
        };
        if k as i64 >= size {
            return None;
        }
        // SAFETY: F2: `k < size`.
        if unsafe { nth(types, k) } != XLA_FFI_ArgType_BUFFER {
            return None;
        }
        // SAFETY: F2, F3: `k < size`, and the type says that this is a buffer. Read as a reference, it needs no null check.
        Some(unsafe { nth(buffers.cast::<&'f XLA_FFI_Buffer>(), k) })
    }

    /// The attribute `name`, if it stands at place `k`.
    #[inline(always)]
    pub(crate) fn attr_at(self, k: usize, name: &str) -> Option<AttrValue<'f>> {
        if k as i64 >= self.0.attrs.size || self.attr_name(k) != name.as_bytes() {
            return None;
        }
        // SAFETY: F2: `k < size`.
        let kind = unsafe { nth(self.0.attrs.types, k) };
        // SAFETY: F2, F4: `k < size`, and every attribute has a value.
        let value = unsafe { nth(self.0.attrs.attrs.cast::<NonNull<c_void>>(), k) };
        Some(AttrValue { kind, value, _frame: PhantomData })
    }

    /// The attribute `name`, wherever it stands.
    #[cold]
    #[inline(never)]
    pub(crate) fn attr_find(self, name: &str) -> Option<AttrValue<'f>> {
        (0..self.0.attrs.size.max(0) as usize).find_map(|k| self.attr_at(k, name))
    }

    /// The names of the attributes, as they came.
    pub(crate) fn attr_names(self) -> impl Iterator<Item = &'f [u8]> {
        (0..self.0.attrs.size.max(0) as usize).map(move |k| self.attr_name(k))
    }

    /// Needs `k < attrs.size`.
    #[inline(always)]
    fn attr_name(self, k: usize) -> &'f [u8] {
        debug_assert!((k as i64) < self.0.attrs.size);
        // SAFETY: F2, F4: both callers have tested `k`, and every attribute has a name.
        let span = unsafe { nth(self.0.attrs.names.cast::<&'f XLA_FFI_ByteSpan>(), k) };
        // SAFETY: F4: a span of the frame.
        unsafe { bytes(span) }
    }

    /// The stream that a device handler enqueues on.
    pub(crate) fn stream(self) -> Option<*mut c_void> {
        let mut args = XLA_FFI_Stream_Get_Args {
            struct_size: size_of::<XLA_FFI_Stream_Get_Args>(),
            extension_start: ptr::null_mut(),
            ctx: self.0.ctx,
            stream: ptr::null_mut(),
        };
        // SAFETY: F5: the frame's API table outlives the call.
        let get = unsafe { (*self.0.api).XLA_FFI_Stream_Get };
        // SAFETY: F5: `ctx` is the frame's own, and the struct is as the API describes it.
        let error = unsafe { get(&mut args) };
        self.accepted(error).then_some(args.stream)
    }

    /// Device memory of XLA's allocator, which is to be given back before the call ends. None where there is no more, and
    /// on the CPU. An alignment above 16 is refused.
    pub(crate) fn allocate(self, size: usize, alignment: usize) -> Option<*mut c_void> {
        let mut args = XLA_FFI_DeviceMemory_Allocate_Args {
            struct_size: size_of::<XLA_FFI_DeviceMemory_Allocate_Args>(),
            extension_start: ptr::null_mut(),
            ctx: self.0.ctx,
            size,
            alignment,
            data: ptr::null_mut(),
        };
        // SAFETY: F5: the frame's API table outlives the call.
        let allocate = unsafe { (*self.0.api).XLA_FFI_DeviceMemory_Allocate };
        // SAFETY: F5: `ctx` is the frame's own, and the struct is as the API describes it.
        let error = unsafe { allocate(&mut args) };
        (self.accepted(error) && !args.data.is_null()).then_some(args.data)
    }

    /// Gives back what [`allocate`](Self::allocate) gave.
    ///
    /// # Safety
    ///
    /// It came from there, with this size, and was not given back before.
    pub(crate) unsafe fn free(self, data: *mut c_void, size: usize) {
        let mut args = XLA_FFI_DeviceMemory_Free_Args {
            struct_size: size_of::<XLA_FFI_DeviceMemory_Free_Args>(),
            extension_start: ptr::null_mut(),
            ctx: self.0.ctx,
            size,
            data,
        };
        // SAFETY: F5: the frame's API table outlives the call.
        let free = unsafe { (*self.0.api).XLA_FFI_DeviceMemory_Free };
        // SAFETY: F5: the memory is the allocator's, as the caller promises.
        let error = unsafe { free(&mut args) };
        self.accepted(error);
    }

    /// Hands a task to a thread of XLA's pool; false if the runtime did not take it. Tasks may start after the call is
    /// over, and must find nothing of it then.
    pub(crate) fn schedule(self, task: XLA_FFI_Task, data: *mut c_void) -> bool {
        let mut args = XLA_FFI_ThreadPool_Schedule_Args {
            struct_size: size_of::<XLA_FFI_ThreadPool_Schedule_Args>(),
            extension_start: ptr::null_mut(),
            ctx: self.0.ctx,
            task,
            data,
        };
        // SAFETY: F5: the frame's API table outlives the call.
        let schedule = unsafe { (*self.0.api).XLA_FFI_ThreadPool_Schedule };
        // SAFETY: F5: `ctx` is the frame's own, and the struct is as the API describes it.
        let error = unsafe { schedule(&mut args) };
        self.accepted(error)
    }

    /// The number of threads in XLA's pool; 0 if it has none here.
    pub(crate) fn pool_threads(self) -> usize {
        let mut threads = 0i64;
        let mut args = XLA_FFI_ThreadPool_NumThreads_Args {
            struct_size: size_of::<XLA_FFI_ThreadPool_NumThreads_Args>(),
            extension_start: ptr::null_mut(),
            ctx: self.0.ctx,
            num_threads: &mut threads,
        };
        // SAFETY: F5: the frame's API table outlives the call.
        let count = unsafe { (*self.0.api).XLA_FFI_ThreadPool_NumThreads };
        // SAFETY: F5: `ctx` is the frame's own, and the struct is as the API describes it.
        let error = unsafe { count(&mut args) };
        if self.accepted(error) { usize::try_from(threads).unwrap_or(0) } else { 0 }
    }

    /// Whether the runtime did what it was asked; frees its refusal.
    fn accepted(self, error: *mut XLA_FFI_Error) -> bool {
        if error.is_null() {
            return true;
        }
        let mut args = XLA_FFI_Error_Destroy_Args {
            struct_size: size_of::<XLA_FFI_Error_Destroy_Args>(),
            extension_start: ptr::null_mut(),
            error,
        };
        // SAFETY: F5: the frame's API table outlives the call.
        let destroy = unsafe { (*self.0.api).XLA_FFI_Error_Destroy };
        // SAFETY: F5: the error is ours to free, once.
        unsafe { destroy(&mut args) };
        false
    }

    /// An error object of XLA. The message must not be empty of meaning: XLA adds nothing to it.
    #[cold]
    #[inline(never)]
    pub(crate) fn error(self, code: ErrorCode, message: &str) -> *mut XLA_FFI_Error {
        // A C string ends at its first NUL; that the rest is UTF-8 is what `str` says.
        let message = CString::new(message.replace('\0', "\u{fffd}")).unwrap_or_default();
        let mut args = XLA_FFI_Error_Create_Args {
            struct_size: XLA_FFI_Error_Create_Args_STRUCT_SIZE,
            extension_start: ptr::null_mut(),
            message: message.as_ptr(),
            errc: code as i32,
        };
        // SAFETY: F5: the frame's API table outlives the call.
        let create = unsafe { (*self.0.api).XLA_FFI_Error_Create };
        // SAFETY: F5: XLA copies the message before it returns.
        unsafe { create(&mut args) }
    }

    /// Answers XLA's question, at registration, which API version this handler speaks; false for an ordinary call.
    ///
    /// It is asked through an extension of the frame, of each stage's handler, and must never fail.
    #[inline(always)]
    pub(crate) fn answer_metadata(self, command_buffer: bool) -> bool {
        !self.0.extension_start.is_null() && self.write_metadata(command_buffer)
    }

    #[cold]
    #[inline(never)]
    fn write_metadata(self, command_buffer: bool) -> bool {
        let mut extension = self.0.extension_start;
        while !extension.is_null() {
            // SAFETY: F6: extensions are a list, ended by null.
            let base = unsafe { &*extension };
            if base.r#type == XLA_FFI_Extension_Metadata {
                // SAFETY: F6: the type says what this extension is.
                let metadata = unsafe { (*extension.cast::<XLA_FFI_Metadata_Extension>()).metadata };
                // SAFETY: F6: the runtime asks to have it written.
                let metadata = unsafe { &mut *metadata };
                // 0.8.0 and older give no API table here, and all speak 0.1; newer ones take anything up to their own.
                let minor = if self.0.api.is_null() {
                    1
                } else {
                    // SAFETY: F5: not null, and so the runtime's table.
                    unsafe { (*self.0.api).api_version.minor_version }.min(XLA_FFI_API_MINOR)
                };
                metadata.api_version.major_version = XLA_FFI_API_MAJOR;
                metadata.api_version.minor_version = minor;
                metadata.traits = if command_buffer { XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE } else { 0 };
                return true;
            }
            extension = base.next;
        }
        false
    }
}

/// The most dims of a buffer, which is what NumPy allows. A rank beyond it is not believed, and the dims are not read.
pub(crate) const MAX_RANK: i64 = 64;

/// The dims of a buffer, as they came.
#[inline(always)]
pub(crate) fn dims(buffer: &XLA_FFI_Buffer) -> &[i64] {
    if buffer.rank <= 0 {
        return &[];
    }
    // SAFETY: F3: so it has dims. Said aloud, an `Option` of the slice costs no null check.
    unsafe { std::hint::assert_unchecked(!buffer.dims.is_null()) };
    // SAFETY: F3: `rank` dims.
    unsafe { slice::from_raw_parts(buffer.dims, buffer.rank as usize) }
}

/// One dim of a buffer.
#[inline(always)]
pub(crate) fn dim(buffer: &XLA_FFI_Buffer, axis: usize) -> Option<i64> {
    if axis as i64 >= buffer.rank {
        return None;
    }
    // SAFETY: F3: `axis < rank`.
    Some(unsafe { nth(buffer.dims, axis) })
}

/// # Safety
///
/// `list` has more than `k` entries (clauses F2, F3).
#[inline(always)]
unsafe fn nth<T: Copy>(list: *const T, k: usize) -> T {
    // SAFETY: F2, F3: within the list.
    let entry = unsafe { list.add(k) };
    // SAFETY: F2, F3: there is an entry.
    unsafe { *entry }
}

/// # Safety
///
/// The span is XLA's (clause F4) and lives for `'f`.
#[inline(always)]
unsafe fn bytes<'f>(span: &XLA_FFI_ByteSpan) -> &'f [u8] {
    if span.len == 0 {
        return &[];
    }
    // SAFETY: F4: `len` bytes from `ptr` on.
    unsafe { slice::from_raw_parts(span.ptr.cast(), span.len) }
}

/// The value of an attribute, with its kind as XLA says it.
#[derive(Clone, Copy)]
pub struct AttrValue<'f> {
    kind: XLA_FFI_AttrType,
    value: NonNull<c_void>,
    _frame: PhantomData<&'f ()>,
}

impl<'f> AttrValue<'f> {
    /// A number or boolean of exactly this dtype; where XLA carries no such scalar, an array of one on the wire.
    #[inline(always)]
    pub fn scalar<T: Element>(self) -> Option<T> {
        if !T::SCALAR_ATTR {
            return match self.array::<T>()? {
                [value] => Some(*value),
                _ => None,
            };
        }
        if self.kind != XLA_FFI_AttrType_SCALAR {
            return None;
        }
        // SAFETY: F4: the kind says what the value is.
        let scalar = unsafe { self.value.cast::<XLA_FFI_Scalar>().as_ref() };
        if scalar.dtype != T::DTYPE.code() {
            return None;
        }
        // SAFETY: F4, E1: one element of this dtype.
        Some(unsafe { scalar.value.cast::<T>().read_unaligned() })
    }

    /// A one-dimensional array of exactly this dtype, or of the dtype that carries it.
    #[inline(always)]
    pub fn array<T: Element>(self) -> Option<&'f [T]> {
        if self.kind != XLA_FFI_AttrType_ARRAY {
            return None;
        }
        // SAFETY: F4: the kind says what the value is.
        let array = unsafe { self.value.cast::<XLA_FFI_Array>().as_ref() };
        let per_element = size_of::<T>() / T::WIRE.size();
        if array.dtype != T::WIRE.code() || array.size % per_element != 0 {
            return None;
        }
        if array.size == 0 {
            return Some(&[]);
        }
        let data: *const T = array.data.cast();
        if !data.is_aligned() {
            return None;
        }
        // SAFETY: F4, E1: `size` elements of the wire's dtype, which are bit for bit those of `T`.
        Some(unsafe { slice::from_raw_parts(data, array.size / per_element) })
    }

    /// A string.
    #[inline(always)]
    pub fn str(self) -> Option<&'f str> {
        if self.kind != XLA_FFI_AttrType_STRING {
            return None;
        }
        // SAFETY: F4: the kind says what the value is.
        let span = unsafe { self.value.cast::<XLA_FFI_ByteSpan>().as_ref() };
        // SAFETY: F4: a span of the frame.
        let bytes = unsafe { bytes(span) };
        if is_short_ascii(bytes) {
            // SAFETY: D3: ASCII is UTF-8.
            return Some(unsafe { str::from_utf8_unchecked(bytes) });
        }
        str::from_utf8(bytes).ok()
    }

    /// The value of an integer or boolean scalar, of whatever width.
    pub(crate) fn integer(self) -> Option<i64> {
        const DTYPES: [DType; 8] =
            [DType::PRED, DType::S8, DType::S16, DType::S32, DType::S64, DType::U8, DType::U16, DType::U32];
        DTYPES.iter().find_map(|&dtype| self.integer_of(dtype)).or_else(|| i64::try_from(self.scalar::<u64>()?).ok())
    }

    /// The value of an integer or boolean scalar of exactly this dtype.
    #[inline(always)]
    pub(crate) fn integer_of(self, dtype: DType) -> Option<i64> {
        match dtype {
            DType::PRED => self.scalar::<Pred>().map(|x| x.get().into()),
            DType::S8 => self.scalar::<i8>().map(i64::from),
            DType::S16 => self.scalar::<i16>().map(i64::from),
            DType::S32 => self.scalar::<i32>().map(i64::from),
            DType::S64 => self.scalar::<i64>(),
            DType::U8 => self.scalar::<u8>().map(i64::from),
            DType::U16 => self.scalar::<u16>().map(i64::from),
            DType::U32 => self.scalar::<u32>().map(i64::from),
            _ => None,
        }
    }

    /// What came, in words: `s64`, `array of f32`, `a string`.
    #[expect(non_upper_case_globals, reason = "the names of the C header, in patterns")]
    pub(crate) fn describe(self) -> String {
        match self.kind {
            XLA_FFI_AttrType_SCALAR => {
                // SAFETY: F4: the kind says what the value is.
                DType::name_of(unsafe { self.value.cast::<XLA_FFI_Scalar>().as_ref() }.dtype)
            }
            XLA_FFI_AttrType_ARRAY => {
                // SAFETY: F4: the kind says what the value is.
                let array = unsafe { self.value.cast::<XLA_FFI_Array>().as_ref() };
                format!("array of {} {}", array.size, DType::name_of(array.dtype))
            }
            XLA_FFI_AttrType_STRING => match self.str() {
                Some(text) => format!("string {text:?}"),
                None => "string that is not UTF-8".to_owned(),
            },
            XLA_FFI_AttrType_DICTIONARY => "dictionary".to_owned(),
            kind => format!("attribute of unknown kind {kind}"),
        }
    }
}

/// Up to 16 bytes of ASCII, by at most two overlapping loads: flags such as "lower" are decoded on every call, and
/// `str::from_utf8` costs more than the rest of a small handler.
#[inline(always)]
fn is_short_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let ends = match bytes {
        [] => 0,
        [a] => u64::from(*a),
        [a, .., z] if bytes.len() <= 3 => u64::from(*a) | u64::from(bytes[1]) | u64::from(*z),
        _ if bytes.len() <= 7 => {
            let (Some(a), Some(z)) = (bytes.first_chunk(), bytes.last_chunk()) else { return false };
            u64::from(u32::from_ne_bytes(*a) | u32::from_ne_bytes(*z))
        }
        _ if bytes.len() <= 16 => {
            let (Some(a), Some(z)) = (bytes.first_chunk(), bytes.last_chunk()) else { return false };
            u64::from_ne_bytes(*a) | u64::from_ne_bytes(*z)
        }
        _ => return false,
    };
    ends & HIGH == 0
}

#[cfg(test)]
mod tests {
    use super::is_short_ascii;

    #[test]
    fn short_ascii_is_told_from_the_rest_at_every_length_and_place() {
        for len in 0..=16 {
            let mut bytes = vec![b'x'; len];
            assert!(is_short_ascii(&bytes));
            for k in 0..len {
                bytes[k] = 0xc3;
                assert!(!is_short_ascii(&bytes), "length {len}, byte {k}");
                bytes[k] = b'x';
            }
        }
        assert!(!is_short_ascii(&[b'x'; 17]));
    }
}
