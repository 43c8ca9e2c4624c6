//! A `repr(C)` mirror of `xla/ffi/api/c_api.h`: C names, C order, no methods.
//!
//! Only [`abi`](crate::abi) reads through the pointers of a call frame. Structs whose layout differs between versions of the runtime
//! say so; the `c_layout` example prints this mirror, and a script compares it with the real headers.
#![allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    missing_docs,
    reason = "the names of the C header"
)]
#![allow(clippy::upper_case_acronyms, reason = "the names of the C header")]

use std::ffi::{c_char, c_int, c_void};

pub const XLA_FFI_API_MAJOR: c_int = 0;
/// The newest minor version whose structs are described here.
pub const XLA_FFI_API_MINOR: c_int = 5;

pub type XLA_FFI_Extension_Type = c_int;
pub const XLA_FFI_Extension_Metadata: XLA_FFI_Extension_Type = 1;

/// `XLA_FFI_InternalExtension` from 0.4 on; the second word was `void* priv` in 0.0.
#[repr(C)]
pub struct XLA_FFI_Extension_Base {
    pub struct_size: usize,
    pub r#type: XLA_FFI_Extension_Type,
    pub next: *mut XLA_FFI_Extension_Base,
}

#[repr(C)]
pub struct XLA_FFI_Api_Version {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub major_version: c_int,
    pub minor_version: c_int,
}

pub type XLA_FFI_Error_Code = c_int;

/// Opaque: owned by XLA.
#[repr(C)]
pub struct XLA_FFI_Error {
    _private: [u8; 0],
}

#[repr(C)]
pub struct XLA_FFI_Error_Create_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub message: *const c_char,
    pub errc: XLA_FFI_Error_Code,
}
/// `offsetof(last field) + sizeof(last field)`: what the header calls the struct's size.
pub const XLA_FFI_Error_Create_Args_STRUCT_SIZE: usize = 28;

#[repr(C)]
pub struct XLA_FFI_Error_Destroy_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub error: *mut XLA_FFI_Error,
}

pub type XLA_FFI_DataType = c_int;
pub const XLA_FFI_DataType_INVALID: XLA_FFI_DataType = 0;
pub const XLA_FFI_DataType_PRED: XLA_FFI_DataType = 1;
pub const XLA_FFI_DataType_S8: XLA_FFI_DataType = 2;
pub const XLA_FFI_DataType_S16: XLA_FFI_DataType = 3;
pub const XLA_FFI_DataType_S32: XLA_FFI_DataType = 4;
pub const XLA_FFI_DataType_S64: XLA_FFI_DataType = 5;
pub const XLA_FFI_DataType_U8: XLA_FFI_DataType = 6;
pub const XLA_FFI_DataType_U16: XLA_FFI_DataType = 7;
pub const XLA_FFI_DataType_U32: XLA_FFI_DataType = 8;
pub const XLA_FFI_DataType_U64: XLA_FFI_DataType = 9;
pub const XLA_FFI_DataType_F16: XLA_FFI_DataType = 10;
pub const XLA_FFI_DataType_F32: XLA_FFI_DataType = 11;
pub const XLA_FFI_DataType_F64: XLA_FFI_DataType = 12;
pub const XLA_FFI_DataType_C64: XLA_FFI_DataType = 15;
pub const XLA_FFI_DataType_BF16: XLA_FFI_DataType = 16;
pub const XLA_FFI_DataType_TOKEN: XLA_FFI_DataType = 17;
pub const XLA_FFI_DataType_C128: XLA_FFI_DataType = 18;

#[repr(C)]
pub struct XLA_FFI_Buffer {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub dtype: XLA_FFI_DataType,
    pub data: *mut c_void,
    pub rank: i64,
    /// `rank` entries; not to be read for rank 0.
    pub dims: *const i64,
}

pub type XLA_FFI_ArgType = c_int;
pub const XLA_FFI_ArgType_BUFFER: XLA_FFI_ArgType = 1;
pub type XLA_FFI_RetType = c_int;
pub const XLA_FFI_RetType_BUFFER: XLA_FFI_RetType = 1;

#[repr(C)]
pub struct XLA_FFI_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub size: i64,
    pub types: *const XLA_FFI_ArgType,
    pub args: *const *const c_void,
}

/// The header gives it the layout of [`XLA_FFI_Args`] under other names.
#[repr(C)]
pub struct XLA_FFI_Rets {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub size: i64,
    pub types: *const XLA_FFI_RetType,
    pub rets: *const *const c_void,
}

#[repr(C)]
pub struct XLA_FFI_ByteSpan {
    pub ptr: *const c_char,
    pub len: usize,
}

#[repr(C)]
pub struct XLA_FFI_Scalar {
    pub dtype: XLA_FFI_DataType,
    pub value: *const c_void,
}

#[repr(C)]
pub struct XLA_FFI_Array {
    pub dtype: XLA_FFI_DataType,
    pub size: usize,
    /// NULL when `size` is 0.
    pub data: *const c_void,
}

pub type XLA_FFI_AttrType = c_int;
pub const XLA_FFI_AttrType_ARRAY: XLA_FFI_AttrType = 1;
pub const XLA_FFI_AttrType_DICTIONARY: XLA_FFI_AttrType = 2;
pub const XLA_FFI_AttrType_SCALAR: XLA_FFI_AttrType = 3;
pub const XLA_FFI_AttrType_STRING: XLA_FFI_AttrType = 4;

#[repr(C)]
pub struct XLA_FFI_Attrs {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub size: i64,
    pub types: *const XLA_FFI_AttrType,
    /// Sorted by bytes.
    pub names: *const *const XLA_FFI_ByteSpan,
    pub attrs: *const *const c_void,
}

/// Opaque: valid only during the call.
#[repr(C)]
pub struct XLA_FFI_ExecutionContext {
    _private: [u8; 0],
}

pub type XLA_FFI_ExecutionStage = c_int;
pub const XLA_FFI_ExecutionStage_INSTANTIATE: XLA_FFI_ExecutionStage = 0;
pub const XLA_FFI_ExecutionStage_PREPARE: XLA_FFI_ExecutionStage = 1;
pub const XLA_FFI_ExecutionStage_INITIALIZE: XLA_FFI_ExecutionStage = 2;
pub const XLA_FFI_ExecutionStage_EXECUTE: XLA_FFI_ExecutionStage = 3;

/// Ends at `attrs` in 0.4.33 and older; `struct_size` says 168 everywhere, so `future` cannot be told from it.
#[repr(C)]
pub struct XLA_FFI_CallFrame {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub api: *const XLA_FFI_Api,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub stage: XLA_FFI_ExecutionStage,
    pub args: XLA_FFI_Args,
    pub rets: XLA_FFI_Rets,
    pub attrs: XLA_FFI_Attrs,
    pub future: *mut c_void,
}

pub type XLA_FFI_Handler = unsafe extern "C" fn(*mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error;

pub type XLA_FFI_Handler_Traits = u32;
pub const XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE: XLA_FFI_Handler_Traits = 1;

/// Four members up to 0.3; `record` came last in 0.4. We send four, which every version takes.
#[repr(C)]
pub struct XLA_FFI_Handler_Bundle {
    pub instantiate: Option<XLA_FFI_Handler>,
    pub prepare: Option<XLA_FFI_Handler>,
    pub initialize: Option<XLA_FFI_Handler>,
    pub execute: Option<XLA_FFI_Handler>,
}

/// The layout up to 0.3, told apart by its size, which must be exact.
#[repr(C)]
pub struct XLA_FFI_Handler_Register_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub name: XLA_FFI_ByteSpan,
    pub platform: XLA_FFI_ByteSpan,
    pub bundle: XLA_FFI_Handler_Bundle,
    pub traits: XLA_FFI_Handler_Traits,
}
pub const XLA_FFI_Handler_Register_Args_STRUCT_SIZE: usize = 84;

#[repr(C)]
pub struct XLA_FFI_Stream_Get_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub stream: *mut c_void,
}

#[repr(C)]
pub struct XLA_FFI_DeviceMemory_Allocate_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub size: usize,
    /// At most 16 is supported.
    pub alignment: usize,
    /// Out.
    pub data: *mut c_void,
}

#[repr(C)]
pub struct XLA_FFI_DeviceMemory_Free_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub size: usize,
    pub data: *mut c_void,
}

/// What a thread of XLA's pool runs.
pub type XLA_FFI_Task = unsafe extern "C" fn(*mut c_void);

#[repr(C)]
pub struct XLA_FFI_ThreadPool_Schedule_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub task: XLA_FFI_Task,
    pub data: *mut c_void,
}

#[repr(C)]
pub struct XLA_FFI_ThreadPool_NumThreads_Args {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub ctx: *mut XLA_FFI_ExecutionContext,
    pub num_threads: *mut i64,
}

/// 40 bytes up to 0.7.2 (no `state_type_id`), 48 from 0.8.0 on. We never touch what is past `traits`.
#[repr(C)]
pub struct XLA_FFI_Metadata {
    pub struct_size: usize,
    pub api_version: XLA_FFI_Api_Version,
    pub traits: XLA_FFI_Handler_Traits,
}

#[repr(C)]
pub struct XLA_FFI_Metadata_Extension {
    pub extension_base: XLA_FFI_Extension_Base,
    pub metadata: *mut XLA_FFI_Metadata,
}

/// The slots that every supported version has in the same place. `struct_size` is right only from 0.6.0 on; the slots
/// from `XLA_FFI_ThreadPool_Schedule` on are younger than 0.1, and all there from jaxlib 0.5.0 on.
#[repr(C)]
pub struct XLA_FFI_Api {
    pub struct_size: usize,
    pub extension_start: *mut XLA_FFI_Extension_Base,
    pub api_version: XLA_FFI_Api_Version,
    pub internal_api: *const c_void,
    pub XLA_FFI_Error_Create: unsafe extern "C" fn(*mut XLA_FFI_Error_Create_Args) -> *mut XLA_FFI_Error,
    pub XLA_FFI_Error_GetMessage: *const c_void,
    pub XLA_FFI_Error_Destroy: unsafe extern "C" fn(*mut XLA_FFI_Error_Destroy_Args),
    pub XLA_FFI_Handler_Register: unsafe extern "C" fn(*mut XLA_FFI_Handler_Register_Args) -> *mut XLA_FFI_Error,
    pub XLA_FFI_Stream_Get: unsafe extern "C" fn(*mut XLA_FFI_Stream_Get_Args) -> *mut XLA_FFI_Error,
    /// `XLA_FFI_Type_Register` from 0.2 on.
    pub XLA_FFI_TypeId_Register: *const c_void,
    /// `XLA_FFI_InvokeContext_Get` from 0.4 on.
    pub XLA_FFI_ExecutionContext_Get: *const c_void,
    pub XLA_FFI_State_Set: *const c_void,
    pub XLA_FFI_State_Get: *const c_void,
    pub XLA_FFI_DeviceMemory_Allocate:
        unsafe extern "C" fn(*mut XLA_FFI_DeviceMemory_Allocate_Args) -> *mut XLA_FFI_Error,
    pub XLA_FFI_DeviceMemory_Free: unsafe extern "C" fn(*mut XLA_FFI_DeviceMemory_Free_Args) -> *mut XLA_FFI_Error,
    pub XLA_FFI_ThreadPool_Schedule: unsafe extern "C" fn(*mut XLA_FFI_ThreadPool_Schedule_Args) -> *mut XLA_FFI_Error,
    pub XLA_FFI_ThreadPool_NumThreads:
        unsafe extern "C" fn(*mut XLA_FFI_ThreadPool_NumThreads_Args) -> *mut XLA_FFI_Error,
}
