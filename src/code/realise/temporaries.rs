//! Temporaries: an element is a variable, several are an array of the kernel.

use super::super::ir::{Access, Assign, Block, Element, Expr, Load, Stmt, Type, VarId};
use super::{Realiser, size};
use crate::loops::{Begin, Place};

impl Realiser<'_, '_> {
    /// Sets all elements. An array is allocated once, before all loops.
    pub(super) fn begin(&mut self, begin: &Begin, out: &mut Block) {
        let ty = begin.value.value_type();
        let value = Expr::Number(begin.value);
        if begin.shape.is_empty() {
            let var = self.body.variable(&begin.array, Type::Value(ty));
            out.push(Stmt::Let { var, mutable: true, value });
            let place = Place { array: begin.array.clone(), index: Vec::new() };
            self.elements.push((place, var));
            return;
        }
        let shape: Vec<Expr> = begin.shape.iter().map(|s| size(&self.body, s)).collect();
        let array = self.body.local(begin.array.clone(), Element::Value(ty), shape.clone());
        self.begun.insert(begin.array.clone(), array);
        let allocated = Stmt::Allocate { array, fill: value.clone() };
        if self.within_loops == 0 {
            out.push(allocated);
            return;
        }
        self.allocated.push(allocated);
        let at: Vec<VarId> =
            shape.iter().map(|_| self.body.variable("at", Type::Unsigned)).collect();
        let subscripts = at.iter().map(|v| Expr::Var(*v)).collect();
        let place = Load { array, subscripts, access: Access::Checked };
        let mut body = vec![Stmt::Store { place, op: Assign::Set, value }];
        for (var, hi) in at.into_iter().zip(shape).rev() {
            body = vec![Stmt::For { var, lo: Expr::int(0), hi, body }];
        }
        out.extend(body);
    }

    /// Whether an element is one of a result that is assembled.
    pub(super) fn assembles(&self, target: &Place) -> bool {
        let result = self.assembly.as_ref();
        result.is_some_and(|result| self.body.arr(result.values).name == target.array)
    }

    /// The variable that a temporary of one element is.
    pub(super) fn single(&self, place: &Place) -> Option<VarId> {
        self.elements.iter().find(|(p, _)| p == place).map(|(_, var)| *var)
    }
}
