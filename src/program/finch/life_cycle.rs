//! Life cycles: a tensor is either read or updated, and changes between the two only in the scope that
//! declares it.
//!
//! There, statements change the mode as they need it, and `@freeze` and `@thaw` say so; a statement with
//! others inside has one mode for each tensor, and one way of updating it. Tensors that are given belong
//! to the global scope and are read to begin with.

use indexmap::IndexMap;

use super::dimensions::own_expressions;
use super::refusal::wrong;
use super::scope::{Scoped, blocks};
use super::syntax::{Expr, Ident, Stmt, Update};
use crate::diagnostic::Result;
use crate::operators::Operators;
use crate::program::ir::Span;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Read,
    Updated,
}

/// What a statement does to tensors.
#[derive(Default)]
struct Effects {
    reads: IndexMap<String, Span>,
    /// With what updates them.
    writes: IndexMap<String, Vec<(String, Span)>>,
}

pub(super) fn verify(scoped: &Scoped, operators: &Operators, text: &str) -> Result<()> {
    let given: IndexMap<String, Mode> = scoped
        .names
        .keys()
        .filter(|name| scoped.tensor(name).is_some_and(|role| role.init.is_none()))
        .map(|name| (name.clone(), Mode::Read))
        .collect();
    Verifier { operators, text }.scope(&scoped.body, given)
}

struct Verifier<'a> {
    operators: &'a Operators,
    text: &'a str,
}

impl Verifier<'_> {
    /// The statements of one scope; `modes` are those of the tensors that belong to it.
    fn scope(&self, body: &[Stmt], mut modes: IndexMap<String, Mode>) -> Result<()> {
        self.statements(body, &mut modes)
    }

    fn statements(&self, body: &[Stmt], modes: &mut IndexMap<String, Mode>) -> Result<()> {
        for stmt in body {
            match stmt {
                Stmt::Block(inner) => self.statements(inner, modes)?,
                Stmt::Declare(d) => {
                    self.update_known(d.op.as_ref())?;
                    modes.insert(d.tensor.name.clone(), Mode::Updated);
                }
                Stmt::Freeze(tensor, op) => {
                    self.update_known(op.as_ref())?;
                    change(modes, tensor, Mode::Updated, Mode::Read, "freeze")?;
                }
                Stmt::Thaw(tensor, op) => {
                    self.update_known(op.as_ref())?;
                    change(modes, tensor, Mode::Read, Mode::Updated, "thaw")?;
                }
                other => {
                    self.one_mode(other, modes)?;
                    for block in blocks(other) {
                        self.scope(block, IndexMap::new())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn line(&self, place: &Span) -> usize {
        let before = self.text.get(..place.0.start).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    /// What `@freeze` and the like say of updates is a function.
    fn update_known(&self, op: Option<&Expr>) -> Result<()> {
        let name = match op {
            Some(Expr::Name(ident)) => ident,
            _ => return Ok(()),
        };
        let own = ["overwrite", "minby", "maxby", "coalesce", "something"];
        if own.contains(&name.name.as_str()) {
            return Ok(());
        }
        super::functions::operator(&name.name, self.operators, &name.span).map(|_| ())
    }

    fn one_mode(&self, stmt: &Stmt, modes: &mut IndexMap<String, Mode>) -> Result<()> {
        let mut effects = Effects::default();
        collect(stmt, &mut effects);
        for (name, mode) in modes {
            let writes = effects.writes.get(name);
            let read = effects.reads.get(name);
            match (writes.and_then(|w| w.first()), read) {
                (Some((_, place)), Some(read)) => {
                    return Err(wrong(
                        format!("`{name}` is read and updated in one statement"),
                        read,
                    )
                    .note(format!("it is updated in line {}", self.line(place)))
                    .help("read it in a statement of its own, or declare it inside"));
                }
                (Some(_), None) => *mode = Mode::Updated,
                (None, Some(_)) => *mode = Mode::Read,
                (None, None) => {}
            }
            let Some(((first, _), rest)) = writes.and_then(|w| w.split_first()) else { continue };
            if let Some((other, place)) = rest.iter().find(|(op, _)| op != first) {
                let message = format!("`{name}` is updated by `{first}` and by `{other}`");
                return Err(wrong(message, place)
                    .note("both stand in one statement of the scope that declares it")
                    .help("update it in statements of their own"));
            }
        }
        Ok(())
    }
}

fn change(
    modes: &mut IndexMap<String, Mode>,
    tensor: &Ident,
    from: Mode,
    to: Mode,
    what: &str,
) -> Result<()> {
    match modes.get_mut(&tensor.name) {
        Some(mode) if *mode == from => {
            *mode = to;
            Ok(())
        }
        Some(_) => {
            let already = if to == Mode::Read { "read" } else { "updated" };
            Err(wrong(format!("`{tensor}` is {already} already"), &tensor.span)
                .help(format!("leave `@{what}` out")))
        }
        None => Err(wrong(format!("`{tensor}` is declared in another scope"), &tensor.span)
            .help(format!("write `@{what}({tensor})` in the scope that declares it"))),
    }
}

fn collect(stmt: &Stmt, out: &mut Effects) {
    if let Stmt::Assign(a) = stmt {
        let op = match &a.op {
            Update::By(op) => format!("<<{op}>>="),
            other => other.to_string(),
        };
        let name = a.output.tensor.name().name.clone();
        out.writes.entry(name).or_default().push((op, a.output.span.clone()));
    }
    for e in own_expressions(stmt) {
        e.visit(&mut |part| {
            if let Expr::Access(access) = part {
                let name = access.tensor.name().name.clone();
                out.reads.entry(name).or_insert(access.span.clone());
            }
        });
    }
    for inner in blocks(stmt).into_iter().flatten() {
        collect(inner, out);
    }
}
