//! The second tier of a call: batches and mistakes. Shared by all handlers, driven by their [`Instance`] data.
//!
//! It looks at everything before it gives up, so that one message holds all that is wrong with a call.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::ptr;

use crate::abi::{self, Frame, List, MAX_RANK};
use crate::batch::{Axes, MAX_BATCH_AXES};
use crate::buffer::Buf;
use crate::decode::{Part, Slow};
use crate::dtype::DType;
use crate::error::Error;
use crate::handler::{Batch, Returned, fail};
use crate::param::{AttrType, EnumRepr, Role, Source};
use crate::plan::{Instance, Kind, MAX_DIMS, MAX_PARAMS, Spec};
use crate::shape::{POISON, SizeVisitor, Sizes, Text};
use crate::sys::XLA_FFI_Buffer;

/// A call that the first tier did not take.
#[cold]
#[inline(never)]
pub(crate) fn run(frame: Frame<'_>, instance: &'static Instance) -> Returned {
    // A call is large: it stays where it is made.
    let mut call = RefCell::new(Call::new(frame, instance));
    let known = call.get_mut();
    let operands = known.operands(std::slice::from_ref(instance));
    if !known.problems.is_empty() {
        known.explain_shapes(operands);
        return fail(frame, instance.info, known.report());
    }
    let dims = known.dims;
    let finish = (instance.step)(Slow { frame, dims: &dims, part: Part::Lead(&call) });
    let call = call.get_mut();
    match finish {
        Some(Ok(())) => ptr::null_mut(),
        Some(Err(error)) => fail(frame, instance.info, error),
        None if !call.problems.is_empty() => fail(frame, instance.info, call.report()),
        // Every attribute was accepted above; a type that changes its mind is its author's.
        None => fail(frame, instance.info, Error::internal("an attribute's type did not decode what it had accepted")),
    }
}

/// A call whose dtypes are those of no instance.
#[cold]
#[inline(never)]
pub(crate) fn refuse(frame: Frame<'_>, instances: &'static [Instance]) -> Returned {
    let mut call = Call::new(frame, &instances[0]);
    let operands = call.operands(instances);
    if call.dtypes_are_known {
        // Each of them is fine by itself, but not with the others.
        let mut text = "no instance takes these dtypes together; the instances are ".to_owned();
        for (i, instance) in instances.iter().enumerate() {
            let buffers = instance.specs.iter().filter_map(|spec| match spec.kind {
                Kind::Buffer { dtype, .. } => Some(format!("{}: {}", spec.name, dtype.name())),
                _ => None,
            });
            let separator = if i == 0 { "" } else { ", " };
            let _ = write!(text, "{separator}({})", buffers.collect::<Vec<_>>().join(", "));
        }
        call.problems.push(text);
    }
    call.explain_shapes(operands);
    fail(frame, instances[0].info, call.report())
}

/// The buffers of a call, in the order of the parameters.
pub(crate) type Buffers<'f> = [Buf<'f>; MAX_PARAMS];

/// What is known of a call so far.
pub struct Call<'f> {
    pub(crate) frame: Frame<'f>,
    pub(crate) instance: &'static Instance,
    /// As many as `count`.
    pub(crate) buffers: Buffers<'f>,
    pub(crate) count: usize,
    /// Of each buffer: its parameter, and how many of its leading dims are batch axes.
    origin: [(usize, usize); MAX_PARAMS],
    pub(crate) dims: [i64; MAX_DIMS],
    pub(crate) axes: Axes,
    /// Whether every buffer is there, with a dtype that it may have.
    dtypes_are_known: bool,
    problems: Vec<String>,
}

/// An operand or result at the head of a message: `argument 0 "x"`.
#[derive(Clone, Copy)]
struct Head {
    list: List,
    slot: u16,
    name: &'static str,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.list, self.slot, self.name)
    }
}

/// Whether the operands are well enough formed to speak of their dims.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    HaveDims,
    Broken,
}

impl<'f> Call<'f> {
    fn new(frame: Frame<'f>, instance: &'static Instance) -> Self {
        Call {
            frame,
            instance,
            buffers: [Buf::EMPTY; MAX_PARAMS],
            count: 0,
            origin: [(0, 0); MAX_PARAMS],
            dims: [0; MAX_DIMS],
            axes: Axes::NONE,
            dtypes_are_known: true,
            problems: Vec::new(),
        }
    }

    fn report(&mut self) -> Error {
        Error::invalid_argument(std::mem::take(&mut self.problems).join("; "))
    }

    /// Looks at each operand, result and attribute by itself. `instances` are those whose dtypes are welcome.
    fn operands(&mut self, instances: &'static [Instance]) -> Operands {
        let mut operands = Operands::HaveDims;
        let [args, rets, _] = self.frame.counts();
        let [expected_args, expected_rets, _] = self.instance.plan.counts;
        for (word, expected, got) in [("argument", expected_args, args), ("result", expected_rets, rets)] {
            if expected != got {
                let plural = if expected == 1 { "" } else { "s" };
                self.problems.push(format!("expected {expected} {word}{plural}, got {got}"));
                operands = Operands::Broken;
            }
        }
        for (i, spec) in self.instance.specs.iter().enumerate() {
            match &spec.kind {
                Kind::Buffer { .. } => {
                    if !self.buffer(i, spec, instances) {
                        operands = Operands::Broken;
                    }
                }
                Kind::Attribute { optional, .. } => self.attribute(i, spec.name, *optional, instances),
                Kind::Context { accepts } => {
                    if !accepts(&Source { frame: self.frame, attr: None }) {
                        self.problems.push(format!("{:?}: the runtime does not supply this here", spec.name));
                    }
                }
                Kind::Inner => {}
            }
        }
        for name in self.frame.attr_names() {
            let known = |spec: &Spec| spec.role == Role::Attribute && spec.name.as_bytes() == name;
            if !self.instance.specs.iter().any(known) {
                self.problems.push(format!("attribute {:?}: unknown", String::from_utf8_lossy(name)));
            }
        }
        if operands == Operands::HaveDims {
            for d in 0..self.instance.info.dims.len() {
                let from = self.instance.plan.dims[d];
                let Some(buffer) = self.frame.buffer(from.list, from.slot as usize) else { return Operands::Broken };
                let dims = abi::dims(buffer);
                let leading = self.leading_dims(dims.len(), from.core as usize);
                self.dims[d] = dims[leading + from.axis as usize];
            }
        }
        operands
    }

    fn attribute(&mut self, i: usize, name: &str, optional: bool, instances: &'static [Instance]) {
        let source = Source { frame: self.frame, attr: self.frame.attr_find(name) };
        if optional && source.attr.is_none() {
            return;
        }
        let welcomes = |instance: &Instance| match instance.specs[i].kind {
            Kind::Attribute { accepts, .. } => accepts(&source),
            _ => false,
        };
        if source.attr.is_some() && instances.iter().any(welcomes) {
            return;
        }
        let welcome = alternatives(instances.iter().filter_map(|instance| match instance.specs[i].kind {
            Kind::Attribute { ty, .. } => Some(expected(ty)),
            _ => None,
        }));
        self.problems.push(match source.attr {
            None => format!("attribute {name:?}: missing, expected {welcome}"),
            // The right dtype, but none of the variants.
            Some(value) if self.is_enum(i) => {
                let code = value.integer().map_or_else(String::new, |code| format!(" {code}"));
                format!("attribute {name:?}: expected {welcome}, got {}{code}", value.describe())
            }
            Some(value) => format!("attribute {name:?}: expected {welcome}, got {}", value.describe()),
        });
    }

    fn is_enum(&self, i: usize) -> bool {
        matches!(self.instance.specs[i].kind, Kind::Attribute { ty: AttrType::Enum { .. }, .. })
    }

    /// Decodes a buffer parameter; false if its dims cannot be spoken of.
    fn buffer(&mut self, i: usize, spec: &'static Spec, instances: &'static [Instance]) -> bool {
        let plan = self.instance.plan;
        let found = match spec.role {
            Role::Argument => self.memory(List::Args, plan.slots[i], i, spec, instances),
            Role::Result => self.memory(List::Rets, plan.slots[i], i, spec, instances),
            Role::InOut => {
                let operand = self.memory(List::Args, plan.slots[i], i, spec, instances);
                let result = self.memory(List::Rets, plan.result_slots[i], i, spec, instances);
                operand.zip(result).and_then(|(operand, mut result)| {
                    if operand.dims != result.dims {
                        self.problems.push(format!(
                            "argument {} {:?}: expected {} as result {}, which shares its memory, got {}",
                            plan.slots[i],
                            spec.name,
                            tuple(result.dims),
                            plan.result_slots[i],
                            tuple(operand.dims)
                        ));
                        return None;
                    }
                    result.source = operand.data;
                    Some(result)
                })
            }
            Role::Attribute | Role::Context | Role::Dim | Role::Scratch => None,
        };
        let k = self.count;
        self.count += 1;
        let Some(buffer) = found else { return false };
        self.origin[k] = (i, self.leading_dims(buffer.dims.len(), plan.cores[i] as usize));
        self.buffers[k] = buffer;
        true
    }

    fn memory(
        &mut self,
        list: List,
        slot: u16,
        i: usize,
        spec: &'static Spec,
        instances: &'static [Instance],
    ) -> Option<Buf<'f>> {
        let core = self.instance.plan.cores[i] as usize;
        let head = Head { list, slot, name: spec.name };
        let Some(buffer) = self.frame.buffer(list, slot as usize) else {
            self.dtypes_are_known = false;
            let [args, rets, _] = self.frame.counts();
            let count = if list == List::Args { args } else { rets };
            if i64::from(slot) < count {
                self.problems.push(format!("{head}: expected a buffer"));
            } // else the wrong number of them has been told
            return None;
        };
        let dtypes = instances.iter().filter_map(|instance| match instance.specs[i].kind {
            Kind::Buffer { dtype, align, .. } => Some((dtype, align)),
            _ => None,
        });
        let own = dtypes.clone().find(|(dtype, _)| dtype.code() == buffer.dtype);
        if own.is_none() {
            self.dtypes_are_known = false;
            let welcome = alternatives(dtypes.map(|(dtype, _)| dtype.name().to_owned()));
            self.problems.push(format!("{head}: expected {welcome}, got {}", DType::name_of(buffer.dtype)));
        }
        self.check_rank(head, buffer, core, matches!(spec.kind, Kind::Buffer { trailing: true, .. }))?;
        let dims = abi::dims(buffer);
        let mut data: *mut u8 = buffer.data.cast();
        // Of a buffer of another dtype, only the dims are of interest.
        let (size, align) = own.map_or((1, 1), |(dtype, align)| (dtype.size(), align));
        if !data.addr().is_multiple_of(align) {
            self.problems.push(format!("{head}: its memory is not aligned to {align} bytes"));
        }
        if data.is_null() {
            if own.is_some() && !dims.contains(&0) {
                self.problems.push(format!("{head}: it has no memory"));
            }
            // A slice of no elements has an address too.
            data = ptr::without_provenance_mut(align);
        }
        let writes = list == List::Rets;
        Some(Buf { data, source: ptr::null(), dims, len: 0, size, writes })
    }

    /// How many dims of a buffer are batch axes. Without those, dims beyond the core's are trailing.
    fn leading_dims(&self, rank: usize, core: usize) -> usize {
        if self.instance.info.batch == Batch::None { 0 } else { rank - core }
    }

    fn check_rank(&mut self, head: Head, buffer: &XLA_FFI_Buffer, core: usize, trailing: bool) -> Option<()> {
        let rank = buffer.rank;
        let (fits, or_more) = match self.instance.info.batch {
            Batch::None if trailing => (rank >= core as i64, " or more"),
            Batch::None => (rank == core as i64, ""),
            Batch::Each | Batch::Parallel | Batch::Whole => (rank >= core as i64, " or more"),
        };
        if !fits {
            let why = if or_more.is_empty() { " (`batch = none`)" } else { "" };
            self.problems.push(format!("{head}: expected rank {core}{or_more}{why}, got {rank}"));
            return None;
        }
        if rank > MAX_RANK {
            self.problems.push(format!("{head}: rank {rank}: at most {MAX_RANK} dims are supported"));
            return None;
        }
        let dims = abi::dims(buffer);
        if dims.iter().any(|&dim| dim < 0) {
            self.problems.push(format!("{head}: a dim is negative: {}", tuple(dims)));
            return None;
        }
        Some(())
    }

    /// With other problems at hand, looks at the shapes as well, if anything can be said of them.
    fn explain_shapes(&mut self, operands: Operands) {
        if operands == Operands::Broken {
            return;
        }
        let info = self.instance.info;
        let mut values = self.dims[..info.dims.len()].to_vec();
        for &name in info.shape_attrs {
            let value = match self.frame.attr_find(name) {
                Some(attr) => attr.integer(),
                None => self.instance.default(name).and_then(|value| value.as_bool().map(i64::from).or(value.as_i64())),
            };
            match value {
                Some(value) => values.push(value),
                None => return,
            }
        }
        self.check_shapes(&values);
        self.check_batch();
    }

    fn check_shapes(&mut self, values: &[i64]) {
        let check = self.instance.shapes.check;
        // Every problem is noted; none of them ends it early.
        let _ = check(&mut Sizes(ShapeCheck { call: self, condition: 0 }), values);
    }

    /// The last checks before the user's function is called, and the copies for in-outs. False if there are problems.
    pub(crate) fn admit(&mut self, values: &[i64], host_memory: bool) -> bool {
        self.check_shapes(values);
        if self.problems.is_empty() {
            self.check_batch();
        }
        if self.problems.is_empty() {
            self.check_memory(host_memory);
        }
        if !self.problems.is_empty() {
            return false;
        }
        for buffer in &mut self.buffers[..self.count] {
            if buffer.needs_copy() {
                buffer.copy_source();
            }
        }
        if self.instance.info.batch == Batch::Whole {
            return true;
        }
        for k in 0..self.count {
            let buffer = &mut self.buffers[k];
            let (leading, core) = buffer.dims.split_at(self.origin[k].1);
            buffer.dims = core;
            buffer.len = core.iter().rev().product::<i64>() as usize;
            let bytes = buffer.bytes();
            self.axes.set_strides(k, leading, bytes);
        }
        self.axes.merge_equal(self.count);
        true
    }

    /// The batch axes of the `k`-th buffer.
    fn leading(&self, k: usize) -> &'f [i64] {
        &self.buffers[k].dims[..self.origin[k].1]
    }

    /// The batch's shape is that of the results; the leading axes of an operand have its sizes, or 1, right-aligned.
    fn check_batch(&mut self) {
        let Some(first) = (0..self.count).find(|&k| self.buffers[k].writes) else { return };
        let batch = self.leading(first);
        if batch.len() > MAX_BATCH_AXES && self.instance.info.batch.loops() {
            self.problems.push(format!("{} batch axes: at most {MAX_BATCH_AXES} are supported", batch.len()));
            return;
        }
        for k in 0..self.count {
            let i = self.origin[k].0;
            let own = self.leading(k);
            let (extra, aligned) = own.split_at(own.len().saturating_sub(batch.len()));
            let mut pairs = batch[batch.len() - aligned.len()..].iter().zip(aligned);
            let fits = if self.buffers[k].writes {
                own == batch
            } else {
                pairs.all(|(&b, &o)| o == b || o == 1) && extra.iter().all(|&o| o == 1)
            };
            if !fits {
                let spec = &self.instance.specs[i];
                let (list, slot) = match spec.role {
                    Role::InOut => (List::Rets, self.instance.plan.result_slots[i]),
                    Role::Result => (List::Rets, self.instance.plan.slots[i]),
                    _ => (List::Args, self.instance.plan.slots[i]),
                };
                self.problems.push(format!(
                    "{list} {slot} {:?}: its batch axes {} do not fit the batch {}",
                    spec.name,
                    tuple(own),
                    tuple(batch)
                ));
            }
            let buffer = &mut self.buffers[k];
            // From the last axis on, so that a batch of size 0 does not hide elements that are too large.
            let bytes = buffer.dims.iter().rev().try_fold(buffer.size, |bytes, &dim| {
                bytes.checked_mul(dim as usize).filter(|&bytes| bytes <= isize::MAX as usize)
            });
            match bytes {
                Some(bytes) => buffer.len = bytes / buffer.size,
                None => {
                    let name = self.instance.specs[i].name;
                    self.problems
                        .push(format!("{name:?}: {} has more elements than memory can hold", tuple(buffer.dims)));
                }
            }
        }
        if self.instance.info.batch.loops() {
            self.axes.rank = batch.len();
            for (size, &dim) in self.axes.shape.iter_mut().zip(batch) {
                *size = dim as usize;
            }
        }
    }

    fn check_memory(&mut self, host_memory: bool) {
        let name = |k: usize| self.instance.specs[self.origin[k].0].name;
        for a in 0..self.count {
            if self.buffers[a].needs_copy() && !host_memory {
                self.problems.push(format!(
                    "{:?}: on a device, `InOut` needs one memory for operand and result, and XLA gave two",
                    name(a)
                ));
            }
            for b in a..self.count {
                let [one, other] = [&self.buffers[a], &self.buffers[b]];
                if a == b && one.reads_source_in(one) {
                    self.problems
                        .push(format!("{:?}: its operand and its result share a part of their memory", name(a)));
                } else if a != b && (one.conflicts(other) || one.reads_source_in(other) || other.reads_source_in(one)) {
                    self.problems.push(format!(
                        "{:?} and {:?} share memory, and one of them is a result: only `InOut` may do that",
                        name(a),
                        name(b)
                    ));
                }
            }
        }
    }

    fn text(&self) -> Text {
        let info = self.instance.info;
        let names: Vec<String> = info.dims.iter().chain(info.shape_attrs).map(|&name| name.to_owned()).collect();
        let mut text = Text::default();
        let _ = (self.instance.shapes.text)(&mut text, &names);
        text
    }
}

/// Compares the dims of a call with the shape rule, and notes every difference.
pub struct ShapeCheck<'a, 'f> {
    call: &'a mut Call<'f>,
    condition: usize,
}

impl SizeVisitor for ShapeCheck<'_, '_> {
    fn buffer<const R: usize>(&mut self, k: usize, dims: [i64; R]) -> bool {
        self.compare(k, &dims);
        true
    }

    fn require(&mut self, condition: i64, message: &'static str) -> bool {
        let index = self.condition;
        self.condition += 1;
        if matches!(condition, 0 | POISON) {
            let text = &self.call.text().conditions[index];
            let why =
                if condition == POISON { " has no value: it overflows or divides by zero" } else { " does not hold" };
            self.call.problems.push(format!("{message}: `{text}`{why}"));
        }
        true
    }
}

impl ShapeCheck<'_, '_> {
    fn compare(&mut self, k: usize, expected: &[i64]) {
        let (i, batch) = self.call.origin[k];
        let got = &self.call.buffers[k].dims[batch..];
        // Trailing dims may be anything.
        if got[..expected.len()] == *expected {
            return;
        }
        let instance = self.call.instance;
        let spec = &instance.specs[i];
        let word = if spec.role == Role::Result { "result" } else { "argument" };
        let rule = &self.call.text().buffers[k];
        let no_value = rule.iter().zip(expected).find(|&(_, &size)| size < 0);
        let slot = instance.plan.slots[i];
        self.call.problems.push(match no_value {
            Some((rule, &POISON)) => {
                format!("{word} {slot} {:?}: its dim `{rule}` has no value: it overflows or divides by zero", spec.name)
            }
            Some((rule, size)) => format!("{word} {slot} {:?}: its dim `{rule}` is negative: {size}", spec.name),
            None => {
                let rule = format!("({})", comma(rule));
                let sizes = tuple(expected);
                let meaning = if rule == sizes { String::new() } else { format!("{rule} = ") };
                format!("{word} {slot} {:?}: expected {meaning}{sizes}, got {}", spec.name, tuple(got))
            }
        });
    }
}

/// The values of an enum: `"lower" or "upper"`, with the numbers that carry them.
fn one_of(repr: EnumRepr, variants: &[(&str, i64)]) -> String {
    let variants = variants.iter().map(|(name, value)| match repr {
        EnumRepr::Integer(_) => format!("{value} ({name})"),
        EnumRepr::Name => format!("{name:?}"),
    });
    let list = variants.collect::<Vec<_>>().join(" or ");
    match repr {
        EnumRepr::Integer(dtype) => format!("{} {list}", dtype.name()),
        EnumRepr::Name => list,
    }
}

/// `f32 or f64`, each once.
fn alternatives(items: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all.join(" or ")
}

/// An attribute's type, as a message asks for it.
fn expected(ty: AttrType) -> String {
    match ty {
        AttrType::Scalar { dtype, wire: None } => dtype.name().to_owned(),
        AttrType::Scalar { dtype, wire: Some(wire) } => format!("{} (as array of {})", dtype.name(), wire.name()),
        AttrType::Array { dtype, wire: None } => format!("array of {}", dtype.name()),
        AttrType::Array { dtype, wire: Some(wire) } => format!("array of {} (as {})", dtype.name(), wire.name()),
        AttrType::String => "string".to_owned(),
        AttrType::Enum { repr, variants } => one_of(repr, variants),
        AttrType::Context => "context".to_owned(),
    }
}

/// Python's spelling of a shape.
fn tuple(dims: &[i64]) -> String {
    format!("({})", comma(&dims.iter().map(i64::to_string).collect::<Vec<_>>()))
}

fn comma(items: &[String]) -> String {
    match items {
        [one] => format!("{one},"),
        _ => items.join(", "),
    }
}
