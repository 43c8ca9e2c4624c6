//! Calling a handler as XLA does, from Rust: a call frame made by hand.
//!
//! A handler's function is tested by calling it. This is for what surrounds it: checks, dtypes, batching, errors, and
//! for attacking all of these with frames that XLA would never make.
//!
//! ```
//! use oxidax::{prelude::*, testing::CallFrame};
//!
//! #[ffi_handler]
//! fn double(#[shape(n)] x: &[f32], #[shape(n)] y: &mut [f32]) {
//!     for (y, &x) in y.iter_mut().zip(x) {
//!         *y = 2.0 * x;
//!     }
//! }
//!
//! // Two batch elements of three.
//! let results = CallFrame::new("double").arg(&[1f32, 2., 3., 4., 5., 6.], &[2, 3]).result::<f32>(&[2, 3]).call()?;
//! assert_eq!(results.get::<f32>(0), [2., 4., 6., 8., 10., 12.]);
//!
//! let error = CallFrame::new("double").arg(&[1f64], &[1]).result::<f32>(&[1]).call().unwrap_err();
//! assert_eq!(error.message(), r#"double: argument 0 "x": expected f32, got f64"#);
//! # Ok::<(), oxidax::Error>(())
//! ```

mod runtime;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use crate::dtype::{DType, Element, Pred};
use crate::error::Error;
use crate::registry::{self, Entry};
use crate::sys::*;

use runtime::{Context, TestError, api, empty_frame};
pub use runtime::{Pool, metadata, register_all};

/// What fills a result before the call, in the first and in the second run.
const POISON: [u8; 2] = [0xa5, 0x5a];
/// XLA aligns buffers so.
const ALIGN: usize = 64;
/// The most memory of an operand.
const LIMIT: usize = 1 << 30;
/// Dims that are there whatever the rank; a handler must not read more on a rank's word.
const DIMS: usize = 64;

/// A handler of this program, by its operation's name, its target or its path. Panics if there is not exactly one.
pub fn handler(name: &str) -> &'static Entry {
    let named = |entry: &&Entry| entry.name() == name || entry.target() == name || entry.id() == name;
    let mut found = registry::handlers().iter().filter(named);
    match (found.next(), found.next()) {
        (Some(entry), None) => entry,
        (None, _) => {
            let known: Vec<_> = registry::handlers().iter().map(Entry::id).collect();
            panic!("no handler {name:?} is linked in; there are {known:?}")
        }
        (Some(a), Some(b)) => panic!("{name:?} is {} or {}: use the path", a.id(), b.id()),
    }
}

/// The manifest of this program's handlers, as the loader reads it.
pub fn manifest() -> serde_json::Value {
    crate::manifest::json(registry::handlers())
}

/// Memory of exactly so many bytes, so that a checker such as valgrind sees each byte beyond it.
struct Memory {
    data: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    /// Room for `len` bytes, `shift` bytes off the alignment of XLA's buffers.
    fn new(len: usize, shift: usize) -> Memory {
        let size = len.saturating_add(shift);
        assert!(size <= LIMIT, "a buffer of {size} bytes takes too much memory for a test");
        let layout = Layout::from_size_align(size.max(1), ALIGN).expect("a size that fits");
        // SAFETY: M1: the layout is not of size 0.
        let data = NonNull::new(unsafe { alloc_zeroed(layout) }).expect("memory");
        Memory { data, layout }
    }

    /// So many bytes of it from `offset` on. Panics if it does not have them.
    fn part(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(offset.saturating_add(len) <= self.layout.size(), "a place beyond the memory that it is in");
        // SAFETY: M1: within the memory, as just asserted.
        unsafe { self.data.as_ptr().add(offset) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: M1: allocated with this layout.
        unsafe { dealloc(self.data.as_ptr(), self.layout) };
    }
}

/// Where an operand or result lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In memory of its own.
    Own,
    /// Nowhere: a null pointer, as older runtimes give for buffers of no elements.
    Null,
    /// So many bytes off its alignment.
    Shifted(usize),
    /// In the memory of the `n`-th argument, from a byte on.
    InArgument(usize, usize),
    /// In the memory of the `n`-th result, from a byte on.
    InResult(usize, usize),
}

/// An operand or result, which a test may make wrong in any way.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The `XLA_FFI_DataType`.
    pub dtype: i32,
    /// The dims.
    pub dims: Vec<i64>,
    /// The rank, which is the number of dims unless a test lies.
    pub rank: i64,
    /// The kind of operand; 1 is a buffer.
    pub kind: i32,
    /// Where it lies.
    pub place: Place,
    /// The values of an argument.
    pub bytes: Vec<u8>,
    /// Bytes of memory beyond its own, for others to lie in.
    pub room: usize,
}

impl Operand {
    fn new<T: Element>(values: &[T], dims: &[i64]) -> Operand {
        Operand {
            dtype: T::DTYPE.code(),
            dims: dims.to_vec(),
            rank: dims.len() as i64,
            kind: XLA_FFI_ArgType_BUFFER,
            place: Place::Own,
            bytes: bytes_of(values).to_vec(),
            room: 0,
        }
    }

    /// The dims in the frame, at least [`DIMS`] of them.
    fn frame_dims(&self) -> Vec<i64> {
        let mut dims = self.dims.clone();
        dims.resize(dims.len().max(DIMS), 1);
        dims
    }

    /// The bytes that dims, rank and dtype say; 0 where they make no sense and no handler takes them. Panics if they are
    /// too many for a test.
    fn said(&self) -> usize {
        let dims = self.frame_dims();
        let rank = usize::try_from(self.rank).unwrap_or(0);
        let said = dims.get(..rank).and_then(|dims| bytes(dims, DType::of_code(self.dtype)?.size())).unwrap_or(0);
        assert!(said <= LIMIT, "the shape {:?} takes too much memory for a test", self.dims);
        said
    }

    /// The bytes that a handler or the test may touch.
    fn extent(&self) -> usize {
        self.said().max(self.bytes.len())
    }

    fn shift(&self) -> usize {
        if let Place::Shifted(shift) = self.place { shift } else { 0 }
    }
}

fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: E1: elements have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// An attribute's value, as XLA carries it.
#[derive(Clone, Debug)]
pub enum Attr {
    /// A scalar of a dtype.
    Scalar(i32, Vec<u8>),
    /// An array of a dtype: its bytes and its length.
    Array(i32, Vec<u8>, usize),
    /// A string, which need not be UTF-8.
    String(Vec<u8>),
    /// A dictionary without entries.
    Dictionary,
}

impl From<bool> for Attr {
    fn from(value: bool) -> Attr {
        Attr::from(Pred::new(value))
    }
}

impl From<&str> for Attr {
    fn from(value: &str) -> Attr {
        Attr::String(value.as_bytes().to_vec())
    }
}

impl<T: Element> From<T> for Attr {
    fn from(value: T) -> Attr {
        if T::SCALAR_ATTR {
            Attr::Scalar(T::DTYPE.code(), bytes_of(&[value]).to_vec())
        } else {
            Attr::from(&[value][..])
        }
    }
}

impl<T: Element> From<&[T]> for Attr {
    fn from(values: &[T]) -> Attr {
        Attr::Array(T::WIRE.code(), bytes_of(values).to_vec(), size_of_val(values) / T::WIRE.size())
    }
}

/// A call, built operand by operand in XLA's order.
pub struct CallFrame {
    handler: &'static Entry,
    /// The arguments.
    pub args: Vec<Operand>,
    /// The results.
    pub rets: Vec<Operand>,
    /// The attributes, which XLA sorts by the bytes of their names.
    pub attrs: Vec<(String, Attr)>,
    minor: i32,
    stream: *mut c_void,
    pool: Pool,
}

impl CallFrame {
    /// A call of [`handler(name)`](handler) without operands.
    pub fn new(name: &str) -> CallFrame {
        CallFrame {
            handler: handler(name),
            args: Vec::new(),
            rets: Vec::new(),
            attrs: Vec::new(),
            minor: XLA_FFI_API_MINOR,
            stream: ptr::null_mut(),
            pool: Pool::None,
        }
    }

    /// The next argument. The dims need not fit the number of values: what they ask for beyond it is zero.
    pub fn arg<T: Element>(mut self, values: &[T], dims: &[i64]) -> Self {
        let mut operand = Operand::new(values, dims);
        // A lie about dims must not take all memory.
        operand.bytes.resize(bytes(dims, size_of::<T>()).filter(|&n| n <= LIMIT).unwrap_or(0), 0);
        self.args.push(operand);
        self
    }

    /// The next result, poisoned.
    pub fn result<T: Element>(mut self, dims: &[i64]) -> Self {
        self.rets.push(Operand::new::<T>(&[], dims));
        self
    }

    /// The next argument and the next result, in one memory: an `InOut` as XLA usually honours it.
    pub fn inout<T: Element>(self, values: &[T], dims: &[i64]) -> Self {
        let index = self.args.len();
        self.arg(values, dims).result::<T>(dims).tweak_last_result(|result| result.place = Place::InArgument(index, 0))
    }

    /// An attribute.
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Self {
        self.attrs.push((name.to_owned(), value.into()));
        // XLA sorts by bytes.
        self.attrs.sort_by(|a, b| a.0.cmp(&b.0));
        self
    }

    /// Changes the `k`-th argument.
    pub fn tweak_arg(mut self, k: usize, change: impl FnOnce(&mut Operand)) -> Self {
        change(&mut self.args[k]);
        self
    }

    /// Changes the `k`-th result.
    pub fn tweak_result(mut self, k: usize, change: impl FnOnce(&mut Operand)) -> Self {
        change(&mut self.rets[k]);
        self
    }

    /// Changes the last argument.
    pub fn tweak_last_arg(mut self, change: impl FnOnce(&mut Operand)) -> Self {
        change(self.args.last_mut().expect("an argument"));
        self
    }

    /// Changes the last result.
    pub fn tweak_last_result(mut self, change: impl FnOnce(&mut Operand)) -> Self {
        change(self.rets.last_mut().expect("a result"));
        self
    }

    /// The API version of the runtime.
    pub fn minor(mut self, minor: i32) -> Self {
        self.minor = minor;
        self
    }

    /// The stream that the runtime has. Without one, asking for it is an error, as on the CPU.
    pub fn stream(mut self, stream: *mut c_void) -> Self {
        self.stream = stream;
        self
    }

    /// The threads that the runtime has.
    pub fn pool(mut self, pool: Pool) -> Self {
        self.pool = pool;
        self
    }

    /// Calls the handler twice, with its results poisoned differently each time.
    ///
    /// # Errors
    ///
    /// The error that the handler returned.
    pub fn call(self) -> Result<Results, Error> {
        self.call_within(|call| call())
    }

    /// As [`call`](Self::call), but each call is made by `around`, which may count or time what happens in it.
    ///
    /// # Errors
    ///
    /// The error that the handler returned.
    pub fn call_within(self, mut around: impl FnMut(&mut dyn FnMut())) -> Result<Results, Error> {
        let [a, b] = POISON;
        let first = self.run(a, &mut around)?;
        let second = self.run(b, &mut around)?;
        let written = first.iter().zip(&second).zip(&self.rets).map(|((first, second), ret)| {
            let untouched = |(x, y): (&[u8], &[u8])| x.iter().all(|&x| x == a) && y.iter().all(|&y| y == b);
            let size = DType::of_code(ret.dtype).map_or(1, DType::size);
            let elements = first.chunks(size).zip(second.chunks(size));
            elements.map(|pair| !untouched(pair)).collect()
        });
        Ok(Results {
            written: written.collect(),
            dtypes: self.rets.iter().map(|ret| ret.dtype).collect(),
            bytes: first,
        })
    }

    /// One call; the bytes of the results.
    fn run(&self, poison: u8, around: &mut dyn FnMut(&mut dyn FnMut())) -> Result<Vec<Vec<u8>>, Error> {
        let memory = |operand: &Operand| Memory::new(operand.extent().saturating_add(operand.room), operand.shift());
        let arg_memory: Vec<_> = self.args.iter().map(memory).collect();
        let ret_memory: Vec<_> = self.rets.iter().map(memory).collect();
        let address = |operand: &Operand, own: &Memory| match operand.place {
            Place::Own => own.data.as_ptr(),
            Place::Null => ptr::null_mut(),
            Place::Shifted(shift) => own.data.as_ptr().wrapping_add(shift),
            Place::InArgument(n, offset) => arg_memory[n].part(offset, operand.extent()),
            Place::InResult(n, offset) => ret_memory[n].part(offset, operand.extent()),
        };
        let arg_data: Vec<_> = self.args.iter().zip(&arg_memory).map(|(o, m)| address(o, m)).collect();
        let ret_data: Vec<_> = self.rets.iter().zip(&ret_memory).map(|(o, m)| address(o, m)).collect();
        for (ret, memory) in self.rets.iter().zip(&ret_memory) {
            // SAFETY: M1: the memory holds the shift and the bytes.
            unsafe { memory.data.as_ptr().write_bytes(poison, ret.extent() + ret.shift()) };
        }
        for ((arg, &data), memory) in self.args.iter().zip(&arg_data).zip(&arg_memory) {
            if matches!(arg.place, Place::Own | Place::Shifted(_)) {
                debug_assert!(data >= memory.data.as_ptr());
                // SAFETY: M1: the memory holds the shift and the bytes.
                unsafe { ptr::copy_nonoverlapping(arg.bytes.as_ptr(), data, arg.bytes.len()) };
            }
        }

        let buffers = |operands: &[Operand], dims: &[Vec<i64>], data: &[*mut u8]| -> Vec<XLA_FFI_Buffer> {
            let buffer = |((operand, dims), data): ((&Operand, &Vec<i64>), &*mut u8)| XLA_FFI_Buffer {
                struct_size: size_of::<XLA_FFI_Buffer>(),
                extension_start: ptr::null_mut(),
                dtype: operand.dtype,
                data: data.cast(),
                rank: operand.rank,
                dims: dims.as_ptr(),
            };
            operands.iter().zip(dims).zip(data).map(buffer).collect()
        };
        let arg_dims: Vec<_> = self.args.iter().map(Operand::frame_dims).collect();
        let ret_dims: Vec<_> = self.rets.iter().map(Operand::frame_dims).collect();
        let args = buffers(&self.args, &arg_dims, &arg_data);
        let rets = buffers(&self.rets, &ret_dims, &ret_data);
        let pointers = |buffers: &[XLA_FFI_Buffer]| -> Vec<*const c_void> {
            buffers.iter().map(|buffer| ptr::from_ref(buffer).cast()).collect()
        };
        let (arg_pointers, ret_pointers) = (pointers(&args), pointers(&rets));
        let kinds = |operands: &[Operand]| -> Vec<i32> { operands.iter().map(|operand| operand.kind).collect() };
        let (arg_kinds, ret_kinds) = (kinds(&self.args), kinds(&self.rets));

        let attrs: Vec<FrameAttr> = self.attrs.iter().map(|(name, value)| FrameAttr::new(name, value)).collect();
        let attr_kinds: Vec<_> = attrs.iter().map(|attr| attr.kind).collect();
        let attr_names: Vec<_> = attrs.iter().map(|attr| &raw const attr.name).collect();
        let attr_values: Vec<_> = attrs.iter().map(FrameAttr::value).collect();

        let api = api(self.minor);
        let mut frame = empty_frame(&api);
        let context = Context::new(self.stream, self.pool);
        frame.ctx = ptr::from_ref(&context).cast_mut().cast();
        frame.args.size = args.len() as i64;
        frame.args.types = arg_kinds.as_ptr();
        frame.args.args = arg_pointers.as_ptr();
        frame.rets.size = rets.len() as i64;
        frame.rets.types = ret_kinds.as_ptr();
        frame.rets.rets = ret_pointers.as_ptr();
        frame.attrs.size = attrs.len() as i64;
        frame.attrs.types = attr_kinds.as_ptr();
        frame.attrs.names = attr_names.as_ptr();
        frame.attrs.attrs = attr_values.as_ptr();

        let mut error = ptr::null_mut();
        // SAFETY: F1 to F6 hold, except where a test lies about dims, and then within what the handler must check: memory
        // has the extent that the dims, the rank and the dtype say, however they were changed.
        around(&mut || error = unsafe { (self.handler.entries.execute)(&mut frame) });
        context.finish();
        // SAFETY: M2: made by our own stand-in for the API.
        if let Some(error) = unsafe { TestError::take(error) } {
            return Err(error);
        }
        let read = |(ret, &data): (&Operand, &*mut u8)| {
            if data.is_null() {
                return Vec::new();
            }
            // SAFETY: M1: within the extent.
            unsafe { std::slice::from_raw_parts(data, ret.said()) }.to_vec()
        };
        Ok(self.rets.iter().zip(&ret_data).map(read).collect())
    }
}

/// The bytes of a shape, if it is one and memory could hold it.
fn bytes(dims: &[i64], element: usize) -> Option<usize> {
    let bytes = dims.iter().rev().try_fold(element, |n, &dim| n.checked_mul(usize::try_from(dim).ok()?));
    bytes.filter(|&n| n <= isize::MAX as usize)
}

/// The results of a call.
#[derive(Debug)]
pub struct Results {
    bytes: Vec<Vec<u8>>,
    dtypes: Vec<i32>,
    written: Vec<Vec<bool>>,
}

impl Results {
    /// The elements of the `k`-th result. Panics if it has another dtype, or if an element was not written.
    pub fn get<T: Element>(&self, k: usize) -> Vec<T> {
        assert_eq!(DType::name_of(self.dtypes[k]), T::DTYPE.name(), "the dtype of result {k}");
        if let Some(element) = self.written[k].iter().position(|written| !written) {
            panic!("element {element} of result {k} was not written");
        }
        self.read(k)
    }

    /// Whether each element of the `k`-th result was written.
    pub fn written(&self, k: usize) -> &[bool] {
        &self.written[k]
    }

    /// The bytes of the `k`-th result.
    pub fn bytes(&self, k: usize) -> &[u8] {
        &self.bytes[k]
    }

    fn read<T: Element>(&self, k: usize) -> Vec<T> {
        // SAFETY: E1: as many bytes as an element has, and any bit pattern is one.
        self.bytes[k]
            .chunks_exact(size_of::<T>())
            .map(|element| unsafe { element.as_ptr().cast::<T>().read_unaligned() })
            .collect()
    }
}

/// An attribute in the frame's own structs. The spans point into the call's [`Attr`], which outlives it.
struct FrameAttr {
    name: XLA_FFI_ByteSpan,
    kind: XLA_FFI_AttrType,
    scalar: XLA_FFI_Scalar,
    array: XLA_FFI_Array,
    string: XLA_FFI_ByteSpan,
    _memory: Option<Memory>,
}

impl FrameAttr {
    fn new(name: &str, attr: &Attr) -> FrameAttr {
        let span = |bytes: &[u8]| XLA_FFI_ByteSpan { ptr: bytes.as_ptr().cast(), len: bytes.len() };
        let mut this = FrameAttr {
            name: span(name.as_bytes()),
            kind: XLA_FFI_AttrType_DICTIONARY,
            scalar: XLA_FFI_Scalar { dtype: 0, value: ptr::null() },
            array: XLA_FFI_Array { dtype: 0, size: 0, data: ptr::null() },
            string: span(b""),
            _memory: None,
        };
        match attr {
            Attr::Scalar(dtype, value) => {
                this.kind = XLA_FFI_AttrType_SCALAR;
                let memory = FrameAttr::memory(value, 1, *dtype);
                this.scalar = XLA_FFI_Scalar { dtype: *dtype, value: memory.data.as_ptr().cast_const().cast() };
                this._memory = Some(memory);
            }
            Attr::Array(dtype, values, len) => {
                this.kind = XLA_FFI_AttrType_ARRAY;
                let memory = FrameAttr::memory(values, *len, *dtype);
                // XLA has no memory for an empty array.
                let data = if *len == 0 { ptr::null() } else { memory.data.as_ptr().cast_const().cast() };
                this.array = XLA_FFI_Array { dtype: *dtype, size: *len, data };
                this._memory = Some(memory);
            }
            Attr::String(text) => {
                this.kind = XLA_FFI_AttrType_STRING;
                this.string = span(text);
            }
            Attr::Dictionary => {}
        }
        this
    }

    /// The values, in memory for as many elements as the frame will say. Panics if they are too many.
    fn memory(values: &[u8], len: usize, dtype: i32) -> Memory {
        let said = len.saturating_mul(DType::of_code(dtype).map_or(0, DType::size));
        assert!(said <= LIMIT, "an array of {len} elements takes too much memory for a test");
        let memory = Memory::new(said.max(values.len()), 0);
        // SAFETY: M1: the memory holds the values.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), memory.data.as_ptr(), values.len()) };
        memory
    }

    fn value(&self) -> *const c_void {
        match self.kind {
            k if k == XLA_FFI_AttrType_SCALAR => ptr::from_ref(&self.scalar).cast(),
            k if k == XLA_FFI_AttrType_ARRAY => ptr::from_ref(&self.array).cast(),
            // A dictionary is never looked into.
            _ => ptr::from_ref(&self.string).cast(),
        }
    }
}
