//! `#[derive(FfiAttr)]`: an enum without values as an attribute. An enum with `#[repr(u8)]` or another integer travels as
//! its discriminants, every other one as the names of its variants.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{
    Attribute, Data, DeriveInput, Fields, LitStr, Meta, Path, Result, Token, Variant, ext::IdentExt, parenthesized,
    parse::ParseStream, token::Paren,
};

use crate::{
    errors::{Diagnostic, Errors},
    rules::Rule,
};

/// The integers that XLA carries as a scalar.
const REPRS: [&str; 7] = ["u8", "i8", "u16", "i16", "u32", "i32", "i64"];

/// What the user wrote, checked.
struct Enum {
    name: Ident,
    oxidax: TokenStream,
    /// The integer type of the discriminants, if they are what travels.
    repr: Option<Ident>,
    /// Each variant with the name that the caller sees.
    variants: Vec<(Ident, String)>,
}

/// The implementation, and the mistakes that stand in its way.
pub(crate) fn derive(input: &DeriveInput) -> (TokenStream, Vec<Diagnostic>) {
    let mut errors = Errors::default();
    let parsed = parse(input, &mut errors);
    match (parsed, errors.close()) {
        (Some(parsed), Ok(())) => (expand(&parsed), Vec::new()),
        (_, Err(errors)) => (quote::quote!(#(#errors)*), errors),
        (None, Ok(())) => unreachable!("what cannot be read is a mistake"),
    }
}

fn parse(input: &DeriveInput, errors: &mut Errors) -> Option<Enum> {
    let Data::Enum(data) = &input.data else {
        errors.push(Rule::FfiAttrNotAnEnum, &input.ident, "an `FfiAttr` is an enum: pass the fields as attributes");
        return None;
    };
    if data.variants.is_empty() {
        errors.push(Rule::FfiAttrEmpty, &input.ident, "an attribute needs a value: give the enum a variant");
    }
    if !input.generics.params.is_empty() {
        errors.push(Rule::FfiAttrGeneric, &input.generics, "an `FfiAttr` has no parameters: remove them");
    }
    for variant in data.variants.iter().filter(|variant| !matches!(variant.fields, Fields::Unit)) {
        let message = "a variant holds no values: pass them as attributes of their own";
        errors.push(Rule::FfiAttrFields, &variant.fields, message);
    }
    let mut oxidax = quote_spanned!(Span::mixed_site()=> ::oxidax);
    for (key, value) in keys(&input.attrs, &["crate"], errors) {
        match value {
            Value::Path(path) => oxidax = path.into_token_stream(),
            Value::Name(_) => errors.push(Rule::FfiAttrForm, key, "the crate is written `#[ffi_attr(crate = path)]`"),
        }
    }
    let mut variants: Vec<(Ident, String)> = Vec::new();
    for variant in &data.variants {
        let (at, name) = name(variant, errors);
        if variants.iter().any(|(_, known)| *known == name) {
            let message =
                format!("another variant is called {name:?}: choose a name with `#[ffi_attr(name = \"..\")]`");
            errors.push(Rule::FfiAttrNameTwice, at, message);
        }
        variants.push((variant.ident.clone(), name));
    }
    Some(Enum { name: input.ident.clone(), oxidax, repr: repr(&input.attrs, errors), variants })
}

/// The integer of `#[repr(..)]`.
fn repr(attributes: &[Attribute], errors: &mut Errors) -> Option<Ident> {
    let mut integer = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        // A malformed one is the compiler's to report.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.input.peek(Paren) {
                // `align(8)`
                let list;
                parenthesized!(list in meta.input);
                list.parse::<TokenStream>()?;
            }
            let Some(name) = meta.path.get_ident() else { return Ok(()) };
            if REPRS.contains(&name.to_string().as_str()) {
                integer = Some(name.clone());
            } else if ["u64", "u128", "i128", "usize", "isize"].iter().any(|other| name == other) {
                let message = format!("XLA carries no scalar of this type: use one of {}", REPRS.join(", "));
                errors.push(Rule::FfiAttrRepr, name, message);
            }
            Ok(())
        });
    }
    integer
}

/// The name that the caller sees, and where it was written.
fn name(variant: &Variant, errors: &mut Errors) -> (TokenStream, String) {
    let mut found = (variant.ident.to_token_stream(), snake_case(&variant.ident.unraw().to_string()));
    for (key, value) in keys(&variant.attrs, &["name"], errors) {
        match value {
            Value::Name(name) => found = (name.to_token_stream(), name.value()),
            Value::Path(_) => errors.push(Rule::FfiAttrForm, key, "a name is written `#[ffi_attr(name = \"..\")]`"),
        }
    }
    found
}

enum Value {
    Name(LitStr),
    Path(Path),
}

/// The keys of every `#[ffi_attr(..)]`.
fn keys(attributes: &[Attribute], known: &[&str], errors: &mut Errors) -> Vec<(Ident, Value)> {
    let mut keys = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("ffi_attr")) {
        let one = |input: ParseStream| -> Result<(Ident, Value)> {
            let key = input.call(Ident::parse_any)?;
            input.parse::<Token![=]>()?;
            let value = if input.peek(LitStr) {
                Value::Name(input.parse()?)
            } else {
                Value::Path(Path::parse_mod_style(input)?)
            };
            Ok((key, value))
        };
        let list = match &attribute.meta {
            Meta::List(list) => list.parse_args_with(|input: ParseStream| input.parse_terminated(one, Token![,])).ok(),
            Meta::Path(_) | Meta::NameValue(_) => None,
        };
        let Some(list) = list.filter(|list| list.iter().all(|(key, _)| known.iter().any(|known| key == known))) else {
            let form = if known == ["name"] { "name = \"..\"" } else { "crate = path" };
            errors.push(Rule::FfiAttrForm, attribute, format!("this is written `#[ffi_attr({form})]`"));
            continue;
        };
        keys.extend(list);
    }
    for (index, (key, _)) in keys.iter().enumerate() {
        if keys[..index].iter().any(|(known, _)| known == key) {
            errors.push(Rule::AttrKeyTwice, key, format!("`{key}` is given twice: keep one"));
        }
    }
    keys
}

/// `UpperHalf` as `upper_half`, which is how Python writes a value. `QR` is one word: `qr`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut letters = name.chars().peekable();
    let mut before = None;
    while let Some(letter) = letters.next() {
        let ends = before.is_some_and(|before: char| before.is_lowercase() || before.is_numeric());
        let begins = before.is_some_and(char::is_uppercase) && letters.peek().is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && (ends || begins) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
        before = Some(letter);
    }
    snake
}

fn expand(parsed: &Enum) -> TokenStream {
    let Enum { name, oxidax, repr, variants } = parsed;
    let (idents, names): (Vec<_>, Vec<_>) = variants.iter().map(|(ident, name)| (ident, name)).unzip();
    let indices: Vec<_> = (0..variants.len()).map(Literal::usize_unsuffixed).collect();
    let (how, values): (_, Vec<_>) = match repr {
        Some(integer) => (
            quote_spanned!(Span::mixed_site()=> __p::integer::<#integer>()),
            idents.iter().map(|ident| quote_spanned!(Span::mixed_site()=> #name::#ident as i64)).collect(),
        ),
        None => (
            quote_spanned!(Span::mixed_site()=> __p::EnumRepr::Name),
            indices.iter().map(ToTokens::to_token_stream).collect(),
        ),
    };
    // The last variant stands for every index that is none: core asks for those of the list alone.
    let (last, others) = idents.split_last().expect("parsing refused an enum without variants");
    let other_indices = &indices[..others.len()];
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        const _: () = {
            use #oxidax::private as __p;
            impl __p::AttrEnum for #name {
                const REPR: __p::EnumRepr = #how;
                const VARIANTS: &'static [(&'static str, i64)] = &[#((#names, #values)),*];
                #[inline]
                fn from_index(index: usize) -> Self {
                    match index {
                        #(#other_indices => #name::#others,)*
                        _ => #name::#last,
                    }
                }
                #[inline]
                fn index(self) -> usize {
                    match self {
                        #(#name::#idents => #indices,)*
                    }
                }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{derive, snake_case};

    #[test]
    fn the_integer_of_a_repr_may_stand_anywhere_in_it() {
        for repr in ["u8", "u8, align(8)", "align(8), u8"] {
            let source = format!("#[repr({repr})] enum Uplo {{ Lower = b'L', Upper = b'U' }}");
            let (expansion, errors) = derive(&syn::parse_str(&source).unwrap());
            assert!(errors.is_empty());
            assert!(expansion.to_string().contains("integer :: < u8 >"), "{repr}: {expansion}");
        }
    }

    #[test]
    fn variants_are_named_as_python_names_values() {
        assert_eq!(snake_case("All"), "all");
        assert_eq!(snake_case("UpperHalf"), "upper_half");
        assert_eq!(snake_case("L2"), "l2");
        assert_eq!(snake_case("QR"), "qr");
        assert_eq!(snake_case("ThinQR"), "thin_qr");
        assert_eq!(snake_case("LUFactor"), "lu_factor");
        assert_eq!(snake_case("L2Norm"), "l2_norm");
    }
}
