//! Buffers: the types a `#[shape(..)]` parameter may have, and the checked raw pieces that they are made from.
//!
//! References to XLA's memory are minted here and nowhere else, from a [`Buf`] that passed every check (UNSAFE.md,
//! clause B).

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};
use std::slice;

use crate::dtype::Element;
use crate::platform::{Cpu, Cuda, Platform};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("XLA runs on 64-bit targets only; dims are read as `usize`");

/// The memory of one buffer, checked, for one call of the user's function.
#[derive(Clone, Copy)]
pub struct Buf<'f> {
    pub(crate) data: *mut u8,
    /// The operand of an `InOut`, which is copied to `data` before the call; else null.
    pub(crate) source: *const u8,
    pub(crate) dims: &'f [i64],
    /// Elements.
    pub(crate) len: usize,
    /// Bytes of an element.
    pub(crate) size: usize,
    pub(crate) writes: bool,
}

// SAFETY: B5: an address and sizes; elements are `Sync`, and no two threads view the same element of a result.
unsafe impl Sync for Buf<'_> {}

impl<'f> Buf<'f> {
    /// The typed view. Only an expansion calls this, once for each call of the user's function, with the type that the
    /// buffer was decoded as.
    #[inline(always)]
    pub fn view<P: Platform, B: BufferParam<'f, P>>(self) -> B {
        // SAFETY: B1: dims were compared with sizes that are not negative, and `usize` is as wide as `i64`.
        let dims = unsafe { slice::from_raw_parts(self.dims.as_ptr().cast::<usize>(), self.dims.len()) };
        // SAFETY: B2: checked for B's element type and role, and alone in this step to refer to its memory.
        B::view(unsafe { B::Base::from_raw(self.data, self.len) }, dims)
    }

    /// Stands for a buffer that is still to be found.
    pub(crate) const EMPTY: Buf<'static> =
        Buf { data: std::ptr::null_mut(), source: std::ptr::null(), dims: &[], len: 0, size: 0, writes: false };

    #[inline(always)]
    pub(crate) fn bytes(&self) -> usize {
        self.len * self.size
    }

    /// Whether one of the two writes where the other reads or writes: two Rust references must not come of that.
    #[inline(always)]
    pub(crate) fn conflicts(&self, other: &Buf<'_>) -> bool {
        (self.writes || other.writes) && overlap(self.data, self.bytes(), other.data, other.bytes())
    }

    /// As [`conflicts`](Self::conflicts) in one comparison; an empty buffer inside another may count.
    #[inline(always)]
    pub(crate) fn may_conflict(&self, other: &Buf<'_>) -> bool {
        let distance = (self.data as usize).wrapping_sub(other.data as usize);
        (self.writes || other.writes)
            && distance.wrapping_add(self.bytes()).wrapping_sub(1) < (self.bytes() + other.bytes()).wrapping_sub(1)
    }

    /// Whether the operand of this in-out, which is to be copied, lies in what `other` writes.
    pub(crate) fn reads_source_in(&self, other: &Buf<'_>) -> bool {
        self.needs_copy() && other.writes && overlap(self.source, self.bytes(), other.data, other.bytes())
    }

    /// Whether this is an in-out whose operand XLA did not put in the result's place.
    #[inline(always)]
    pub(crate) fn needs_copy(&self) -> bool {
        !self.source.is_null() && !std::ptr::eq(self.source, self.data) && self.bytes() != 0
    }

    /// Copies the operand of an in-out into its result. Host memory only.
    pub(crate) fn copy_source(&mut self) {
        // SAFETY: B4: both were checked for `bytes()` bytes, and are apart.
        unsafe { std::ptr::copy_nonoverlapping(self.source, self.data, self.bytes()) };
    }
}

#[inline(always)]
fn overlap(a: *const u8, a_bytes: usize, b: *const u8, b_bytes: usize) -> bool {
    // One of the differences wraps, and is then larger than any buffer. An empty buffer overlaps nothing.
    let (a, b) = (a as usize, b as usize);
    (a.wrapping_sub(b) < b_bytes && a_bytes != 0) || (b.wrapping_sub(a) < a_bytes && b_bytes != 0)
}

/// The memory itself, as one of the plain types below: what every buffer type is made of.
///
/// # Safety
///
/// `from_raw` gives access to exactly `len` elements, written to only if `WRITES`. If it counts on a `len` that only
/// buffers of one rank have, as one element has rank 0, `RANK` says so.
pub unsafe trait Base<'f, P: Platform>: Sized {
    /// The element type.
    type Elem: Element;
    /// Whether this is a result.
    const WRITES: bool;
    /// The number of dims, if the type needs it to be fixed.
    const RANK: Option<usize> = None;

    /// # Safety
    ///
    /// `data` is not null, aligned, and valid for `len` elements for `'f`; if `WRITES`, nothing else refers to them. The
    /// buffer has the rank that `RANK` asks for.
    unsafe fn from_raw(data: *mut u8, len: usize) -> Self;
}

/// The type of a `#[shape(..)]` parameter on platform `P`.
///
/// Third-party types implement it by naming the plain buffer they wrap:
///
/// ```
/// use oxidax::{BufferParam, Cpu, Element};
/// struct Samples<'a, T>(&'a [T]);
/// impl<'f, T: Element> BufferParam<'f, Cpu> for Samples<'f, T> {
///     type Base = &'f [T];
///     fn view(base: &'f [T], _dims: &'f [usize]) -> Self {
///         Samples(base)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a buffer of a handler for {P}",
    label = "not a buffer on this platform",
    note = "on the CPU: inputs are `&[T]`, or `&T` of rank 0, results `&mut [T]` or `&mut T`; on CUDA: `DeviceSlice<T>` and `DeviceSliceMut<T>`",
    note = "`T` is a dtype (`f32`, `i64`, `Complex<f32>`, `Pred` for booleans, ..) or a type parameter with a bound, `T: Element`",
    note = "`InOut<..>`, `Shaped<..>`, `Ranked<.., R>` and `Matrix<..>` wrap these",
    note = "if this is an attribute, remove `#[shape(..)]`"
)]
pub trait BufferParam<'f, P: Platform>: Sized {
    /// The plain buffer that this is made of: `&[T]`, `&mut [T]`, ...
    type Base: Base<'f, P>;
    /// The number of dims, if the type fixes it.
    const RANK: Option<usize> = <Self::Base as Base<'f, P>>::RANK;
    /// Whether this is one input and one result that share memory.
    const INOUT: bool = false;
    /// Whether the last two dims are stored the other way round: columns one after the other.
    const COL_MAJOR: bool = false;
    /// Whether this type computes row-major offsets.
    const INDEXED: bool = false;
    /// Whether there may be more dims, behind those of the shape.
    const TRAILING: bool = false;

    /// The parameter from its memory and its dims.
    fn view(base: Self::Base, dims: &'f [usize]) -> Self;
}

// SAFETY: B2: a shared slice of `len` elements.
unsafe impl<'f, T: Element> Base<'f, Cpu> for &'f [T] {
    type Elem = T;
    const WRITES: bool = false;

    #[inline(always)]
    unsafe fn from_raw(data: *mut u8, len: usize) -> Self {
        // SAFETY: B2: as the caller promises.
        unsafe { slice::from_raw_parts(data.cast(), len) }
    }
}

// SAFETY: B2: a unique slice of `len` elements. That they may be uninitialised is clause B3.
unsafe impl<'f, T: Element> Base<'f, Cpu> for &'f mut [T] {
    type Elem = T;
    const WRITES: bool = true;

    #[inline(always)]
    unsafe fn from_raw(data: *mut u8, len: usize) -> Self {
        // SAFETY: B2, B3: as the caller promises.
        unsafe { slice::from_raw_parts_mut(data.cast(), len) }
    }
}

// SAFETY: B2: one element, which rank 0 means.
unsafe impl<'f, T: Element> Base<'f, Cpu> for &'f T {
    type Elem = T;
    const WRITES: bool = false;
    const RANK: Option<usize> = Some(0);

    #[inline(always)]
    unsafe fn from_raw(data: *mut u8, len: usize) -> Self {
        debug_assert_eq!(len, 1);
        // SAFETY: B2: as the caller promises.
        unsafe { &*data.cast() }
    }
}

// SAFETY: B2: one element, which rank 0 means.
unsafe impl<'f, T: Element> Base<'f, Cpu> for &'f mut T {
    type Elem = T;
    const WRITES: bool = true;
    const RANK: Option<usize> = Some(0);

    #[inline(always)]
    unsafe fn from_raw(data: *mut u8, len: usize) -> Self {
        debug_assert_eq!(len, 1);
        // SAFETY: B2, B3: as the caller promises.
        unsafe { &mut *data.cast() }
    }
}

/// Each plain buffer is a parameter as it is.
macro_rules! plain {
    ($($platform:ty, $ty:ty;)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<'f, T: Element> BufferParam<'f, $platform> for $ty {
            type Base = Self;

            #[inline(always)]
            fn view(base: Self, _dims: &'f [usize]) -> Self {
                base
            }
        }
    )* };
}

plain! {
    Cpu, &'f [T];
    Cpu, &'f mut [T];
    Cpu, &'f T;
    Cpu, &'f mut T;
    Cuda, DeviceSlice<'f, T>;
    Cuda, DeviceSliceMut<'f, T>;
}

/// An input in device memory: an address and a length, which the host must not follow.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSlice<'f, T> {
    data: *const T,
    len: usize,
    _memory: PhantomData<&'f [T]>,
}

/// A result in device memory.
#[derive(Debug)]
pub struct DeviceSliceMut<'f, T> {
    data: *mut T,
    len: usize,
    _memory: PhantomData<&'f mut [T]>,
}

impl<T> DeviceSlice<'_, T> {
    /// A slice of device memory that the caller vouches for, to call a handler's function without XLA.
    ///
    /// # Safety
    ///
    /// `data` is the address of `len` elements in device memory, which stay valid for the lifetime.
    pub unsafe fn from_raw_parts(data: *const T, len: usize) -> Self {
        DeviceSlice { data, len, _memory: PhantomData }
    }

    /// The device address.
    pub fn as_ptr(&self) -> *const T {
        self.data
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T> DeviceSliceMut<'_, T> {
    /// A slice of device memory that the caller vouches for, to call a handler's function without XLA.
    ///
    /// # Safety
    ///
    /// `data` is the address of `len` elements in device memory, which stay valid, and are used by nothing else, for
    /// the lifetime.
    pub unsafe fn from_raw_parts(data: *mut T, len: usize) -> Self {
        DeviceSliceMut { data, len, _memory: PhantomData }
    }

    /// The device address.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.data
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

// SAFETY: B2: the address is kept, not followed.
unsafe impl<'f, T: Element> Base<'f, Cuda> for DeviceSlice<'f, T> {
    type Elem = T;
    const WRITES: bool = false;

    #[inline(always)]
    unsafe fn from_raw(data: *mut u8, len: usize) -> Self {
        DeviceSlice { data: data.cast(), len, _memory: PhantomData }
    }
}

// SAFETY: B2: the address is kept, not followed.
unsafe impl<'f, T: Element> Base<'f, Cuda> for DeviceSliceMut<'f, T> {
    type Elem = T;
    const WRITES: bool = true;

    #[inline(always)]
    unsafe fn from_raw(data: *mut u8, len: usize) -> Self {
        DeviceSliceMut { data: data.cast(), len, _memory: PhantomData }
    }
}

/// One input and one result that share memory: the function finds the input in it and leaves the result.
///
/// JAX gives the operand away where it may; where it may not, the input is copied first.
#[derive(Debug)]
pub struct InOut<B>(B);

impl<B> InOut<B> {
    /// Wraps a buffer, to call a handler's function from Rust.
    pub fn new(buffer: B) -> Self {
        InOut(buffer)
    }

    /// The buffer.
    pub fn into_inner(self) -> B {
        self.0
    }
}

/// A buffer whose last two dims are stored columns first, as LAPACK has matrices: element `(i, j)` of an `m` by `n` matrix
/// is at `i + j * m`. XLA transposes where it must.
///
/// `#[shape(m, n)] a: ColMajor<&[T]>` names the dims in their usual order.
#[derive(Clone, Copy, Debug)]
pub struct ColMajor<B>(B);

impl<B> ColMajor<B> {
    /// Wraps a buffer, to call a handler's function from Rust.
    pub fn new(buffer: B) -> Self {
        ColMajor(buffer)
    }

    /// The buffer.
    pub fn into_inner(self) -> B {
        self.0
    }
}

/// A buffer that may have more dims, of any size, behind those of its shape, as one target of another library's may take
/// vectors and matrices: `#[shape(n)] x: Trailing<Shaped<&[T]>>`.
///
/// It is for such targets alone, and without batch axes.
#[derive(Clone, Copy, Debug)]
pub struct Trailing<B>(B);

impl<B> Trailing<B> {
    /// Wraps a buffer, to call a handler's function from Rust.
    pub fn new(buffer: B) -> Self {
        Trailing(buffer)
    }

    /// The buffer.
    pub fn into_inner(self) -> B {
        self.0
    }
}

fn elements(dims: &[usize]) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim))
}

/// A buffer together with its dims, of any rank: the batch axes too where the handler says `batch = whole`.
#[derive(Clone, Copy, Debug)]
pub struct Shaped<'f, B> {
    data: B,
    dims: &'f [usize],
}

impl<'f, B> Shaped<'f, B> {
    /// Joins a buffer and its dims, to call a handler's function from Rust. Panics if they disagree about its length.
    pub fn new<T>(data: B, dims: &'f [usize]) -> Self
    where
        B: AsRef<[T]>,
    {
        assert_eq!(Some(data.as_ref().len()), elements(dims), "the dims {dims:?} are not those of this buffer");
        Shaped { data, dims }
    }

    /// The dims, outermost first.
    pub fn dims(&self) -> &'f [usize] {
        self.dims
    }

    /// The buffer.
    pub fn into_inner(self) -> B {
        self.data
    }
}

/// A buffer of rank `R` with its dims, row-major, indexed by `[[i, j]]`.
///
/// ```
/// use oxidax::Matrix;
/// let a = Matrix::new([1.0, 2.0, 3.0, 4.0, 5.0, 6.0].as_slice(), [2, 3]);
/// assert_eq!(a[[1, 0]], 4.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ranked<B, const R: usize> {
    data: B,
    dims: [usize; R],
}

/// A buffer of rank 2.
pub type Matrix<B> = Ranked<B, 2>;

impl<B, const R: usize> Ranked<B, R> {
    /// Joins a buffer and its dims, to call a handler's function from Rust. Panics if they disagree about its length.
    pub fn new<T>(data: B, dims: [usize; R]) -> Self
    where
        B: AsRef<[T]>,
    {
        assert_eq!(Some(data.as_ref().len()), elements(&dims), "the dims {dims:?} are not those of this buffer");
        Ranked { data, dims }
    }

    /// The dims, outermost first.
    pub fn dims(&self) -> [usize; R] {
        self.dims
    }

    /// The buffer.
    pub fn into_inner(self) -> B {
        self.data
    }

    /// Row-major; panics outside the dims, where a flat index could hit another row.
    #[inline(always)]
    fn offset(&self, index: [usize; R]) -> usize {
        index.iter().zip(&self.dims).fold(0, |offset, (&i, &n)| {
            assert!(i < n, "index {index:?} is outside the dims {:?}", self.dims);
            offset * n + i
        })
    }
}

impl<T, B: Deref<Target = [T]>, const R: usize> Index<[usize; R]> for Ranked<B, R> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: [usize; R]) -> &T {
        &self.data[self.offset(index)]
    }
}

impl<T, B: DerefMut<Target = [T]>, const R: usize> IndexMut<[usize; R]> for Ranked<B, R> {
    #[inline(always)]
    fn index_mut(&mut self, index: [usize; R]) -> &mut T {
        let offset = self.offset(index);
        &mut self.data[offset]
    }
}

#[diagnostic::do_not_recommend]
impl<'f, P: Platform, B: BufferParam<'f, P>> BufferParam<'f, P> for InOut<B> {
    type Base = B::Base;
    const RANK: Option<usize> = B::RANK;
    const INOUT: bool = true;
    const COL_MAJOR: bool = B::COL_MAJOR;
    const INDEXED: bool = B::INDEXED;
    const TRAILING: bool = B::TRAILING;

    #[inline(always)]
    fn view(base: B::Base, dims: &'f [usize]) -> Self {
        InOut(B::view(base, dims))
    }
}

#[diagnostic::do_not_recommend]
impl<'f, P: Platform, B: BufferParam<'f, P>> BufferParam<'f, P> for Shaped<'f, B> {
    type Base = B::Base;
    const RANK: Option<usize> = B::RANK;
    const INOUT: bool = B::INOUT;
    const COL_MAJOR: bool = B::COL_MAJOR;
    const INDEXED: bool = B::INDEXED;
    const TRAILING: bool = B::TRAILING;

    #[inline(always)]
    fn view(base: B::Base, dims: &'f [usize]) -> Self {
        Shaped { data: B::view(base, dims), dims }
    }
}

#[diagnostic::do_not_recommend]
impl<'f, P: Platform, B: BufferParam<'f, P>, const R: usize> BufferParam<'f, P> for Ranked<B, R> {
    type Base = B::Base;
    const RANK: Option<usize> = {
        if let Some(inner) = B::RANK {
            assert!(inner == R, "`Ranked<.., R>` of a buffer that has another rank");
        }
        Some(R)
    };
    const INOUT: bool = B::INOUT;
    const COL_MAJOR: bool = B::COL_MAJOR;
    const INDEXED: bool = true;

    #[inline(always)]
    fn view(base: B::Base, dims: &'f [usize]) -> Self {
        let mut fixed = [0; R];
        fixed.copy_from_slice(dims);
        Ranked { data: B::view(base, dims), dims: fixed }
    }
}

#[diagnostic::do_not_recommend]
impl<'f, P: Platform, B: BufferParam<'f, P>> BufferParam<'f, P> for ColMajor<B> {
    type Base = B::Base;
    const RANK: Option<usize> = B::RANK;
    const INOUT: bool = B::INOUT;
    const COL_MAJOR: bool = true;
    const INDEXED: bool = B::INDEXED;
    const TRAILING: bool = B::TRAILING;

    #[inline(always)]
    fn view(base: B::Base, dims: &'f [usize]) -> Self {
        ColMajor(B::view(base, dims))
    }
}

#[diagnostic::do_not_recommend]
impl<'f, P: Platform, B: BufferParam<'f, P>> BufferParam<'f, P> for Trailing<B> {
    type Base = B::Base;
    const RANK: Option<usize> = B::RANK;
    const INOUT: bool = B::INOUT;
    const COL_MAJOR: bool = B::COL_MAJOR;
    const TRAILING: bool = true;

    #[inline(always)]
    fn view(base: B::Base, dims: &'f [usize]) -> Self {
        Trailing(B::view(base, dims))
    }
}

/// Wrappers are used as what they wrap.
macro_rules! transparent {
    ($($ty:ty, [$($generics:tt)*], $field:tt;)*) => { $(
        impl<$($generics)*> Deref for $ty {
            type Target = B;

            #[inline(always)]
            fn deref(&self) -> &B {
                &self.$field
            }
        }

        impl<$($generics)*> DerefMut for $ty {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut B {
                &mut self.$field
            }
        }
    )* };
}

transparent! {
    InOut<B>, [B], 0;
    ColMajor<B>, [B], 0;
    Trailing<B>, [B], 0;
    Shaped<'_, B>, [B], data;
    Ranked<B, R>, [B, const R: usize], data;
}
