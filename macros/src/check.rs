//! The rules that need the whole signature, one function a rule. All of them run, so that every mistake is
//! reported at once; a handler that passes can be expanded.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericParam, Safety};

use crate::{
    args::{Batch, Platform, Target},
    errors::Errors,
    model::{Model, Role, Value, dtype_name, plain},
    parse::{Attr, Marker, Shape, Written},
    rules::Rule,
    shape::{Expr, Node, Op},
};

/// The most parameters, and the most dims and shape attributes, that core has room for.
const LIMIT: usize = 32;

type Check = fn(&Written, &Model, &mut Errors);

const CHECKS: &[Check] = &[
    not_async,
    not_unsafe,
    not_extern,
    not_variadic,
    no_target_features,
    no_const_generics,
    no_impl_trait,
    some_buffer,
    parameters_fit,
    every_type_has_dtypes,
    dtypes_name_a_type,
    dtypes_once_a_type,
    dtypes_not_empty,
    dtypes_differ,
    dots_in_whole,
    dots_in_whole_alone,
    dims_stand_alone_somewhere,
    dim_markers_name_a_dim,
    dims_fit,
    conditions_name_what_exists,
    integers_and_conditions,
    no_division_by_zero,
    no_negative_sizes,
    names_differ,
    dims_are_no_buffers,
    names_not_empty,
    every_dtype_has_a_target,
    threads_in_parallel_alone,
    command_buffer_on_cuda,
    command_buffer_on_cuda_alone,
    parallel_on_cpu_alone,
];

/// Applies every rule.
pub(crate) fn check(written: &Written, model: &Model, errors: &mut Errors) {
    CHECKS.iter().for_each(|check| check(written, model, errors));
}

fn not_async(written: &Written, _: &Model, errors: &mut Errors) {
    if let Some(keyword) = &written.function.sig.asyncness {
        let message = "a handler has done its work when it returns: remove `async`";
        errors.push(Rule::SignatureAsync, keyword, message);
    }
}

fn not_unsafe(written: &Written, _: &Model, errors: &mut Errors) {
    if let Safety::Unsafe(keyword) = &written.function.sig.safety {
        let message =
            "XLA calls a handler with any input, so it must be safe: remove `unsafe`, and check inside what it needs";
        errors.push(Rule::SignatureUnsafe, keyword, message);
    }
}

fn not_extern(written: &Written, _: &Model, errors: &mut Errors) {
    if let Some(abi) = &written.function.sig.abi {
        let message = "a handler is an ordinary Rust function, the C entry is made for it: remove `extern`";
        errors.push(Rule::SignatureExtern, abi, message);
    }
}

fn not_variadic(written: &Written, _: &Model, errors: &mut Errors) {
    if let Some(variadic) = &written.function.sig.variadic {
        let message = "a handler has a fixed list of parameters: name each one";
        errors.push(Rule::SignatureVariadic, variadic, message);
    }
}

fn no_target_features(written: &Written, _: &Model, errors: &mut Errors) {
    for attribute in written.function.attrs.iter().filter(|attribute| attribute.path().is_ident("target_feature")) {
        let message = "XLA calls a handler on any processor: move this to a function that the handler calls where \
                       `is_x86_feature_detected!` or its like says so";
        errors.push(Rule::SignatureTargetFeature, attribute, message);
    }
}

fn no_const_generics(written: &Written, _: &Model, errors: &mut Errors) {
    for parameter in written.function.sig.generics.const_params() {
        let message = "a handler is generic over dtypes alone: make this an attribute, `n: i64`";
        errors.push(Rule::SignatureConstGeneric, GenericParam::Const(parameter.clone()), message);
    }
}

fn no_impl_trait(written: &Written, _: &Model, errors: &mut Errors) {
    for param in &written.params {
        if let Some(keyword) = keyword_impl(param.ty.to_token_stream()) {
            let message = "a parameter's type must have a name: use a type parameter and `dtypes(T = [..])`";
            errors.push(Rule::SignatureImplTrait, keyword, message);
        }
    }
}

fn keyword_impl(tokens: TokenStream) -> Option<Ident> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(name) if name == "impl" => Some(name),
        TokenTree::Group(group) => keyword_impl(group.stream()),
        _ => None,
    })
}

fn some_buffer(written: &Written, model: &Model, errors: &mut Errors) {
    if !model.params.iter().any(|param| matches!(param.role, Role::Buffer(_))) {
        let message = "a handler needs buffers: mark each with its shape, `#[shape(n)] y: &mut [f32]`";
        errors.push(Rule::NoBuffer, &written.function.sig.ident, message);
    }
}

fn parameters_fit(written: &Written, _: &Model, errors: &mut Errors) {
    if let Some(param) = written.params.get(LIMIT) {
        let message =
            format!("a handler has at most {LIMIT} parameters: join some, for instance into one array attribute");
        errors.push(Rule::TooManyParameters, &param.name, message);
    }
}

fn every_type_has_dtypes(written: &Written, model: &Model, errors: &mut Errors) {
    for variable in &model.variables {
        if !written.args.dtypes.iter().any(|dtypes| dtypes.variable == *variable) {
            let message =
                format!("which dtypes can `{variable}` be? Write `#[ffi_handler(dtypes({variable} = [f32, f64]))]`");
            errors.push(Rule::TypeWithoutDtypes, variable, message);
        }
    }
}

fn dtypes_name_a_type(written: &Written, model: &Model, errors: &mut Errors) {
    for dtypes in &written.args.dtypes {
        let variable = &dtypes.variable;
        if !model.variables.contains(variable) {
            let message = format!(
                "`{variable}` is no type parameter of the function: add `<{variable}: Element>` to it or remove this list"
            );
            errors.push(Rule::DtypesUnknownType, variable, message);
        }
    }
}

fn dtypes_once_a_type(written: &Written, _: &Model, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for dtypes in &written.args.dtypes {
        let variable = &dtypes.variable;
        if !seen.insert(variable) {
            errors.push(Rule::DtypesTwice, variable, format!("`{variable}` has two lists of dtypes: join them"));
        }
    }
}

fn dtypes_not_empty(written: &Written, _: &Model, errors: &mut Errors) {
    for dtypes in written.args.dtypes.iter().filter(|dtypes| dtypes.types.is_empty()) {
        let message = "a handler without dtypes has nothing to register: name at least one, `[f32]`";
        errors.push(Rule::DtypesEmpty, dtypes, message);
    }
}

fn dtypes_differ(written: &Written, _: &Model, errors: &mut Errors) {
    for dtypes in &written.args.dtypes {
        let mut seen = HashSet::new();
        for ty in &dtypes.types {
            if !seen.insert(dtype_name(ty)) {
                errors.push(Rule::DtypeTwice, ty, "this dtype is in the list already: remove one");
            }
        }
    }
}

fn shapes(written: &Written) -> impl Iterator<Item = &Shape> {
    written.params.iter().filter_map(|param| match &param.marker {
        Marker::Shape(shape) => Some(shape),
        Marker::Dim | Marker::Attr(_) | Marker::Scratch(_) => None,
    })
}

fn attrs(written: &Written) -> impl Iterator<Item = (usize, &Attr)> {
    written.params.iter().enumerate().filter_map(|(index, param)| match &param.marker {
        Marker::Attr(attr) => Some((index, attr)),
        Marker::Shape(_) | Marker::Dim | Marker::Scratch(_) => None,
    })
}

fn dots_in_whole(written: &Written, _: &Model, errors: &mut Errors) {
    if written.args.batch == Batch::Whole {
        for shape in shapes(written).filter(|shape| shape.dots.is_none()) {
            let message = "with `batch = whole` a buffer keeps its batch axes: write `#[shape(.., m, n)]`";
            errors.push(Rule::DotsMissing, &shape.keyword, message);
        }
    }
}

fn dots_in_whole_alone(written: &Written, _: &Model, errors: &mut Errors) {
    if written.args.batch != Batch::Whole {
        for dots in shapes(written).filter_map(|shape| shape.dots.as_ref()) {
            let message =
                "`..` stands for the batch axes, which this handler does not see: remove it, or say `batch = whole`";
            errors.push(Rule::DotsOutsideWhole, dots, message);
        }
    }
}

/// The axes of every buffer, with what their names stand for.
fn axes(model: &Model) -> impl Iterator<Item = &Expr<Value>> {
    model
        .params
        .iter()
        .filter_map(|param| match &param.role {
            Role::Buffer(axes) => Some(axes),
            Role::Dim(_) | Role::Attr { .. } | Role::Scratch(_) => None,
        })
        .flatten()
}

/// The dims that the shapes name, each with the first place where it stands.
fn dims_in_shapes(model: &Model) -> Vec<(usize, &TokenStream)> {
    let mut dims: Vec<(usize, &TokenStream)> = Vec::new();
    for axis in axes(model) {
        axis.walk(&mut |expr| {
            if let Node::Name(Value::Dim(dim)) = expr.node
                && !dims.iter().any(|(known, _)| *known == dim)
            {
                dims.push((dim, &expr.written));
            }
        });
    }
    dims
}

fn dims_stand_alone_somewhere(_: &Written, model: &Model, errors: &mut Errors) {
    let alone: HashSet<_> = axes(model).filter_map(Expr::bare).collect();
    for (dim, written) in dims_in_shapes(model) {
        if !alone.contains(&Value::Dim(dim)) {
            let name = &model.dims[dim];
            let message = format!(
                "the size of `{name}` cannot be known: make it one axis of a buffer alone, `#[shape({name})]`, or a parameter, `{name}: i64`"
            );
            errors.push(Rule::DimUnbound, written, message);
        }
    }
}

fn dim_markers_name_a_dim(written: &Written, model: &Model, errors: &mut Errors) {
    let known: HashSet<_> = dims_in_shapes(model).into_iter().map(|(dim, _)| &model.dims[dim]).collect();
    for param in written.params.iter().filter(|param| matches!(param.marker, Marker::Dim)) {
        let name = plain(&param.name);
        if !known.contains(&name) {
            let message =
                format!("no shape has a dim `{name}`: a `#[dim]` parameter has the name of the dim whose size it gets");
            errors.push(Rule::DimUnknown, &param.name, message);
        }
    }
}

fn dims_fit(written: &Written, model: &Model, errors: &mut Errors) {
    let count = model.dims.len() + model.shape_attrs.len();
    if count > LIMIT {
        let message =
            format!("the shapes name {count} dims and attributes, and a handler has at most {LIMIT}: split it");
        errors.push(Rule::TooManyDims, &written.function.sig.ident, message);
    }
}

fn conditions(model: &Model) -> impl Iterator<Item = &Expr<Value>> {
    model.require.iter().map(|require| &require.condition)
}

fn scratch_sizes(model: &Model) -> impl Iterator<Item = &Expr<Value>> {
    model.params.iter().filter_map(|param| match &param.role {
        Role::Scratch(size) => Some(size),
        Role::Buffer(_) | Role::Dim(_) | Role::Attr { .. } => None,
    })
}

fn conditions_name_what_exists(_: &Written, model: &Model, errors: &mut Errors) {
    let known: HashSet<_> = dims_in_shapes(model).into_iter().map(|(dim, _)| dim).collect();
    for expr in conditions(model).chain(scratch_sizes(model)) {
        expr.walk(&mut |expr| {
            if let Node::Name(Value::Dim(dim)) = expr.node
                && !known.contains(&dim)
            {
                let message =
                    format!("`{}` is neither a dim of a shape nor an attribute: name one of those", model.dims[dim]);
                errors.push(Rule::RequireUnknownName, &expr.written, message);
            }
        });
    }
}

/// What an expression yields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Condition,
}

fn integers_and_conditions(_: &Written, model: &Model, errors: &mut Errors) {
    axes(model).chain(scratch_sizes(model)).for_each(|size| expect(size, Kind::Integer, errors));
    conditions(model).for_each(|condition| expect(condition, Kind::Condition, errors));
}

/// Reports each part of `expr` whose syntax shows that it yields the other kind. An attribute may be either.
fn expect(expr: &Expr<Value>, kind: Kind, errors: &mut Errors) {
    let yields = match &expr.node {
        Node::Int(_) | Node::Name(Value::Dim(_)) => Kind::Integer,
        Node::Name(Value::Attr(_)) | Node::Const(_) => kind,
        Node::Not(operand) => {
            expect(operand, Kind::Condition, errors);
            Kind::Condition
        }
        Node::Binary(op, operands) => {
            let (takes, yields) = kinds(*op);
            operands.iter().for_each(|operand| expect(operand, takes, errors));
            yields
        }
        Node::If(operands) => {
            let [condition, then, otherwise] = &**operands;
            expect(condition, Kind::Condition, errors);
            expect(then, kind, errors);
            expect(otherwise, kind, errors);
            kind
        }
    };
    match (yields, kind) {
        (Kind::Integer, Kind::Condition) => {
            errors.push(
                Rule::IntegerAsCondition,
                &expr.written,
                "a condition stands here: compare this integer, for instance `n > 0`",
            );
        }
        (Kind::Condition, Kind::Integer) => {
            let message = "an integer stands here, and this is a condition: choose with `if c { 1 } else { 0 }`";
            errors.push(Rule::ConditionAsInteger, &expr.written, message);
        }
        _ => {}
    }
}

/// What the operands of `op` must yield, and what it yields.
fn kinds(op: Op) -> (Kind, Kind) {
    match op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem | Op::Min | Op::Max => (Kind::Integer, Kind::Integer),
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => (Kind::Integer, Kind::Condition),
        Op::And | Op::Or => (Kind::Condition, Kind::Condition),
    }
}

fn no_division_by_zero(_: &Written, model: &Model, errors: &mut Errors) {
    for root in axes(model).chain(scratch_sizes(model)).chain(conditions(model)) {
        root.walk(&mut |expr| {
            if let Node::Binary(Op::Div | Op::Rem, operands) = &expr.node
                && let Node::Int(0) = operands[1].node
            {
                errors.push(
                    Rule::DivisionByZero,
                    &expr.written,
                    "this divides by zero in every call: use another divisor",
                );
            }
        });
    }
}

fn no_negative_sizes(_: &Written, model: &Model, errors: &mut Errors) {
    for size in axes(model).chain(scratch_sizes(model)) {
        if let Node::Int(..0) = size.node {
            let message = "a size is not negative: name a dim that is of any size, `#[shape(n)]`";
            errors.push(Rule::ShapeLiteral, &size.written, message);
        }
    }
}

/// Buffers are seen by the names of their parameters, attributes by their wire names, dims by their own.
fn names_differ(written: &Written, model: &Model, errors: &mut Errors) {
    for (index, attr) in attrs(written) {
        // Where no name is given, the compiler itself refuses a second parameter of the name.
        let Some(name) = &attr.name else { continue };
        let wire = &model.params[index].name;
        let other = model.params.iter().enumerate().any(|(other, param)| {
            // JAX does not see scratch memory.
            other != index && param.name == *wire && !matches!(param.role, Role::Scratch(_))
        });
        if other || model.dims.contains(wire) {
            let message = format!(
                "JAX would see two things called `{wire}`, this attribute and another parameter or a dim: choose another name"
            );
            errors.push(Rule::NameTwice, name, message);
        }
    }
}

/// Where a shape is computed, nothing is known of what a buffer holds; and a dim that a call chooses is its argument.
fn dims_are_no_buffers(_: &Written, model: &Model, errors: &mut Errors) {
    let is_buffer =
        |name: &String| model.params.iter().any(|param| matches!(param.role, Role::Buffer(_)) && param.name == *name);
    for (dim, written) in dims_in_shapes(model) {
        let name = &model.dims[dim];
        if is_buffer(name) {
            let message = format!(
                "`{name}` is a buffer, whose elements no shape can depend on: make it an attribute, `{name}: i64`, or give \
                 this dim another name"
            );
            errors.push(Rule::DimIsABuffer, written, message);
        }
    }
}

fn names_not_empty(written: &Written, _: &Model, errors: &mut Errors) {
    let targets = written.args.target.iter().flat_map(Target::names);
    let names = attrs(written).filter_map(|(_, attr)| attr.name.as_ref()).chain(targets);
    for name in names {
        let value = name.value();
        if value.is_empty() || value.contains('\0') {
            errors.push(Rule::NameEmpty, name, "XLA needs a name here: not empty, and without NUL");
        }
    }
}

/// A map of targets has each dtype of the one type parameter once.
fn every_dtype_has_a_target(written: &Written, model: &Model, errors: &mut Errors) {
    let Some(Target::PerDtype(_, targets)) = &written.args.target else { return };
    if model.variables.len() != 1 {
        let message =
            "targets for each dtype need one type parameter: name one target for all, `target = { _: \"name\" }`";
        return errors.push(Rule::TargetPerDtype, &written.args.target, message);
    }
    let mut seen = HashSet::new();
    for (ty, _) in targets {
        if !model.instances.iter().any(|instance| dtype_name(&instance[0]) == dtype_name(ty)) {
            errors.push(
                Rule::TargetPerDtype,
                ty,
                "this dtype is not in `dtypes(..)`: add it there, or remove its target",
            );
        } else if !seen.insert(dtype_name(ty)) {
            errors.push(Rule::TargetPerDtype, ty, "this dtype has a target already: remove one");
        }
    }
    for instance in &model.instances {
        if !targets.iter().any(|(ty, _)| dtype_name(ty) == dtype_name(&instance[0])) {
            let message = format!("`{}` has no target: add it to `target = {{ .. }}`", dtype_name(&instance[0]));
            errors.push(Rule::TargetPerDtype, &instance[0], message);
        }
    }
}

fn threads_in_parallel_alone(written: &Written, _: &Model, errors: &mut Errors) {
    if written.args.batch != Batch::Parallel
        && let Some(threads) = &written.args.threads
    {
        let message = "`threads` goes with `batch = parallel`: say that, or remove this";
        errors.push(Rule::ThreadsNotParallel, &threads.key, message);
    }
}

fn command_buffer_on_cuda(written: &Written, model: &Model, errors: &mut Errors) {
    if model.platform == Platform::Cuda && written.args.command_buffer.is_none() {
        let message = "may XLA record this handler into a CUDA graph? Add `command_buffer = true` if it only launches \
                       kernels on the stream (no allocation, no synchronisation), else `command_buffer = false`";
        errors.push(Rule::CommandBufferMissing, &written.args.platform_at, message);
    }
}

fn parallel_on_cpu_alone(written: &Written, model: &Model, errors: &mut Errors) {
    if model.platform == Platform::Cuda && written.args.batch == Batch::Parallel {
        let message =
            "`batch = parallel` shares work among the CPU's threads: on CUDA, say `batch = whole` and launch a grid";
        errors.push(Rule::ParallelOnCuda, &written.args.platform_at, message);
    }
}

fn command_buffer_on_cuda_alone(written: &Written, model: &Model, errors: &mut Errors) {
    if model.platform == Platform::Cpu
        && let Some(given) = &written.args.command_buffer
    {
        let message = "command buffers exist on CUDA alone: remove this, or add `platform = cuda`";
        errors.push(Rule::CommandBufferOnCpu, &given.key, message);
    }
}
