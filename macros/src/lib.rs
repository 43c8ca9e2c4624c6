//! The attribute of [Oxidax](https://docs.rs/oxidax): use it as `oxidax::ffi_handler`.
//!
//! Three barriers, and every mistake before one is reported together: `args` and `parse` read what the user wrote,
//! `model` resolves it and `check` applies the rules, `expand` makes tokens and cannot fail.

#![forbid(unsafe_code)]

mod args;
mod check;
mod derive;
mod errors;
mod expand;
mod fallback;
mod model;
mod parse;
mod paths;
mod rules;
mod shape;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;

use crate::{
    args::Args,
    errors::{Diagnostic, Errors},
    model::Model,
    parse::Written,
};

/// Makes an ordinary Rust function a JAX operation.
///
/// The function stays what it is: callable, testable, and the attribute adds a registration beside it. Everything
/// that JAX needs is read off the signature.
///
/// ```ignore
/// use oxidax::prelude::*;
///
/// /// Root-mean-square normalisation over the last axis.
/// #[ffi_handler(dtypes(T = [f32, f64]))]
/// fn rms_norm<T: Float>(
///     #[shape(n)] x: &[T],
///     #[attr(default = 1e-5)] eps: f64,
///     #[shape(n)] y: &mut [T],
/// ) {
///     // ...
/// }
/// ```
///
/// # Parameters
///
/// | a parameter | is |
/// |---|---|
/// | `#[shape(m, n)] a: &[T]` | an argument buffer, row-major, with named dims |
/// | `#[shape(m, n)] q: &mut [T]` | a result buffer, in the order of the parameters |
/// | `#[shape] x: &T`, `#[shape] y: &mut T` | a buffer of rank 0 |
/// | `#[dim] n: usize` | the size of the dim `n` |
/// | `#[scratch(4 * n)] work: &mut [T]` | temporary memory, which holds anything; on CUDA `DeviceSliceMut<T>` |
/// | `eps: f64` | an attribute, or a context such as a stream: the type's trait decides |
/// | `#[attr] w: &[i64]` | an array attribute: unmarked, it might be a buffer |
/// | `#[attr(default = 1e-5)] eps: f64` | an attribute that a caller may leave out |
/// | `#[attr(name = "lambda")] lam: f64` | an attribute that JAX and XLA know by another name |
///
/// A parameter has a name (no pattern) and one marker. What a type is, the compiler's traits say: aliases, re-exports
/// and types of other crates work, and lifetimes are inferred. Type parameters are dtypes; const generics and
/// `impl Trait` parameters do not exist. The return type is `()` or a `Result<(), E>`.
///
/// # Shapes
///
/// An axis of `#[shape(..)]` is a dim, an integer, or an expression:
///
/// - a name: an unmarked (or `#[attr]`) parameter of that name is that attribute, any other name is a dim;
/// - a path of several names is a constant, of an integer type or an enum: `Mode::All`, `self::BLOCK`;
/// - `+ - *`, and `/ %`, which are floor division and its modulo;
/// - `min(a, b)`, `max(a, b)`;
/// - `if c { a } else { b }` with comparisons, `&&`, `||`, `!`, boolean attributes and constants such as `Mode::All` in `c`.
///
/// Every dim stands alone as one axis somewhere: there its size is read. All other axes are computed, and checked on
/// every call. Arithmetic is checked `i64`: a negative dim, an overflow or a zero divisor is an error of the call.
/// With `batch = whole` each shape starts with `..`, the batch axes: where they lie over several devices, those of one.
///
/// # Arguments of the attribute
///
/// | argument | says |
/// |---|---|
/// | `dtypes(T = [f32, f64], I = [i32, i64])` | the dtypes of each type parameter; every combination is an instance |
/// | `target = "name"` | the target's name in XLA; else `<crate>.<function>` |
/// | `target = { f32: "a", f64: "b" }` | a target for each dtype, in the place of another library's |
/// | `target = { _: "a" }` | one target for all dtypes, in the place of another library's |
/// | `batch = each` | one call a batch element, the default; the generated code loops |
/// | `batch = parallel` | the same, shared among XLA's threads where there is work enough |
/// | `threads = if n < 512 { usize::MAX } else { 1 }` | with `batch = parallel`, the most threads that share a batch: an expression of Rust's on dims, as `usize`, and type parameters |
/// | `batch = whole` | one call that sees the batch axes |
/// | `batch = none` | no batch axes: `vmap` is refused |
/// | `platform = cuda` | a handler of device memory; the default is `cpu` |
/// | `command_buffer = true` | whether XLA may record a CUDA handler into a graph; every CUDA handler says it |
/// | `vjp(fwd = path, bwd = path)` | the reverse-mode rule: the paths of two handlers; without `fwd` the operation is its own forward pass, without residuals |
/// | `jvp = path` | the forward-mode rule: the path of a handler |
/// | `require(m >= n, "a must be tall")` | a condition on dims and attributes, checked on every call; as many as needed |
/// | `crate = path` | where the crate `oxidax` is, for a crate that re-exports it |
///
/// # What is made
///
/// A hidden type `__ffi_<function>` beside the function, with the function's visibility: rules refer to a handler by
/// its module's path and its name, and that type is what they find. A `use` of the function does not import it. The expansion holds no unsafe code, and a crate
/// with `forbid(unsafe_code)` compiles.
///
/// The attribute goes on a free function, in a module or in another function's body. A `cfg` belongs on the
/// function, and not on a parameter.
#[proc_macro_attribute]
pub fn ffi_handler(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    handler(arguments.into(), item.into()).0.into()
}

/// Makes an enum an attribute of a handler.
///
/// With `#[repr(u8)]` (or another integer up to `i64`; not `u64`) its values travel as their discriminants; else as the
/// names of its variants. In Python a value is the variant's name in snake case, or what `#[ffi_attr(name = "..")]` on the
/// variant says. The enum is `Copy`. `#[ffi_attr(crate = path)]` on it says where the crate `oxidax` is, if elsewhere.
///
/// ```ignore
/// /// As LAPACK has it: an ASCII code.
/// #[derive(Clone, Copy, PartialEq, FfiAttr)]
/// #[repr(u8)]
/// enum Uplo {
///     Lower = b'L',
///     Upper = b'U',
/// }
/// ```
///
/// Such an attribute may stand in shapes: `#[shape(if mode == Mode::All { m } else { k }, n)]`.
#[proc_macro_derive(FfiAttr, attributes(ffi_attr))]
pub fn ffi_attr(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    derive::derive(&input).0.into()
}

/// The expansion, and the mistakes in it.
fn handler(arguments: TokenStream, item: TokenStream) -> (TokenStream, Vec<Diagnostic>) {
    let mut errors = Errors::default();
    let args = Args::parse(arguments, &mut errors);
    let Some(function) = parse::function(item.clone(), &mut errors) else {
        let errors = errors.close().expect_err("something that is no function is a mistake");
        return (quote::quote!(#item #(#errors)*), errors);
    };
    let written = Written::parse(args, function, &mut errors);
    match model(&written, errors) {
        Ok(model) => (expand::expand(&model), Vec::new()),
        Err(errors) => (fallback::expand(written.args, &written.function, &errors), errors),
    }
}

/// The two barriers behind parsing.
fn model(written: &Written, parsing: Errors) -> Result<Model, Vec<Diagnostic>> {
    parsing.close()?;
    let model = Model::resolve(written);
    let mut errors = Errors::default();
    check::check(written, &model, &mut errors);
    errors.close()?;
    Ok(model)
}
