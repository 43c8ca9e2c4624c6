//! The annotated item: tokens to [`Written`], the function with what its markers say.
//! Nothing is resolved here; every mistake of the syntax is reported, and the markers are taken off the function.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{
    Attribute, Expr, FnArg, ItemFn, LitStr, Meta, Pat, PatIdent, PatType, Result, Token, Type, ext::IdentExt,
    parse::ParseStream, punctuated::Punctuated,
};

use crate::{args::Args, errors::Errors, rules::Rule, shape};

/// What the user wrote.
pub(crate) struct Written {
    pub(crate) args: Args,
    /// The function without markers, to be emitted beside the handler.
    pub(crate) function: ItemFn,
    pub(crate) params: Vec<Param>,
}

/// One parameter of the function.
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) marker: Marker,
}

/// The marker of a parameter.
pub(crate) enum Marker {
    /// `#[shape(..)]`: a buffer.
    Shape(Shape),
    /// `#[dim]`: the size of the dim that has the parameter's name.
    Dim,
    /// `#[scratch(4 * n)]`: temporary memory of so many elements.
    Scratch(Scratch),
    /// `#[attr(..)]`, or no marker: an attribute or a context, as the type's trait says.
    Attr(Attr),
}

/// `#[shape(.., m, n)]`
pub(crate) struct Shape {
    /// The word `shape`, where an error about the whole shape belongs.
    pub(crate) keyword: TokenStream,
    pub(crate) dots: Option<Token![..]>,
    pub(crate) axes: Vec<shape::Expr<Ident>>,
}

/// The size in `#[scratch(size)]`; absent where it was malformed, and reported.
pub(crate) struct Scratch {
    pub(crate) size: Option<shape::Expr<Ident>>,
}

/// `#[attr(default = expr, name = "wire name")]`
#[derive(Default)]
pub(crate) struct Attr {
    /// False where the parameter has no marker.
    pub(crate) marked: bool,
    pub(crate) default: Option<Expr>,
    pub(crate) name: Option<LitStr>,
}

/// The function that the attribute is on, or the error where it is on something else.
pub(crate) fn function(item: TokenStream, errors: &mut Errors) -> Option<ItemFn> {
    match syn::parse2(item.clone()) {
        Ok(function) => Some(function),
        Err(error) => {
            let message = "`#[ffi_handler]` goes on a free function with a body: move it there";
            match syn::parse2::<syn::Item>(item) {
                Ok(_) => errors.push_syn(Rule::NotAFunction, syn::Error::new(Span::call_site(), message)),
                // Newer syntax than syn knows.
                Err(_) => errors.push_syn(Rule::NotAFunction, error),
            }
            None
        }
    }
}

impl Written {
    /// Reads the parameters and takes their markers off `function`.
    pub(crate) fn parse(args: Args, mut function: ItemFn, errors: &mut Errors) -> Written {
        let mut params = Vec::new();
        for input in &mut function.sig.inputs {
            match input {
                FnArg::Typed(input) => params.extend(param(input, errors)),
                FnArg::Receiver(receiver) => {
                    let message = "a handler is a free function: pass what it needs of `self` as attributes";
                    errors.push(Rule::Receiver, receiver, message);
                }
            }
        }
        Written { args, function, params }
    }
}

fn param(input: &mut PatType, errors: &mut Errors) -> Option<Param> {
    // The marker is read before the name, so that it is taken off in any case.
    let marker = marker(&mut input.attrs, errors);
    match &*input.pat {
        Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, .. }) => {
            Some(Param { name: ident.clone(), ty: (*input.ty).clone(), marker })
        }
        pattern => {
            let message = "a handler's parameter needs a name, which JAX shows: destructure in the body";
            errors.push(Rule::ParameterPattern, pattern, message);
            None
        }
    }
}

/// Takes what is not Rust's off a parameter and reads it.
fn marker(attributes: &mut Vec<Attribute>, errors: &mut Errors) -> Marker {
    let mut markers = Vec::new();
    for attribute in std::mem::take(attributes) {
        let name = attribute.path().get_ident().map(Ident::to_string).unwrap_or_default();
        match name.as_str() {
            "shape" => {
                let shape = shape(&attribute, errors);
                markers.push((attribute, Marker::Shape(shape)));
            }
            "dim" => {
                dim(&attribute, errors);
                markers.push((attribute, Marker::Dim));
            }
            "scratch" => {
                let scratch = scratch(&attribute, errors);
                markers.push((attribute, Marker::Scratch(scratch)));
            }
            "attr" => {
                let attr = attr(&attribute, errors);
                markers.push((attribute, Marker::Attr(attr)));
            }
            "cfg" | "cfg_attr" => {
                let message = "a handler has one signature: put the `cfg` on two versions of the function";
                errors.push(Rule::ParameterCfg, &attribute, message);
                if name == "cfg" {
                    attributes.push(attribute);
                }
            }
            "allow" | "expect" | "warn" | "deny" | "forbid" | "doc" => attributes.push(attribute),
            _ => {
                let message = "this is no marker of a parameter: the markers are `#[shape(..)]`, `#[dim]`, `#[scratch(..)]` and `#[attr(..)]`";
                errors.push(Rule::MarkerUnknown, attribute.path(), message);
            }
        }
    }
    for (second, _) in markers.iter().skip(1) {
        errors.push(Rule::MarkerTwice, second, "a parameter has one marker: remove this one or the one before it");
    }
    markers.into_iter().next().map_or_else(|| Marker::Attr(Attr::default()), |(_, marker)| marker)
}

fn shape(attribute: &Attribute, errors: &mut Errors) -> Shape {
    let mut shape = Shape { keyword: attribute.path().to_token_stream(), dots: None, axes: Vec::new() };
    let axes = |input: ParseStream| {
        shape.dots = input.parse()?;
        if shape.dots.is_some() && !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        Punctuated::<Expr, Token![,]>::parse_terminated(input)
    };
    match &attribute.meta {
        Meta::Path(_) => {}
        Meta::List(list) => match list.parse_args_with(axes) {
            Ok(axes) => shape.axes = axes.iter().filter_map(|axis| shape::parse(axis, errors)).collect(),
            Err(error) => errors.push_syn(Rule::ShapeSyntax, error),
        },
        Meta::NameValue(_) => errors.push(Rule::MarkerForm, attribute, "a shape is written `#[shape(m, n)]`"),
    }
    shape
}

fn dim(attribute: &Attribute, errors: &mut Errors) {
    if attribute.meta.require_path_only().is_err() {
        let message = "`#[dim]` takes nothing: the parameter's name says which dim it is";
        errors.push(Rule::MarkerForm, attribute, message);
    }
}

fn scratch(attribute: &Attribute, errors: &mut Errors) -> Scratch {
    let size = match &attribute.meta {
        Meta::List(list) => list.parse_args::<Expr>().ok(),
        Meta::Path(_) | Meta::NameValue(_) => None,
    };
    let Some(size) = size else {
        let message = "scratch memory is marked with its number of elements, `#[scratch(4 * n)]`";
        errors.push(Rule::MarkerForm, attribute, message);
        return Scratch { size: None };
    };
    Scratch { size: shape::parse(&size, errors) }
}

fn attr(attribute: &Attribute, errors: &mut Errors) -> Attr {
    let mut attr = Attr { marked: true, ..Attr::default() };
    let malformed = match &attribute.meta {
        Meta::Path(_) => false,
        Meta::List(list) => list.parse_args_with(|input: ParseStream| keys(input, &mut attr, errors)).is_err(),
        Meta::NameValue(_) => true,
    };
    if malformed {
        let message =
            "an attribute's marker is written `#[attr(default = 1e-5, name = \"wire name\")]`, each key optional";
        errors.push(Rule::MarkerForm, attribute, message);
    }
    attr
}

/// Reads the keys of `#[attr(..)]`. An `Err` means that the form is wrong.
fn keys(input: ParseStream, attr: &mut Attr, errors: &mut Errors) -> Result<()> {
    while !input.is_empty() {
        let key = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        let twice = match key.to_string().as_str() {
            "default" => attr.default.replace(input.parse()?).is_some(),
            "name" => attr.name.replace(input.parse()?).is_some(),
            _ => {
                errors.push(Rule::AttrKeyUnknown, &key, "`#[attr]` has the keys `default` and `name`");
                input.parse::<Expr>()?;
                false
            }
        };
        if twice {
            errors.push(Rule::AttrKeyTwice, &key, format!("`{key}` is given twice: keep one"));
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[test]
    fn only_markers_are_taken_off() {
        let function: ItemFn = syn::parse_quote! {
            #[inline] fn f(#[allow(unused)] #[shape(n)] x: &[f32], #[dim] n: usize, #[attr(default = 1)] mut k: i64) {}
        };
        let mut errors = Errors::default();
        let written = Written::parse(Args::default(), function, &mut errors);
        assert!(errors.close().is_ok());
        let expected = quote!(
            #[inline]
            fn f(#[allow(unused)] x: &[f32], n: usize, mut k: i64) {}
        );
        assert_eq!(written.function.to_token_stream().to_string(), expected.to_string());
    }
}
