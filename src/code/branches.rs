//! The text of branches: conditions that nothing stands between are one condition.
//!
//! ```text
//! if a { if let Some(p) = e { if b { … } } }   →   if a && let Some(p) = e && b { … }
//! if a { … } else { if b { … } }               →   if a { … } else if b { … }
//! ```

use super::doc::Doc;
use super::ir::{Access, Block, Expr, Stmt, VarId};
use super::print::Printer;
use super::print_expr::level;

/// One condition of a branch.
enum Condition<'b> {
    Holds(&'b Expr),
    /// `let Some(var) = table.first(key)`
    First {
        table: VarId,
        key: &'b Expr,
        access: Access,
        var: VarId,
        body: &'b Block,
    },
}

/// A branch: its condition, its block, and the block of the other case.
type Parts<'b> = (Condition<'b>, &'b Block, Option<&'b Block>);

impl Printer<'_> {
    /// An `if`, or what is done with the first match in a table.
    pub(super) fn branch(&mut self, keyword: &str, stmt: &Stmt) {
        let Some((condition, mut then, otherwise)) = parts(stmt) else { return };
        let mut conditions = vec![condition];
        while otherwise.is_none()
            && let Some((condition, inner, None)) = self.alone(then)
        {
            conditions.push(condition);
            then = inner;
        }
        let least = if conditions.len() > 1 { level::AND } else { level::LOWEST };
        let docs: Vec<Doc> = conditions.iter().map(|c| self.condition(c, least)).collect();
        if let Some(joined) = docs.into_iter().reduce(|all, next| all.binary("&&", next)) {
            self.out.open_if(keyword, &joined);
        }
        self.block(then);
        for condition in conditions.iter().rev() {
            if let Condition::First { var, .. } = condition {
                self.forget(*var);
            }
        }
        let Some(otherwise) = otherwise else { return self.out.close("") };
        self.out.shallower();
        match otherwise.as_slice() {
            [inner] if self.alone(otherwise).is_some() => self.branch("} else if ", inner),
            _ => {
                self.out.open("} else");
                self.nested(otherwise);
            }
        }
    }

    /// The branch that is all of a block. For people and the parser, every branch is shown.
    fn alone<'b>(&self, block: &'b Block) -> Option<Parts<'b>> {
        match block.as_slice() {
            [only] if !self.notation => parts(only),
            _ => None,
        }
    }

    fn condition(&mut self, condition: &Condition<'_>, least: u8) -> Doc {
        match condition {
            Condition::Holds(e) => self.within(e, least),
            Condition::First { table, key, access, var, body } => {
                let key = self.expr(key);
                let method = match access {
                    Access::Proved(_) if !self.notation => "first_within",
                    _ => "first",
                };
                let first = Doc::text(self.variable(*table)).method(method, vec![key]);
                let name = self.loop_variable(*var, body);
                Doc::binding(&format!("let Some({name}) ="), first)
            }
        }
    }
}

fn parts(stmt: &Stmt) -> Option<Parts<'_>> {
    match stmt {
        Stmt::If { condition, then, otherwise } => {
            let otherwise = (!otherwise.is_empty()).then_some(otherwise);
            Some((Condition::Holds(condition), then, otherwise))
        }
        Stmt::Matches { table, key, access, var, all: false, body } => {
            let (table, access, var) = (*table, *access, *var);
            Some((Condition::First { table, key, access, var, body }, body, None))
        }
        // What a proof established is for the prover, not for the reader.
        Stmt::Given { body, .. } => match body.as_slice() {
            [only] => parts(only),
            _ => None,
        },
        _ => None,
    }
}
