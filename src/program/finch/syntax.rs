//! The syntax tree of Finch programs: what is written, with its places.
//!
//! Equality ignores places.

use std::ops::Range;

use crate::program::ir::Span;

/// A parsed program.
#[derive(Clone, Debug)]
pub struct Finch {
    /// Its statements, in order.
    pub body: Vec<Stmt>,
    /// What was parsed; all spans are byte ranges of it.
    pub text: String,
    /// What diagnostics call it.
    pub name: String,
}

impl PartialEq for Finch {
    fn eq(&self, other: &Finch) -> bool {
        self.body == other.body
    }
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// As it is written.
    pub name: String,
    /// Its place.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `begin … end`
    Block(Vec<Stmt>),
    /// `for j = _, i = 1:n … end`: the first index is the outermost.
    For(Vec<(Ident, Extent)>, Vec<Stmt>),
    /// `if … elseif … else … end`
    If(Vec<Branch>, Option<Vec<Stmt>>),
    /// `let x = a, y = b … end`
    Let(Vec<(Ident, Expr)>, Vec<Stmt>),
    /// `y .= 0`, `@declare(y, 0, +)`
    Declare(Declare),
    /// `y[i] += a`
    Assign(Assign),
    /// `@freeze(y)`, with what updates it
    Freeze(Ident, Option<Expr>),
    /// `@thaw(y)`
    Thaw(Ident, Option<Expr>),
    /// `return (y, z)`
    Return(Vec<Ident>, Span),
}

/// A condition with what runs where it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// What is asked.
    pub condition: Expr,
    /// What runs if so.
    pub body: Vec<Stmt>,
}

/// Over which values an index runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    /// `_`: what the tensors say.
    Infer(Span),
    /// `a:b`, both ends included.
    Range(Box<Expr>, Box<Expr>, Span),
    /// `parallel(…)`: the iterations may run at once; the rest says on what and how.
    Parallel(Box<Extent>, Vec<Expr>, Span),
}

/// What sets every element of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Declare {
    /// The tensor.
    pub tensor: Ident,
    /// What its elements begin with.
    pub init: Expr,
    /// What it will be updated by, if that is said.
    pub op: Option<Expr>,
}

/// An update of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// The element.
    pub output: Access,
    /// How.
    pub op: Update,
    /// The value.
    pub value: Expr,
}

/// How a value gets into an element.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// `=`: the element holds its fill before.
    Init(Span),
    /// `:=`: whatever it holds.
    Overwrite(Span),
    /// `+=`, `*=`, `&=`, `|=`
    Symbol(&'static str, Span),
    /// `<<op>>=`
    By(Expr),
}

/// `A[i, j]`
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The tensor.
    pub tensor: Tensor,
    /// One per dimension.
    pub subscripts: Vec<Expr>,
    /// From the tensor to the closing bracket.
    pub span: Span,
}

/// What is accessed.
#[derive(Clone, Debug, PartialEq)]
pub enum Tensor {
    /// A tensor of that name.
    Named(Ident),
    /// `swizzle(A, 2, 1)`: its dimensions in another order, counted from 1.
    Swizzle(Box<Tensor>, Vec<usize>, Span),
    /// `chunkmask(n, b)`: a mask that depends on numbers.
    Mask(Ident, Vec<Expr>),
}

impl Tensor {
    /// The tensor whose elements these are.
    pub fn name(&self) -> &Ident {
        match self {
            Tensor::Named(name) | Tensor::Mask(name, _) => name,
            Tensor::Swizzle(inner, ..) => inner.name(),
        }
    }
}

/// A number, or what stands for none.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// Digits.
    Integer(String),
    /// Digits with a point or an exponent.
    Float(String),
    /// `true`, `false`
    Bool(bool),
    /// `Inf`
    Inf,
    /// `NaN`
    Nan,
    /// `missing`: what is outside of its tensor.
    Missing,
    /// `nothing`
    Nothing,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Literal(Literal, Span),
    /// An index, a value of `let`, or a number that is given; behind `$` the last.
    Name(Ident),
    /// An operator alone, as in `<<+>>=`.
    Operator(&'static str, Span),
    /// An element.
    Access(Access),
    /// An operator before its operand: `-`, `+`, `!`, `~`.
    Prefix(&'static str, Box<Expr>, Span),
    /// An operator between two operands; comparisons are in a [`Expr::Chain`].
    Infix(&'static str, Box<Expr>, Box<Expr>),
    /// `a < b <= c`: all of them hold.
    Chain(Box<Expr>, Vec<(&'static str, Expr)>),
    /// `f(a, b)`; what is called may be a call itself: `filterop(0)(c, x)`.
    Call(Box<Expr>, Vec<Expr>, Span),
    /// `(2:4)(i)`
    Window(Box<Expr>, Box<Expr>, Box<Expr>, Span),
    /// `(a, b)`
    Tuple(Vec<Expr>, Span),
}

impl Expr {
    /// The place.
    pub fn span(&self) -> Range<usize> {
        match self {
            Expr::Literal(_, span)
            | Expr::Operator(_, span)
            | Expr::Prefix(_, _, span)
            | Expr::Call(_, _, span)
            | Expr::Window(_, _, _, span)
            | Expr::Tuple(_, span) => span.0.clone(),
            Expr::Name(ident) => ident.span.0.clone(),
            Expr::Access(access) => access.span.0.clone(),
            Expr::Infix(_, a, b) => a.span().start..b.span().end,
            Expr::Chain(first, rest) => {
                let end = rest.last().map_or(first.span(), |(_, last)| last.span());
                first.span().start..end.end
            }
        }
    }

    /// The parts, from left to right.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            Expr::Literal(..) | Expr::Name(_) | Expr::Operator(..) => Vec::new(),
            Expr::Access(access) => access.subscripts.iter().collect(),
            Expr::Prefix(_, a, _) => vec![a],
            Expr::Infix(_, a, b) => vec![a, b],
            Expr::Chain(first, rest) => {
                std::iter::once(&**first).chain(rest.iter().map(|(_, e)| e)).collect()
            }
            Expr::Call(f, args, _) => std::iter::once(&**f).chain(args).collect(),
            Expr::Window(a, b, index, _) => vec![a, b, index],
            Expr::Tuple(parts, _) => parts.iter().collect(),
        }
    }

    /// Calls `f` on the expression and all its parts.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        f(self);
        for part in self.parts() {
            part.visit(f);
        }
    }
}
