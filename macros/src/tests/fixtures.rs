//! Every fixture `ui-tests/fail/<topic>/<rule>.rs` breaks the rule it is named after and no other.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Item, Meta};

use crate::{handler, rules::Rule};

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

/// The ids of the rules that the handlers of a file break.
fn broken_rules(source: &str) -> BTreeSet<&'static str> {
    let mut broken = BTreeSet::new();
    visit(syn::parse_file(source).unwrap().items, &mut broken);
    broken
}

fn visit(items: Vec<Item>, broken: &mut BTreeSet<&'static str>) {
    for mut item in items {
        let attributes = match &mut item {
            Item::Fn(item) => &mut item.attrs,
            Item::Struct(item) => &mut item.attrs,
            Item::Impl(item) => {
                visit_methods(item, broken);
                continue;
            }
            _ => continue,
        };
        if let Some(position) = attributes.iter().position(|attribute| attribute.path().is_ident("ffi_handler")) {
            let arguments = arguments(&attributes.remove(position).meta);
            expand(arguments, item.to_token_stream(), broken);
        }
    }
}

fn visit_methods(item: &mut syn::ItemImpl, broken: &mut BTreeSet<&'static str>) {
    for item in &mut item.items {
        let syn::ImplItem::Fn(method) = item else { continue };
        if let Some(position) = method.attrs.iter().position(|attribute| attribute.path().is_ident("ffi_handler")) {
            let arguments = arguments(&method.attrs.remove(position).meta);
            expand(arguments, method.to_token_stream(), broken);
        }
    }
}

fn arguments(meta: &Meta) -> TokenStream {
    match meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    }
}

fn expand(arguments: TokenStream, item: TokenStream, broken: &mut BTreeSet<&'static str>) {
    broken.extend(handler(arguments, item).1.iter().map(|diagnostic| diagnostic.rule.id()));
}
