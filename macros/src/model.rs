//! The resolved handler: every name is a dim or an attribute, every parameter has a role, every instance is listed.
//! Resolving cannot fail; `check` then refuses what makes no sense, and `expand` reads nothing else.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Expr, Generics, ItemFn, Lit, LitStr, Meta, Path, Type, ext::IdentExt, parse_quote};

use crate::{
    args::{Args, Batch, Platform, Target},
    parse::{Marker, Written},
    paths::{self, Lifetimes},
    shape,
};

/// A handler, ready to be expanded.
pub(crate) struct Model {
    pub(crate) function: ItemFn,
    /// The hidden type beside the function.
    pub(crate) hidden: Ident,
    /// The lints that the function allows or expects: its types stand in the hidden items too.
    pub(crate) allows: Vec<Attribute>,
    /// The path of the crate `oxidax`.
    pub(crate) oxidax: TokenStream,
    pub(crate) doc: Vec<DocLine>,
    /// The target of all instances.
    pub(crate) target: Option<LitStr>,
    /// The target of each instance, in their order, where each has its own.
    pub(crate) targets: Vec<LitStr>,
    /// Whether the targets are another library's.
    pub(crate) drop_in: bool,
    pub(crate) batch: Batch,
    pub(crate) threads: Option<Threads>,
    pub(crate) platform: Platform,
    pub(crate) command_buffer: bool,
    pub(crate) vjp: Option<Vjp>,
    pub(crate) jvp: Option<Path>,
    /// Every dim, in the order of first appearance.
    pub(crate) dims: Vec<String>,
    /// The parameters that shapes and conditions read, in the order of first appearance there.
    pub(crate) shape_attrs: Vec<usize>,
    pub(crate) params: Vec<Param>,
    pub(crate) require: Vec<Require>,
    /// The function's generics without lifetimes.
    pub(crate) generics: Generics,
    /// The type parameters, in order.
    pub(crate) variables: Vec<Ident>,
    /// A dtype for each type parameter; the last one varies fastest.
    pub(crate) instances: Vec<Vec<Type>>,
}

/// One parameter of the function.
pub(crate) struct Param {
    /// The name that JAX shows and XLA carries.
    pub(crate) name: String,
    /// Its type without lifetimes.
    pub(crate) ty: TokenStream,
    pub(crate) role: Role,
}

/// What a parameter is to XLA, as far as syntax tells.
pub(crate) enum Role {
    Buffer(Vec<shape::Expr<Value>>),
    /// The size of the dim with this index.
    Dim(usize),
    /// Temporary memory of so many elements.
    Scratch(shape::Expr<Value>),
    /// An attribute or a context.
    Attr {
        marked: bool,
        default: Option<Expr>,
    },
}

/// The most threads that share a batch.
pub(crate) struct Threads {
    pub(crate) most: Expr,
    /// The names in it that are dims, as they stand there, with their indices.
    pub(crate) dims: Vec<(Ident, usize)>,
}

/// What a name in a shape stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// An index into [`Model::dims`].
    Dim(usize),
    /// An index into [`Model::shape_attrs`].
    Attr(usize),
}

/// The hidden types of the reverse-mode rules.
pub(crate) struct Vjp {
    pub(crate) fwd: Option<Path>,
    pub(crate) bwd: Path,
}

/// A condition that a call must meet.
pub(crate) struct Require {
    pub(crate) condition: shape::Expr<Value>,
    pub(crate) message: LitStr,
}

/// One `#[doc = ..]` of the function.
pub(crate) enum DocLine {
    Text(String),
    /// A macro such as `include_str!`, whose text only the compiler knows.
    Macro(TokenStream),
}

impl Model {
    /// Resolves what the user wrote.
    pub(crate) fn resolve(written: &Written) -> Model {
        let mut names = Names::of(written);
        let signature = &written.function.sig;
        let lifetimes = Lifetimes::of(&signature.generics);
        let mut model = Model::bare(&written.args, &written.function);
        // Shapes come first, so that a dim has its place in the order of the shapes.
        let shapes: Vec<_> = written.params.iter().map(|param| names.axes(&param.marker)).collect();
        let mut sizes: Vec<_> = written.params.iter().map(|param| names.scratch(&param.marker)).collect();
        let conditions = written.args.require.iter();
        model.require = conditions
            .map(|require| Require { condition: names.expr(&require.condition), message: require.message.clone() })
            .collect();
        model.params = written
            .params
            .iter()
            .zip(shapes)
            .enumerate()
            .map(|(index, (param, axes))| Param {
                name: names.wire[index].clone(),
                ty: lifetimes.erase(&param.ty),
                role: match &param.marker {
                    Marker::Shape(_) => Role::Buffer(axes),
                    Marker::Dim => Role::Dim(names.dim(plain(&param.name))),
                    Marker::Scratch(_) => match sizes[index].take() {
                        Some(size) => Role::Scratch(size),
                        None => unreachable!("parsing reported a size that it could not read"),
                    },
                    Marker::Attr(attr) => Role::Attr { marked: attr.marked, default: attr.default.clone() },
                },
            })
            .collect();
        model.generics = lifetimes.impl_generics(&signature.generics);
        model.variables = signature.generics.type_params().map(|parameter| parameter.ident.clone()).collect();
        model.instances = instances(&model.variables, &written.args);
        model.targets = targets(&model.instances, &written.args);
        model.threads = written.args.threads.as_ref().map(|threads| {
            let mut dims = Vec::new();
            names.dims_in(threads.most.to_token_stream(), &mut dims);
            Threads { most: threads.most.clone(), dims }
        });
        model.dims = names.dims;
        model.shape_attrs = names.shape_attrs;
        model
    }

    /// The handler `function` without parameters: the start of every model, and all that a handler with
    /// mistakes leaves behind.
    pub(crate) fn bare(args: &Args, function: &ItemFn) -> Model {
        Model {
            hidden: paths::hidden(&function.sig.ident),
            allows: function.attrs.iter().filter_map(allowed).collect(),
            oxidax: paths::oxidax(args),
            doc: function.attrs.iter().filter_map(doc_line).collect(),
            target: match &args.target {
                Some(Target::One(name) | Target::AnyDtype(name)) => Some(name.clone()),
                Some(Target::PerDtype(..)) | None => None,
            },
            targets: Vec::new(),
            drop_in: matches!(&args.target, Some(Target::PerDtype(..) | Target::AnyDtype(_))),
            batch: args.batch,
            threads: None,
            platform: args.platform,
            command_buffer: args.command_buffer.as_ref().is_some_and(|given| given.value),
            vjp: args
                .vjp
                .as_ref()
                .map(|vjp| Vjp { fwd: vjp.fwd.as_ref().map(paths::hidden_at), bwd: paths::hidden_at(&vjp.bwd) }),
            jvp: args.jvp.as_ref().map(paths::hidden_at),
            dims: Vec::new(),
            shape_attrs: Vec::new(),
            params: Vec::new(),
            require: Vec::new(),
            generics: Generics::default(),
            variables: Vec::new(),
            instances: Vec::new(),
            function: function.clone(),
        }
    }

    /// The position of a name among the values that a shape is evaluated on: dims, then attributes.
    pub(crate) fn index(&self, value: &Value) -> usize {
        match value {
            Value::Dim(dim) => *dim,
            Value::Attr(attr) => self.dims.len() + attr,
        }
    }
}

/// What tells dtypes apart, before anything is known of types: their tokens.
pub(crate) fn dtype_name(ty: &Type) -> String {
    ty.to_token_stream().to_string()
}

/// A name without `r#`.
pub(crate) fn plain(name: &Ident) -> String {
    name.unraw().to_string()
}

/// The names of a signature, while shapes are resolved.
struct Names<'w> {
    written: &'w Written,
    /// The name that XLA sees of each parameter.
    wire: Vec<String>,
    dims: Vec<String>,
    shape_attrs: Vec<usize>,
}

impl<'w> Names<'w> {
    fn of(written: &'w Written) -> Names<'w> {
        let wire = written.params.iter().map(|param| match &param.marker {
            Marker::Attr(attr) => attr.name.as_ref().map_or_else(|| plain(&param.name), LitStr::value),
            Marker::Shape(_) | Marker::Dim | Marker::Scratch(_) => plain(&param.name),
        });
        Names { written, wire: wire.collect(), dims: Vec::new(), shape_attrs: Vec::new() }
    }

    fn axes(&mut self, marker: &Marker) -> Vec<shape::Expr<Value>> {
        match marker {
            Marker::Shape(shape) => shape.axes.iter().map(|axis| self.expr(axis)).collect(),
            Marker::Dim | Marker::Attr(_) | Marker::Scratch(_) => Vec::new(),
        }
    }

    fn scratch(&mut self, marker: &Marker) -> Option<shape::Expr<Value>> {
        match marker {
            Marker::Scratch(scratch) => scratch.size.as_ref().map(|size| self.expr(size)),
            Marker::Shape(_) | Marker::Dim | Marker::Attr(_) => None,
        }
    }

    fn expr(&mut self, expr: &shape::Expr<Ident>) -> shape::Expr<Value> {
        expr.resolve(&mut |name| self.value(&plain(name)))
    }

    /// A name that an attribute has is that attribute; every other name is a dim.
    fn value(&mut self, name: &str) -> Value {
        let is_attribute =
            |param: &crate::parse::Param| matches!(param.marker, Marker::Attr(_)) && plain(&param.name) == name;
        match self.written.params.iter().position(is_attribute) {
            Some(param) => Value::Attr(position(&mut self.shape_attrs, param)),
            None => Value::Dim(self.dim(name.to_owned())),
        }
    }

    /// Finds the dims in an expression of Rust's, each where it stands first.
    fn dims_in(&self, tokens: TokenStream, found: &mut Vec<(Ident, usize)>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.dims_in(group.stream(), found),
                TokenTree::Ident(name) if !found.iter().any(|(known, _)| *known == name) => {
                    let dim = self.dims.iter().position(|dim| *dim == plain(&name));
                    found.extend(dim.map(|dim| (name, dim)));
                }
                _ => {}
            }
        }
    }

    fn dim(&mut self, name: String) -> usize {
        position(&mut self.dims, name)
    }
}

/// The position of `item`, which is added where it is missing.
fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

fn instances(variables: &[Ident], args: &Args) -> Vec<Vec<Type>> {
    variables.iter().fold(vec![Vec::new()], |instances, variable| {
        let dtypes = args.dtypes.iter().find(|dtypes| dtypes.variable == *variable);
        let types = dtypes.map_or(&[][..], |dtypes| &dtypes.types);
        let with_each_type =
            |instance: Vec<Type>| types.iter().map(move |ty| instance.iter().chain([ty]).cloned().collect());
        instances.into_iter().flat_map(with_each_type).collect()
    })
}

/// The targets in the order of the instances; `check` refuses a list with gaps.
fn targets(instances: &[Vec<Type>], args: &Args) -> Vec<LitStr> {
    let Some(Target::PerDtype(_, targets)) = &args.target else { return Vec::new() };
    let target = |instance: &Vec<Type>| {
        let own = instance.first().map(dtype_name);
        targets.iter().find(|(ty, _)| own.as_ref() == Some(&dtype_name(ty))).map(|(_, name)| name.clone())
    };
    instances.iter().filter_map(target).collect()
}

/// The lints that `attribute` allows, as an attribute of other items: `#![allow(..)]` inside the function is one too.
fn allowed(attribute: &Attribute) -> Option<Attribute> {
    let path = attribute.path();
    match &attribute.meta {
        Meta::List(list) if path.is_ident("allow") || path.is_ident("expect") => {
            let lints = &list.tokens;
            Some(parse_quote!(#[allow(#lints)]))
        }
        // XLA calls it all the same.
        _ if path.is_ident("deprecated") => Some(parse_quote!(#[allow(deprecated)])),
        _ => None,
    }
}

fn doc_line(attribute: &Attribute) -> Option<DocLine> {
    let doc = match &attribute.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => doc,
        // `#[doc(hidden)]` and the like.
        _ => return None,
    };
    Some(match &doc.value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => {
                let text = text.value();
                DocLine::Text(text.strip_prefix(' ').unwrap_or(&text).to_owned())
            }
            _ => return None,
        },
        value => DocLine::Macro(value.to_token_stream()),
    })
}
