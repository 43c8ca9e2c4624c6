//! Names and paths of an expansion: the hidden type of a handler, the crate `oxidax`, and the user's types
//! and generics without the function's lifetimes, which an `impl` block cannot name.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{
    BoundLifetimes, GenericParam, Generics, Lifetime, LifetimeParam, Path, Token, TypeParamBound, WherePredicate,
    ext::IdentExt, punctuated::Punctuated,
};

use crate::args::Args;

/// The hidden type of the handler `function`: `__ffi_qr` for `qr`, `__ffi_type` for `r#type`.
pub(crate) fn hidden(function: &Ident) -> Ident {
    // The place is the function's name; the context is the macro, so that lints about names stay silent.
    let span = Span::mixed_site().located_at(function.span());
    format_ident!("__ffi_{}", function.unraw(), span = span)
}

/// The hidden type of the handler at `path`: a misspelt rule does not resolve. What names such a type already is left as it
/// is: that is what the compiler suggests for a misspelt rule.
pub(crate) fn hidden_at(path: &Path) -> Path {
    let mut path = path.clone();
    if let Some(last) = path.segments.last_mut()
        && !last.ident.to_string().starts_with("__ffi_")
    {
        last.ident = hidden(&last.ident);
    }
    path
}

/// The crate `oxidax`, as `crate = ..` says or by its own name.
pub(crate) fn oxidax(args: &Args) -> TokenStream {
    match &args.krate {
        Some(path) => path.to_token_stream(),
        None => quote_spanned!(Span::mixed_site()=> ::oxidax),
    }
}

/// The lifetime parameters of a function: erased from its types, dropped from its generics.
pub(crate) struct Lifetimes(HashSet<String>);

impl Lifetimes {
    pub(crate) fn of(generics: &Generics) -> Lifetimes {
        Lifetimes(generics.lifetimes().map(|parameter| parameter.lifetime.ident.to_string()).collect())
    }

    /// The same tokens with `'_` for each lifetime parameter, so that the bodies infer it. Works on tokens and
    /// not on syntax, so that lifetimes inside a macro's arguments are found too.
    pub(crate) fn erase(&self, tokens: impl ToTokens) -> TokenStream {
        self.map(tokens.to_token_stream(), &|name| Ident::new("_", name.span()))
    }

    fn map(&self, tokens: TokenStream, replace: &dyn Fn(Ident) -> Ident) -> TokenStream {
        let mut after_quote = false;
        let map = |token| {
            let is_name = std::mem::replace(&mut after_quote, false);
            match token {
                TokenTree::Punct(ref punct) if punct.as_char() == '\'' => {
                    after_quote = true;
                    token
                }
                TokenTree::Ident(name) if is_name && self.0.contains(&name.to_string()) => replace(name).into(),
                TokenTree::Group(group) => {
                    let mut mapped = Group::new(group.delimiter(), self.map(group.stream(), replace));
                    mapped.set_span(group.span());
                    mapped.into()
                }
                token => token,
            }
        };
        tokens.into_iter().map(map).collect()
    }

    /// The lifetime parameters that `tokens` name, each once.
    fn named_in(&self, tokens: impl ToTokens) -> Vec<Ident> {
        let named = std::cell::RefCell::new(Vec::<Ident>::new());
        self.map(tokens.to_token_stream(), &|name| {
            if !named.borrow().contains(&name) {
                named.borrow_mut().push(name.clone());
            }
            name
        });
        named.into_inner()
    }

    /// The generics for an `impl` block: type parameters and bounds alone. A bound that names a lifetime
    /// parameter holds for every lifetime there (`Trait<'a>` becomes `for<'a> Trait<'a>`).
    pub(crate) fn impl_generics(&self, generics: &Generics) -> Generics {
        let mut generics = generics.clone();
        generics.params =
            generics.params.into_iter().filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_))).collect();
        for parameter in generics.type_params_mut() {
            self.bind_in(&mut parameter.bounds);
        }
        if let Some(clause) = &mut generics.where_clause {
            let predicates = std::mem::take(&mut clause.predicates);
            clause.predicates = predicates.into_iter().filter_map(|predicate| self.predicate(predicate)).collect();
        }
        generics
    }

    fn predicate(&self, predicate: WherePredicate) -> Option<WherePredicate> {
        match predicate {
            WherePredicate::Type(mut predicate) => {
                let named = self.named_in(&predicate.bounded_ty);
                if named.is_empty() {
                    self.bind_in(&mut predicate.bounds);
                } else {
                    // `for` on the type covers the bounds; a second one inside would be refused.
                    let named = self.named_in(&predicate);
                    bind(&mut predicate.lifetimes, named);
                    predicate.bounds = self.without_outlives(predicate.bounds);
                }
                (!predicate.bounds.is_empty()).then_some(WherePredicate::Type(predicate))
            }
            // `'a: 'b` says nothing once both are inferred.
            _ => None,
        }
    }

    fn bind_in(&self, bounds: &mut Punctuated<TypeParamBound, Token![+]>) {
        *bounds = self.without_outlives(std::mem::take(bounds));
        for bound in bounds {
            if let TypeParamBound::Trait(bound) = bound {
                let named = self.named_in(&bound.path);
                bind(&mut bound.lifetimes, named);
            }
        }
    }

    /// Without `T: 'a`: a dtype is `'static`.
    fn without_outlives(&self, bounds: Punctuated<TypeParamBound, Token![+]>) -> Punctuated<TypeParamBound, Token![+]> {
        let keep = |bound: &TypeParamBound| match bound {
            TypeParamBound::Lifetime(lifetime) => !self.0.contains(&lifetime.ident.to_string()),
            _ => true,
        };
        bounds.into_iter().filter(keep).collect()
    }
}

fn bind(bound: &mut Option<BoundLifetimes>, names: Vec<Ident>) {
    if names.is_empty() {
        return;
    }
    let lifetimes = &mut bound.get_or_insert_default().lifetimes;
    for name in names {
        let lifetime = Lifetime { apostrophe: name.span(), ident: name };
        lifetimes.push(GenericParam::Lifetime(LifetimeParam::new(lifetime)));
    }
}

/// The place of what the user wrote, for tokens of ours that the compiler may complain about. A span of several
/// tokens cannot be joined on stable, but the compiler takes an expression from its first to its last token.
pub(crate) struct Place {
    pub(crate) first: Span,
    last: Span,
}

impl Default for Place {
    /// The attribute.
    fn default() -> Place {
        Place { first: Span::mixed_site(), last: Span::mixed_site() }
    }
}

impl Place {
    pub(crate) fn of(written: &TokenStream) -> Place {
        let at = |token: Option<TokenTree>| token.map_or_else(Span::call_site, |token| token.span());
        let mixed = |span| Span::mixed_site().located_at(span);
        let (first, last) = (written.clone().into_iter().next(), written.clone().into_iter().last());
        Place { first: mixed(at(first)), last: mixed(at(last)) }
    }

    /// `arguments` in parentheses that end the place; `first` begins it.
    pub(crate) fn arguments(&self, arguments: TokenStream) -> Group {
        let mut parenthesised = Group::new(Delimiter::Parenthesis, arguments);
        parenthesised.set_span(self.last);
        parenthesised
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::ItemFn;

    fn erased(signature: &str) -> (String, String, String) {
        let function: ItemFn = syn::parse_str(&format!("{signature} {{}}")).unwrap();
        let lifetimes = Lifetimes::of(&function.sig.generics);
        let generics = lifetimes.impl_generics(&function.sig.generics);
        let (parameters, _, clause) = generics.split_for_impl();
        let types = lifetimes.erase(&function.sig.inputs);
        (plain(parameters), plain(clause), plain(types))
    }

    fn plain(tokens: impl ToTokens) -> String {
        tokens.to_token_stream().to_string()
    }

    #[test]
    fn lifetime_parameters_are_erased_and_others_kept() {
        let (parameters, _, types) =
            erased("fn f<'a, T: Float>(a: &'a [T], b: Al<'a, 'static>, c: for<'x> fn(&'x T), d: m!['a])");
        assert_eq!(parameters, "< T : Float >");
        assert_eq!(types, "a : & '_ [T] , b : Al < '_ , 'static > , c : for < 'x > fn (& 'x T) , d : m ! ['_]");
    }

    #[test]
    fn bounds_on_a_lifetime_hold_for_every_lifetime() {
        let (parameters, clause, _) = erased(
            "fn f<'a, 'b: 'a, T: 'a + Into<A<'a>> + 'static>(t: T) where 'a: 'b, &'a T: Add + 'a, T: B<'b>, T: 'a",
        );
        assert_eq!(parameters, "< T : for < 'a > Into < A < 'a > > + 'static >");
        assert_eq!(clause, "where for < 'a > & 'a T : Add , T : for < 'b > B < 'b >");
    }

    #[test]
    fn the_hidden_type_of_a_path_is_beside_the_function() {
        let path = hidden_at(&syn::parse_str("crate::rules::r#type").unwrap());
        assert_eq!(plain(path), "crate :: rules :: __ffi_type");
    }
}
