//! Results whose entries are counted, and then put where they belong.
//!
//! Before → after, for the transpose of a matrix by rows:
//!
//! ```text
//! assemble val_C[_, _] by counting            pos_C.resize(J + 1, 0);
//!   for i in 0..I                             for i in 0..I {
//!     for p in pos_A(i)..pos_A(i + 1)             for p in pos_A[i]..pos_A[i + 1] {
//!       let j = crd_A(p)                              let j = crd_A[p];
//!       val_C[j, i] += val_A[p]                       pos_C[j + 1] += 1;
//!                                                 }
//!                                             }
//!                                             let mut before = 0;
//!                                             for p in 0..J {
//!                                         →       let count = pos_C[p + 1];
//!                                                 pos_C[p + 1] = before;
//!                                                 before += count;
//!                                             }
//!                                             … so many elements of crd_C and val_C …
//!                                             for i in 0..I {
//!                                                 for p in pos_A[i]..pos_A[i + 1] {
//!                                                     let j = crd_A[p];
//!                                                     let place = pos_C[j + 1];
//!                                                     pos_C[j + 1] = place + 1;
//!                                                     crd_C[place] = i;
//!                                                     val_C[place] = val_A[p];
//!                                                 }
//!                                             }
//! ```
//! The entries of a group come in their order ([`crate::iterspace::in_order_by_groups`]). Each place is that of an entry
//! that was counted, which is not proved: accesses to places are checked.
//!
//! Gustavson 1978, *Two fast algorithms for sparse matrices: multiplication and permuted transposition*.

use super::super::ir::{Access, ArrayId, Assign, Block, Expr, Load, Stmt, Type};
use super::Realiser;
use super::result::{Assembly, Gathering};
use crate::diagnostic::Result;
use crate::loops::Node;
use crate::packing::Group;

impl Realiser<'_, '_> {
    /// What is assembled by counts.
    pub(super) fn count_and_place(&mut self, body: &[Node], out: &mut Block) -> Result<()> {
        self.set_gathering(Some(Gathering::Counted));
        out.extend(self.block(body)?);
        self.begin_groups(out);
        self.set_gathering(Some(Gathering::Placed));
        out.extend(self.block(body)?);
        // No segment is left to end.
        self.assembly = None;
        Ok(())
    }

    /// Counts become places where groups begin, and there is room for all entries.
    fn begin_groups(&mut self, out: &mut Block) {
        let Some((array, group)) = self.assembly.as_ref().and_then(Assembly::groups) else {
            return;
        };
        let Some(result) = &self.assembly else { return };
        let number = group.iter().map(|d| result.extents[*d].clone()).reduce(Expr::mul);
        let coordinates = result.levels.iter().flat_map(|level| &level.coordinates);
        let mut grown: Vec<Stmt> =
            coordinates.map(|(array, _)| Stmt::push(*array, Expr::int(0))).collect();
        grown.push(Stmt::push(result.values, Expr::zero(result.ty)));
        let mut variable = |name: &str| self.body.variable(name, Type::Unsigned);
        let (before, count, at) = (variable("before"), variable("count"), variable("p"));
        let end = Load::checked(array, vec![Expr::Var(at).add(Expr::int(1))]);
        out.push(Stmt::Let { var: before, mutable: true, value: Expr::int(0) });
        let body = vec![
            Stmt::Let { var: count, mutable: false, value: Expr::Load(end.clone()) },
            Stmt::Store { place: end, op: Assign::Set, value: Expr::Var(before) },
            Stmt::Assign { var: before, op: Assign::Add, value: Expr::Var(count) },
        ];
        let hi = number.unwrap_or(Expr::int(1));
        out.push(Stmt::For { var: at, lo: Expr::int(0), hi, body });
        for element in grown {
            let var = self.body.variable("entry", Type::Unsigned);
            let (lo, hi) = (Expr::int(0), Expr::Var(before));
            out.push(Stmt::For { var, lo, hi, body: vec![element] });
        }
    }

    /// `pos[j + 1] = pos[j + 1] + 1`
    pub(super) fn counted(&self, coordinates: &[Expr]) -> Block {
        let Some(end) = self.assembly.as_ref().and_then(|result| result.group_end(coordinates))
        else {
            return Vec::new();
        };
        let value = Expr::Load(end.clone()).add(Expr::int(1));
        vec![Stmt::Store { place: end, op: Assign::Set, value }]
    }

    /// What is stored of an entry, behind those of its group.
    pub(super) fn placed(&mut self, coordinates: &[Expr], value: Expr) -> Block {
        let var = self.body.variable("place", Type::Unsigned);
        let Some(result) = &self.assembly else { return Vec::new() };
        let Some(end) = result.group_end(coordinates) else { return Vec::new() };
        let set = |array: ArrayId, value: Expr| {
            let subscripts = vec![Expr::Var(var)];
            let place = Load { array, subscripts, access: Access::Checked };
            Stmt::Store { place, op: Assign::Set, value }
        };
        let next = Expr::Var(var).add(Expr::int(1));
        let mut out = vec![
            Stmt::Let { var, mutable: false, value: Expr::Load(end.clone()) },
            Stmt::Store { place: end, op: Assign::Set, value: next },
        ];
        let levels = result.levels.iter().flat_map(|level| &level.coordinates);
        out.extend(levels.map(|(array, d)| set(*array, coordinates[*d].clone())));
        out.push(set(result.values, value));
        out
    }
}

impl Assembly {
    /// The array of the ends of groups, and the coordinates that tell these apart.
    fn groups(&self) -> Option<(ArrayId, Vec<usize>)> {
        self.levels.iter().flat_map(|level| &level.segments).find_map(
            |(array, group)| match group {
                Group::Coordinates(group) => Some((*array, group.clone())),
                _ => None,
            },
        )
    }

    /// Where the end of an entry's group is.
    fn group_end(&self, coordinates: &[Expr]) -> Option<Load> {
        let (array, group) = self.groups()?;
        let end = self.group_number(&group, coordinates).add(Expr::int(1));
        Some(Load::checked(array, vec![end]))
    }
}
