//! Decoding a call in two tiers, behind one trait, so that an expansion names each parameter once.
//!
//! [`Fast`] takes a well-formed call without batch axes, in a straight line of loads and compares. Whatever it does not
//! take, mistakes included, goes to [`Slow`], which works on data shared by all handlers.
#![forbid(unsafe_code)]

use std::marker::PhantomData;

use crate::abi::{self, Frame, List};
use crate::batch::{self, Team};
use crate::buffer::{Base, Buf, BufferParam};
use crate::dtype::Element;
use crate::handler::{Batch, Finish, Operation};
use crate::param::{Decode, Param, Role, Source};
use crate::plan::{MAX_PARAMS, Plan};
use crate::platform::Platform;
use crate::shape::{SizeVisitor, Sizes};
use crate::slow::Call;

/// Reads parameters out of a call. Every `None` ends the attempt before the user's function has run.
pub trait Decoder<'f>: Sized {
    /// Unmarked parameter `i`.
    fn param<P: Param<'f>>(&self, plan: &'static Plan, i: usize, name: &'static str) -> Option<P::Stored>;
    /// Unmarked parameter `i`, which has a default: `None` inside if the call lacks it.
    fn optional<P: Param<'f>>(&self, plan: &'static Plan, i: usize, name: &'static str) -> Option<Option<P::Stored>>;
    /// Buffer parameter `i`.
    fn buffer<P: Platform, B: BufferParam<'f, P>>(&self, plan: &'static Plan, i: usize) -> Option<Buf<'f>>;
    /// The size of dim `d`, which is not negative if the buffers are admitted.
    fn dim(&self, plan: &'static Plan, d: usize) -> Option<i64>;
    /// Checks the buffers against the shape rule and each other.
    fn admit<O: Operation, const N: usize>(&mut self, buffers: [Buf<'f>; N], values: &[i64]) -> Option<[Buf<'f>; N]>;
    /// Calls `f`, once or for each batch element, with buffers that were admitted.
    fn each<const N: usize>(self, buffers: [Buf<'f>; N], f: impl FnMut([Buf<'f>; N]) -> Finish) -> Finish;
}

/// The first tier.
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
    #[inline(always)]
    fn param<P: Param<'f>>(&self, plan: &'static Plan, i: usize, name: &'static str) -> Option<P::Stored> {
        P::decode(&self.source::<P>(plan, i, name)?)
    }

    #[inline(always)]
    fn optional<P: Param<'f>>(&self, plan: &'static Plan, i: usize, name: &'static str) -> Option<Option<P::Stored>> {
        P::decode(&self.source::<P>(plan, i, name)?).map(Some)
    }

    #[inline(always)]
    fn buffer<P: Platform, B: BufferParam<'f, P>>(&self, plan: &'static Plan, i: usize) -> Option<Buf<'f>> {
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
        Some(Buf { data, source, dims, len: 0, size: size_of::<Elem<'f, P, B>>(), writes, _memory: PhantomData })
    }

    #[inline(always)]
    fn dim(&self, plan: &'static Plan, d: usize) -> Option<i64> {
        let from = plan.dims[d];
        let buffer = self.0.buffer(from.list, from.slot as usize)?;
        if buffer.rank != i64::from(from.core) {
            return None;
        }
        abi::dim(buffer, from.axis as usize)
    }

    #[inline(always)]
    fn admit<O: Operation, const N: usize>(
        &mut self,
        mut buffers: [Buf<'f>; N],
        values: &[i64],
    ) -> Option<[Buf<'f>; N]> {
        O::shapes(&mut Sizes(Match(&mut buffers)), values)?;
        // One flat loop, which the compiler unrolls; with two nested ones the buffers would live in memory.
        let pairs = const { &pairs::<N>() };
        let mut p = 0;
        while p < const { N * (N - 1) / 2 } {
            let (a, b) = pairs[p];
            if buffers[a as usize].may_conflict(&buffers[b as usize]) {
                return None;
            }
            p += 1;
        }
        Some(buffers)
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
    fn buffer<const R: usize>(&mut self, k: usize, dims: [i64; R]) -> Option<()> {
        let buffer = &mut self.0[k];
        if buffer.data.is_null() {
            return None;
        }
        let mut len = 1usize;
        let mut axis = 0;
        while axis < R {
            // Of one dim alone, the limit below says that it is not negative.
            if (R > 1 && dims[axis] < 0) || axis >= buffer.dims.len() || buffer.dims[axis] != dims[axis] {
                return None;
            }
            len = len.checked_mul(dims[axis] as usize)?;
            axis += 1;
        }
        // `slice::from_raw_parts` allows no more bytes than this.
        if len > isize::MAX as usize / buffer.size {
            return None;
        }
        buffer.len = len;
        Some(())
    }

    #[inline(always)]
    fn require(&mut self, condition: i64, _message: &'static str) -> Option<()> {
        (condition == 1).then_some(())
    }
}

/// The second tier, once its operands are known to be well-formed.
pub enum Slow<'a, 'f> {
    /// The thread that XLA called on.
    Lead(&'a mut Call<'f>),
    /// A thread that shares the elements of a call that was admitted.
    Helper(&'a Team<'a, 'f>),
}

impl<'f> Slow<'_, 'f> {
    /// Runs the batch, or a helper's part of it.
    fn rows(self, row: batch::Row<'_>) -> Finish {
        match self {
            Slow::Lead(call) if call.instance.info.batch == Batch::Parallel => batch::parallel(call, row),
            Slow::Lead(call) => batch::each(call, row),
            Slow::Helper(team) => {
                team.work(row);
                Ok(())
            }
        }
    }

    fn call(&self) -> &Call<'f> {
        match self {
            Slow::Lead(call) => call,
            Slow::Helper(team) => team.call,
        }
    }
}

impl<'f> Decoder<'f> for Slow<'_, 'f> {
    fn param<P: Param<'f>>(&self, plan: &'static Plan, i: usize, name: &'static str) -> Option<P::Stored> {
        P::decode(&self.call().source::<P>(plan, i, name))
    }

    fn optional<P: Param<'f>>(&self, plan: &'static Plan, i: usize, name: &'static str) -> Option<Option<P::Stored>> {
        let source = self.call().source::<P>(plan, i, name);
        match source.attr {
            Some(_) => P::decode(&source).map(Some),
            None => Some(None),
        }
    }

    fn buffer<P: Platform, B: BufferParam<'f, P>>(&self, _plan: &'static Plan, _i: usize) -> Option<Buf<'f>> {
        Some(Buf::EMPTY)
    }

    fn dim(&self, _plan: &'static Plan, d: usize) -> Option<i64> {
        Some(self.call().dims[d])
    }

    fn admit<O: Operation, const N: usize>(&mut self, _buffers: [Buf<'f>; N], values: &[i64]) -> Option<[Buf<'f>; N]> {
        if let Slow::Lead(call) = self {
            call.admit(values, O::Platform::HOST_MEMORY)?;
        }
        let mut admitted = [const { Buf::EMPTY }; N];
        for (admitted, buffer) in admitted.iter_mut().zip(self.call().buffers()) {
            *admitted = buffer.at(buffer.data);
        }
        Some(admitted)
    }

    fn each<const N: usize>(self, buffers: [Buf<'f>; N], mut f: impl FnMut([Buf<'f>; N]) -> Finish) -> Finish {
        self.rows(&mut |places, steps, count| {
            // In registers, for the length of the row.
            let (mut place, mut step) = ([std::ptr::null_mut(); N], [0; N]);
            place.copy_from_slice(places);
            step.copy_from_slice(steps);
            for element in 0..count {
                let mut views = [const { Buf::EMPTY }; N];
                for k in 0..N {
                    views[k] = buffers[k].at(place[k]);
                    place[k] = place[k].wrapping_offset(step[k]);
                }
                f(views).map_err(|error| (element, error))?;
            }
            Ok(())
        })
    }
}
