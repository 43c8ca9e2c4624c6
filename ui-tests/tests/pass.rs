//! Handlers in surroundings that a macro easily breaks in. Each file of `pass/` is a module here: it compiles without
//! a warning, its functions can be called, and its handlers are registered. `src/lib.rs` is about lints.

use std::{collections::BTreeSet, fs, path::Path};

macro_rules! modules {
    ($(mod $module:ident in $path:literal: [$($handler:literal),*];)*) => {
        $(#[path = $path] mod $module;)*

        /// Every file of `pass/` with the handlers it defines.
        const MODULES: &[(&str, &[&str])] = &[$((stringify!($module), &[$($handler),*])),*];
    };
}

modules! {
    mod cfg_on_the_function in "../pass/cfg_on_the_function.rs": ["active"];
    mod crate_elsewhere in "../pass/crate_elsewhere.rs": ["twice"];
    mod documented in "../pass/documented.rs": ["shift"];
    mod generics in "../pass/generics.rs": ["bounds", "constants", "generic_types", "lifetimes"];
    mod inside_functions in "../pass/inside_functions.rs": ["inner", "local"];
    mod made_by_a_macro in "../pass/made_by_a_macro.rs": ["double_f32", "double_f64", "typed"];
    mod no_prelude in "../pass/no_prelude.rs": ["everything"];
    mod parameter_names in "../pass/parameter_names.rs": ["names", "d", "v", "plan", "bufs"];
    mod raw_identifiers in "../pass/raw_identifiers.rs": ["type"];
    mod return_types in "../pass/return_types.rs": ["alias", "explicit_unit", "fails", "own_error"];
    mod rules in "../pass/rules.rs": ["cube", "cube_bwd", "rules::cube_fwd", "square", "square_jvp"];
    mod several_variables in "../pass/several_variables.rs": ["gather"];
    mod shapes in "../pass/shapes.rs": ["all_operators", "rank_zero", "whole"];
    mod types in "../pass/types.rs": ["aliases", "attributes", "in_place", "local_view", "ranked"];
    mod visibility in "../pass/visibility.rs": ["cholesky::cholesky", "hidden"];
}

#[test]
fn each_file_is_a_module_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pass");
    let files: BTreeSet<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let modules: BTreeSet<_> = MODULES.iter().map(|(module, _)| format!("{module}.rs")).collect();
    assert_eq!(files, modules);
}

#[test]
fn each_handler_is_registered_under_its_path() {
    let registered: BTreeSet<_> = oxidax::handlers().iter().map(|handler| handler.id()).collect();
    let expected: BTreeSet<_> = MODULES
        .iter()
        .flat_map(|(module, handlers)| handlers.iter().map(move |handler| format!("pass::{module}::{handler}")))
        .collect();
    assert_eq!(registered, expected);
}
