//! What is known of a handler before any call, worked out by the compiler: where each parameter stands in the call frame.
//!
//! Positions cost nothing: a [`Plan`] is a constant, so the code that decodes a call has literal offsets.
#![forbid(unsafe_code)]

use serde_json::Value as Json;

use crate::abi::List;
use crate::buffer::{Base, BufferParam};
use crate::context::ScratchParam;
use crate::decode::Slow;
use crate::handler::{Batch, EntryPoints, Finish, Kernel, OpInfo, Shapes};
use crate::param::{AttrType, Decode, FromDim, Param, Role, Source};
use crate::platform::Platform;

/// The most parameters a handler may have; the macro refuses more.
pub const MAX_PARAMS: usize = 32;
/// The most dims a handler may have; the macro refuses more.
pub const MAX_DIMS: usize = 32;

/// One parameter, for one choice of dtypes.
pub struct Spec {
    /// The name in Python; of an attribute, the one XLA carries.
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) kind: Kind,
}

/// The part of a [`Spec`] that depends on the role.
pub(crate) enum Kind {
    Buffer {
        dtype: crate::dtype::DType,
        align: usize,
        /// For each axis the dim it names bare, or -1 for an expression.
        axes: &'static [i16],
        col_major: bool,
        /// Whether there may be more dims behind these.
        trailing: bool,
    },
    Attribute {
        ty: AttrType,
        optional: bool,
        /// The default, for the manifest.
        default: Option<fn() -> Json>,
        /// Whether the parameter's type takes what came.
        accepts: fn(&Source<'_>) -> bool,
    },
    Context {
        /// Whether the runtime supplies it.
        accepts: fn(&Source<'_>) -> bool,
    },
    /// Nothing that XLA knows: the size of a dim, scratch memory.
    Inner,
}

impl Spec {
    pub(crate) fn is_col_major(&self) -> bool {
        matches!(self.kind, Kind::Buffer { col_major: true, .. })
    }
}

/// A `#[shape(..)]` parameter.
#[track_caller]
pub const fn buffer<'f, P: Platform, B: BufferParam<'f, P>>(
    name: &'static str,
    axes: &'static [i16],
    info: &OpInfo,
) -> Spec {
    let rank = match (B::RANK, <B::Base as Base<'f, P>>::RANK) {
        (Some(rank), Some(needed)) => {
            assert!(rank == needed, "this type's `RANK` is not that of the buffer which it is made of");
            Some(rank)
        }
        (rank, None) | (None, rank) => rank,
    };
    if let Some(rank) = rank {
        assert!(!B::TRAILING, "`Trailing` is for a buffer of any rank: use `Shaped<..>` in it");
        assert!(rank == axes.len(), "the number of dims in `#[shape(..)]` is not the rank of this type");
        assert!(
            !matches!(info.batch, Batch::Whole),
            "with `batch = whole` a buffer has any number of leading axes: a type of fixed rank cannot hold it; use `Shaped<..>`"
        );
    }
    assert!(
        !B::TRAILING || (info.drop_in && matches!(info.batch, Batch::None)),
        "`Trailing` is for a target of another library's, `target = {{ .. }}`, with `batch = none`"
    );
    let writes = <B::Base as Base<'f, P>>::WRITES;
    assert!(writes || !B::INOUT, "`InOut` wraps a result: `InOut<&mut [T]>`");
    if B::COL_MAJOR {
        assert!(!B::TRAILING, "the last two dims of a `ColMajor` are its rows and columns: it has no `Trailing` ones");
        assert!(axes.len() >= 2, "`ColMajor` is for matrices: it needs two dims");
        assert!(!B::INDEXED, "`Matrix` and `Ranked` index rows first: write `ColMajor<&[T]>` and compute `i + j * m`");
    }
    let role = match (B::INOUT, writes) {
        (true, _) => Role::InOut,
        (false, true) => Role::Result,
        (false, false) => Role::Argument,
    };
    let dtype = <<B::Base as Base<'f, P>>::Elem as crate::dtype::Element>::DTYPE;
    let align = align_of::<<B::Base as Base<'f, P>>::Elem>();
    let kind = Kind::Buffer { dtype, align, axes, col_major: B::COL_MAJOR, trailing: B::TRAILING };
    Spec { name, role, kind }
}

/// An unmarked parameter: an attribute or a context.
#[track_caller]
pub const fn param<'f, P: Param<'f>>(name: &'static str, info: &OpInfo) -> Spec {
    check_graph(P::ALLOCATES, info);
    assert!(
        !matches!(P::TYPE, AttrType::Array { .. }),
        "a buffer or an array attribute? Mark a buffer with its dims, `#[shape(n)]`, and an attribute `#[attr]`"
    );
    match P::ROLE {
        Role::Attribute => attr::<P>(name, None),
        role => Spec { name, role, kind: Kind::Context { accepts: accepts::<P> } },
    }
}

/// A parameter with `#[attr(..)]`.
#[track_caller]
pub const fn attr<'f, P: Param<'f>>(name: &'static str, default: Option<fn() -> Json>) -> Spec {
    assert!(matches!(P::ROLE, Role::Attribute), "this is no attribute, the runtime supplies it: remove `#[attr]`");
    let optional = default.is_some() || P::OPTIONAL;
    let kind = Kind::Attribute { ty: P::TYPE, optional, default, accepts: accepts::<P> };
    Spec { name, role: P::ROLE, kind }
}

/// Whether the parameter's type takes what came.
fn accepts<P: Decode>(source: &Source<'_>) -> bool {
    P::decode(source).is_some()
}

/// A `#[dim]` parameter.
pub const fn dim<N: FromDim>(name: &'static str) -> Spec {
    Spec { name, role: Role::Dim, kind: Kind::Inner }
}

/// A `#[scratch(..)]` parameter.
#[track_caller]
pub const fn scratch<'f, P: Platform, B: ScratchParam<'f, P>>(name: &'static str, info: &OpInfo) -> Spec {
    check_graph(<B::Source as Decode>::ALLOCATES, info);
    Spec { name, role: Role::Scratch, kind: Kind::Inner }
}

#[track_caller]
const fn check_graph(allocates: bool, info: &OpInfo) {
    assert!(
        !(allocates && info.command_buffer),
        "a CUDA graph would use this scratch memory again after the call: say `command_buffer = false`, or make it a result"
    );
}

/// Where the parameters of a handler stand in a call frame.
pub struct Plan {
    /// Of each parameter: its place among the operands (arguments, in-outs), results, or attributes.
    pub(crate) slots: [u16; MAX_PARAMS],
    /// Of each buffer: the number of its core dims.
    pub(crate) cores: [u16; MAX_PARAMS],
    /// Of each in-out: its place among the results.
    pub(crate) result_slots: [u16; MAX_PARAMS],
    /// The number of operands, results and attributes.
    pub(crate) counts: [i64; 3],
    pub(crate) dims: [DimSource; MAX_DIMS],
}

/// The axis that tells the size of a dim.
#[derive(Clone, Copy)]
pub(crate) struct DimSource {
    pub(crate) list: List,
    pub(crate) slot: u16,
    pub(crate) axis: u16,
    /// The number of core dims of that buffer.
    pub(crate) core: u16,
}

/// Finds each parameter's place.
#[track_caller]
pub const fn plan(specs: &[Spec], info: &OpInfo) -> Plan {
    const NOWHERE: DimSource = DimSource { list: List::Args, slot: 0, axis: 0, core: 0 };
    let mut plan = Plan {
        slots: [0; MAX_PARAMS],
        cores: [0; MAX_PARAMS],
        result_slots: [0; MAX_PARAMS],
        counts: [0; 3],
        dims: [NOWHERE; MAX_DIMS],
    };
    let mut i = 0;
    while i < specs.len() {
        match specs[i].role {
            Role::Argument => plan.slots[i] = take(&mut plan.counts[0]),
            Role::Result => plan.slots[i] = take(&mut plan.counts[1]),
            Role::InOut => {
                plan.slots[i] = take(&mut plan.counts[0]);
                plan.result_slots[i] = take(&mut plan.counts[1]);
            }
            Role::Attribute => {
                plan.slots[i] = attribute_rank(specs, i);
                plan.counts[2] += 1;
            }
            Role::Context | Role::Dim | Role::Scratch => {}
        }
        if let Kind::Buffer { axes, .. } = specs[i].kind {
            plan.cores[i] = axes.len() as u16;
        }
        i += 1;
    }
    assert!(plan.counts[1] > 0, "a handler needs a result: a `&mut` parameter with `#[shape(..)]`");
    let mut d = 0;
    while d < info.dims.len() {
        plan.dims[d] = dim_source(specs, &plan, d as i16);
        d += 1;
    }
    plan
}

const fn take(count: &mut i64) -> u16 {
    *count += 1;
    (*count - 1) as u16
}

/// XLA sorts attributes by the bytes of their names.
const fn attribute_rank(specs: &[Spec], i: usize) -> u16 {
    let mut rank = 0;
    let mut j = 0;
    while j < specs.len() {
        if matches!(specs[j].role, Role::Attribute) && less(specs[j].name.as_bytes(), specs[i].name.as_bytes()) {
            rank += 1;
        }
        j += 1;
    }
    rank
}

const fn less(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] < b[i];
        }
        i += 1;
    }
    a.len() < b.len()
}

/// The first axis that names the dim bare, among the operands, else among the results: then the caller chooses it.
const fn dim_source(specs: &[Spec], plan: &Plan, dim: i16) -> DimSource {
    let mut results = false;
    loop {
        let mut i = 0;
        while i < specs.len() {
            if let Kind::Buffer { axes, .. } = specs[i].kind {
                let is_result = matches!(specs[i].role, Role::Result);
                let mut axis = 0;
                while axis < axes.len() {
                    if axes[axis] == dim && is_result == results {
                        let list = if results { List::Rets } else { List::Args };
                        return DimSource { list, slot: plan.slots[i], axis: axis as u16, core: axes.len() as u16 };
                    }
                    axis += 1;
                }
            }
            i += 1;
        }
        assert!(!results, "a dim stands bare in no `#[shape(..)]`");
        results = true;
    }
}

/// One choice of dtypes for a handler's type parameters, as data: what the code shared by all handlers works on.
pub struct Instance {
    pub(crate) specs: &'static [Spec],
    pub(crate) plan: &'static Plan,
    pub(crate) info: &'static OpInfo,
    pub(crate) shapes: &'static Shapes,
    /// The most threads that share a batch of elements with these dims.
    pub(crate) threads: fn(&[i64]) -> usize,
    /// Decodes attributes again and runs the batch loop.
    pub(crate) step: for<'a, 'f> fn(Slow<'a, 'f>) -> Option<Finish>,
    /// The target of this instance alone, and its entry points, where each has its own.
    pub(crate) own: Option<(&'static str, EntryPoints)>,
}

impl Instance {
    /// The default of an attribute, if it has one.
    pub(crate) fn default(&self, name: &str) -> Option<Json> {
        self.specs.iter().find(|spec| spec.name == name).and_then(|spec| match spec.kind {
            Kind::Attribute { default, .. } => Some(default?()),
            _ => None,
        })
    }
}

/// The data of one instance, with a target and an entry point of its own.
pub const fn instance_at<K: Kernel<G>, G>(target: &'static str) -> Instance {
    Instance { own: Some((target, EntryPoints::of_instance::<K, G>())), ..instance::<K, G>() }
}

/// The data of one instance.
pub const fn instance<K: Kernel<G>, G>() -> Instance {
    Instance {
        own: None,
        specs: K::PARAMS,
        plan: const { &K::PLAN },
        info: K::INFO,
        shapes: const { &Shapes::of::<K>() },
        threads: K::threads,
        step: |slow| K::run(slow),
    }
}

/// The most buffers that it takes to tell the instances of a handler apart.
const MAX_SELECTORS: usize = 4;
/// The most instances of a handler.
const MAX_INSTANCES: usize = 64;

/// Which buffers' dtypes tell the instances apart, and what they are for each.
pub struct Selector {
    pub(crate) buffers: [(List, u16); MAX_SELECTORS],
    pub(crate) len: usize,
    pub(crate) codes: [[i32; MAX_SELECTORS]; MAX_INSTANCES],
}

/// Takes buffers, arguments first, until every two instances differ in the dtype of one of them.
#[track_caller]
pub const fn select(instances: &[Instance]) -> Selector {
    assert!(instances.len() <= MAX_INSTANCES, "more than 64 combinations of dtypes");
    let mut selector =
        Selector { buffers: [(List::Args, 0); MAX_SELECTORS], len: 0, codes: [[0; MAX_SELECTORS]; MAX_INSTANCES] };
    let specs = instances[0].specs;
    let mut results = false;
    loop {
        let mut i = 0;
        while i < specs.len() {
            let is_buffer = matches!(specs[i].role, Role::Argument | Role::InOut | Role::Result);
            let is_result = matches!(specs[i].role, Role::Result);
            if is_buffer && is_result == results && separates(instances, &selector, i) {
                assert!(
                    selector.len < MAX_SELECTORS,
                    "it takes the dtypes of more than 4 buffers to tell the instances apart"
                );
                let list = if results { List::Rets } else { List::Args };
                selector.buffers[selector.len] = (list, instances[0].plan.slots[i]);
                let mut k = 0;
                while k < instances.len() {
                    selector.codes[k][selector.len] = code(&instances[k].specs[i]);
                    k += 1;
                }
                selector.len += 1;
            }
            i += 1;
        }
        if results {
            break;
        }
        results = true;
    }
    let mut a = 0;
    while a < instances.len() {
        let mut b = a + 1;
        while b < instances.len() {
            assert!(!same(&selector, a, b), "no buffer's dtype tells these `dtypes(..)` apart");
            b += 1;
        }
        a += 1;
    }
    selector
}

/// Whether the dtype of buffer `i` tells two instances apart that nothing has told apart yet.
const fn separates(instances: &[Instance], selector: &Selector, i: usize) -> bool {
    let mut a = 0;
    while a < instances.len() {
        let mut b = a + 1;
        while b < instances.len() {
            if same(selector, a, b) && code(&instances[a].specs[i]) != code(&instances[b].specs[i]) {
                return true;
            }
            b += 1;
        }
        a += 1;
    }
    false
}

const fn same(selector: &Selector, a: usize, b: usize) -> bool {
    let mut s = 0;
    while s < selector.len {
        if selector.codes[a][s] != selector.codes[b][s] {
            return false;
        }
        s += 1;
    }
    true
}

const fn code(spec: &Spec) -> i32 {
    match spec.kind {
        Kind::Buffer { dtype, .. } => dtype.code(),
        _ => 0,
    }
}
