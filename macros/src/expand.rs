//! The expansion: a checked [`Model`] to tokens. It cannot fail, makes no decision about types, and holds no
//! unsafe code, no loop and no arithmetic: everything is a call into `oxidax::private`, which it names `__p`.
//! Its own names have the context of the macro, so that a parameter or a type of the user's cannot meet them.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{Path, ReturnType, Type};

use crate::{
    args::{Batch, Platform},
    model::{DocLine, Model, Param, Role, Value},
    paths::Place,
    shape::Expr,
};

/// `quote!` with names that the user's names cannot meet.
macro_rules! mixed {
    ($($tokens:tt)*) => { quote_spanned!(Span::mixed_site()=> $($tokens)*) };
}

/// The function and its handler.
pub(crate) fn expand(model: &Model) -> TokenStream {
    let (kernel, handler, hidden) = (kernel(model), handler(model), &model.hidden);
    let rest = mixed! {
        #kernel
        #handler
        __p::inventory::submit! { __p::HandlerDef::of::<#hidden>() }
    };
    let items = expand_operation(model, rest);
    let function = &model.function;
    mixed!(#function #items)
}

/// The hidden type with its `Operation`, and `rest` beside that.
pub(crate) fn expand_operation(model: &Model, rest: TokenStream) -> TokenStream {
    let (operation, hidden, oxidax, vis) = (operation(model), &model.hidden, &model.oxidax, &model.function.vis);
    let allows = &model.allows;
    mixed! {
        #[doc(hidden)]
        #vis enum #hidden {}

        #(#allows)*
        #[doc(hidden)]
        #[allow(clippy::question_mark)]
        const _: () = {
            use #oxidax::private as __p;
            #operation
            #rest
        };
    }
}

/// What needs no types: names, shapes and rules.
fn operation(model: &Model) -> TokenStream {
    let (info, shapes, hidden, platform) = (info(model), shapes(model), &model.hidden, platform(model));
    mixed! {
        impl __p::Operation for #hidden {
            type Platform = #platform;
            const INFO: &'static __p::OpInfo = &#info;
            #[inline(always)]
            fn shapes<__S: __p::Sink>(s: &mut __S, v: &[__S::V]) -> bool {
                #shapes
            }
        }
    }
}

fn info(model: &Model) -> TokenStream {
    let name = crate::model::plain(&model.function.sig.ident);
    let doc = doc(&model.doc);
    let target = option(model.target.as_ref().map(ToTokens::to_token_stream));
    let batch = match model.batch {
        Batch::Each => mixed!(__p::Batch::Each),
        Batch::Parallel => mixed!(__p::Batch::Parallel),
        Batch::Whole => mixed!(__p::Batch::Whole),
        Batch::None => mixed!(__p::Batch::None),
    };
    let (drop_in, command_buffer, dims) = (model.drop_in, model.command_buffer, &model.dims);
    let shape_attrs = model.shape_attrs.iter().map(|&param| &model.params[param].name);
    let vjp = option(model.vjp.as_ref().map(|vjp| {
        let (fwd, bwd) = (option(vjp.fwd.as_ref().map(rule)), rule(&vjp.bwd));
        mixed!(__p::Vjp { fwd: #fwd, bwd: #bwd })
    }));
    let jvp = option(model.jvp.as_ref().map(rule));
    mixed! {
        __p::OpInfo {
            name: #name,
            module: __p::module_path!(),
            doc: #doc,
            target: #target,
            drop_in: #drop_in,
            batch: #batch,
            command_buffer: #command_buffer,
            dims: &[#(#dims),*],
            shape_attrs: &[#(#shape_attrs),*],
            vjp: #vjp,
            jvp: #jvp,
        }
    }
}

/// The doc comment as one string, at compile time where a line comes from a macro.
fn doc(lines: &[DocLine]) -> TokenStream {
    let texts: Option<Vec<&str>> = lines
        .iter()
        .map(|line| match line {
            DocLine::Text(text) => Some(text.as_str()),
            DocLine::Macro(_) => None,
        })
        .collect();
    if let Some(texts) = texts {
        return texts.join("\n").into_token_stream();
    }
    let lines = lines.iter().map(|line| match line {
        DocLine::Text(text) => text.to_token_stream(),
        DocLine::Macro(value) => value.clone(),
    });
    let mut separated = TokenStream::new();
    for (index, line) in lines.enumerate() {
        separated.extend(if index == 0 { line } else { mixed!(, "\n", #line) });
    }
    mixed!(::core::concat!(#separated))
}

/// A rule's definition, fetched late: rules may name each other.
fn rule(hidden: &Path) -> TokenStream {
    mixed!(|| <#hidden as __p::Operation>::INFO)
}

fn shapes(model: &Model) -> TokenStream {
    let index = |value: &Value| model.index(value);
    let buffers = buffers(model).enumerate().map(|(ordinal, (_, _, axes))| {
        let (ordinal, axes) = (Literal::usize_unsuffixed(ordinal), axes.iter().map(|axis| axis.expand(&index)));
        mixed!(s.buffer(#ordinal, [#(#axes),*]))
    });
    let conditions = model.require.iter().map(|require| {
        let (condition, message) = (require.condition.expand(&index), &require.message);
        mixed!(s.require(#condition, #message))
    });
    let steps = buffers.chain(conditions);
    mixed!(true #(&& #steps)*)
}

/// The buffers with the indices of their parameters.
fn buffers(model: &Model) -> impl Iterator<Item = (usize, &Param, &[Expr<Value>])> {
    model.params.iter().enumerate().filter_map(|(index, param)| match &param.role {
        Role::Buffer(axes) => Some((index, param, &axes[..])),
        Role::Dim(_) | Role::Attr { .. } | Role::Scratch(_) => None,
    })
}

/// What is generic over the dtypes: one decoding of every parameter, one call of the function.
fn kernel(model: &Model) -> TokenStream {
    let (hidden, instance, threads, run) = (&model.hidden, variables(model), threads(model), run(model));
    let (generics, _, clause) = model.generics.split_for_impl();
    let specs = model.params.iter().map(|param| spec(model, param));
    let plan = located(
        model.function.sig.ident.span(),
        mixed!(__p::plan(<Self as __p::Kernel<#instance>>::PARAMS, <Self as __p::Operation>::INFO)),
    );
    mixed! {
        impl #generics __p::Kernel<#instance> for #hidden #clause {
            const PARAMS: &'static [__p::Spec] = {
                let __info = <Self as __p::Operation>::INFO;
                &[#(#specs),*]
            };
            const PLAN: __p::Plan = #plan;
            #threads
            #run
        }
    }
}

/// The type parameters as the tuple that tells instances apart.
fn variables(model: &Model) -> TokenStream {
    let variables = &model.variables;
    mixed!((#(#variables,)*))
}

/// The static description of a parameter, placed at its type: there the compiler reports a missing trait or
/// a wrong role.
fn spec(model: &Model, param: &Param) -> TokenStream {
    let (name, ty) = (&param.name, &param.ty);
    let place = Place::of(ty);
    match &param.role {
        Role::Buffer(axes) => {
            let platform = platform(model);
            let axes = axes.iter().map(|axis| match axis.bare() {
                Some(Value::Dim(dim)) => Literal::usize_unsuffixed(*dim).into_token_stream(),
                _ => mixed!(-1),
            });
            let arguments = place.arguments(mixed!(#name, &[#(#axes),*], __info));
            quote_spanned!(place.first=> __p::buffer::<#platform, #ty> #arguments)
        }
        Role::Dim(_) => {
            let arguments = place.arguments(mixed!(#name));
            quote_spanned!(place.first=> __p::dim::<#ty> #arguments)
        }
        Role::Scratch(_) => {
            let platform = platform(model);
            let arguments = place.arguments(mixed!(#name, __info));
            quote_spanned!(place.first=> __p::scratch::<#platform, #ty> #arguments)
        }
        Role::Attr { marked: false, .. } => {
            let arguments = place.arguments(mixed!(#name, __info));
            quote_spanned!(place.first=> __p::param::<#ty> #arguments)
        }
        Role::Attr { marked: true, default } => {
            let default =
                option(default.as_ref().map(|default| mixed!(|| __p::json::<#ty>({ let d: #ty = #default; d }))));
            let arguments = place.arguments(mixed!(#name, #default));
            quote_spanned!(place.first=> __p::attr::<#ty> #arguments)
        }
    }
}

/// The most threads that share a batch, where the user says it.
fn threads(model: &Model) -> Option<TokenStream> {
    let threads = model.threads.as_ref()?;
    let most = &threads.most;
    let dims = threads.dims.iter().map(|(name, dim)| {
        let dim = Literal::usize_unsuffixed(*dim);
        mixed!(#[allow(unused_variables)] let #name = __p::from_dim::<usize>(dims[#dim]);)
    });
    Some(mixed! {
        fn threads(dims: &[i64]) -> usize {
            #(#dims)*
            #most
        }
    })
}

/// Decodes each parameter once a call, then lends it to the function once a batch element.
fn run(model: &Model) -> TokenStream {
    let (instance, platform) = (variables(model), platform(model));
    let decoded = |in_shapes: bool| {
        model.params.iter().enumerate().filter_map(move |(index, param)| {
            let Role::Attr { default, .. } = &param.role else { return None };
            if model.shape_attrs.contains(&index) != in_shapes {
                return None;
            }
            let (slot, position) = (local("p", index), Literal::usize_unsuffixed(index));
            let (name, ty) = (&param.name, &param.ty);
            let decode = Ident::new(if default.is_some() { "optional" } else { "param" }, written_at(ty));
            Some(attempt(mixed!(mut #slot), mixed!(__d.#decode::<#ty>(__plan, #position, #name))))
        })
    };
    let (early, late) = (decoded(true), decoded(false).chain(scratch(model)));
    let found = buffers(model).enumerate().map(|(ordinal, (index, param, _))| {
        let (slot, index, ty) = (local("b", ordinal), Literal::usize_unsuffixed(index), &param.ty);
        attempt(slot.into_token_stream(), mixed!(__d.buffer::<#platform, #ty>(__plan, #index)))
    });
    let list: Vec<_> = (0..buffers(model).count()).map(|ordinal| local("b", ordinal)).collect();
    let values = values(model);
    let count = Literal::usize_unsuffixed(list.len());
    let call = call(model);
    // Attributes come last where they can: decoding one may call a function, after which the compiler knows less of the
    // frame. Not `'f` and `D`: the user's types are named in here.
    mixed! {
        #[inline(always)]
        fn run<'__f, __D: __p::Decoder<'__f>>(__d: __D) -> __p::Option<__p::Finish> {
            let __plan = const { &<Self as __p::Kernel<#instance>>::PLAN };
            #(#found)*
            let mut __bufs = [#(#list),*];
            #(#early)*
            #values
            if !__d.admit::<Self, #count>(&mut __bufs, &__v) {
                return __p::None;
            }
            #(#late)*
            __p::Some(__d.each(__bufs, #[inline(always)] |[#(#list),*]| #call))
        }
    }
}

/// Binds what a step of decoding found, or leaves. Not `?`: it is compiled for each instance, to several times as much.
fn attempt(pattern: TokenStream, step: TokenStream) -> TokenStream {
    mixed!(let __p::Some(#pattern) = #step else { return __p::None };)
}

/// The contexts that scratch memory comes from, and its sizes, worked out on the values of the call.
fn scratch(model: &Model) -> impl Iterator<Item = TokenStream> {
    let platform = platform(model);
    model.params.iter().enumerate().filter_map(move |(index, param)| {
        let Role::Scratch(size) = &param.role else { return None };
        let (slot, len, position) = (local("p", index), local("s", index), Literal::usize_unsuffixed(index));
        let (name, ty, size) = (&param.name, &param.ty, size.expand(&|value: &Value| model.index(value)));
        let source = mixed!(__d.param::<__p::ScratchSource<'_, #platform, #ty>>(__plan, #position, #name));
        let source = attempt(mixed!(mut #slot), source);
        Some(mixed! {
            #source
            let #len = {
                use __p::Algebra as _;
                type __S = __p::SizeAlgebra;
                let v = &__v;
                #size
            };
        })
    })
}

/// The values that shapes are evaluated on: dims, then attributes.
fn values(model: &Model) -> TokenStream {
    let sizes = || (0..model.dims.len()).map(|dim| (Literal::usize_unsuffixed(dim), local("n", dim)));
    let found = sizes().map(|(dim, size)| attempt(size.into_token_stream(), mixed!(__d.dim(__plan, #dim))));
    let attrs = model.shape_attrs.iter().map(|&index| {
        let param = &model.params[index];
        let (ty, lent) = (&param.ty, lend(index, param));
        mixed!(__p::shape_attr::<#ty>(#lent))
    });
    let values: Vec<_> = sizes().map(|(_, size)| size.into_token_stream()).chain(attrs).collect();
    // An empty list does not say what it is a list of.
    let count = Literal::usize_unsuffixed(values.len());
    mixed! {
        #(#found)*
        let __v: [i64; #count] = [#(#values),*];
    }
}

/// The call of the user's function, in the order of its parameters.
fn call(model: &Model) -> TokenStream {
    let platform = platform(model);
    let mut ordinals = 0..;
    let arguments = model.params.iter().enumerate().map(|(index, param)| {
        let ty = &param.ty;
        match &param.role {
            Role::Buffer(_) => {
                let view = local("b", ordinals.next().unwrap_or_default());
                mixed!(#view.view::<#platform, #ty>())
            }
            Role::Dim(dim) => {
                let dim = Literal::usize_unsuffixed(*dim);
                mixed!(__p::from_dim::<#ty>(__v[#dim]))
            }
            Role::Scratch(_) => {
                let (slot, len, name) = (local("p", index), local("s", index), &param.name);
                mixed!(__p::lend_scratch::<#platform, #ty>(&mut #slot, #name, #len)?)
            }
            Role::Attr { .. } => lend(index, param),
        }
    });
    // Placed at the return type, with all of the call: there the compiler reports a type that is no outcome.
    let place = match &model.function.sig.output {
        ReturnType::Default => Place::default(),
        ReturnType::Type(_, ty) => Place::of(&ty.to_token_stream()),
    };
    let mut name = model.function.sig.ident.clone();
    // Placed so, it is looked up among the variables of `run` first, which is why those have names like `__d`.
    name.set_span(place.first);
    let variables = &model.variables;
    let turbofish = if variables.is_empty() { TokenStream::new() } else { mixed!(::<#(#variables),*>) };
    let arguments = place.arguments(mixed!(#(#arguments),*));
    let outcome = place.arguments(mixed!(#name #turbofish #arguments));
    quote_spanned!(place.first=> __p::finish #outcome)
}

/// A decoded attribute or context, as the function takes it.
fn lend(index: usize, param: &Param) -> TokenStream {
    let (mut slot, ty) = (local("p", index), &param.ty);
    let place = Place::of(ty).first;
    slot.set_span(place);
    let stored = quote_spanned!(place=> &mut #slot);
    match &param.role {
        Role::Attr { default: Some(default), .. } => {
            let (some, none) =
                (mixed!(__p::Some(s) => __p::lend::<#ty>(s)), mixed!(__p::None => { let d: #ty = #default; d }));
            quote_spanned!(place=> match #stored { #some, #none })
        }
        _ => quote_spanned!(place=> __p::lend::<#ty>(#stored)),
    }
}

/// The very span of a type of the user's, for the names of functions that it is passed to: the compiler reports a
/// type without the trait once a body and span, and a name of one token then shares its span.
fn written_at(ty: &TokenStream) -> Span {
    ty.clone().into_iter().next().map_or_else(Span::mixed_site, |token| token.span())
}

/// The type arguments of an instance, the handler and its dtypes, placed at the first dtype: there the compiler
/// reports a dtype without a bound of the function's.
fn instance(types: &[Type]) -> TokenStream {
    let place = types.first().map_or_else(Span::mixed_site, |ty| Place::of(&ty.to_token_stream()).first);
    quote_spanned!(place=> Self, (#(#types,)*))
}

/// The choice of the instance, once a call.
fn handler(model: &Model) -> TokenStream {
    let hidden = &model.hidden;
    let instances: Vec<_> = model.instances.iter().map(|types| instance(types)).collect();
    let dispatch = match &instances[..] {
        [only] => mixed!(__p::run::<#only>(cx)),
        _ => {
            let instances_at = mixed!(__p::select(<#hidden as __p::Handler>::INSTANCES));
            let select = located(model.function.sig.ident.span(), instances_at);
            let index = (0..instances.len()).map(Literal::usize_unsuffixed);
            // A constant item and not `const { .. }`: then `cargo check` evaluates it too.
            mixed! {
                const SELECT: &'static __p::Selector = &#select;
                #(if cx.selects(SELECT, #index) { return __p::run::<#instances>(cx); })*
                __p::no_instance::<Self>(cx)
            }
        }
    };
    let list = instances.iter().enumerate().map(|(index, instance)| match model.targets.get(index) {
        Some(target) => mixed!(__p::instance_at::<#instance>(#target)),
        None => mixed!(__p::instance::<#instance>()),
    });
    mixed! {
        impl __p::Handler for #hidden {
            const INSTANCES: &'static [__p::Instance] = &[#(#list),*];
            #[inline(always)]
            fn dispatch(cx: __p::Cx<'_>) -> __p::Returned {
                #dispatch
            }
        }
    }
}

fn platform(model: &Model) -> TokenStream {
    match model.platform {
        Platform::Cpu => mixed!(__p::Cpu),
        Platform::Cuda => mixed!(__p::Cuda),
    }
}

fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => mixed!(__p::Some(#value)),
        None => mixed!(__p::None),
    }
}

fn local(letter: &str, index: usize) -> Ident {
    Ident::new(&format!("__{letter}{index}"), Span::mixed_site())
}

/// The same tokens, placed at `span` with the context of the macro.
fn located(span: Span, tokens: TokenStream) -> TokenStream {
    let span = Span::mixed_site().located_at(span);
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
