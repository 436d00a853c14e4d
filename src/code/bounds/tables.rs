//! Keys of tables that are made for an extent: one that is below it needs no test.

use super::Walker;
use crate::code::ir::{Access, Expr, VarId};
use crate::formula::{Affine, Formula, Name};

impl Walker<'_, '_> {
    /// What the keys of a table that is bound are below, if it is one that needs no test of those.
    pub(super) fn made(&mut self, table: VarId, value: &Expr) {
        if let Expr::NewTable { len, .. } = value
            && self.body.traits_of(table).bounded
            && let Some(len) = self.meaning(|m| m.affine(len))
        {
            let end = self.end_of_keys(table);
            self.path.enter(&[Formula::eq(Affine::var(end), len)]);
        }
    }

    fn end_of_keys(&self, table: VarId) -> Name {
        Name::from(format!("end of {}", self.name(table)))
    }

    /// Whether a key is below what the table was made for.
    pub(super) fn looked_up(&mut self, table: VarId, key: &Expr, access: &mut Access) {
        // One that is not shown to be is tested: it is no access that was hoped to need none.
        *access = Access::Checked;
        let Expr::Key(parts) = key else { return };
        let ([part], true) = (&parts[..], self.body.traits_of(table).bounded) else { return };
        let end = Affine::var(self.end_of_keys(table));
        let form = self.meaning(|m| m.affine(part));
        let below = |form: Affine| {
            Formula::and([
                Formula::le(Affine::zero(), form.clone()),
                Formula::lt(form, end.clone()),
            ])
        };
        if form.is_some_and(|form| self.path.proves(&below(form))) {
            let name = &self.body.var(table).name;
            self.shown(format!("{name}[{}]", self.body.print_expr(part)), true, access);
        }
    }
}
