//! One statement of index notation as a tree of free loops.

use indexmap::IndexMap;

use super::ir::{
    Access, Assign, AssignOp, Declare, Expr, Fill, If, Literal, Loop, Order, Span, Stmt,
};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Formula, Name};

/// A statement of index notation, as it is written.
#[derive(Clone)]
pub(super) struct Statement {
    pub output: Access,
    pub op: AssignOp,
    pub value: Expr,
    pub restriction: Option<(Formula, Span)>,
}

/// The tree of `output op value if restriction`.
pub(super) fn desugar(statement: Statement) -> Result<Stmt> {
    let Statement { output, op, value, restriction } = statement;
    let declare = (op == AssignOp::Assign).then(|| {
        let span = Span(output.name_span());
        Stmt::Declare(Declare { tensor: output.tensor.clone(), fill: Some(zero()), span })
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

/// What `=` begins with.
pub(super) fn zero() -> Fill {
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

/// The indices of a statement, in order of first occurrence.
pub(super) fn indices(output: &Access, value: &Expr) -> Vec<Name> {
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
