//! The bag that a stage puts its mistakes into, so that all of them are reported together.
//! A bag must be closed; one that is dropped unread panics, because its mistakes would be lost.

use std::{fmt::Display, thread};

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::rules::Rule;

/// One mistake: the rule it breaks and the compile error to show.
pub(crate) struct Diagnostic {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare it with the name of the fixture"))]
    pub(crate) rule: Rule,
    error: syn::Error,
}

impl ToTokens for Diagnostic {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.error.to_compile_error());
    }
}

/// The mistakes of one stage.
#[derive(Default)]
pub(crate) struct Errors {
    list: Vec<Diagnostic>,
    closed: bool,
}

impl Errors {
    /// Adds a mistake; the error covers the tokens of `at`.
    pub(crate) fn push(&mut self, rule: Rule, at: impl ToTokens, message: impl Display) {
        self.list.push(Diagnostic { rule, error: syn::Error::new_spanned(at, message) });
    }

    /// Adds a mistake that syn has described.
    pub(crate) fn push_syn(&mut self, rule: Rule, error: syn::Error) {
        self.list.push(Diagnostic { rule, error });
    }

    /// A barrier: what follows runs only where nothing went wrong so far.
    pub(crate) fn close(mut self) -> Result<(), Vec<Diagnostic>> {
        self.closed = true;
        match std::mem::take(&mut self.list) {
            list if list.is_empty() => Ok(()),
            list => Err(list),
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        // A second panic while unwinding would abort the compiler.
        assert!(self.closed || thread::panicking(), "a bag of errors was dropped unread");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_reports_every_mistake() {
        let mut errors = Errors::default();
        errors.push(Rule::Receiver, TokenStream::new(), "one");
        errors.push(Rule::NoBuffer, TokenStream::new(), "two");
        let rules: Vec<_> = errors.close().unwrap_err().iter().map(|d| d.rule).collect();
        assert_eq!(rules, [Rule::Receiver, Rule::NoBuffer]);
    }

    #[test]
    #[should_panic(expected = "dropped unread")]
    fn an_unread_bag_panics() {
        drop(Errors::default());
    }
}
