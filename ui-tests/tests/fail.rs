//! Every wrong handler in `fail/<topic>/<rule>.rs` is refused with the message beside it. To write the messages anew:
//! `TRYBUILD=overwrite cargo test -p oxidax-ui-tests --test fail`; then read them, as a user would.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rules::Rule;

/// The macro's own table: a rule without a fixture fails here.
#[path = "../../macros/src/rules.rs"]
mod rules;

/// What types decide: the traits that a user can miss, and the rules that core states about them.
const CORE: &[&str] = &[
    // A bound of core that a type does not meet.
    "element",
    "element-bool",
    "element-unbounded",
    "buffer-param",
    "buffer-param-cuda",
    "param",
    "param-usize",
    "from-dim",
    "shape-attr",
    "outcome",
    "error-type",
    "dtype-bound",
    "default-type",
    "scratch-param",
    "attr-enum-copy",
    // A path that leads to no handler.
    "rule-unknown",
    // Constants of core that cannot be computed.
    "rank",
    "rank-of-base",
    "no-result",
    "dtypes-alike",
    "inout-of-argument",
    "whole-of-fixed-rank",
    "attr-of-a-context",
    "array-without-marker",
    "scratch-in-a-graph",
    "too-many-instances",
    "too-many-selectors",
    "col-major-vector",
    "col-major-indexed",
];

/// The compiler that wrote the messages: another one words and arranges its own part of them differently.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn wrong_handlers_are_refused() {
    let version = Command::new("rustc").arg("--version").output().expect("rustc runs").stdout;
    let version = String::from_utf8_lossy(&version);
    if version.starts_with(COMPILER) {
        trybuild::TestCases::new().compile_fail("fail/*/*.rs");
    } else {
        eprintln!("skipped: the messages are those of {COMPILER}*, and this is {version}");
    }
}

#[test]
fn each_rule_has_one_fixture() {
    let mut fixtures = BTreeMap::<String, Vec<PathBuf>>::new();
    for path in files("rs") {
        fixtures.entry(stem(&path)).or_default().push(path);
    }
    let rules = || Rule::ALL.iter().map(|rule| rule.id()).chain(CORE.iter().copied());
    for id in rules() {
        let paths = fixtures.remove(id).unwrap_or_default();
        assert_eq!(paths.len(), 1, "rule `{id}` needs one fixture, fail/<topic>/{id}.rs, and has {paths:?}");
        assert_eq!(rules().filter(|other| *other == id).count(), 1, "two rules have the id `{id}`");
    }
    assert!(fixtures.is_empty(), "no rule has the name of these fixtures: {fixtures:?}");
}

#[test]
fn each_message_has_its_fixture() {
    for message in files("stderr") {
        assert!(message.with_extension("rs").exists(), "{} has lost its fixture", message.display());
    }
    for fixture in files("rs") {
        assert!(fixture.with_extension("stderr").exists(), "{} has no message yet", fixture.display());
    }
}

/// The files of `fail/<topic>/` with this extension.
fn files(extension: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fail");
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let files = entries(&root).iter().flat_map(|topic| entries(topic)).collect::<Vec<_>>();
    files.into_iter().filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// The name of a file without its extension: the id of the rule.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}
