//! What a handler with mistakes leaves behind: the errors, the function without markers, so that its callers and
//! the editor keep working, and an empty operation, so that the rules that name it make no second error.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ItemFn, Signature};

use crate::{args::Args, errors::Diagnostic, expand, model::Model};

/// The function, an empty operation beside it, and every error.
pub(crate) fn expand(args: Args, function: &ItemFn, errors: &[Diagnostic]) -> TokenStream {
    // Not `...`, of which the compiler would complain once more.
    let function = &ItemFn { sig: Signature { variadic: None, ..function.sig.clone() }, ..function.clone() };
    if function.sig.receiver().is_some() {
        // An `impl` block has no place for the hidden type.
        return quote!(#function #(#errors)*);
    }
    // Rules and a platform of a broken handler could only repeat its errors.
    let args = Args { krate: args.krate, ..Args::default() };
    let operation = expand::expand_operation(&Model::bare(&args, function), TokenStream::new());
    quote!(#function #operation #(#errors)*)
}
