//! The shape language at run time: one rule, emitted once by the macro over [`Sink`], read in three ways.
//!
//! The same `fn shapes<S: Sink>` checks a call (`i64`), explains what it expected (text), and describes the operation in
//! the manifest (JSON), so the three cannot disagree.
#![forbid(unsafe_code)]

use serde_json::{Value as Json, json};

/// Expressions over dims and attributes. Conditions are values too: 0 or 1.
pub trait Algebra {
    /// The value of an expression.
    type V;

    /// An integer.
    fn int(value: i64) -> Self::V;
    /// A constant of Rust, by the name that it was written with.
    fn named(value: i64, name: &'static str) -> Self::V;
    /// The `index`-th of the given values: the dims, then the attributes.
    fn get(values: &[Self::V], index: usize) -> Self::V;
    /// `a + b`
    fn add(a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`
    fn sub(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`
    fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`, rounded down.
    fn div(a: Self::V, b: Self::V) -> Self::V;
    /// The remainder that belongs to [`div`](Self::div): it has the sign of `b`.
    fn rem(a: Self::V, b: Self::V) -> Self::V;
    /// The smaller one.
    fn min(a: Self::V, b: Self::V) -> Self::V;
    /// The larger one.
    fn max(a: Self::V, b: Self::V) -> Self::V;
    /// `a == b`
    fn eq(a: Self::V, b: Self::V) -> Self::V;
    /// `a != b`
    fn ne(a: Self::V, b: Self::V) -> Self::V;
    /// `a < b`
    fn lt(a: Self::V, b: Self::V) -> Self::V;
    /// `a <= b`
    fn le(a: Self::V, b: Self::V) -> Self::V;
    /// `a > b`
    fn gt(a: Self::V, b: Self::V) -> Self::V;
    /// `a >= b`
    fn ge(a: Self::V, b: Self::V) -> Self::V;
    /// `a && b`
    fn and(a: Self::V, b: Self::V) -> Self::V;
    /// `a || b`
    fn or(a: Self::V, b: Self::V) -> Self::V;
    /// `!a`
    fn not(a: Self::V) -> Self::V;
    /// `if c { a } else { b }`: what the other branch would have been does not matter.
    fn select(c: Self::V, a: Self::V, b: Self::V) -> Self::V;
}

/// A reader of a shape rule: it is told each buffer's dims and each condition, in order, and stops with `false`.
pub trait Sink: Algebra {
    /// The dims of the `k`-th buffer parameter.
    fn buffer<const R: usize>(&mut self, k: usize, dims: [Self::V; R]) -> bool;
    /// A condition of the operation.
    fn require(&mut self, condition: Self::V, message: &'static str) -> bool;
}

/// The value of an expression that has none: it overflowed, or a divisor was zero. No dim can have this value.
pub const POISON: i64 = i64::MIN;

/// A reader of sizes; [`Sizes`] does the arithmetic for it.
pub(crate) trait SizeVisitor {
    fn buffer<const R: usize>(&mut self, k: usize, dims: [i64; R]) -> bool;
    fn require(&mut self, condition: i64, message: &'static str) -> bool;
}

/// Checked `i64` arithmetic: the sink of a call.
pub struct Sizes<V>(pub(crate) V);

#[inline(always)]
fn checked(a: i64, b: i64, op: impl FnOnce(i64, i64) -> Option<i64>) -> i64 {
    if a == POISON || b == POISON { POISON } else { op(a, b).unwrap_or(POISON) }
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn floor_rem(a: i64, b: i64) -> Option<i64> {
    let remainder = a.checked_rem(b)?;
    Some(if remainder != 0 && (a < 0) != (b < 0) { remainder + b } else { remainder })
}

impl<S> Algebra for Sizes<S> {
    type V = i64;

    #[inline(always)]
    fn int(value: i64) -> i64 {
        value
    }
    #[inline(always)]
    fn named(value: i64, _name: &'static str) -> i64 {
        value
    }
    #[inline(always)]
    fn get(values: &[i64], index: usize) -> i64 {
        values[index]
    }
    #[inline(always)]
    fn add(a: i64, b: i64) -> i64 {
        checked(a, b, i64::checked_add)
    }
    #[inline(always)]
    fn sub(a: i64, b: i64) -> i64 {
        checked(a, b, i64::checked_sub)
    }
    #[inline(always)]
    fn mul(a: i64, b: i64) -> i64 {
        checked(a, b, i64::checked_mul)
    }
    #[inline(always)]
    fn div(a: i64, b: i64) -> i64 {
        checked(a, b, floor_div)
    }
    #[inline(always)]
    fn rem(a: i64, b: i64) -> i64 {
        checked(a, b, floor_rem)
    }
    #[inline(always)]
    fn min(a: i64, b: i64) -> i64 {
        // POISON is the least value, so it wins here and must be asked for below.
        a.min(b)
    }
    #[inline(always)]
    fn max(a: i64, b: i64) -> i64 {
        checked(a, b, |a, b| Some(a.max(b)))
    }
    #[inline(always)]
    fn eq(a: i64, b: i64) -> i64 {
        checked(a, b, |a, b| Some((a == b).into()))
    }
    #[inline(always)]
    fn ne(a: i64, b: i64) -> i64 {
        checked(a, b, |a, b| Some((a != b).into()))
    }
    #[inline(always)]
    fn lt(a: i64, b: i64) -> i64 {
        checked(a, b, |a, b| Some((a < b).into()))
    }
    #[inline(always)]
    fn le(a: i64, b: i64) -> i64 {
        checked(a, b, |a, b| Some((a <= b).into()))
    }
    #[inline(always)]
    fn gt(a: i64, b: i64) -> i64 {
        Self::lt(b, a)
    }
    #[inline(always)]
    fn ge(a: i64, b: i64) -> i64 {
        Self::le(b, a)
    }
    #[inline(always)]
    fn and(a: i64, b: i64) -> i64 {
        // As `&&`: a false left side hides what the right side is.
        if a == 0 { 0 } else { checked(a, b, |_, b| Some((b != 0).into())) }
    }
    #[inline(always)]
    fn or(a: i64, b: i64) -> i64 {
        match a {
            0 if b == POISON => POISON,
            0 => (b != 0).into(),
            POISON => POISON,
            _ => 1,
        }
    }
    #[inline(always)]
    fn not(a: i64) -> i64 {
        checked(a, 0, |a, _| Some((a == 0).into()))
    }
    #[inline(always)]
    fn select(c: i64, a: i64, b: i64) -> i64 {
        match c {
            POISON => POISON,
            0 => b,
            _ => a,
        }
    }
}

impl<S: SizeVisitor> Sink for Sizes<S> {
    #[inline(always)]
    fn buffer<const R: usize>(&mut self, k: usize, dims: [i64; R]) -> bool {
        self.0.buffer(k, dims)
    }
    #[inline(always)]
    fn require(&mut self, condition: i64, message: &'static str) -> bool {
        self.0.require(condition, message)
    }
}

/// The rule as text, for messages: `min(m, n)`, with conditions as they were written.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) buffers: Vec<Vec<String>>,
    pub(crate) conditions: Vec<String>,
}

/// The rule as JSON trees, for the manifest.
#[derive(Default)]
pub(crate) struct Trees {
    pub(crate) buffers: Vec<Vec<Json>>,
    pub(crate) conditions: Vec<(Json, &'static str)>,
}

/// `fn $name(a, b)` for both describing sinks: infix text, and a tree with the operator in front.
macro_rules! describe {
    ($($name:ident $op:literal)*) => {
        impl Algebra for Text {
            type V = String;

            fn int(value: i64) -> String {
                value.to_string()
            }
            fn named(_value: i64, name: &'static str) -> String {
                name.to_owned()
            }
            fn get(values: &[String], index: usize) -> String {
                values[index].clone()
            }
            $(fn $name(a: String, b: String) -> String {
                if $op.starts_with('m') { format!("{}({a}, {b})", $op) } else { format!("({a} {} {b})", $op) }
            })*
            fn not(a: String) -> String {
                format!("!{a}")
            }
            fn select(c: String, a: String, b: String) -> String {
                format!("if {c} {{ {a} }} else {{ {b} }}")
            }
        }

        impl Algebra for Trees {
            type V = Json;

            fn int(value: i64) -> Json {
                json!(value)
            }
            fn named(value: i64, _name: &'static str) -> Json {
                json!(value)
            }
            fn get(values: &[Json], index: usize) -> Json {
                values[index].clone()
            }
            $(fn $name(a: Json, b: Json) -> Json {
                json!([match $op { "&&" => "and", "||" => "or", op => op }, a, b])
            })*
            fn not(a: Json) -> Json {
                json!(["not", a])
            }
            fn select(c: Json, a: Json, b: Json) -> Json {
                json!(["if", c, a, b])
            }
        }
    };
}

describe! {
    add "+" sub "-" mul "*" div "/" rem "%" min "min" max "max"
    eq "==" ne "!=" lt "<" le "<=" gt ">" ge ">=" and "&&" or "||"
}

/// An expression stands alone in a message: its outermost parentheses say nothing there.
fn bare(text: String) -> String {
    match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        Some(inner) => inner.to_owned(),
        None => text,
    }
}

impl Sink for Text {
    fn buffer<const R: usize>(&mut self, k: usize, dims: [String; R]) -> bool {
        debug_assert_eq!(k, self.buffers.len());
        self.buffers.push(dims.into_iter().map(bare).collect());
        true
    }
    fn require(&mut self, condition: String, _message: &'static str) -> bool {
        self.conditions.push(bare(condition));
        true
    }
}

impl Sink for Trees {
    fn buffer<const R: usize>(&mut self, k: usize, dims: [Json; R]) -> bool {
        debug_assert_eq!(k, self.buffers.len());
        self.buffers.push(dims.into());
        true
    }
    fn require(&mut self, condition: Json, message: &'static str) -> bool {
        self.conditions.push((condition, message));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type S = Sizes<()>;

    #[test]
    fn division_rounds_down() {
        for (a, b, q, r) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, 3, 2, 0), (-6, 3, -2, 0)]
        {
            assert_eq!((S::div(a, b), S::rem(a, b)), (q, r), "{a} / {b}");
        }
    }

    #[test]
    fn what_has_no_value_is_poison() {
        assert_eq!(S::add(i64::MAX, 1), POISON);
        assert_eq!(S::sub(-2, i64::MAX), POISON);
        assert_eq!(S::mul(1 << 40, 1 << 40), POISON);
        assert_eq!(S::div(1, 0), POISON);
        assert_eq!(S::rem(1, 0), POISON);
        assert_eq!(S::add(S::div(1, 0), 5), POISON);
        assert_eq!(S::min(S::div(1, 0), 5), POISON);
        assert_eq!(S::max(S::div(1, 0), 5), POISON);
        assert_eq!(S::lt(S::div(1, 0), 5), POISON);
        assert_eq!(S::gt(S::div(1, 0), 5), POISON);
        assert_eq!(S::not(POISON), POISON);
        assert_eq!(S::select(POISON, 1, 2), POISON);
        assert_eq!(S::and(POISON, 0), POISON);
        assert_eq!(S::or(POISON, 1), POISON);
        assert_eq!(S::or(0, POISON), POISON);
    }

    #[test]
    fn a_branch_not_taken_has_no_say() {
        assert_eq!(S::select(1, 3, POISON), 3);
        assert_eq!(S::select(0, POISON, 4), 4);
        assert_eq!(S::and(0, POISON), 0);
        assert_eq!(S::or(1, POISON), 1);
    }
}
