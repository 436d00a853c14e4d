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

use super::SOURCE_NAME;
use super::ir::{Access, AssignOp, Block, Declare, Expr, Order, Program, Span, Stmt};
use super::sequence::sequence;
use super::sugar::{Statement, indices, zero};
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

    /// The indices, in order of first occurrence.
    pub fn indices(&self) -> Vec<Name> {
        indices(self.output, self.value)
    }

    fn statement(&self) -> Statement {
        Statement {
            output: self.output.clone(),
            op: self.op.clone(),
            value: self.value.clone(),
            restriction: self.restriction.map(|r| (r.clone(), Span::default())),
        }
    }
}

impl Program {
    /// The one assignment that index notation stands for.
    ///
    /// # Errors
    /// [`Code::Program`] for every other tree: what is not compiled yet, with its place.
    pub fn assignment(&self) -> Result<Assignment<'_>> {
        let mut all = self.assignments()?;
        match all.get(1) {
            None => Ok(all.remove(0)),
            Some(second) => {
                let e = not_compiled("more than one statement", second.output.span.clone());
                Err(e.within(SOURCE_NAME, &self.text))
            }
        }
    }

    /// The assignments that index notation stands for, one after the other; at least one.
    ///
    /// # Errors
    /// [`Code::Program`] for every other tree: what is not compiled yet, with its place.
    pub fn assignments(&self) -> Result<Vec<Assignment<'_>>> {
        self.all_assignments().map_err(|e| e.within(SOURCE_NAME, &self.text))
    }

    /// The access that the last assignment writes.
    ///
    /// # Errors
    /// Those of [`Program::assignments`].
    pub fn output(&self) -> Result<&Access> {
        let all = self.assignments()?;
        Ok(all[all.len() - 1].output)
    }

    /// Whether the first assignment that writes a tensor does so with `=`.
    pub fn begins_anew(&self, tensor: &str) -> bool {
        let all = self.assignments().unwrap_or_default();
        let first = all.iter().find(|a| *a.output.tensor == *tensor);
        first.is_some_and(|a| a.op == AssignOp::Assign)
    }

    fn all_assignments(&self) -> Result<Vec<Assignment<'_>>> {
        let stmts: Vec<&Stmt> = match &self.root {
            Stmt::Block(block) => block.iter().collect(),
            stmt => vec![stmt],
        };
        let mut out = Vec::new();
        let mut declared = None;
        for stmt in &stmts {
            match (stmt, declared.take()) {
                (Stmt::Declare(declare), None) => declared = Some(declare),
                (Stmt::Declare(_), Some(before)) => return Err(lonely(before)),
                (stmt, declare) => out.push(assignment_of(declare, stmt)?),
            }
        }
        if let Some(declare) = declared {
            return Err(lonely(declare));
        }
        if out.is_empty() {
            return Err(not_compiled("an empty block", 0..0));
        }
        if sequence(out.iter().map(Assignment::statement).collect())? == self.root {
            return Ok(out);
        }
        let loops = self.loops();
        match loops.iter().find(|l| l.extent.is_some()) {
            Some(l) => Err(not_compiled("an extent that the program states", l.span.0.clone())),
            None => {
                let output = out[0].output;
                let place = loops.first().map_or(output.span.clone(), |l| l.span.0.clone());
                let mentioned: Vec<String> = out
                    .iter()
                    .flat_map(|a| indices(a.output, a.value))
                    .map(|i| format!("`{i}`"))
                    .collect();
                let what = format!("in index notation the loops are over {}", mentioned.join(", "));
                Err(not_compiled("this nesting of loops", place).note(what))
            }
        }
    }
}

fn lonely(declare: &Declare) -> Box<Diagnostic> {
    not_compiled("a `declare` without an assignment", declare.span.0.clone())
}

/// What index notation says by `declare`, if it is there, and `stmt`.
fn assignment_of<'a>(declared: Option<&'a Declare>, stmt: &'a Stmt) -> Result<Assignment<'a>> {
    let mut restriction = None;
    let mut inner = stmt;
    let assign = loop {
        let (what, place) = match inner {
            Stmt::Assign(assign) => break assign,
            Stmt::Loop(l) if l.order == Order::Free && restriction.is_none() => {
                inner = only(&l.body)?;
                continue;
            }
            Stmt::If(i) if i.otherwise.is_none() && restriction.is_none() => {
                restriction = Some(&i.condition);
                inner = only(&i.then)?;
                continue;
            }
            Stmt::Loop(l) if l.order == Order::Fixed => ("a loop of fixed order", &l.span),
            Stmt::Loop(l) => ("a loop inside an `if`", &l.span),
            Stmt::If(i) if i.otherwise.is_some() => ("an `else`", &i.span),
            Stmt::If(i) => ("an `if` inside an `if`", &i.span),
            Stmt::Let(l) => ("a `let`", &l.span),
            Stmt::When(w) => ("a `when`", &w.span),
            Stmt::Declare(d) => return Err(lonely(d)),
            Stmt::Block(block) => {
                inner = only(block)?;
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
        Some(d) if d.fill != Some(zero()) || assign.op != AssignOp::Combine(Operators::sum()?) => {
            let what = "a `declare` other than to 0 before a sum";
            return Err(not_compiled(what, d.span.0.clone()));
        }
        Some(_) => AssignOp::Assign,
    };
    let (output, value) = (&assign.output, &assign.value);
    let mentioned = indices(output, value);
    let mut unmentioned = None;
    stmt.visit(&mut |s| match s {
        Stmt::Loop(l) if !mentioned.contains(&l.index) => {
            unmentioned.get_or_insert(l);
        }
        _ => {}
    });
    if let Some(l) = unmentioned {
        let what = format!("a loop over `{}`, which is no subscript,", l.index);
        return Err(not_compiled(&what, l.span.0.clone()));
    }
    Ok(Assignment { output, op, value, restriction })
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
