//! Decoding a call in two tiers, behind one trait, so that an expansion names each parameter once.
//!
//! [`Fast`] takes a well-formed call without batch axes, in a straight line of loads and compares. Whatever it does not
//! take, mistakes included, goes to [`Slow`], which works on data shared by all handlers.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use crate::abi::{self, Frame, List};
use crate::batch::{self, Row, Steps, Team};
use crate::buffer::{Base, Buf, BufferParam};
use crate::dtype::Element;
use crate::error::Error;
use crate::handler::{Finish, Operation};
use crate::param::{Decode, Param, Role, Source};
use crate::plan::{MAX_DIMS, MAX_PARAMS, Plan};
use crate::platform::Platform;
use crate::shape::{SizeVisitor, Sizes};
use crate::slow::{Buffers, Call};

/// Reads parameters out of a call. Every `None` ends the attempt before the user's function has run.
///
/// Copies are free to make, and nothing is to be dropped: what the compiler need not clean up costs no time to compile.
pub trait Decoder<'f>: Copy {
    /// What is known of a buffer before the buffers are admitted.
    type Buffer: Copy;

    /// Unmarked parameter `i`.
    fn param<P: Param<'f>>(self, plan: &'static Plan, i: usize, name: &'static str) -> Option<P::Stored>;
    /// Unmarked parameter `i`, which has a default: `None` inside if the call lacks it.
    fn optional<P: Param<'f>>(self, plan: &'static Plan, i: usize, name: &'static str) -> Option<Option<P::Stored>>;
    /// Buffer parameter `i`.
    fn buffer<P: Platform, B: BufferParam<'f, P>>(self, plan: &'static Plan, i: usize) -> Option<Self::Buffer>;
    /// The size of dim `d`, which is not negative if the buffers are admitted.
    fn dim(self, plan: &'static Plan, d: usize) -> Option<i64>;
    /// Whether the buffers fit the shape rule and each other.
    fn admit<O: Operation, const N: usize>(self, buffers: &mut [Self::Buffer; N], values: &[i64]) -> bool;
    /// Calls `f`, once or for each batch element, with buffers that were admitted.
    fn each<const N: usize>(self, buffers: [Self::Buffer; N], f: impl FnMut([Buf<'f>; N]) -> Finish) -> Finish;
}

/// The first tier.
#[derive(Clone, Copy)]
pub struct Fast<'f>(pub(crate) Frame<'f>);

impl<'f> Fast<'f> {
    #[inline(always)]
    fn memory<T: Element>(&self, list: List, slot: u16, core: u16) -> Option<(*mut u8, &'f [i64])> {
        let buffer = self.0.buffer(list, slot as usize)?;
        let data: *mut T = buffer.data.cast();
        if buffer.dtype != T::DTYPE.code() || buffer.rank != i64::from(core) || !data.is_aligned() {
            return None;
        }
        Some((data.cast(), abi::dims(buffer)))
    }

    /// The attribute at its place. Where one that may be missing is, another may have taken its count without being
    /// known, and the slow tier looks.
    #[inline(always)]
    fn source<P: Decode>(&self, plan: &Plan, i: usize, name: &str) -> Option<Source<'f>> {
        let attr = match P::ROLE {
            Role::Attribute => Some(self.0.attr_at(plan.slots[i] as usize, name)?),
            _ => None,
        };
        Some(Source { frame: self.0, attr })
    }
}

impl<'f> Decoder<'f> for Fast<'f> {
    type Buffer = Buf<'f>;

    #[inline(always)]
    fn param<P: Param<'f>>(self, plan: &'static Plan, i: usize, name: &'static str) -> Option<P::Stored> {
        P::decode(&self.source::<P>(plan, i, name)?)
    }

    #[inline(always)]
    fn optional<P: Param<'f>>(self, plan: &'static Plan, i: usize, name: &'static str) -> Option<Option<P::Stored>> {
        P::decode(&self.source::<P>(plan, i, name)?).map(Some)
    }

    #[inline(always)]
    fn buffer<P: Platform, B: BufferParam<'f, P>>(self, plan: &'static Plan, i: usize) -> Option<Buf<'f>> {
        type Elem<'f, P, B> = <<B as BufferParam<'f, P>>::Base as Base<'f, P>>::Elem;
        let writes = const { <B::Base as Base<'f, P>>::WRITES };
        let core = plan.cores[i];
        let mut source: *const u8 = std::ptr::null();
        let (list, slot) = match (B::INOUT, writes) {
            (true, _) => {
                let (operand, dims) = self.memory::<Elem<'f, P, B>>(List::Args, plan.slots[i], core)?;
                let (result, result_dims) = self.memory::<Elem<'f, P, B>>(List::Rets, plan.result_slots[i], core)?;
                // Where XLA did not honour the alias, the slow tier copies.
                if dims != result_dims || operand != result {
                    return None;
                }
                source = operand;
                (List::Rets, plan.result_slots[i])
            }
            (false, true) => (List::Rets, plan.slots[i]),
            (false, false) => (List::Args, plan.slots[i]),
        };
        let (data, dims) = self.memory::<Elem<'f, P, B>>(list, slot, core)?;
        Some(Buf { data, source, dims, len: 0, size: size_of::<Elem<'f, P, B>>(), writes })
    }

    #[inline(always)]
    fn dim(self, plan: &'static Plan, d: usize) -> Option<i64> {
        let from = plan.dims[d];
        let buffer = self.0.buffer(from.list, from.slot as usize)?;
        if buffer.rank != i64::from(from.core) {
            return None;
        }
        abi::dim(buffer, from.axis as usize)
    }

    #[inline(always)]
    fn admit<O: Operation, const N: usize>(self, buffers: &mut [Buf<'f>; N], values: &[i64]) -> bool {
        if !O::shapes(&mut Sizes(Match(buffers)), values) {
            return false;
        }
        // One flat loop, which the compiler unrolls; with two nested ones the buffers would live in memory.
        let pairs = const { &pairs::<N>() };
        let mut p = 0;
        while p < const { N * (N - 1) / 2 } {
            let (a, b) = pairs[p];
            if buffers[a as usize].may_conflict(&buffers[b as usize]) {
                return false;
            }
            p += 1;
        }
        true
    }

    #[inline(always)]
    fn each<const N: usize>(self, buffers: [Buf<'f>; N], mut f: impl FnMut([Buf<'f>; N]) -> Finish) -> Finish {
        f(buffers)
    }
}

/// Every two of `N` buffers.
const fn pairs<const N: usize>() -> [(u8, u8); MAX_PARAMS * (MAX_PARAMS - 1) / 2] {
    let mut pairs = [(0, 0); MAX_PARAMS * (MAX_PARAMS - 1) / 2];
    let (mut p, mut a) = (0, 0);
    while a < N {
        let mut b = a + 1;
        while b < N {
            pairs[p] = (a as u8, b as u8);
            p += 1;
            b += 1;
        }
        a += 1;
    }
    pairs
}

/// Compares each buffer's dims with the rule's, and sets its length.
struct Match<'a, 'f, const N: usize>(&'a mut [Buf<'f>; N]);

impl<const N: usize> SizeVisitor for Match<'_, '_, N> {
    #[inline(always)]
    fn buffer<const R: usize>(&mut self, k: usize, dims: [i64; R]) -> bool {
        let buffer = &mut self.0[k];
        if buffer.data.is_null() {
            return false;
        }
        let mut len = 1usize;
        let mut axis = 0;
        while axis < R {
            // Of one dim alone, the limit below says that it is not negative.
            if (R > 1 && dims[axis] < 0) || axis >= buffer.dims.len() || buffer.dims[axis] != dims[axis] {
                return false;
            }
            let Some(product) = len.checked_mul(dims[axis] as usize) else { return false };
            len = product;
            axis += 1;
        }
        // `slice::from_raw_parts` allows no more bytes than this.
        if len > isize::MAX as usize / buffer.size {
            return false;
        }
        buffer.len = len;
        true
    }

    #[inline(always)]
    fn require(&mut self, condition: i64, _message: &'static str) -> bool {
        condition == 1
    }
}

/// The second tier, once its operands are known to be well-formed.
///
/// It works on data and its functions are shared by all handlers where they can be: what is compiled for each instance
/// is a row of the batch.
#[derive(Clone, Copy)]
pub struct Slow<'a, 'f> {
    pub(crate) frame: Frame<'f>,
    pub(crate) dims: &'a [i64; MAX_DIMS],
    pub(crate) part: Part<'a, 'f>,
}

/// Whose part of a call it is.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a, 'f> {
    /// The thread that XLA called on.
    Lead(&'a RefCell<Call<'f>>),
    /// A thread that shares the elements of a call that was admitted.
    Helper(&'a Team<'a, 'f>),
}

impl<'f> Slow<'_, 'f> {
    fn source<P: Decode>(self, plan: &Plan, i: usize, name: &str) -> Source<'f> {
        let attr = match P::ROLE {
            // Its place is a first guess: attributes before it may be missing.
            Role::Attribute => self.frame.attr_at(plan.slots[i] as usize, name).or_else(|| self.frame.attr_find(name)),
            _ => None,
        };
        Source { frame: self.frame, attr }
    }

    fn admit_values(self, values: &[i64], host_memory: bool) -> bool {
        match self.part {
            Part::Lead(call) => call.borrow_mut().admit(values, host_memory),
            Part::Helper(_) => true,
        }
    }

    /// Runs the batch, or a helper's part of it.
    fn rows(self, row: &mut dyn Row<'f>) -> Finish {
        match self.part {
            Part::Lead(call) => batch::lead(&call.borrow(), row),
            Part::Helper(team) => {
                team.work(row);
                Ok(())
            }
        }
    }
}

impl<'f> Decoder<'f> for Slow<'_, 'f> {
    /// The call has them.
    type Buffer = ();

    #[inline(never)]
    fn param<P: Param<'f>>(self, plan: &'static Plan, i: usize, name: &'static str) -> Option<P::Stored> {
        P::decode(&self.source::<P>(plan, i, name))
    }

    #[inline(never)]
    fn optional<P: Param<'f>>(self, plan: &'static Plan, i: usize, name: &'static str) -> Option<Option<P::Stored>> {
        let source = self.source::<P>(plan, i, name);
        match source.attr {
            Some(_) => P::decode(&source).map(Some),
            None => Some(None),
        }
    }

    #[inline(always)]
    fn buffer<P: Platform, B: BufferParam<'f, P>>(self, _plan: &'static Plan, _i: usize) -> Option<()> {
        Some(())
    }

    #[inline(always)]
    fn dim(self, _plan: &'static Plan, d: usize) -> Option<i64> {
        Some(self.dims[d])
    }

    #[inline(always)]
    fn admit<O: Operation, const N: usize>(self, _buffers: &mut [(); N], values: &[i64]) -> bool {
        self.admit_values(values, O::Platform::HOST_MEMORY)
    }

    #[inline(always)]
    fn each<const N: usize>(self, _buffers: [(); N], f: impl FnMut([Buf<'f>; N]) -> Finish) -> Finish {
        self.rows(&mut Calls::<_, N>(f))
    }
}

/// A row as calls of the user's function.
struct Calls<F, const N: usize>(F);

impl<'f, F: FnMut([Buf<'f>; N]) -> Finish, const N: usize> Row<'f> for Calls<F, N> {
    fn run(&mut self, first: &Buffers<'f>, steps: &Steps, count: usize) -> Result<(), (usize, Error)> {
        const { assert!(N <= MAX_PARAMS) };
        let mut buffers = [Buf::EMPTY; N];
        buffers.copy_from_slice(&first[..N]);
        for element in 0..count {
            (self.0)(buffers).map_err(|error| (element, error))?;
            for k in 0..N {
                buffers[k].data = buffers[k].data.wrapping_offset(steps[k]);
            }
        }
        Ok(())
    }
}
