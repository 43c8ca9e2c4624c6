//! Every fixture `ui-tests/fail/<topic>/<rule>.rs` breaks the rule it is named after and no other, and no
//! handler there makes the macro panic when a token is missing.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, DeriveInput, ImplItem, Item, Meta};

use crate::{derive, handler, rules::Rule};

#[test]
fn a_fixture_breaks_the_rule_it_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/fail");
    let mut fixtures = Vec::new();
    rust_files(&root, &mut fixtures);
    assert!(!fixtures.is_empty(), "no fixtures under {}", root.display());
    for path in fixtures {
        let broken = broken_rules(&fs::read_to_string(&path).unwrap());
        let named = Rule::ALL.iter().map(|rule| rule.id()).find(|id| path.file_stem().is_some_and(|stem| stem == *id));
        // A fixture of core's rules breaks none here: types decide there, and only the compiler can tell.
        assert_eq!(broken, named.into_iter().collect(), "{}", path.display());
    }
}

#[test]
fn no_missing_token_panics() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests");
    let mut files = Vec::new();
    rust_files(&root.join("fail"), &mut files);
    rust_files(&root.join("pass"), &mut files);
    for (arguments, item) in files.iter().flat_map(|path| handlers(&fs::read_to_string(path).unwrap())) {
        for arguments in without_one_token(&arguments) {
            handler(arguments, item.clone());
        }
        for item in without_one_token(&item) {
            handler(arguments.clone(), item);
        }
    }
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// A handler: the arguments of its attribute and the item.
type Handler = (TokenStream, TokenStream);

/// The ids of the rules that the handlers and the derived enums of a file break.
fn broken_rules(source: &str) -> BTreeSet<&'static str> {
    let handlers = handlers(source).into_iter().flat_map(|(arguments, item)| handler(arguments, item).1);
    let derived = derived(source).into_iter().flat_map(|input| derive::derive(&input).1);
    handlers.chain(derived).map(|diagnostic| diagnostic.rule.id()).collect()
}

/// The types of a file with `#[derive(FfiAttr)]`.
fn derived(source: &str) -> Vec<DeriveInput> {
    let is_derived = |input: &DeriveInput| {
        let is_derive = |attribute: &&Attribute| attribute.path().is_ident("derive");
        input
            .attrs
            .iter()
            .filter(is_derive)
            .any(|attribute| attribute.to_token_stream().to_string().contains("FfiAttr"))
    };
    let items = syn::parse_file(source).unwrap().items.into_iter();
    items.filter_map(|item| syn::parse2(item.into_token_stream()).ok()).filter(is_derived).collect()
}

/// The handlers of a file, in its modules and in `impl` blocks.
fn handlers(source: &str) -> Vec<Handler> {
    let mut handlers = Vec::new();
    let mut items = syn::parse_file(source).unwrap().items;
    while let Some(item) = items.pop() {
        match item {
            Item::Mod(item) => items.extend(item.content.into_iter().flat_map(|(_, items)| items)),
            Item::Fn(mut item) => handlers.extend(take(&mut item.attrs).map(|args| (args, item.to_token_stream()))),
            Item::Struct(mut item) => handlers.extend(take(&mut item.attrs).map(|args| (args, item.to_token_stream()))),
            Item::Impl(item) => handlers.extend(item.items.into_iter().filter_map(|item| match item {
                ImplItem::Fn(mut item) => take(&mut item.attrs).map(|args| (args, item.to_token_stream())),
                _ => None,
            })),
            _ => {}
        }
    }
    handlers
}

/// Takes `#[ffi_handler(..)]` off an item: its arguments.
fn take(attributes: &mut Vec<Attribute>) -> Option<TokenStream> {
    let position = attributes.iter().position(|attribute| attribute.path().is_ident("ffi_handler"))?;
    Some(match attributes.remove(position).meta {
        Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    })
}

/// The streams that lack one token, at any depth.
fn without_one_token(tokens: &TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut streams = Vec::new();
    for (position, token) in tokens.iter().enumerate() {
        let with = |replacement: Option<TokenTree>| {
            tokens[..position]
                .iter()
                .cloned()
                .chain(replacement)
                .chain(tokens[position + 1..].iter().cloned())
                .collect()
        };
        streams.push(with(None));
        if let TokenTree::Group(group) = token {
            let inner = without_one_token(&group.stream()).into_iter();
            streams.extend(inner.map(|inner| with(Some(Group::new(group.delimiter(), inner).into()))));
        }
    }
    streams
}
