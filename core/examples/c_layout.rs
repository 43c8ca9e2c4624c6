//! Prints the mirror of XLA's C API, one line a fact, for comparison with the real header:
//! `sizeof STRUCT BYTES`, `STRUCT.FIELD OFFSET SIZE`, `enum NAME VALUE`.

use oxidax::sys::*;

macro_rules! layouts {
    ($($name:ident { $($field:ident),* })*) => { $(
        println!("sizeof {} {}", stringify!($name), size_of::<$name>());
        $({
            fn size_of_field<S, F>(_: fn(&S) -> &F) -> usize {
                size_of::<F>()
            }
            let offset = std::mem::offset_of!($name, $field);
            let field = stringify!($field).trim_start_matches("r#");
            println!("{}.{field} {offset} {}", stringify!($name), size_of_field(|s: &$name| &s.$field));
        })*
    )* };
}

macro_rules! enums {
    ($($name:ident)*) => { $( println!("enum {} {}", stringify!($name), $name); )* };
}

fn main() {
    layouts! {
        XLA_FFI_Extension_Base { struct_size, r#type, next }
        XLA_FFI_Api_Version { struct_size, extension_start, major_version, minor_version }
        XLA_FFI_Error_Create_Args { struct_size, extension_start, message, errc }
        XLA_FFI_Error_Destroy_Args { struct_size, extension_start, error }
        XLA_FFI_Buffer { struct_size, extension_start, dtype, data, rank, dims }
        XLA_FFI_Args { struct_size, extension_start, size, types, args }
        XLA_FFI_Rets { struct_size, extension_start, size, types, rets }
        XLA_FFI_ByteSpan { ptr, len }
        XLA_FFI_Scalar { dtype, value }
        XLA_FFI_Array { dtype, size, data }
        XLA_FFI_Attrs { struct_size, extension_start, size, types, names, attrs }
        XLA_FFI_CallFrame { struct_size, extension_start, api, ctx, stage, args, rets, attrs, future }
        XLA_FFI_Handler_Bundle { instantiate, prepare, initialize, execute }
        XLA_FFI_Handler_Register_Args { struct_size, extension_start, name, platform, bundle, traits }
        XLA_FFI_Stream_Get_Args { struct_size, extension_start, ctx, stream }
        XLA_FFI_DeviceMemory_Allocate_Args { struct_size, extension_start, ctx, size, alignment, data }
        XLA_FFI_DeviceMemory_Free_Args { struct_size, extension_start, ctx, size, data }
        XLA_FFI_ThreadPool_Schedule_Args { struct_size, extension_start, ctx, task, data }
        XLA_FFI_ThreadPool_NumThreads_Args { struct_size, extension_start, ctx, num_threads }
        XLA_FFI_Metadata { struct_size, api_version, traits }
        XLA_FFI_Metadata_Extension { extension_base, metadata }
        XLA_FFI_Api {
            struct_size, extension_start, api_version, internal_api, XLA_FFI_Error_Create, XLA_FFI_Error_GetMessage,
            XLA_FFI_Error_Destroy, XLA_FFI_Handler_Register, XLA_FFI_Stream_Get, XLA_FFI_TypeId_Register,
            XLA_FFI_ExecutionContext_Get, XLA_FFI_State_Set, XLA_FFI_State_Get, XLA_FFI_DeviceMemory_Allocate,
            XLA_FFI_DeviceMemory_Free, XLA_FFI_ThreadPool_Schedule, XLA_FFI_ThreadPool_NumThreads
        }
    }
    enums! {
        XLA_FFI_Extension_Metadata
        XLA_FFI_DataType_INVALID XLA_FFI_DataType_PRED XLA_FFI_DataType_S8 XLA_FFI_DataType_S16 XLA_FFI_DataType_S32
        XLA_FFI_DataType_S64 XLA_FFI_DataType_U8 XLA_FFI_DataType_U16 XLA_FFI_DataType_U32 XLA_FFI_DataType_U64
        XLA_FFI_DataType_F16 XLA_FFI_DataType_F32 XLA_FFI_DataType_F64 XLA_FFI_DataType_C64 XLA_FFI_DataType_BF16
        XLA_FFI_DataType_TOKEN XLA_FFI_DataType_C128
        XLA_FFI_ArgType_BUFFER XLA_FFI_RetType_BUFFER
        XLA_FFI_AttrType_ARRAY XLA_FFI_AttrType_DICTIONARY XLA_FFI_AttrType_SCALAR XLA_FFI_AttrType_STRING
        XLA_FFI_ExecutionStage_INSTANTIATE XLA_FFI_ExecutionStage_PREPARE XLA_FFI_ExecutionStage_INITIALIZE
        XLA_FFI_ExecutionStage_EXECUTE
        XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE
    }
}
