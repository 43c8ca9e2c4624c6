//! A stand-in for XLA: as much of its API table as handlers call, and what it asks of them at registration.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};
use std::mem;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::handler;
use crate::error::{Error, ErrorCode};
use crate::registry;
use crate::sys::*;

/// What a handler answers when XLA asks for its metadata at registration: API version and traits.
///
/// `minor` is the runtime's own version, or `None` for the runtimes that give no API table here.
pub fn metadata(name: &str, minor: Option<i32>) -> (i32, i32, u32) {
    let mut metadata = XLA_FFI_Metadata {
        struct_size: 36,
        api_version: XLA_FFI_Api_Version {
            struct_size: size_of::<XLA_FFI_Api_Version>(),
            extension_start: ptr::null_mut(),
            major_version: -1,
            minor_version: -1,
        },
        traits: u32::MAX,
    };
    let mut extension = XLA_FFI_Metadata_Extension {
        extension_base: XLA_FFI_Extension_Base {
            struct_size: size_of::<XLA_FFI_Metadata_Extension>(),
            r#type: XLA_FFI_Extension_Metadata,
            next: ptr::null_mut(),
        },
        metadata: &mut metadata,
    };
    let api = minor.map(api);
    let mut frame = empty_frame(api.as_ref().map_or(ptr::null(), ptr::from_ref));
    frame.extension_start = ptr::from_mut(&mut extension).cast();
    // SAFETY: F1, F6: a frame as XLA makes it at registration.
    let error = unsafe { (handler(name).entries.execute)(&mut frame) };
    assert!(error.is_null(), "a metadata query must not fail");
    (metadata.api_version.major_version, metadata.api_version.minor_version, metadata.traits)
}

/// What `oxidax_register_all` registers with a runtime, as target names. `refuse` is the target that it refuses.
///
/// # Errors
///
/// The runtime's refusal.
pub fn register_all(platform: &str, refuse: Option<&str>) -> Result<Vec<String>, Error> {
    thread_local! {
        static REGISTERED: Cell<(Vec<String>, Option<String>)> = const { Cell::new((Vec::new(), None)) };
    }
    unsafe extern "C" fn register(args: *mut XLA_FFI_Handler_Register_Args) -> *mut XLA_FFI_Error {
        // SAFETY: F5: as the registry fills it.
        let args = unsafe { &*args };
        assert_eq!(args.struct_size, XLA_FFI_Handler_Register_Args_STRUCT_SIZE);
        assert!(args.bundle.execute.is_some());
        // SAFETY: F5: a name's bytes.
        let name = unsafe { std::slice::from_raw_parts(args.name.ptr.cast(), args.name.len) };
        let name = String::from_utf8_lossy(name).into_owned();
        let (mut names, refuse) = REGISTERED.take();
        let refused = refuse.as_deref() == Some(&name);
        names.push(name);
        REGISTERED.set((names, refuse));
        if refused {
            return TestError::leak(ErrorCode::AlreadyExists as i32, "refused");
        }
        ptr::null_mut()
    }
    REGISTERED.set((Vec::new(), refuse.map(str::to_owned)));
    let mut api = api(XLA_FFI_API_MINOR);
    api.XLA_FFI_Handler_Register = register;
    let platform = CString::new(platform).unwrap_or_default();
    // SAFETY: F5: a table and a C string of ours.
    let error = unsafe { registry::oxidax_register_all(&api, platform.as_ptr()) };
    let (names, _) = REGISTERED.take();
    // SAFETY: M2: the error is ours.
    match unsafe { TestError::take(error) } {
        Some(error) => Err(error),
        None => Ok(names),
    }
}

/// The threads that the runtime has for a handler's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// None: asking for them is an error.
    None,
    /// So many, which start at once.
    Threads(usize),
    /// So many, which are all busy until the handler has returned.
    Busy(usize),
}

pub(super) fn empty_frame(api: *const XLA_FFI_Api) -> XLA_FFI_CallFrame {
    XLA_FFI_CallFrame {
        struct_size: mem::offset_of!(XLA_FFI_CallFrame, future),
        extension_start: ptr::null_mut(),
        api,
        ctx: ptr::null_mut(),
        stage: XLA_FFI_ExecutionStage_EXECUTE,
        args: XLA_FFI_Args {
            struct_size: size_of::<XLA_FFI_Args>(),
            extension_start: ptr::null_mut(),
            size: 0,
            types: ptr::null(),
            args: ptr::null(),
        },
        rets: XLA_FFI_Rets {
            struct_size: size_of::<XLA_FFI_Rets>(),
            extension_start: ptr::null_mut(),
            size: 0,
            types: ptr::null(),
            rets: ptr::null(),
        },
        attrs: XLA_FFI_Attrs {
            struct_size: size_of::<XLA_FFI_Attrs>(),
            extension_start: ptr::null_mut(),
            size: 0,
            types: ptr::null(),
            names: ptr::null(),
            attrs: ptr::null(),
        },
        future: ptr::null_mut(),
    }
}

/// A runtime's API table, of which only what handlers call is there.
pub(super) fn api(minor: i32) -> XLA_FFI_Api {
    XLA_FFI_Api {
        struct_size: size_of::<XLA_FFI_Api>(),
        extension_start: ptr::null_mut(),
        api_version: XLA_FFI_Api_Version {
            struct_size: size_of::<XLA_FFI_Api_Version>(),
            extension_start: ptr::null_mut(),
            major_version: XLA_FFI_API_MAJOR,
            minor_version: minor,
        },
        internal_api: ptr::null(),
        XLA_FFI_Error_Create: error_create,
        XLA_FFI_Error_GetMessage: ptr::null(),
        XLA_FFI_Error_Destroy: error_destroy,
        XLA_FFI_Handler_Register: no_registration,
        XLA_FFI_Stream_Get: stream_get,
        XLA_FFI_TypeId_Register: ptr::null(),
        XLA_FFI_ExecutionContext_Get: ptr::null(),
        XLA_FFI_State_Set: ptr::null(),
        XLA_FFI_State_Get: ptr::null(),
        XLA_FFI_DeviceMemory_Allocate: device_memory_allocate,
        XLA_FFI_DeviceMemory_Free: device_memory_free,
        XLA_FFI_ThreadPool_Schedule: pool_schedule,
        XLA_FFI_ThreadPool_NumThreads: pool_num_threads,
    }
}

/// What stands for an `XLA_FFI_Error` here.
pub(super) struct TestError {
    code: i32,
    message: String,
}

impl TestError {
    fn leak(code: i32, message: &str) -> *mut XLA_FFI_Error {
        Box::into_raw(Box::new(TestError { code, message: message.to_owned() })).cast()
    }

    /// # Safety
    ///
    /// `error` is null or comes from [`leak`](Self::leak), and is used no more.
    pub(super) unsafe fn take(error: *mut XLA_FFI_Error) -> Option<Error> {
        if error.is_null() {
            return None;
        }
        // SAFETY: M2: as the caller promises.
        let error = unsafe { Box::from_raw(error.cast::<TestError>()) };
        Some(Error::new(code_of(error.code), error.message))
    }
}

fn code_of(code: i32) -> ErrorCode {
    use ErrorCode::*;
    const CODES: [ErrorCode; 16] = [
        Cancelled,
        Unknown,
        InvalidArgument,
        DeadlineExceeded,
        NotFound,
        AlreadyExists,
        PermissionDenied,
        ResourceExhausted,
        FailedPrecondition,
        Aborted,
        OutOfRange,
        Unimplemented,
        Internal,
        Unavailable,
        DataLoss,
        Unauthenticated,
    ];
    *CODES.iter().find(|&&known| known as i32 == code).unwrap_or_else(|| panic!("{code} is no error code of XLA"))
}

unsafe extern "C" fn error_create(args: *mut XLA_FFI_Error_Create_Args) -> *mut XLA_FFI_Error {
    // SAFETY: F5: as a handler fills it.
    let args = unsafe { &*args };
    assert!(args.struct_size >= XLA_FFI_Error_Create_Args_STRUCT_SIZE);
    // SAFETY: F5: a C string.
    let message = unsafe { CStr::from_ptr(args.message) };
    TestError::leak(args.errc, message.to_str().expect("a message is UTF-8, or Python cannot show it"))
}

unsafe extern "C" fn error_destroy(args: *mut XLA_FFI_Error_Destroy_Args) {
    // SAFETY: F5: as a handler fills it.
    let error = unsafe { (*args).error };
    // SAFETY: F5: an error of ours.
    drop(unsafe { TestError::take(error) });
}

unsafe extern "C" fn no_registration(_args: *mut XLA_FFI_Handler_Register_Args) -> *mut XLA_FFI_Error {
    TestError::leak(ErrorCode::Unimplemented as i32, "no registration here")
}

/// What stands for an `XLA_FFI_ExecutionContext` here.
pub(super) struct Context {
    stream: *mut c_void,
    pool: Pool,
    tasks: Mutex<Vec<Scheduled>>,
    /// Addresses and sizes of the device memory that is lent.
    device_memory: Mutex<Vec<(usize, usize)>>,
}

/// A task of a handler: at work, or still to begin.
enum Scheduled {
    Running(JoinHandle<()>),
    Waiting(Task),
}

struct Task {
    run: XLA_FFI_Task,
    data: *mut c_void,
}

// SAFETY: T2: a task is made to run on another thread.
unsafe impl Send for Task {}

impl Task {
    fn run(self) {
        // SAFETY: T2: run once, with its own data.
        unsafe { (self.run)(self.data) };
    }
}

impl Context {
    pub(super) fn new(stream: *mut c_void, pool: Pool) -> Self {
        Context { stream, pool, tasks: Mutex::default(), device_memory: Mutex::default() }
    }

    /// Runs what has not begun, and waits for the rest. Panics unless device memory has been given back.
    pub(super) fn finish(self) {
        let lent = self.device_memory.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert!(lent.is_empty(), "device memory was not given back: {lent:?}");
        for task in self.tasks.into_inner().unwrap_or_else(PoisonError::into_inner) {
            match task {
                Scheduled::Waiting(task) => task.run(),
                Scheduled::Running(thread) => thread.join().expect("a task does not panic"),
            }
        }
    }
}

/// # Safety
///
/// `ctx` is that of a frame made here.
unsafe fn context<'a>(ctx: *mut XLA_FFI_ExecutionContext) -> &'a Context {
    // SAFETY: M2: as the caller promises.
    unsafe { &*ctx.cast::<Context>() }
}

unsafe extern "C" fn stream_get(args: *mut XLA_FFI_Stream_Get_Args) -> *mut XLA_FFI_Error {
    // SAFETY: F5: as a handler fills it.
    let args = unsafe { &mut *args };
    // SAFETY: F5: the frame's own context.
    let stream = unsafe { context(args.ctx) }.stream;
    if stream.is_null() {
        return TestError::leak(ErrorCode::Unimplemented as i32, "XLA FFI GPU context is not available");
    }
    args.stream = stream;
    ptr::null_mut()
}

/// Gives addresses which nobody may follow, one after the other: a device of so many bytes.
unsafe extern "C" fn device_memory_allocate(args: *mut XLA_FFI_DeviceMemory_Allocate_Args) -> *mut XLA_FFI_Error {
    const BYTES: usize = 1 << 30;
    // SAFETY: F5: as a handler fills it.
    let args = unsafe { &mut *args };
    // SAFETY: F5: the frame's own context.
    let context = unsafe { context(args.ctx) };
    if context.stream.is_null() {
        return TestError::leak(ErrorCode::InvalidArgument as i32, "XLA FFI GPU context is not available");
    }
    if !args.alignment.is_power_of_two() || args.alignment > 16 {
        return TestError::leak(ErrorCode::InvalidArgument as i32, "unsupported alignment");
    }
    let mut lent = context.device_memory.lock().unwrap_or_else(PoisonError::into_inner);
    let start = lent.iter().map(|(address, size)| (address + size).next_multiple_of(256)).max().unwrap_or(256);
    if args.size > BYTES || start + args.size > BYTES {
        return TestError::leak(ErrorCode::ResourceExhausted as i32, "out of memory");
    }
    lent.push((start, args.size));
    args.data = ptr::without_provenance_mut(start);
    ptr::null_mut()
}

unsafe extern "C" fn device_memory_free(args: *mut XLA_FFI_DeviceMemory_Free_Args) -> *mut XLA_FFI_Error {
    // SAFETY: F5: as a handler fills it.
    let args = unsafe { &mut *args };
    // SAFETY: F5: the frame's own context.
    let context = unsafe { context(args.ctx) };
    let mut lent = context.device_memory.lock().unwrap_or_else(PoisonError::into_inner);
    let place = lent.iter().position(|&block| block == (args.data.addr(), args.size));
    lent.swap_remove(place.expect("what is given back was lent, with this size"));
    ptr::null_mut()
}

unsafe extern "C" fn pool_num_threads(args: *mut XLA_FFI_ThreadPool_NumThreads_Args) -> *mut XLA_FFI_Error {
    // SAFETY: F5: as a handler fills it.
    let args = unsafe { &mut *args };
    // SAFETY: F5: the frame's own context.
    let threads = match unsafe { context(args.ctx) }.pool {
        Pool::None => return TestError::leak(ErrorCode::Unimplemented as i32, "no thread pool"),
        Pool::Threads(threads) | Pool::Busy(threads) => threads,
    };
    // SAFETY: F5: where the handler wants it.
    unsafe { *args.num_threads = threads as i64 };
    ptr::null_mut()
}

unsafe extern "C" fn pool_schedule(args: *mut XLA_FFI_ThreadPool_Schedule_Args) -> *mut XLA_FFI_Error {
    // SAFETY: F5: as a handler fills it.
    let args = unsafe { &mut *args };
    // SAFETY: F5: the frame's own context.
    let context = unsafe { context(args.ctx) };
    let task = Task { run: args.task, data: args.data };
    let task = match context.pool {
        Pool::None => return TestError::leak(ErrorCode::Unimplemented as i32, "no thread pool"),
        Pool::Threads(_) => Scheduled::Running(thread::spawn(|| task.run())),
        Pool::Busy(_) => Scheduled::Waiting(task),
    };
    context.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    ptr::null_mut()
}
