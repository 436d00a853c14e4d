//! Verifies what names stand for: indices and values inside the statements that bind them, tensors
//! inside the block that declares them.

use std::ops::Range;

use super::ir::{Access, AssignOp, Declare, Expr, If, Program, Stmt, flat};
use super::token::words;
use super::verify::{list, wrong};
use crate::diagnostic::Result;
use crate::formula::{Formula, Name};

/// What the enclosing statements bind.
#[derive(Clone, Default)]
struct Scope {
    indices: Vec<Name>,
    values: Vec<Name>,
}

impl Program {
    pub(super) fn verify_scopes(&self) -> Result<()> {
        self.in_scope(&self.root, &mut Scope::default())
    }

    fn in_scope(&self, stmt: &Stmt, scope: &mut Scope) -> Result<()> {
        if let Some(value) = stmt.value() {
            self.verify_uses(value, scope)?;
        }
        match stmt {
            Stmt::Loop(l) => scope.indices.push(l.index.clone()),
            Stmt::Let(l) => scope.values.push(l.name.clone()),
            Stmt::If(i) => self.verify_restriction(i, scope)?,
            Stmt::Assign(a) => self.verify_subscripts(&a.output, scope)?,
            Stmt::Declare(_) | Stmt::Block(_) | Stmt::When(_) => {}
        }
        for inner in stmt.blocks().into_iter().flatten() {
            self.in_scope(inner, scope)?;
        }
        match stmt {
            Stmt::Loop(_) => drop(scope.indices.pop()),
            Stmt::Let(_) => drop(scope.values.pop()),
            _ => {}
        }
        Ok(())
    }

    fn verify_uses(&self, value: &Expr, scope: &Scope) -> Result<()> {
        let mut out = Ok(());
        value.visit(&mut |e| {
            let checked = match e {
                Expr::Access(access) => self.verify_subscripts(access, scope),
                Expr::Within(within) => self.verify_subscripts(&within.access, scope),
                Expr::Index(name, span) if !scope.indices.contains(name) => {
                    Err(unbound(name, "loop", span.0.clone()))
                }
                Expr::Name(name, span) if !scope.values.contains(name) => {
                    Err(unbound(name, "`let`", span.0.clone()))
                }
                _ => Ok(()),
            };
            if out.is_ok() {
                out = checked;
            }
        });
        out
    }

    fn verify_subscripts(&self, access: &Access, scope: &Scope) -> Result<()> {
        let mut unknown = None;
        access.visit_indices(&mut |index| {
            if !scope.indices.contains(index) && !scope.values.contains(index) {
                unknown.get_or_insert(index.clone());
            }
        });
        match unknown {
            Some(index) => Err(unbound(&index, "loop", self.place_of_index(access, &index))),
            None => Ok(()),
        }
    }

    fn verify_restriction(&self, restriction: &If, scope: &Scope) -> Result<()> {
        let all = restriction.span.0.clone();
        let place = |name: &str| {
            words(&self.text, all.start)
                .into_iter()
                .find(|(word, span)| *word == name && span.end <= all.end)
                .map_or(all.clone(), |(_, span)| span)
        };
        let mut called = predicate(&restriction.condition);
        restriction.condition.visit_calls(&mut |call| {
            called.get_or_insert(call.array.to_string());
        });
        if let Some(called) = called {
            return Err(wrong(format!("the restriction reads `{called}`"), place(&called))
                .help("a restriction compares indices only: multiply by a mask tensor instead"));
        }
        // The first in the text: the canonical form has another order.
        let free = restriction.condition.free_vars();
        let unknown = free.into_iter().filter(|v| !scope.indices.contains(v));
        match unknown.min_by_key(|v| place(v).start) {
            Some(unknown) => {
                let message =
                    format!("the restriction mentions `{unknown}`, which is not an index");
                Err(wrong(message, place(&unknown)).help(format!(
                    "an index of the statement is a subscript of a tensor: {}",
                    list(scope.indices.iter().map(|i| &**i))
                )))
            }
            None => Ok(()),
        }
    }

    pub(super) fn verify_declares(&self) -> Result<()> {
        let declares = self.declares();
        for (k, declare) in declares.iter().enumerate() {
            let (name, place) = (&declare.tensor, declare.span.0.clone());
            if declares[..k].iter().any(|other| other.tensor == *name) {
                return Err(wrong(format!("`{name}` is declared twice"), place)
                    .help("give one of the two another name"));
            }
            if !self.writes(name) {
                return Err(wrong(format!("`{name}` is declared, but not written"), place)
                    .help("assign to it, or read a tensor that is given"));
            }
        }
        let outputs = self.outputs();
        for declare in declares.iter().filter(|d| d.fill.is_none()) {
            let name = &declare.tensor;
            if !outputs.contains(name) {
                let message = format!("`{name}` is given, but declared inside a block");
                return Err(wrong(message, declare.span.0.clone())
                    .help("declare it outside of all loops, branches and `let`s"));
            }
        }
        self.verify_block(&[&self.root])?;
        let mut out = Ok(());
        self.root.visit(&mut |s| {
            for block in s.scopes() {
                if out.is_ok() {
                    out = self.verify_block(&block.iter().collect::<Vec<_>>());
                }
            }
        });
        out?;
        self.verify_undeclared(&declares)
    }

    /// What is declared in this block is mentioned behind that, and nowhere else.
    fn verify_block(&self, block: &[&Stmt]) -> Result<()> {
        let block: Vec<&Stmt> = block.iter().flat_map(|s| flat(std::slice::from_ref(*s))).collect();
        for (k, stmt) in block.iter().enumerate() {
            let Stmt::Declare(declare) = stmt else { continue };
            let name = &declare.tensor;
            if let Some(early) = block[..k].iter().find_map(|s| mentions(s, name).pop()) {
                return Err(wrong(format!("`{name}` is used before it is declared"), early)
                    .help("declare it before the statements that use it"));
            }
            let inside: Vec<Range<usize>> =
                block[k..].iter().flat_map(|s| mentions(s, name)).collect();
            let everywhere = mentions(&self.root, name);
            if everywhere.len() > inside.len() {
                let outside = everywhere.into_iter().find(|place| !inside.contains(place));
                let message = format!("`{name}` is used outside the block that declares it");
                return Err(wrong(message, outside.unwrap_or(declare.span.0.clone()))
                    .help("declare it in a block that contains all its uses"));
            }
        }
        Ok(())
    }

    /// The elements of an output that is not declared start at the identity of its operator.
    fn verify_undeclared(&self, declares: &[&Declare]) -> Result<()> {
        let assigns = self.assigns();
        for (k, assign) in assigns.iter().enumerate() {
            let name = &assign.output.tensor;
            if declares.iter().any(|d| d.tensor == *name) {
                continue;
            }
            let message = match assigns[..k].iter().find(|a| a.output.tensor == *name) {
                _ if assign.op == AssignOp::Assign => "stored to".to_string(),
                Some(first) if first.op != assign.op => {
                    format!("written by `{}` and by `{}`", first.op, assign.op)
                }
                _ => continue,
            };
            let message = format!("`{name}` is {message}, but not declared");
            return Err(wrong(message, assign.output.span.clone())
                .help(format!("say what it starts with: `declare {name} 0`")));
        }
        Ok(())
    }
}

/// The places of the accesses to a tensor.
fn mentions(stmt: &Stmt, tensor: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    stmt.visit(&mut |s| {
        let output = if let Stmt::Assign(a) = s { Some(&a.output) } else { None };
        let reads = s.value().into_iter().flat_map(Expr::accesses);
        let accesses = output.into_iter().chain(reads).filter(|a| *a.tensor == *tensor);
        out.extend(accesses.map(|a| a.span.clone()));
    });
    out
}

fn unbound(name: &str, by: &str, place: Range<usize>) -> Box<crate::diagnostic::Diagnostic> {
    wrong(format!("`{name}` is bound by no {by} here"), place)
        .help(format!("use it inside the {by} that binds it"))
}

/// The name of the first predicate in a formula.
fn predicate(formula: &Formula) -> Option<String> {
    match formula {
        Formula::Constraint(_) => None,
        Formula::And(parts) | Formula::Or(parts) => parts.iter().find_map(predicate),
        Formula::Not(inner) => predicate(inner),
        Formula::Implies(a, b) => predicate(a).or_else(|| predicate(b)),
        Formula::Predicate(name, _) => Some(name.to_string()),
    }
}
