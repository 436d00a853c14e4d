//! The IR of this stage: one assignment over tensor accesses. Its grammar is in the module's doc.

use std::ops::Range;

use indexmap::IndexMap;

use crate::formula::{Affine, Formula, Name};

/// One statement of index notation.
///
/// Equality compares the statement, not its text or the places in it.
#[derive(Clone, Debug)]
pub struct Program {
    /// The access that is assigned to.
    pub output: Access,
    pub op: AssignOp,
    pub rhs: Expr,
    /// Only index values at which it holds are iterated over.
    pub restriction: Option<Formula>,
    /// What was parsed; all spans are byte ranges of it.
    pub text: String,
}

/// How the right side is combined into an output element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AssignOp {
    /// `=`: a sum over the indices that are absent on the left.
    Assign,
    /// `+=`
    Add,
    /// `*=`
    Mul,
    /// `min=`
    Min,
    /// `max=`
    Max,
}

/// A tensor with its subscripts: `A[i,2*j + 1]`. A tensor of rank 0 has none.
///
/// Equality ignores the place.
#[derive(Clone, Debug)]
pub struct Access {
    pub tensor: Name,
    /// One linear form over indices per dimension; neither calls nor floor divisions.
    pub subscripts: Vec<Affine>,
    /// From the tensor's name to the closing bracket.
    pub span: Range<usize>,
}

/// A number as written. It has no sign: a minus before it is an [`Expr::Neg`].
///
/// Equality compares the text.
#[derive(Clone, Debug)]
pub struct Literal {
    /// The nearest `f64`, finite.
    pub value: f64,
    /// The spelling, from which integer types take the exact value.
    pub text: String,
    pub span: Range<usize>,
}

/// `min(a, b)`: a known function of at least two arguments.
///
/// Equality ignores the place.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    pub function: Name,
    pub args: Vec<Expr>,
    /// From the function's name to the closing parenthesis.
    pub span: Range<usize>,
}

/// The right side of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Access(Access),
    Literal(Literal),
    Neg(Box<Expr>),
    Add(Box<Expr>, Box<Expr>),
    Sub(Box<Expr>, Box<Expr>),
    Mul(Box<Expr>, Box<Expr>),
    Div(Box<Expr>, Box<Expr>),
    Call(FunctionCall),
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.output == other.output
            && self.op == other.op
            && self.rhs == other.rhs
            && self.restriction == other.restriction
    }
}

impl PartialEq for Access {
    fn eq(&self, other: &Self) -> bool {
        self.tensor == other.tensor && self.subscripts == other.subscripts
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl PartialEq for FunctionCall {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function && self.args == other.args
    }
}

impl Program {
    /// Every index in order of first occurrence: the output's, then the right side's. Within one
    /// subscript the order is that of the canonical linear form (by name).
    pub fn indices(&self) -> Vec<Name> {
        let mut out: Vec<Name> = Vec::new();
        for access in self.all_accesses() {
            access.visit_indices(&mut |index| {
                if !out.contains(index) {
                    out.push(index.clone());
                }
            });
        }
        out
    }

    /// The accesses of the right side, from left to right. A tensor may occur several times.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut out = Vec::new();
        self.rhs.visit(&mut |e| {
            if let Expr::Access(access) = e {
                out.push(access);
            }
        });
        out
    }

    /// The output's access, then those of the right side.
    pub fn all_accesses(&self) -> Vec<&Access> {
        let mut out = vec![&self.output];
        out.extend(self.accesses());
        out
    }

    /// The rank of every tensor: the output's first, then the operands' in order of occurrence.
    pub fn tensors(&self) -> IndexMap<Name, usize> {
        self.all_accesses().iter().map(|a| (a.tensor.clone(), a.rank())).collect()
    }

    /// The indices that the left side does not mention.
    pub fn reduced(&self) -> Vec<Name> {
        let mut out = self.indices();
        out.retain(|index| !self.output.mentions(index));
        out
    }
}

impl AssignOp {
    pub const ALL: [AssignOp; 5] =
        [AssignOp::Assign, AssignOp::Add, AssignOp::Mul, AssignOp::Min, AssignOp::Max];

    /// The spelling, e.g. `+=`.
    pub fn as_str(self) -> &'static str {
        match self {
            AssignOp::Assign => "=",
            AssignOp::Add => "+=",
            AssignOp::Mul => "*=",
            AssignOp::Min => "min=",
            AssignOp::Max => "max=",
        }
    }
}

impl Access {
    /// Number of subscripts.
    pub fn rank(&self) -> usize {
        self.subscripts.len()
    }

    pub fn mentions(&self, index: &str) -> bool {
        self.subscripts.iter().any(|s| s.mentions(index))
    }

    /// Calls `f` on every index of the subscripts, repeatedly if it occurs repeatedly.
    pub fn visit_indices(&self, f: &mut impl FnMut(&Name)) {
        self.subscripts.iter().for_each(|s| s.visit_vars(f));
    }

    /// The place of the tensor's name.
    pub fn name_span(&self) -> Range<usize> {
        self.span.start..self.span.start + self.tensor.len()
    }
}

impl Expr {
    /// Calls `f` on the expression and all its parts, from left to right.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        f(self);
        match self {
            Expr::Access(_) | Expr::Literal(_) => {}
            Expr::Neg(a) => a.visit(f),
            Expr::Add(a, b) | Expr::Sub(a, b) | Expr::Mul(a, b) | Expr::Div(a, b) => {
                a.visit(f);
                b.visit(f);
            }
            Expr::Call(call) => call.args.iter().for_each(|a| a.visit(f)),
        }
    }

    /// The place, without enclosing parentheses and leading signs.
    pub fn span(&self) -> Range<usize> {
        match self {
            Expr::Access(access) => access.span.clone(),
            Expr::Literal(literal) => literal.span.clone(),
            Expr::Call(call) => call.span.clone(),
            Expr::Neg(a) => a.span(),
            Expr::Add(a, b) | Expr::Sub(a, b) | Expr::Mul(a, b) | Expr::Div(a, b) => {
                a.span().start..b.span().end
            }
        }
    }
}
