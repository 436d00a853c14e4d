//! Index notation as sugar: one assignment to a tree of free loops, and back.
//!
//! Before → after:
//!
//! ```text
//! y[i] = A[i,j] * x[j] if j <= i   ⟼   {
//!                                        declare y 0
//!                                        forall i {
//!                                          forall j {
//!                                            if j <= i {
//!                                              y[i] += A[i,j] * x[j]
//!                                            }
//!                                          }
//!                                        }
//!                                      }
//! ```
//! With `+=`, `*=`, `min=` and `max=` there is no `declare`: the output keeps what it holds. The
//! loops come in order of first occurrence of their indices, the output's first. A window says how often
//! the loop of its index runs.
//!
//! Accepts on the way back exactly the trees that index notation stands for. That is what kernels
//! are made from today; other trees are verified and interpreted, but refused here.

use std::ops::Range;

use indexmap::IndexMap;

use super::SOURCE_NAME;
use super::ir::{
    Access, Assign, AssignOp, Block, Declare, Expr, Fill, If, Literal, Loop, Order, Program, Span,
    Stmt,
};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Formula, Name};
use crate::operators::Operators;

/// A program that is one assignment of index notation.
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    /// The access that is assigned to.
    pub output: &'a Access,
    /// As in index notation: `=` declares the output and sums into it.
    pub op: AssignOp,
    /// The right side.
    pub value: &'a Expr,
    /// Only index values at which it holds are iterated over.
    pub restriction: Option<&'a Formula>,
}

impl<'a> Assignment<'a> {
    /// The indices that the left side does not mention, in order of first occurrence.
    pub fn reduced(&self) -> Vec<Name> {
        let mut out = indices(self.output, self.value);
        out.retain(|index| !self.output.mentions(index));
        out
    }

    /// The tree that index notation stands for.
    fn tree(&self) -> Result<Stmt> {
        let restriction = self.restriction.map(|r| (r.clone(), Span::default()));
        desugar(self.output.clone(), self.op.clone(), self.value.clone(), restriction)
    }
}

/// The tree of `output op value if restriction`.
pub(super) fn desugar(
    output: Access,
    op: AssignOp,
    value: Expr,
    restriction: Option<(Formula, Span)>,
) -> Result<Stmt> {
    let declare = (op == AssignOp::Assign).then(|| {
        let span = Span(output.name_span());
        Stmt::Declare(Declare { tensor: output.tensor.clone(), fill: zero(), span })
    });
    let loops = indices(&output, &value);
    let extents = extents(&output, &value)?;
    let span = output.span.clone();
    let op = AssignOp::Combine(op.combines()?);
    let mut stmt = Stmt::Assign(Assign { output, op, value });
    if let Some((condition, span)) = restriction {
        stmt = Stmt::If(If { condition, then: vec![stmt], otherwise: None, span });
    }
    for index in loops.into_iter().rev() {
        let (order, span) = (Order::Free, Span(span.clone()));
        let extent = extents.get(&index).copied();
        stmt = Stmt::Loop(Loop { order, index, extent, body: vec![stmt], span });
    }
    Ok(match declare {
        Some(declare) => Stmt::Block(vec![declare, stmt]),
        None => stmt,
    })
}

fn zero() -> Fill {
    Fill { negative: false, literal: Literal { text: "0".to_string(), span: 0..0 } }
}

/// What windows say of the extents of their indices.
fn extents(output: &Access, value: &Expr) -> Result<IndexMap<Name, usize>> {
    let mut out: IndexMap<Name, usize> = IndexMap::new();
    for access in std::iter::once(output).chain(value.accesses()) {
        for window in &access.windows {
            let Some(extent) = window.extent() else { continue };
            let before = *out.entry(window.index.clone()).or_insert(extent);
            if before != extent {
                let message = format!("`{}` has {before} and {extent} values", window.index);
                return Err(Diagnostic::new(Code::Program, message)
                    .at(access.span.clone(), format!("a window of {extent}"))
                    .help("windows of one index have one length"));
            }
        }
    }
    Ok(out)
}

/// In order of first occurrence.
fn indices(output: &Access, value: &Expr) -> Vec<Name> {
    let mut out: Vec<Name> = Vec::new();
    for access in std::iter::once(output).chain(value.accesses()) {
        access.visit_indices(&mut |index| {
            if !out.contains(index) {
                out.push(index.clone());
            }
        });
    }
    out
}

impl Program {
    /// The one assignment that index notation stands for.
    ///
    /// # Errors
    /// [`Code::Program`] for every other tree: what is not compiled yet, with its place.
    pub fn assignment(&self) -> Result<Assignment<'_>> {
        self.single().map_err(|e| e.within(SOURCE_NAME, &self.text))
    }

    /// The access that the one assignment writes.
    ///
    /// # Errors
    /// Those of [`Program::assignment`].
    pub fn output(&self) -> Result<&Access> {
        Ok(self.assignment()?.output)
    }

    fn single(&self) -> Result<Assignment<'_>> {
        let (declared, mut stmt) = match &self.root {
            Stmt::Block(block) => match block.as_slice() {
                [Stmt::Declare(declare), stmt] => (Some(declare), stmt),
                _ => (None, only(block)?),
            },
            stmt => (None, stmt),
        };
        let mut restriction = None;
        let assign = loop {
            let (what, place) = match stmt {
                Stmt::Assign(assign) => break assign,
                Stmt::Loop(l) if l.order == Order::Free && restriction.is_none() => {
                    stmt = only(&l.body)?;
                    continue;
                }
                Stmt::If(i) if i.otherwise.is_none() && restriction.is_none() => {
                    restriction = Some(&i.condition);
                    stmt = only(&i.then)?;
                    continue;
                }
                Stmt::Loop(l) if l.order == Order::Fixed => ("a loop of fixed order", &l.span),
                Stmt::Loop(l) => ("a loop inside an `if`", &l.span),
                Stmt::If(i) if i.otherwise.is_some() => ("an `else`", &i.span),
                Stmt::If(i) => ("an `if` inside an `if`", &i.span),
                Stmt::Let(l) => ("a `let`", &l.span),
                Stmt::Declare(d) => ("a `declare` without an assignment", &d.span),
                Stmt::Block(block) => {
                    stmt = only(block)?;
                    continue;
                }
            };
            return Err(not_compiled(what, place.0.clone()));
        };
        let op = match declared {
            None if assign.op == AssignOp::Assign => {
                let what = "an assignment that stores without a reduction";
                return Err(not_compiled(what, assign.output.span.clone()));
            }
            None => assign.op.clone(),
            Some(d) if d.tensor != assign.output.tensor => {
                return Err(not_compiled("a workspace", d.span.0.clone()));
            }
            Some(d) if d.fill != zero() || assign.op != AssignOp::Combine(Operators::sum()?) => {
                let what = "a `declare` other than to 0 before a sum";
                return Err(not_compiled(what, d.span.0.clone()));
            }
            Some(_) => AssignOp::Assign,
        };
        let (output, value) = (&assign.output, &assign.value);
        let mentioned = indices(output, value);
        if let Some(l) = self.loops().into_iter().find(|l| !mentioned.contains(&l.index)) {
            let what = format!("a loop over `{}`, which is no subscript,", l.index);
            return Err(not_compiled(&what, l.span.0.clone()));
        }
        let assignment = Assignment { output, op, value, restriction };
        if assignment.tree()? == self.root {
            return Ok(assignment);
        }
        let loops = self.loops();
        match loops.iter().find(|l| l.extent.is_some()) {
            Some(l) => Err(not_compiled("an extent that the program states", l.span.0.clone())),
            None => {
                let place = loops.first().map_or(assign.output.span.clone(), |l| l.span.0.clone());
                Err(not_compiled("this nesting of loops", place).note(format!(
                    "in index notation the loops are over {}",
                    mentioned.iter().map(|i| format!("`{i}`")).collect::<Vec<_>>().join(", ")
                )))
            }
        }
    }
}

/// The one statement of a block.
fn only(block: &Block) -> Result<&Stmt> {
    match block.as_slice() {
        [stmt] => Ok(stmt),
        [] => Err(not_compiled("an empty block", 0..0)),
        [_, second, ..] => Err(not_compiled("more than one statement", second.span())),
    }
}

fn not_compiled(what: &str, place: Range<usize>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, format!("{what} is not compiled yet"))
        .at(place, "the interpreter runs it, kernels do not")
        .help("write one assignment in index notation: `y[i] += A[i,j] * x[j] if j <= i`")
}
