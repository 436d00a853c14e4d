//! Elements of index arrays that are at most a size, though their declaration gives no range.
//!
//! Sums of indices that are at most sizes need no test against overflow. Of elements at like places, the same size is
//! asked about first that was large enough before.

use super::Walker;
use crate::code::ir::{Element, Expr, Load, Origin};
use crate::formula::{Affine, Formula, Name};

impl Walker<'_, '_> {
    /// Whether an element whose declaration gives no range follows to be at most a size from other
    /// laws.
    pub(super) fn is_at_most_a_size(&mut self, load: &Load) -> bool {
        let array = self.body.arr(load.array);
        let index = matches!(array.element, Element::Index { .. }) && array.origin == Origin::Input;
        if !index || !array.range.is_empty() {
            return true;
        }
        let Some(element) = self.meaning(|m| m.affine(&Expr::Load(load.clone()))) else {
            return false;
        };
        let constant = |subscript: &Expr| match subscript {
            Expr::Int { value, .. } => Some(*value),
            _ => None,
        };
        let like = (load.array, load.subscripts.iter().map(constant).collect());
        let before = self.largest.get(&like).cloned();
        let all = self.body.sizes.iter().map(|v| self.name(*v));
        let sizes: Vec<Name> = before.into_iter().chain(all).collect();
        let is_enough = |size: &Name| {
            let size = Affine::var(size.clone());
            self.path.proves(&Formula::and([
                Formula::le(element.clone(), size.clone()),
                Formula::le(-size, element.clone()),
            ]))
        };
        let Some(size) = sizes.into_iter().find(is_enough) else { return false };
        self.largest.insert(like, size);
        true
    }
}
