//! The part of trees that kernels are made from, as statements of index notation.
//!
//! Before → after:
//!
//! ```text
//! declare y 0                                     y[i] = A[i,j] * x[j];
//! forall j in 4 {                                 y[j] += A[i,j] * x[i] if i < j
//!   forall i in 4 {                          ⟼
//!     let a = A[i,j] { y[i] += x[j] * a }
//!     if i < j { y[j] += A[i,j] * x[i] }
//!   }
//! }
//! ```
//! A nest of free loops is taken apart into its assignments: none of them may read what another writes,
//! and all that write one tensor combine by one operator, so that their order does not matter. Values of
//! `let` are written out. The statements run over the same values as the loops, which is checked.

use indexmap::IndexMap;

use super::lower::{Tree, located};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Formula, Name};
use crate::operators::Value;
use crate::program::ir::{
    Apply, Assign, AssignOp, Declare, Expr, Fill, Loop, Order, Program, Span, Stmt,
};
use crate::program::resolve;
use crate::program::scalar::number;

/// What kernels are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// Index notation, with `;` between statements.
    pub text: String,
    /// How far its indices run, if the tensors that are given do not say it.
    pub extents: IndexMap<Name, usize>,
}

impl Tree {
    /// The statements of index notation that compute what the program does.
    ///
    /// # Errors
    /// [`Code::Program`], with the place: what kernels are not made from yet.
    pub fn statements(&self) -> Result<Statements> {
        self.made().map_err(|e| located(e, &self.name, &self.program.text))
    }

    fn made(&self) -> Result<Statements> {
        let mut maker = Maker { tree: self, fills: IndexMap::new(), out: Vec::new() };
        maker.statement(self.program.root())?;
        if let Some(name) = maker.fills.keys().next() {
            let declares = self.program.declares();
            let place = declares.iter().find(|d| d.tensor == *name).map(|d| d.span.0.clone());
            return Err(not_compiled(
                "a tensor that nothing is assigned to",
                place.unwrap_or(0..0),
            ));
        }
        let text = maker.out.join("; ");
        let program = Program::parse(&text)?;
        let extents: IndexMap<Name, usize> = program
            .indices()
            .into_iter()
            .filter_map(|index| Some((index.clone(), *self.extents.indices.get(&index)?)))
            .collect();
        let mut dims = IndexMap::new();
        for name in self.given.keys() {
            dims.insert(name.clone(), self.extents.tensors[name].clone());
        }
        let mut extents = extents;
        // What the tensors say need not be said again.
        if resolve(&program, &dims, &IndexMap::new()).is_ok_and(|found| found.indices == extents) {
            extents.clear();
        }
        let found = resolve(&program, &dims, &extents)?;
        for (name, dims) in &found.tensors {
            if self.extents.tensors.get(name) != Some(dims) {
                return Err(not_compiled("a size that no loop decides", self.place(name)));
            }
        }
        Ok(Statements { text, extents })
    }

    fn place(&self, tensor: &str) -> std::ops::Range<usize> {
        let accesses = self.program.all_accesses();
        accesses.iter().find(|a| *a.tensor == *tensor).map_or(0..0, |a| a.span.clone())
    }
}

struct Maker<'a> {
    tree: &'a Tree,
    /// Of tensors that are declared, and not yet assigned to.
    fills: IndexMap<Name, &'a Fill>,
    out: Vec<String>,
}

/// Where a statement stands.
#[derive(Clone, Default)]
struct Around<'a> {
    loops: Vec<&'a Loop>,
    conditions: Vec<Formula>,
    values: IndexMap<Name, Expr>,
}

impl<'a> Maker<'a> {
    /// A statement at global scope.
    fn statement(&mut self, stmt: &'a Stmt) -> Result<()> {
        match stmt {
            Stmt::Block(block) => block.iter().try_for_each(|s| self.statement(s)),
            Stmt::Declare(Declare { fill: None, .. }) => Ok(()),
            Stmt::Declare(Declare { tensor, fill: Some(fill), .. }) => {
                self.fills.insert(tensor.clone(), fill);
                Ok(())
            }
            nest => {
                let mut assigns = Vec::new();
                leaves(nest, &Around::default(), &mut assigns)?;
                apart(&assigns)?;
                assigns.iter().try_for_each(|(assign, around)| self.assign(assign, around))
            }
        }
    }

    fn assign(&mut self, assign: &Assign, around: &Around<'_>) -> Result<()> {
        let output = &assign.output;
        let place = output.span.clone();
        let value = written_out(&assign.value, &around.values);
        let accesses = value.accesses();
        for l in &around.loops {
            let is_subscript =
                output.mentions(&l.index) || accesses.iter().any(|a| a.mentions(&l.index));
            if !is_subscript {
                return Err(not_compiled("a loop whose index is no subscript", l.span.0.clone()));
            }
        }
        let by_value = |a: &&crate::program::Access| {
            let mut by_value = false;
            a.visit_indices(&mut |i| by_value |= !around.loops.iter().any(|l| l.index == *i));
            by_value
        };
        if let Some(access) = accesses.iter().copied().chain([output]).find(by_value) {
            return Err(not_compiled("a subscript that a value decides", access.span.clone()));
        }
        let fill = self.fills.shift_remove(&output.tensor);
        let ty = self.tree.types.of(&output.tensor);
        let filled = |wanted: Value| {
            fill.is_some_and(|f| {
                !f.negative && number(&f.literal, ty).is_some_and(|v| v.same(wanted))
            })
        };
        let op = match (&assign.op, fill) {
            (AssignOp::Assign, Some(_)) if filled(Value::zero(ty)) => {
                // Every element once, so that a sum of them is each of them.
                let once = around
                    .loops
                    .iter()
                    .all(|l| (0..output.rank()).any(|d| output.plain(d) == Some(&l.index)));
                if !once {
                    return Err(not_compiled("an element that is stored repeatedly", place));
                }
                "=".to_string()
            }
            (AssignOp::Assign, _) => {
                return Err(not_compiled("a store over what is there", place));
            }
            (AssignOp::Combine(op), Some(_)) if op.is_sum() && filled(Value::zero(ty)) => {
                "=".to_string()
            }
            (AssignOp::Combine(op), Some(fill)) => {
                let identity = op.identity(ty, 0);
                let negated = |v: Value| match v {
                    Value::F64(x) => Value::F64(-x),
                    Value::F32(x) => Value::F32(-x),
                    other => other,
                };
                let begins =
                    number(&fill.literal, ty).map(|v| if fill.negative { negated(v) } else { v });
                if !identity.zip(begins).is_some_and(|(a, b)| a.same(b)) {
                    let what = "a beginning that is not the identity of what combines";
                    return Err(not_compiled(what, place));
                }
                assign.op.to_string()
            }
            (AssignOp::Combine(_), None) => assign.op.to_string(),
        };
        let brackets = if output.rank() == 0 { "[]" } else { "" };
        let mut text = format!("{output}{brackets} {op} {value}");
        if !around.conditions.is_empty() {
            text += &format!(" if {}", Formula::and(around.conditions.clone()));
        }
        self.out.push(text);
        Ok(())
    }
}

/// The assignments of a nest, with what stands around each.
fn leaves<'a>(
    stmt: &'a Stmt,
    around: &Around<'a>,
    out: &mut Vec<(&'a Assign, Around<'a>)>,
) -> Result<()> {
    let mut inner = around.clone();
    match stmt {
        Stmt::Loop(l) if l.order == Order::Free => inner.loops.push(l),
        Stmt::Loop(l) => return Err(not_compiled("a loop of fixed order", l.span.0.clone())),
        Stmt::If(i) => {
            inner.conditions.push(i.condition.clone());
            i.then.iter().try_for_each(|s| leaves(s, &inner, out))?;
            inner.conditions.pop();
            inner.conditions.push(i.condition.clone().not());
            return i.otherwise.iter().flatten().try_for_each(|s| leaves(s, &inner, out));
        }
        Stmt::When(w) => {
            return Err(not_compiled("a choice that depends on values", w.span.0.clone()));
        }
        Stmt::Declare(d) => return Err(not_compiled("a workspace", d.span.0.clone())),
        Stmt::Let(l) => {
            inner.values.insert(l.name.clone(), written_out(&l.value, &around.values));
        }
        Stmt::Assign(a) => {
            let mut refused = None;
            a.value.visit(&mut |e| {
                if let Expr::Within(w) = e {
                    refused.get_or_insert(w.span.0.clone());
                }
            });
            if let Some(place) = refused {
                return Err(not_compiled("what may lie outside of its tensor", place));
            }
            out.push((a, inner));
            return Ok(());
        }
        Stmt::Block(_) => {}
    }
    stmt.blocks().into_iter().flatten().try_for_each(|s| leaves(s, &inner, out))
}

/// That the order of the assignments of a nest does not matter.
fn apart(assigns: &[(&Assign, Around<'_>)]) -> Result<()> {
    for (k, (assign, around)) in assigns.iter().enumerate() {
        let value = written_out(&assign.value, &around.values);
        for (other, _) in assigns {
            let tensor = &other.output.tensor;
            if let Some(read) = value.accesses().into_iter().find(|a| a.tensor == *tensor) {
                let what = "a tensor that one nest of loops writes and reads";
                return Err(not_compiled(what, read.span.clone()));
            }
        }
        let again = assigns[..k].iter().find(|(other, _)| {
            other.output.tensor == assign.output.tensor
                && (other.op != assign.op || assign.op == AssignOp::Assign)
        });
        if again.is_some() {
            let what = "a tensor that one nest of loops stores to twice";
            return Err(not_compiled(what, assign.output.span.clone()));
        }
    }
    Ok(())
}

/// An expression with the values of `let` in place of their names.
fn written_out(e: &Expr, values: &IndexMap<Name, Expr>) -> Expr {
    match e {
        Expr::Name(name, _) => values.get(name).unwrap_or(e).clone(),
        Expr::Apply(apply) => Expr::Apply(Apply {
            op: apply.op.clone(),
            args: apply.args.iter().map(|arg| written_out(arg, values)).collect(),
            span: Span(apply.span.0.clone()),
        }),
        other => other.clone(),
    }
}

fn not_compiled(what: &str, place: std::ops::Range<usize>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, format!("{what} is not compiled yet"))
        .at(place, "the interpreter runs it, kernels do not")
        .help("kernels are made from nests of loops with assignments and conditions over indices")
}
