//! The manifest: every operation of the library as JSON, beside a table of its handlers' function pointers.
//!
//! A loader in any language reads it; `ARCHITECTURE.md` describes the format. A shape rule is a JSON tree.
#![forbid(unsafe_code)]

use serde_json::{Map, Value as Json, json};

use crate::handler::Rule;
use crate::param::{AttrType, EnumRepr, Role};
use crate::plan::{Instance, Kind, Spec};
use crate::registry::Entry;
use crate::shape::Trees;

/// The version of the C struct and of the JSON. A loader refuses one it does not know.
pub(crate) const VERSION: u32 = 1;

/// The JSON of a library; the `handler` of an operation is its index in `entries`.
pub(crate) fn json(entries: &[Entry]) -> Json {
    let operations: Vec<Json> = entries.iter().enumerate().map(|(index, entry)| operation(index, entry)).collect();
    json!({
        "manifest_version": VERSION,
        "oxidax": env!("CARGO_PKG_VERSION"),
        "panic": if cfg!(panic = "unwind") { "unwind" } else { "abort" },
        "operations": operations,
    })
}

fn operation(index: usize, entry: &Entry) -> Json {
    let info = entry.def.info;
    let first = &entry.instances[0];
    let trees = trees(first);
    let mut shapes = trees.buffers.iter();
    let params: Vec<Json> = first
        .specs
        .iter()
        .filter_map(|spec| {
            let role = match spec.role {
                Role::Argument => "argument",
                Role::Result => "result",
                Role::InOut => "inout",
                Role::Attribute => return Some(json!({ "name": spec.name, "role": "attribute" })),
                Role::Context | Role::Dim | Role::Scratch => return None,
            };
            let mut param = json!({ "name": spec.name, "role": role, "shape": shapes.next() });
            if spec.is_col_major() {
                param["layout"] = json!("col_major");
            }
            Some(param)
        })
        .collect();
    let rule = |rule: &Rule| rule().id();
    let mut described = json!({
        "id": entry.id(),
        "name": entry.name(),
        "target": entry.target(),
        "platform": entry.platform(),
        "handler": index,
        "doc": info.doc,
        "batch": info.batch.name(),
        "command_buffer": info.command_buffer,
        "dims": info.dims,
        "params": params,
        "require": trees.conditions,
        "instances": entry.instances.iter().map(instance).collect::<Vec<_>>(),
        "vjp": info.vjp.as_ref().map(|vjp| json!({ "fwd": vjp.fwd.as_ref().map(rule), "bwd": rule(&vjp.bwd) })),
        "jvp": info.jvp.as_ref().map(rule),
    });
    if entry.is_drop_in() {
        described["drop_in"] = json!(true);
    }
    described
}

fn trees(instance: &Instance) -> Trees {
    let info = instance.info;
    let dims = info.dims.iter().map(|name| json!(["dim", name]));
    let attrs = info.shape_attrs.iter().map(|name| json!(["attr", name]));
    let mut trees = Trees::default();
    let _ = (instance.shapes.trees)(&mut trees, &dims.chain(attrs).collect::<Vec<_>>());
    trees
}

fn instance(instance: &Instance) -> Json {
    let params = instance.specs.iter().filter_map(|spec| Some((spec.name.to_owned(), typed(spec)?)));
    Json::Object(params.collect::<Map<_, _>>())
}

/// What depends on the dtypes of an instance.
fn typed(spec: &Spec) -> Option<Json> {
    let (ty, optional, default) = match spec.kind {
        Kind::Buffer { dtype, .. } => return Some(json!({ "dtype": dtype.name() })),
        Kind::Attribute { ty, optional, default, .. } => (ty, optional, default),
        Kind::Context { .. } | Kind::Inner => return None,
    };
    let (form, dtype, wire) = match ty {
        AttrType::Scalar { dtype, wire } => ("scalar", Some(dtype), wire),
        AttrType::Array { dtype, wire } => ("array", Some(dtype), wire),
        AttrType::String => ("string", None, None),
        AttrType::Enum { repr: EnumRepr::Integer(dtype), .. } => ("scalar", Some(dtype), None),
        AttrType::Enum { repr: EnumRepr::Name, .. } => ("string", None, None),
        AttrType::Context => return None,
    };
    let mut described = json!({
        "dtype": dtype.map(|d| d.name()),
        "form": form,
        "wire": wire.map(|d| d.name()),
        "optional": optional,
        "default": default.map(|default| default()),
    });
    if let AttrType::Enum { variants, .. } = ty {
        described["variants"] = json!(variants);
    }
    Some(described)
}
