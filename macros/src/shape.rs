//! Shape expressions: what stands in `#[shape(..)]` and in `require(..)`.
//! [`parse`] turns Rust syntax into our own small tree, [`Expr::resolve`] replaces names by values, and
//! [`Expr::expand`] makes calls of a `Sink`, which core runs as a check, an explanation and JSON.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{BinOp, Block, ExprCall, Lit, Path, Stmt, UnOp};

use crate::{errors::Errors, rules::Rule};

/// What a shape may be made of: the end of a refusal that has nothing nearer to say.
const LANGUAGE: &str = "it is made of dims, attributes, integers, constants such as `Mode::All`, `+ - * / %`, `min(a, b)`, `max(a, b)`, \
                        comparisons, `&& || !` and `if c { a } else { b }`";

/// An expression over names of the kind `N`: identifiers as written, then resolved values.
pub(crate) struct Expr<N> {
    pub(crate) node: Node<N>,
    /// What the user wrote, where an error about this expression belongs.
    pub(crate) written: TokenStream,
}

/// One step of an expression.
pub(crate) enum Node<N> {
    Int(i64),
    /// A constant of Rust, such as the variant of an enum.
    Const(Path),
    Name(N),
    Not(Box<Expr<N>>),
    Binary(Op, Box<[Expr<N>; 2]>),
    /// The condition, and the values where it holds and where it does not.
    If(Box<[Expr<N>; 3]>),
}

/// A function of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

impl Op {
    /// The name of the `Sink` function.
    fn function(self) -> &'static str {
        match self {
            Op::Add => "add",
            Op::Sub => "sub",
            Op::Mul => "mul",
            Op::Div => "div",
            Op::Rem => "rem",
            Op::Min => "min",
            Op::Max => "max",
            Op::Eq => "eq",
            Op::Ne => "ne",
            Op::Lt => "lt",
            Op::Le => "le",
            Op::Gt => "gt",
            Op::Ge => "ge",
            Op::And => "and",
            Op::Or => "or",
        }
    }

    fn from_syntax(op: &BinOp) -> Option<Op> {
        Some(match op {
            BinOp::Add(_) => Op::Add,
            BinOp::Sub(_) => Op::Sub,
            BinOp::Mul(_) => Op::Mul,
            BinOp::Div(_) => Op::Div,
            BinOp::Rem(_) => Op::Rem,
            BinOp::Eq(_) => Op::Eq,
            BinOp::Ne(_) => Op::Ne,
            BinOp::Lt(_) => Op::Lt,
            BinOp::Le(_) => Op::Le,
            BinOp::Gt(_) => Op::Gt,
            BinOp::Ge(_) => Op::Ge,
            BinOp::And(_) => Op::And,
            BinOp::Or(_) => Op::Or,
            _ => return None,
        })
    }
}

/// Reads one expression; reports everything in it that a shape cannot hold.
pub(crate) fn parse(expr: &syn::Expr, errors: &mut Errors) -> Option<Expr<Ident>> {
    let node = match expr {
        syn::Expr::Paren(inner) => return parse(&inner.expr, errors),
        // What `macro_rules!` passes as `$e:expr`.
        syn::Expr::Group(inner) => return parse(&inner.expr, errors),
        syn::Expr::Lit(literal) => Node::Int(integer(&literal.lit, errors)?),
        syn::Expr::Path(path) => match path.path.get_ident() {
            Some(name) => Node::Name(name.clone()),
            None if path.qself.is_none() && path.path.segments.iter().all(|segment| segment.arguments.is_none()) => {
                Node::Const(path.path.clone())
            }
            None => {
                let message = "a name in a shape is a dim, an attribute, or a constant such as `Mode::All`: write the number, or pass it as an attribute";
                errors.push(Rule::ShapePath, path, message);
                return None;
            }
        },
        syn::Expr::Unary(unary) => match unary.op {
            UnOp::Not(_) => Node::Not(Box::new(parse(&unary.expr, errors)?)),
            UnOp::Neg(minus) => match parse(&unary.expr, errors)? {
                Expr { node: Node::Int(value), .. } => Node::Int(-value),
                operand => {
                    let zero = Expr { node: Node::Int(0), written: minus.to_token_stream() };
                    Node::Binary(Op::Sub, Box::new([zero, operand]))
                }
            },
            _ => {
                errors.push(Rule::ShapeOperator, unary.op, format!("a shape has no such operator: {LANGUAGE}"));
                return None;
            }
        },
        syn::Expr::Binary(binary) => {
            let op = Op::from_syntax(&binary.op);
            if op.is_none() {
                errors.push(Rule::ShapeOperator, binary.op, format!("a shape has no such operator: {LANGUAGE}"));
            }
            let (left, right) = (parse(&binary.left, errors), parse(&binary.right, errors));
            Node::Binary(op?, Box::new([left?, right?]))
        }
        syn::Expr::Call(call) => {
            let op = function(call, errors)?;
            let (left, right) = (parse(&call.args[0], errors), parse(&call.args[1], errors));
            Node::Binary(op, Box::new([left?, right?]))
        }
        syn::Expr::If(branches) => {
            let condition = parse(&branches.cond, errors);
            let then = branch(&branches.then_branch, errors);
            let otherwise = match branches.else_branch.as_ref().map(|(_, otherwise)| &**otherwise) {
                Some(syn::Expr::Block(block)) => branch(&block.block, errors),
                Some(chained) => parse(chained, errors),
                None => {
                    let message = "an `if` in a shape needs a value for the other case: add `else { .. }`";
                    errors.push(Rule::ShapeIfWithoutElse, branches.if_token, message);
                    None
                }
            };
            Node::If(Box::new([condition?, then?, otherwise?]))
        }
        syn::Expr::MethodCall(call) => {
            let message = "a shape calls no methods: write `min(a, b)` for `a.min(b)`";
            errors.push(Rule::ShapeMethod, &call.method, message);
            return None;
        }
        syn::Expr::Range(range) => {
            errors.push(Rule::DotsNotFirst, range, "`..` stands for the batch axes: write it once, as the first axis");
            return None;
        }
        other => {
            errors.push(Rule::ShapeExpression, other, format!("a shape cannot hold this: {LANGUAGE}"));
            return None;
        }
    };
    Some(Expr { node, written: expr.to_token_stream() })
}

fn integer(literal: &Lit, errors: &mut Errors) -> Option<i64> {
    let message = match literal {
        Lit::Int(literal) => match literal.base10_parse() {
            Ok(value) => return Some(value),
            Err(_) => "a literal in a shape is an integer that fits into `i64`",
        },
        Lit::Bool(_) => {
            "a condition is compared with no literal: write `full` for `full == true`, `!full` for `full == false`"
        }
        Lit::Str(_) => {
            "a shape has no text: make the attribute an enum with `#[derive(FfiAttr)]`, and write `side == Side::Left`"
        }
        _ => "a literal in a shape is an integer: pass other numbers as attributes",
    };
    errors.push(Rule::ShapeLiteral, literal, message);
    None
}

fn function(call: &ExprCall, errors: &mut Errors) -> Option<Op> {
    let op = match &*call.func {
        syn::Expr::Path(path) if path.path.is_ident("min") => Some(Op::Min),
        syn::Expr::Path(path) if path.path.is_ident("max") => Some(Op::Max),
        _ => None,
    };
    match op {
        Some(op) if call.args.len() == 2 => return Some(op),
        Some(_) => errors.push(Rule::ShapeCall, &call.func, "`min` and `max` take two operands: nest them for more"),
        None => {
            let message = "a shape calls `min(a, b)` and `max(a, b)` alone: compute the rest in the caller, and pass it as an attribute";
            errors.push(Rule::ShapeCall, &call.func, message);
        }
    }
    None
}

fn branch(block: &Block, errors: &mut Errors) -> Option<Expr<Ident>> {
    match &block.stmts[..] {
        [Stmt::Expr(value, None)] => parse(value, errors),
        _ => {
            errors.push(Rule::ShapeBranch, block, "a branch in a shape is one expression, without `;`");
            None
        }
    }
}

impl<N> Expr<N> {
    /// The name, where the expression is nothing else.
    pub(crate) fn bare(&self) -> Option<&N> {
        match &self.node {
            Node::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Calls `visit` with this expression and every one inside it, in the order of the source.
    pub(crate) fn walk<'e>(&'e self, visit: &mut impl FnMut(&'e Expr<N>)) {
        visit(self);
        let operands: &[Expr<N>] = match &self.node {
            Node::Int(_) | Node::Const(_) | Node::Name(_) => &[],
            Node::Not(operand) => std::slice::from_ref(operand),
            Node::Binary(_, operands) => &operands[..],
            Node::If(operands) => &operands[..],
        };
        operands.iter().for_each(|operand| operand.walk(visit));
    }

    /// The same expression over other names, which `resolve` is asked for in the order of the source.
    pub(crate) fn resolve<M>(&self, resolve: &mut impl FnMut(&N) -> M) -> Expr<M> {
        let node = match &self.node {
            Node::Int(value) => Node::Int(*value),
            Node::Const(path) => Node::Const(path.clone()),
            Node::Name(name) => Node::Name(resolve(name)),
            Node::Not(operand) => Node::Not(Box::new(operand.resolve(resolve))),
            Node::Binary(op, operands) => {
                Node::Binary(*op, Box::new(operands.each_ref().map(|operand| operand.resolve(resolve))))
            }
            Node::If(operands) => Node::If(Box::new(operands.each_ref().map(|operand| operand.resolve(resolve)))),
        };
        Expr { node, written: self.written.clone() }
    }

    /// Calls on the sink `S`; `index` gives the position of a name in the values `v`.
    pub(crate) fn expand(&self, index: &impl Fn(&N) -> usize) -> TokenStream {
        let mixed = Span::mixed_site();
        match &self.node {
            Node::Int(value) => {
                let value = Literal::i64_unsuffixed(*value);
                quote_spanned!(mixed=> __S::int(#value))
            }
            Node::Const(path) => {
                let name = path.to_token_stream().to_string().replace(' ', "");
                quote_spanned!(mixed=> __S::named(__p::shape_attr(#path), #name))
            }
            Node::Name(name) => {
                let index = Literal::usize_unsuffixed(index(name));
                quote_spanned!(mixed=> __S::get(v, #index))
            }
            Node::Not(operand) => {
                let operand = operand.expand(index);
                quote_spanned!(mixed=> __S::not(#operand))
            }
            Node::Binary(op, operands) => {
                let function = Ident::new(op.function(), mixed);
                let operands = operands.iter().map(|operand| operand.expand(index));
                quote_spanned!(mixed=> __S::#function(#(#operands),*))
            }
            Node::If(operands) => {
                let operands = operands.iter().map(|operand| operand.expand(index));
                quote_spanned!(mixed=> __S::select(#(#operands),*))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sink calls for an expression whose names stand in alphabetical order in `v`.
    fn expanded(source: &str) -> Result<String, Vec<Rule>> {
        let mut errors = Errors::default();
        let parsed = parse(&syn::parse_str(source).unwrap(), &mut errors);
        match errors.close() {
            Err(list) => Err(list.iter().map(|diagnostic| diagnostic.rule).collect()),
            Ok(()) => {
                let index = |name: &Ident| usize::from(name.to_string().as_bytes()[0] - b'a');
                Ok(parsed.unwrap().expand(&index).to_string().replace(' ', ""))
            }
        }
    }

    #[test]
    fn precedence_is_rusts() {
        assert_eq!(expanded("2 * a + 1").unwrap(), "__S::add(__S::mul(__S::int(2),__S::get(v,0)),__S::int(1))");
        assert_eq!(expanded("2 * (a + 1)").unwrap(), "__S::mul(__S::int(2),__S::add(__S::get(v,0),__S::int(1)))");
        assert_eq!(expanded("a - b - c").unwrap(), "__S::sub(__S::sub(__S::get(v,0),__S::get(v,1)),__S::get(v,2))");
        assert_eq!(
            expanded("a || !b && c < 1").unwrap(),
            "__S::or(__S::get(v,0),__S::and(__S::not(__S::get(v,1)),__S::lt(__S::get(v,2),__S::int(1))))"
        );
    }

    #[test]
    fn a_minus_is_part_of_its_number() {
        assert_eq!(expanded("a >= -1").unwrap(), "__S::ge(__S::get(v,0),__S::int(-1))");
        assert_eq!(expanded("-a").unwrap(), "__S::sub(__S::int(0),__S::get(v,0))");
    }

    #[test]
    fn every_operator_has_its_sink_function() {
        let operators = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"];
        let functions = ["add", "sub", "mul", "div", "rem", "eq", "ne", "lt", "le", "gt", "ge", "and", "or"];
        for (operator, function) in operators.iter().zip(functions) {
            let source = format!("a {operator} b");
            assert_eq!(expanded(&source).unwrap(), format!("__S::{function}(__S::get(v,0),__S::get(v,1))"));
        }
    }

    #[test]
    fn a_path_is_a_constant() {
        assert_eq!(
            expanded("a == Mode::All").unwrap(),
            "__S::eq(__S::get(v,0),__S::named(__p::shape_attr(Mode::All),\"Mode::All\"))"
        );
        assert_eq!(expanded("a == Vec::<u8>::N").unwrap_err(), [Rule::ShapePath]);
    }

    #[test]
    fn chained_ifs_nest() {
        assert_eq!(
            expanded("if a { 1 } else if b { min(c, 2) } else { max(c, 3) }").unwrap(),
            "__S::select(__S::get(v,0),__S::int(1),__S::select(__S::get(v,1),__S::min(__S::get(v,2),__S::int(2)),__S::max(__S::get(v,2),__S::int(3))))"
        );
    }

    #[test]
    fn every_mistake_of_an_expression_is_reported() {
        assert_eq!(
            expanded("1.5 + f(a) * a.max(b) - *c").unwrap_err(),
            [Rule::ShapeLiteral, Rule::ShapeCall, Rule::ShapeMethod, Rule::ShapeOperator]
        );
        for literal in ["9223372036854775808", "true", "\"L\"", "'L'"] {
            assert_eq!(expanded(literal).unwrap_err(), [Rule::ShapeLiteral], "{literal}");
        }
        assert_eq!(expanded("min(a, b, c)").unwrap_err(), [Rule::ShapeCall]);
        assert_eq!(expanded("if a { b }").unwrap_err(), [Rule::ShapeIfWithoutElse]);
        assert_eq!(expanded("if a { b; } else { c; d }").unwrap_err(), [Rule::ShapeBranch, Rule::ShapeBranch]);
        assert_eq!(expanded("a as i64").unwrap_err(), [Rule::ShapeExpression]);
    }
}
