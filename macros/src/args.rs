//! The arguments of `#[ffi_handler(..)]`: tokens to [`Args`], what the user wrote.
//! Each argument is read on its own, so that one malformed argument does not hide the others.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    LitBool, LitStr, Path, Result, Token, Type, braced, bracketed,
    ext::IdentExt,
    parenthesized,
    parse::{Parse, ParseStream, Parser},
    punctuated::Punctuated,
    token::{Brace, Bracket},
};

use crate::{
    errors::Errors,
    rules::Rule,
    shape::{self, Expr},
};

/// What a handler's attribute says; everything is optional.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) dtypes: Vec<Dtypes>,
    pub(crate) target: Option<Target>,
    pub(crate) batch: Batch,
    pub(crate) threads: Option<Threads>,
    pub(crate) platform: Platform,
    /// The value that `platform` was given, where an error about the platform belongs.
    pub(crate) platform_at: Option<Ident>,
    pub(crate) command_buffer: Option<CommandBuffer>,
    pub(crate) vjp: Option<Vjp>,
    pub(crate) jvp: Option<Path>,
    pub(crate) require: Vec<Require>,
    pub(crate) krate: Option<Path>,
}

/// `T = [f32, f64]` in `dtypes(..)`.
pub(crate) struct Dtypes {
    pub(crate) variable: Ident,
    pub(crate) bracket: Bracket,
    pub(crate) types: Vec<Type>,
}

/// `target = "name"`, or a map, for a target of another library's: `{ f32: "name", f64: "name" }`, or `{ _: "name" }`.
pub(crate) enum Target {
    One(LitStr),
    PerDtype(Brace, Vec<(Type, LitStr)>),
    AnyDtype(LitStr),
}

impl Target {
    pub(crate) fn names(&self) -> Vec<&LitStr> {
        match self {
            Target::One(name) | Target::AnyDtype(name) => vec![name],
            Target::PerDtype(_, targets) => targets.iter().map(|(_, name)| name).collect(),
        }
    }
}

impl Parse for Target {
    fn parse(input: ParseStream) -> Result<Target> {
        if input.peek(LitStr) {
            return Ok(Target::One(input.parse()?));
        }
        let list;
        let brace = braced!(list in input);
        let one = |input: ParseStream| {
            let ty = input.parse()?;
            input.parse::<Token![:]>()?;
            Ok((ty, input.parse()?))
        };
        let targets: Vec<(Type, LitStr)> = list.parse_terminated(one, Token![,])?.into_iter().collect();
        Ok(match &targets[..] {
            [(Type::Infer(_), name)] => Target::AnyDtype(name.clone()),
            _ => Target::PerDtype(brace, targets),
        })
    }
}

impl ToTokens for Target {
    /// The name or the whole map, where an error about the targets belongs.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Target::One(name) | Target::AnyDtype(name) => name.to_tokens(tokens),
            Target::PerDtype(brace, targets) => {
                brace.surround(tokens, |tokens| tokens.extend(targets.iter().map(|(_, name)| name.to_token_stream())));
            }
        }
    }
}

/// How a handler meets batch axes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Batch {
    /// One call a batch element.
    #[default]
    Each,
    /// The same, shared among XLA's threads.
    Parallel,
    /// One call that sees the batch axes.
    Whole,
    /// No batch axes.
    None,
}

/// `threads = expression`
pub(crate) struct Threads {
    pub(crate) key: Ident,
    pub(crate) most: syn::Expr,
}

/// The device that the handler's buffers are on.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Platform {
    #[default]
    Cpu,
    Cuda,
}

/// `command_buffer = true`
pub(crate) struct CommandBuffer {
    pub(crate) key: Ident,
    pub(crate) value: bool,
}

/// `vjp(fwd = path, bwd = path)`
pub(crate) struct Vjp {
    pub(crate) fwd: Option<Path>,
    pub(crate) bwd: Path,
}

/// `require(condition, "message")`
pub(crate) struct Require {
    pub(crate) condition: Expr<Ident>,
    pub(crate) message: LitStr,
}

/// Every key with the form of its argument, as the error messages show it.
const FORMS: &[(&str, &str)] = &[
    ("dtypes", "dtypes(T = [f32, f64])"),
    ("target", "target = \"name\"`, `target = { f32: \"name\", f64: \"name\" }` or `target = { _: \"name\" }"),
    ("batch", "batch = each"),
    ("threads", "threads = if n < 512 { usize::MAX } else { 1 }"),
    ("platform", "platform = cuda"),
    ("command_buffer", "command_buffer = true"),
    ("vjp", "vjp(fwd = path, bwd = path)"),
    ("jvp", "jvp = path"),
    ("require", "require(m >= n, \"a must be tall\")"),
    ("crate", "crate = path::to::oxidax"),
];

impl Args {
    /// Reads every argument; what is malformed is left at its default and reported.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Args {
        let mut args = Args::default();
        let mut seen = Vec::new();
        for argument in split_at_commas(tokens) {
            args.argument(argument, &mut seen, errors);
        }
        args
    }

    fn argument(&mut self, argument: TokenStream, seen: &mut Vec<String>, errors: &mut Errors) {
        let head = |input: ParseStream| Ok((input.call(Ident::parse_any)?, input.parse()?));
        let (key, value): (Ident, TokenStream) = match head.parse2(argument.clone()) {
            Ok(head) => head,
            Err(error) => return errors.push_syn(Rule::ArgumentForm, error),
        };
        let name = key.to_string();
        let Some((_, form)) = FORMS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<_> = FORMS.iter().map(|(known, _)| format!("`{known}`")).collect();
            return errors.push(
                Rule::ArgumentUnknown,
                &key,
                format!("`ffi_handler` has no argument `{name}`: it has {}", known.join(", ")),
            );
        };
        // `require` is a list of conditions, one an argument.
        if seen.contains(&name) && name != "require" {
            let message = format!("`{name}` is given twice: keep one");
            return errors.push(Rule::ArgumentTwice, &key, message);
        }
        seen.push(name);
        if self.value(&key, value, errors).is_err() {
            errors.push(Rule::ArgumentForm, argument, format!("`{key}` is written `{form}`"));
        }
    }

    /// Reads what follows the key. An `Err` means that the form is wrong; its text is not used, because the
    /// form itself says more than "expected `=`".
    fn value(&mut self, key: &Ident, value: TokenStream, errors: &mut Errors) -> Result<()> {
        match key.to_string().as_str() {
            "dtypes" => self.dtypes = dtypes.parse2(value)?,
            "target" => self.target = Some(after_eq(value)?),
            "batch" => self.batch = batch(&after_eq(value)?, errors),
            "threads" => self.threads = Some(Threads { key: key.clone(), most: after_eq(value)? }),
            "platform" => {
                let name = after_eq(value)?;
                self.platform = platform(&name, errors);
                self.platform_at = Some(name);
            }
            "command_buffer" => {
                let value = after_eq::<LitBool>(value)?.value;
                self.command_buffer = Some(CommandBuffer { key: key.clone(), value });
            }
            "vjp" => self.vjp = vjp(key, value, errors)?,
            "jvp" => self.jvp = Some(after_eq::<ModPath>(value)?.0),
            "require" => {
                let (condition, message) = require.parse2(value)?;
                if let Some(condition) = shape::parse(&condition, errors) {
                    self.require.push(Require { condition, message });
                }
            }
            "crate" => self.krate = Some(after_eq::<ModPath>(value)?.0),
            other => unreachable!("`{other}` is in the table of forms and has no reader"),
        }
        Ok(())
    }
}

/// The arguments between the commas of the outermost level. A comma inside an expression is not of it: `f::<A, B>(n)`.
fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let split = |input: ParseStream| {
        let mut arguments = Vec::new();
        while !input.is_empty() {
            let argument = argument(input)?;
            if !argument.is_empty() {
                arguments.push(argument);
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(arguments)
    };
    split.parse2(tokens).unwrap_or_else(|error| unreachable!("tokens and commas are all there is: {error}"))
}

/// The tokens up to the next comma.
fn argument(input: ParseStream) -> Result<TokenStream> {
    let assignment = |input: ParseStream| -> Result<TokenStream> {
        let (key, equals): (_, Token![=]) = (input.call(Ident::parse_any)?, input.parse()?);
        let value: syn::Expr = input.parse()?;
        Ok(quote!(#key #equals #value))
    };
    let ahead = input.fork();
    if assignment(&ahead).is_ok() && (ahead.is_empty() || ahead.peek(Token![,])) {
        return assignment(input);
    }
    let mut argument = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        argument.extend([input.parse::<TokenTree>()?]);
    }
    Ok(argument)
}

fn after_eq<T: Parse>(value: TokenStream) -> Result<T> {
    let parser = |input: ParseStream| {
        input.parse::<Token![=]>()?;
        input.parse()
    };
    parser.parse2(value)
}

/// A path without type arguments, as in `use`.
struct ModPath(Path);

impl Parse for ModPath {
    fn parse(input: ParseStream) -> Result<ModPath> {
        Path::parse_mod_style(input).map(ModPath)
    }
}

fn dtypes(input: ParseStream) -> Result<Vec<Dtypes>> {
    let list;
    parenthesized!(list in input);
    let one = |input: ParseStream| {
        let variable = input.parse()?;
        input.parse::<Token![=]>()?;
        let types;
        let bracket = bracketed!(types in input);
        let types = types.parse_terminated(Type::parse, Token![,])?.into_iter().collect();
        Ok(Dtypes { variable, bracket, types })
    };
    Ok(list.parse_terminated(one, Token![,])?.into_iter().collect())
}

fn batch(name: &Ident, errors: &mut Errors) -> Batch {
    match name.to_string().as_str() {
        "each" => Batch::Each,
        "parallel" => Batch::Parallel,
        "whole" => Batch::Whole,
        "none" => Batch::None,
        _ => {
            errors.push(Rule::BatchValue, name, "`batch` is `each`, `parallel`, `whole` or `none`");
            Batch::default()
        }
    }
}

fn platform(name: &Ident, errors: &mut Errors) -> Platform {
    match name.to_string().as_str() {
        "cpu" => Platform::Cpu,
        "cuda" => Platform::Cuda,
        _ => {
            errors.push(Rule::PlatformValue, name, "`platform` is `cpu` or `cuda`");
            Platform::default()
        }
    }
}

fn vjp(key: &Ident, value: TokenStream, errors: &mut Errors) -> Result<Option<Vjp>> {
    let rule = |input: ParseStream| {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok((name, Path::parse_mod_style(input)?))
    };
    let rules = |input: ParseStream| {
        let list;
        parenthesized!(list in input);
        list.parse_terminated(rule, Token![,])
    };
    let rules: Punctuated<(Ident, Path), _> = rules.parse2(value)?;
    let (mut fwd, mut bwd) = (None, None);
    for (name, path) in rules {
        let slot = match name.to_string().as_str() {
            "fwd" => &mut fwd,
            "bwd" => &mut bwd,
            _ => {
                errors.push(Rule::ArgumentForm, name, "the rules of `vjp` are `fwd` and `bwd`");
                continue;
            }
        };
        if slot.replace(path).is_some() {
            errors.push(Rule::ArgumentTwice, &name, format!("`{name}` is given twice: keep one"));
        }
    }
    let Some(bwd) = bwd else {
        errors.push(
            Rule::VjpWithoutBwd,
            key,
            "`vjp` needs the handler of the backward pass: `vjp(fwd = .., bwd = path)`",
        );
        return Ok(None);
    };
    Ok(Some(Vjp { fwd, bwd }))
}

fn require(input: ParseStream) -> Result<(syn::Expr, LitStr)> {
    let content;
    parenthesized!(content in input);
    let condition = content.parse()?;
    content.parse::<Token![,]>()?;
    let message = content.parse()?;
    content.parse::<Option<Token![,]>>()?;
    Ok((condition, message))
}

impl ToTokens for Dtypes {
    /// The list with its brackets, where an error about the list belongs.
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.bracket.surround(tokens, |tokens| tokens.extend(self.types.iter().map(ToTokens::to_token_stream)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_end_at_commas_outside_generic_arguments() {
        let split = |text: &str| {
            let arguments = split_at_commas(text.parse().unwrap());
            arguments.into_iter().map(|argument| argument.to_string().replace(' ', "")).collect::<Vec<_>>()
        };
        assert_eq!(split("batch = each, require(m < n, \"wide\"),"), ["batch=each", "require(m<n,\"wide\")"]);
        assert_eq!(split("threads = f::<A, B<C, D>>(n), jvp = g"), ["threads=f::<A,B<C,D>>(n)", "jvp=g"]);
        assert_eq!(split("threads = <A as B<C, D>>::f(n), jvp = g"), ["threads=<AasB<C,D>>::f(n)", "jvp=g"]);
        assert_eq!(split("threads = f::<fn() -> A, B>(n), jvp = g"), ["threads=f::<fn()->A,B>(n)", "jvp=g"]);
        assert_eq!(split("threads = a < b, jvp = g"), ["threads=a<b", "jvp=g"]);
        assert_eq!(split("threads = a >> 1, jvp = g"), ["threads=a>>1", "jvp=g"]);
        assert_eq!(split("threads = 2 * <A as B<C, D>>::N, jvp = g"), ["threads=2*<AasB<C,D>>::N", "jvp=g"]);
        // Each mistake is reported where it is: the next argument is not part of it.
        assert_eq!(split("threads = f::<A, jvp = g"), ["threads=f::<A", "jvp=g"]);
        assert_eq!(split("target = { _: \"a\" }, batch = , jvp g"), ["target={_:\"a\"}", "batch=", "jvpg"]);
        assert_eq!(split(",,"), [""; 0]);
    }
}
