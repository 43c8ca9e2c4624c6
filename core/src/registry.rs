//! The handlers that were linked into this library, and the C symbols through which a host finds them.
//!
//! The symbols are leaf shims over functions of this crate: where two libraries share one namespace, a symbol that
//! called another could reach the wrong library's.

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::debug;
use crate::handler::{EntryPoint, EntryPoints, HandlerDef, Panic, fence};
use crate::manifest;
use crate::plan::Instance;
use crate::sys::*;

/// What a host registers: one target of one platform.
pub struct Entry {
    pub(crate) def: &'static HandlerDef,
    pub(crate) instances: &'static [Instance],
    pub(crate) entries: EntryPoints,
    target: String,
}

impl Entry {
    /// The name under which XLA knows it: as the author says, or `<crate>.<function>`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What rules refer to: the function's path. A target of another library's follows it.
    pub fn id(&self) -> String {
        let id = self.def.info.id();
        if self.is_drop_in() { format!("{id}@{}", self.target) } else { id }
    }

    /// Whether it takes the place of another library's target.
    pub fn is_drop_in(&self) -> bool {
        self.def.info.drop_in
    }

    /// The operation's name: the function's, or another library's target.
    pub fn name(&self) -> &str {
        if self.is_drop_in() { &self.target } else { self.def.info.name }
    }

    /// The platform's name.
    pub fn platform(&self) -> &'static str {
        self.def.platform
    }

    /// What a host calls: the handler's own entry point, unless `OXIDAX_DEBUG` asks for the other one.
    fn execute(&self) -> EntryPoint {
        if debug::is_on() { self.entries.debug } else { self.entries.execute }
    }

    /// The targets of a handler: one for all its instances, or one each.
    fn of(def: &'static HandlerDef) -> Vec<Entry> {
        let own = def.instances.iter().filter_map(|instance| {
            let (target, entries) = instance.own?;
            Some(Entry { def, instances: std::slice::from_ref(instance), entries, target: target.to_owned() })
        });
        let own: Vec<_> = own.collect();
        if !own.is_empty() {
            return own;
        }
        let target = match def.info.target {
            Some(target) => target.to_owned(),
            None => format!("{}.{}", def.info.crate_name(), def.info.name),
        };
        vec![Entry { def, instances: def.instances, entries: def.entries, target }]
    }
}

/// Every target of this library, in the order of their paths.
pub fn handlers() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let mut entries: Vec<_> = inventory::iter::<HandlerDef>.into_iter().flat_map(Entry::of).collect();
        // The linker's order means nothing.
        entries.sort_by_key(|entry| (entry.id(), entry.platform()));
        entries
    })
}

/// The manifest as a C struct. The first four bytes are its version, for ever.
#[repr(C)]
pub struct Manifest {
    version: u32,
    reserved: u32,
    json: *const c_char,
    json_len: usize,
    handlers: *const ManifestHandler,
    num_handlers: usize,
}

/// One handler of the table. Names are C strings; a stage that the handler does not have is null.
#[repr(C)]
pub struct ManifestHandler {
    target: *const c_char,
    platform: *const c_char,
    instantiate: *const c_void,
    prepare: *const c_void,
    initialize: *const c_void,
    execute: *const c_void,
}

/// What the manifest points at, kept for the life of the process.
struct Owned {
    manifest: Manifest,
    _json: String,
    _handlers: Vec<ManifestHandler>,
    /// The same table with the debugging entry points.
    debug: Vec<ManifestHandler>,
    _names: Vec<CString>,
}

// SAFETY: R1: never written after it is made, and what it points at lives beside it.
unsafe impl Send for Owned {}
// SAFETY: R1: never written after it is made.
unsafe impl Sync for Owned {}

/// None if an author's default for an attribute panicked.
fn owned() -> Option<&'static Owned> {
    static OWNED: OnceLock<Owned> = OnceLock::new();
    let caught = |panic: Panic| {
        panic.end();
        None
    };
    fence(|| Some(OWNED.get_or_init(make)), caught)
}

fn make() -> Owned {
    let json = manifest::json(handlers()).to_string();
    // An interior NUL would be an author's `target = "a\0b"`; the loader compares it with the JSON and refuses.
    let c_string = |text: &str| CString::new(text).unwrap_or_default();
    let names: Vec<_> = handlers().iter().flat_map(|e| [e.target(), e.platform()].map(c_string)).collect();
    let table = |execute: fn(&Entry) -> EntryPoint| -> Vec<ManifestHandler> {
        let rows = handlers().iter().zip(names.chunks_exact(2));
        rows.map(|(entry, names)| ManifestHandler {
            target: names[0].as_ptr(),
            platform: names[1].as_ptr(),
            instantiate: ptr::null(),
            prepare: ptr::null(),
            initialize: ptr::null(),
            execute: execute(entry) as *const c_void,
        })
        .collect()
    };
    let (table, debug) = (table(Entry::execute), table(|entry| entry.entries.debug));
    Owned {
        manifest: Manifest {
            version: manifest::VERSION,
            reserved: 0,
            json: json.as_ptr().cast(),
            json_len: json.len(),
            handlers: table.as_ptr(),
            num_handlers: table.len(),
        },
        _json: json,
        _handlers: table,
        debug,
        _names: names,
    }
}

/// Registers every handler of `platform` with a runtime, for hosts that have its API table; null, or the first refusal.
///
/// # Safety
///
/// `api` is the runtime's table (UNSAFE.md, clause F5).
unsafe fn register_all(api: *const XLA_FFI_Api, platform: &str) -> *mut XLA_FFI_Error {
    let span = |text: &str| XLA_FFI_ByteSpan { ptr: text.as_ptr().cast(), len: text.len() };
    for entry in handlers().iter().filter(|entry| entry.platform().eq_ignore_ascii_case(platform)) {
        let mut args = XLA_FFI_Handler_Register_Args {
            struct_size: XLA_FFI_Handler_Register_Args_STRUCT_SIZE,
            extension_start: ptr::null_mut(),
            name: span(entry.target()),
            platform: span(platform),
            bundle: XLA_FFI_Handler_Bundle {
                instantiate: None,
                prepare: None,
                initialize: None,
                execute: Some(entry.execute()),
            },
            traits: if entry.def.info.command_buffer { XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE } else { 0 },
        };
        // SAFETY: F5: as the caller promises.
        let register = unsafe { (*api).XLA_FFI_Handler_Register };
        // SAFETY: F5: the struct is as the API describes it; names are copied.
        let error = unsafe { register(&mut args) };
        if !error.is_null() {
            return error;
        }
    }
    ptr::null_mut()
}

/// The library's manifest. Lives as long as the library. Null if an author's default for an attribute panicked.
#[unsafe(no_mangle)]
pub extern "C" fn oxidax_manifest() -> *const Manifest {
    owned().map_or(ptr::null(), |owned| &raw const owned.manifest)
}

/// The manifest's table with debugging entry points: from now on they fill the results with the low byte of `fill`
/// before each call, and with a negative one they do what `OXIDAX_DEBUG` says. Null as for [`oxidax_manifest`].
#[unsafe(no_mangle)]
pub extern "C" fn oxidax_debug(fill: i32) -> *const ManifestHandler {
    debug::set_fill(fill);
    owned().map_or(ptr::null(), |owned| owned.debug.as_ptr())
}

/// Registers every handler of `platform` ("cpu", "CUDA") with the runtime that `api` belongs to. Null for success.
///
/// # Safety
///
/// `api` is an `XLA_FFI_Api` of any version, `platform` a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oxidax_register_all(api: *const XLA_FFI_Api, platform: *const c_char) -> *mut XLA_FFI_Error {
    // SAFETY: R2: a C string, as the caller promises.
    let platform = unsafe { std::ffi::CStr::from_ptr(platform) };
    // A platform that is not UTF-8 is the platform of no handler.
    // SAFETY: F5: as the caller promises.
    unsafe { register_all(api, platform.to_str().unwrap_or_default()) }
}
