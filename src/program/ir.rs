//! The IR of this stage: a tree of statements over tensors.
//!
//! ```text
//! stmt  := ('forall' | 'for') index ['in' extent] block
//!        | 'if' cond block ['else' block]
//!        | 'when' expr block ['else' block]
//!        | 'let' name '=' expr block
//!        | 'declare' tensor (fill | 'given')
//!        | access op expr
//!        | block
//! block := '{' stmt* '}'
//! fill  := ['-'] literal
//! op    := '=' | operator '='
//! expr  := access | literal | index | name | op '(' expr, … ')'
//!        | 'within' '(' access ',' expr ',' expr ')'
//! ```
//! `forall` is a *free* loop: the order of its iterations is the compiler's to choose. `for` is a
//! *fixed* loop: they run one after the other. An `extent` is a number, a `cond` a formula over
//! indices: it restricts the iterations. What `when` asks depends on values. A subscript is linear in
//! indices and in names that `let` binds to whole numbers. The operators of an `expr` are printed and read as in index notation (`a + b * c`,
//! `min(a, b)`), whose grammar is in the module's doc; so are accesses. What a tree means is there
//! too.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::window::Window;
use crate::diagnostic::Result;
use crate::formula::{Affine, Formula, Name};
use crate::operators::symbols::strength;
use crate::operators::{Operator, Operators};

/// A verified tree of statements, with the text that it was read from.
///
/// Equality compares the trees, not their texts or the places in them.
#[derive(Clone, Debug)]
pub struct Program {
    /// Only [`Program::new`] sets it, so that every program is verified.
    pub(super) root: Stmt,
    /// What was parsed; all spans are byte ranges of it.
    pub text: String,
}

/// Statements that run one after the other.
pub type Block = Vec<Stmt>;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// A loop over an index.
    Loop(Loop),
    /// A restriction or a choice.
    If(If),
    /// A choice that depends on values.
    When(When),
    /// A scalar with a name.
    Let(Let),
    /// A workspace.
    Declare(Declare),
    /// An assignment or update of an element.
    Assign(Assign),
    /// Groups statements; it is no scope of its own.
    Block(Block),
}

/// `forall i in 4 { … }`: the body for every value of the index from 0 to its extent.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Whether the order of the iterations is ours to choose.
    pub order: Order,
    /// Bound by this loop only.
    pub index: Name,
    /// `None`: the tensors and the user decide it, see [`resolve`](super::resolve).
    pub extent: Option<usize>,
    /// What is repeated.
    pub body: Block,
    /// Of the index.
    pub span: Span,
}

/// Who orders the iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The compiler. The result does not depend on it but for rounding, which is verified.
    Free,
    /// The program: from the first value of the index to the last.
    Fixed,
}

/// `if j <= i { … } else { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// Over indices; it calls nothing.
    pub condition: Formula,
    /// What runs where the condition holds.
    pub then: Block,
    /// What runs where it does not.
    pub otherwise: Option<Block>,
    /// Of the condition.
    pub span: Span,
}

/// `when x[i] > 0 { … } else { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct When {
    /// A truth value, computed once.
    pub condition: Expr,
    /// What runs if it is true.
    pub then: Block,
    /// What runs if it is not.
    pub otherwise: Option<Block>,
    /// Of the condition.
    pub span: Span,
}

/// `let x = A[i,j] * 2 { … }`: the value is computed once, before the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// Bound by this statement only.
    pub name: Name,
    /// What the name stands for.
    pub value: Expr,
    /// Where the name is known.
    pub body: Block,
    /// Of the name.
    pub span: Span,
}

/// `declare t 0`: sets every element of a tensor. `declare t given`: the elements of an output are those
/// of the tensor that is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Declare {
    /// The tensor that is declared.
    pub tensor: Name,
    /// Its elements, to begin with; `None`: as they are given.
    pub fill: Option<Fill>,
    /// Of the tensor's name.
    pub span: Span,
}

/// What a tensor is filled with.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// Whether a minus stands before it.
    pub negative: bool,
    /// The number.
    pub literal: Literal,
}

/// `y[i] += A[i,j] * x[j]`
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// The element that is written.
    pub output: Access,
    /// How the value is combined with what is there.
    pub op: AssignOp,
    /// The value.
    pub value: Expr,
}

/// How a value is combined into an output element.
#[derive(Clone, Debug, PartialEq)]
pub enum AssignOp {
    /// `=`: in a tree, the element becomes the value. In index notation, which is
    /// [sugar](super::Assignment), a sum over the indices that are absent on the left.
    Assign,
    /// `+=`, `min=`: the element becomes the operator of itself and the value.
    Combine(Arc<Operator>),
}

/// A tensor with its subscripts: `A[i,2*j + 1]`. A tensor of rank 0 has none.
///
/// Equality ignores the place, and how subscripts were written.
#[derive(Clone, Debug)]
pub struct Access {
    /// The tensor that is accessed.
    pub tensor: Name,
    /// One linear form over indices and values per dimension; neither calls nor floor divisions.
    pub subscripts: Vec<Affine>,
    /// Those of them that were written as windows; what they say of extents, loops say.
    pub windows: Vec<Window>,
    /// From the tensor's name to the closing bracket.
    pub span: Range<usize>,
}

/// A number as written: digits, `inf`, `nan`, `true` or `false`. It has no sign: a minus before it is an
/// operator.
///
/// Equality compares the text.
#[derive(Clone, Debug)]
pub struct Literal {
    /// The spelling, from which every type takes its own value.
    pub text: String,
    /// Its place in the text.
    pub span: Range<usize>,
}

/// An expression over elements of tensors.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// An element.
    Access(Access),
    /// A number.
    Literal(Literal),
    /// The value of the index of an enclosing loop.
    Index(Name, Span),
    /// The value of an enclosing `let`.
    Name(Name, Span),
    /// An operator with its operands.
    Apply(Apply),
    /// One of two, as an access lies inside its tensor or not.
    Within(Box<Within>),
}

/// An operator or function with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply {
    /// The operator.
    pub op: Arc<Operator>,
    /// As many as it takes.
    pub args: Vec<Expr>,
    /// Without enclosing parentheses and leading signs.
    pub span: Span,
}

/// `within(A[i + 1], A[i + 1] * 2, 0)`: only one of the two is evaluated, so the first may read there.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    /// Its element is not read.
    pub access: Access,
    /// The value where it lies inside its tensor.
    pub inside: Expr,
    /// The value where it does not.
    pub outside: Expr,
    /// The whole.
    pub span: Span,
}

/// A place in the text. All places are equal: where something stands is no part of what it is.
#[derive(Clone, Debug, Default)]
pub struct Span(pub Range<usize>);

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
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

impl Program {
    /// The whole tree.
    pub fn root(&self) -> &Stmt {
        &self.root
    }

    /// Every index, in the order of the loops. For index notation that is the order of first
    /// occurrence: the output's, then the right side's; within one subscript the order is that of
    /// the canonical linear form (by name).
    pub fn indices(&self) -> Vec<Name> {
        let mut out: Vec<Name> = Vec::new();
        for l in self.loops() {
            if !out.contains(&l.index) {
                out.push(l.index.clone());
            }
        }
        out
    }

    /// Every loop, outer ones first.
    pub fn loops(&self) -> Vec<&Loop> {
        let mut out = Vec::new();
        self.root.visit(&mut |s| {
            if let Stmt::Loop(l) = s {
                out.push(l);
            }
        });
        out
    }

    /// Every assignment, from top to bottom.
    pub fn assigns(&self) -> Vec<&Assign> {
        let mut out = Vec::new();
        self.root.visit(&mut |s| {
            if let Stmt::Assign(a) = s {
                out.push(a);
            }
        });
        out
    }

    /// Every declaration, from top to bottom.
    pub fn declares(&self) -> Vec<&Declare> {
        let mut out = Vec::new();
        self.root.visit(&mut |s| {
            if let Stmt::Declare(d) = s {
                out.push(d);
            }
        });
        out
    }

    /// The accesses that read, in the order of the text. A tensor may occur several times.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut out = Vec::new();
        self.root.visit(&mut |s| out.extend(s.value().into_iter().flat_map(Expr::accesses)));
        out
    }

    /// All accesses: of every statement the one that writes, then those that read.
    pub fn all_accesses(&self) -> Vec<&Access> {
        let mut out = Vec::new();
        self.root.visit(&mut |s| {
            if let Stmt::Assign(assign) = s {
                out.push(&assign.output);
            }
            out.extend(s.value().into_iter().flat_map(Expr::accesses));
        });
        out
    }

    /// The rank of every tensor in order of occurrence; in index notation, the output's first.
    pub fn tensors(&self) -> IndexMap<Name, usize> {
        self.all_accesses().iter().map(|a| (a.tensor.clone(), a.rank())).collect()
    }

    /// Whether an assignment writes `tensor`.
    pub fn writes(&self, tensor: &str) -> bool {
        self.assigns().iter().any(|a| *a.output.tensor == *tensor)
    }

    /// Whether the elements of `tensor` are given, and updated.
    pub fn keeps(&self, tensor: &str) -> bool {
        self.declares().iter().any(|d| *d.tensor == *tensor && d.fill.is_none())
    }

    /// The tensors that one assignment writes and a later one reads.
    pub fn temporaries(&self) -> Vec<Name> {
        let assigns = self.assigns();
        let mut out: Vec<Name> = Vec::new();
        for (k, assign) in assigns.iter().enumerate() {
            let tensor = &assign.output.tensor;
            let reads =
                |later: &&Assign| later.value.accesses().iter().any(|a| a.tensor == *tensor);
            if !out.contains(tensor) && assigns[k + 1..].iter().any(reads) {
                out.push(tensor.clone());
            }
        }
        out
    }

    /// The tensors that are written and not read later: what statements of index notation compute, the output of the
    /// last one first.
    pub fn results(&self) -> Vec<Name> {
        let temporaries = self.temporaries();
        let assigns = self.assigns();
        let last = assigns.last().map(|a| a.output.tensor.clone());
        let mut out: Vec<Name> = last.into_iter().collect();
        for tensor in assigns.iter().map(|a| &a.output.tensor) {
            if !temporaries.contains(tensor) && !out.contains(tensor) {
                out.push(tensor.clone());
            }
        }
        out
    }

    /// The tensors that are written, but for workspaces: those that are declared inside a loop, a
    /// branch or a `let`.
    pub fn outputs(&self) -> Vec<Name> {
        let mut local: Vec<&Name> = Vec::new();
        self.root.visit(&mut |s| {
            for block in s.scopes() {
                local.extend(flat(block).into_iter().filter_map(|s| match s {
                    Stmt::Declare(d) => Some(&d.tensor),
                    _ => None,
                }));
            }
        });
        let mut out: Vec<Name> = Vec::new();
        for assign in self.assigns() {
            let tensor = &assign.output.tensor;
            if !local.contains(&tensor) && !out.contains(tensor) {
                out.push(tensor.clone());
            }
        }
        out
    }
}

/// The statements of a block, with groups taken apart.
pub(super) fn flat(block: &[Stmt]) -> Vec<&Stmt> {
    let mut out = Vec::new();
    for stmt in block {
        match stmt {
            Stmt::Block(inner) => out.extend(flat(inner)),
            other => out.push(other),
        }
    }
    out
}

impl Stmt {
    /// Calls `f` on the statement and all its parts, from top to bottom.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Stmt)) {
        f(self);
        for block in self.blocks() {
            block.iter().for_each(|s| s.visit(f));
        }
    }

    /// The blocks that the statement consists of.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Stmt::Block(block) => vec![block],
            other => other.scopes(),
        }
    }

    /// The blocks that are scopes: what is declared in one is not known outside it.
    pub fn scopes(&self) -> Vec<&Block> {
        match self {
            Stmt::Loop(l) => vec![&l.body],
            Stmt::Let(l) => vec![&l.body],
            Stmt::If(i) => std::iter::once(&i.then).chain(&i.otherwise).collect(),
            Stmt::When(w) => std::iter::once(&w.then).chain(&w.otherwise).collect(),
            Stmt::Declare(_) | Stmt::Assign(_) | Stmt::Block(_) => Vec::new(),
        }
    }

    /// The expression that the statement itself evaluates.
    pub fn value(&self) -> Option<&Expr> {
        match self {
            Stmt::Let(l) => Some(&l.value),
            Stmt::When(w) => Some(&w.condition),
            Stmt::Assign(a) => Some(&a.value),
            Stmt::Loop(_) | Stmt::If(_) | Stmt::Declare(_) | Stmt::Block(_) => None,
        }
    }

    /// A place that tells which statement is meant.
    pub fn span(&self) -> Range<usize> {
        match self {
            Stmt::Loop(l) => l.span.0.clone(),
            Stmt::If(i) => i.span.0.clone(),
            Stmt::Let(l) => l.span.0.clone(),
            Stmt::When(w) => w.span.0.clone(),
            Stmt::Declare(d) => d.span.0.clone(),
            Stmt::Assign(a) => a.output.span.clone(),
            Stmt::Block(b) => b.first().map_or(0..0, Stmt::span),
        }
    }
}

impl AssignOp {
    /// How elements are combined: `=` of index notation sums.
    ///
    /// # Errors
    /// If a shipped operator is declared wrongly.
    pub fn combines(&self) -> Result<Arc<Operator>> {
        match self {
            AssignOp::Assign => Operators::sum(),
            AssignOp::Combine(op) => Ok(op.clone()),
        }
    }

    /// The spelling before the `=`: empty, a symbol or a name.
    pub fn prefix(&self) -> &str {
        match self {
            AssignOp::Assign => "",
            AssignOp::Combine(op) => update_prefix(op),
        }
    }
}

/// How an operator is written before `=`: `+` of `+=`, `min` of `min=`.
pub fn update_prefix(op: &Operator) -> &str {
    match op.symbol() {
        // `==` and `<=` are no assignments.
        Some(symbol) if strength(symbol).is_some() && !symbol.contains(['=', '<', '>']) => symbol,
        _ => op.name(),
    }
}

/// The parts of a printed update, `y[i] += a`: what is updated, by which shipped operator, and the value.
pub fn split_update(line: &str) -> Option<(&str, &'static Arc<Operator>, &str)> {
    let operators = Operators::shipped().ok()?;
    let (mut depth, mut at) = (0_usize, 0);
    for word in line.split(' ') {
        if let (0, Some(prefix)) = (depth, word.strip_suffix('='))
            && let Some(op) = operators.infix(prefix).or(operators.named(prefix).ok())
        {
            let (target, value) = (line[..at].trim(), line[at + word.len()..].trim());
            return Some((target, op, value));
        }
        depth += word.matches('[').count();
        depth = depth.saturating_sub(word.matches(']').count());
        at += word.len() + 1;
    }
    None
}

impl Access {
    /// Number of subscripts.
    pub fn rank(&self) -> usize {
        self.subscripts.len()
    }

    /// The index that a subscript is alone, all along its dimension: no window.
    pub fn plain(&self, dimension: usize) -> Option<&Name> {
        let is_window = self.windows.iter().any(|w| w.dimension == dimension);
        self.subscripts[dimension].as_var().filter(|_| !is_window)
    }

    /// Whether the index occurs in a subscript.
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
            Expr::Apply(apply) => apply.args.iter().for_each(|a| a.visit(f)),
            Expr::Within(within) => {
                within.inside.visit(f);
                within.outside.visit(f);
            }
            _ => {}
        }
    }

    /// The accesses, from left to right.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut out = Vec::new();
        self.visit(&mut |e| match e {
            Expr::Access(access) => out.push(access),
            Expr::Within(within) => out.push(&within.access),
            _ => {}
        });
        out
    }

    /// The place, without enclosing parentheses and leading signs.
    pub fn span(&self) -> Range<usize> {
        match self {
            Expr::Access(access) => access.span.clone(),
            Expr::Literal(literal) => literal.span.clone(),
            Expr::Index(_, span) | Expr::Name(_, span) => span.0.clone(),
            Expr::Apply(apply) => apply.span.0.clone(),
            Expr::Within(within) => within.span.0.clone(),
        }
    }

    /// An operator between two expressions, in the place that they span.
    pub fn binary(op: &Arc<Operator>, a: Expr, b: Expr) -> Expr {
        let span = Span(a.span().start..b.span().end);
        Expr::Apply(Apply { op: op.clone(), args: vec![a, b], span })
    }
}
