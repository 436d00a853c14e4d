//! Pieces of a relation that differ in where a coordinate begins, as one piece.
//!
//! Runs of which only the ends are stored begin where the run before ends, and the first of them at 0. As a
//! relation that takes two pieces, of which every loop would be made twice, and four for two tensors. They are
//! one piece from a [`Piecewise`] bound on:
//!
//! ```text
//! q = ptr(u) and 0 <= i < right(q) ; ptr(u) < q and right(q - 1) <= i < right(q)
//!     →  ptr(u) <= q and begin_i(u, q) <= i < right(q)
//!        where begin_i(u, q) is 0 if q = ptr(u), else right(q - 1)
//! ```

use super::checks::admits_negative;
use super::{Layout, Relation, argument};
use crate::formula::{Affine, Atom, Call, Constraint, Formula, Name, Relop};

/// A function of positions that no array stores.
#[derive(Clone, Debug, PartialEq)]
pub struct Piecewise {
    /// No index array, size, position or coordinate has this name.
    pub name: Name,
    /// The positions that it depends on.
    pub args: Vec<Name>,
    /// Where it is asked for.
    pub domain: Vec<Constraint>,
    /// An equation over the arguments.
    pub first: Constraint,
    /// Its value where that holds; not negative.
    pub then: i64,
    /// Its value elsewhere, an element of an index array.
    pub otherwise: Call,
}

impl Piecewise {
    /// The same, under other names.
    pub fn renamed(&self, name: Name, new: &impl Fn(&Name) -> Option<Name>) -> Piecewise {
        Piecewise {
            name,
            args: self.args.clone(),
            domain: self.domain.iter().map(|c| c.rename(new)).collect(),
            first: self.first.rename(new),
            then: self.then,
            otherwise: Call {
                array: new(&self.otherwise.array).unwrap_or_else(|| self.otherwise.array.clone()),
                args: self.otherwise.args.iter().map(|a| a.rename(new)).collect(),
            },
        }
    }

    /// What it is, for all arguments.
    pub fn definition(&self) -> Formula {
        let args = self.args.iter().map(|n| Affine::var(n.clone())).collect();
        let value = Affine::call(self.name.clone(), args);
        let is = |other: Affine| Formula::eq(value.clone(), other);
        let otherwise = Affine::atom(Atom::Call(self.otherwise.clone()));
        Formula::and([
            Formula::Constraint(self.first.clone()).implies(is(Affine::constant(self.then))),
            Formula::Constraint(self.first.negated()).implies(is(otherwise)),
        ])
    }

    /// A term over its arguments at others.
    pub fn at(&self, term: &Affine, args: &[Affine]) -> Affine {
        term.substitute(&argument(&self.args, args))
    }

    /// Where it is asked for, at these arguments.
    pub fn domain_at(&self, args: &[Affine]) -> Vec<Constraint> {
        self.domain.iter().map(|c| c.map(|a| self.at(a, args))).collect()
    }
}

/// Pieces with bounds that no array stores.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// Fewer than the layout declares.
    pub pieces: Vec<Vec<Constraint>>,
    /// What they mention beside index arrays.
    pub bounds: Vec<Piecewise>,
}

/// The relation of a layout in fewer pieces, if some differ in nothing but a bound.
pub fn joined(layout: &Layout) -> Option<Joined> {
    let Relation { pieces, coordinates, .. } = &layout.relation;
    let mut values_vary = false;
    for index in &layout.value.index {
        index.visit_vars(&mut |n| values_vary |= coordinates.contains(n));
    }
    if values_vary {
        return None;
    }
    let mut out = Joined { pieces: pieces.clone(), bounds: Vec::new() };
    while let Some((first, other, piece)) = out.next(layout) {
        out.pieces[first] = piece;
        out.pieces.remove(other);
    }
    (out.pieces.len() < pieces.len()).then_some(out)
}

impl Joined {
    /// Two pieces, the first of which comes first in the relation, and what they are together.
    fn next(&mut self, layout: &Layout) -> Option<(usize, usize, Vec<Constraint>)> {
        let count = self.pieces.len();
        for first in 0..count {
            for other in (0..count).filter(|other| *other != first) {
                let pair = (self.pieces[first].clone(), self.pieces[other].clone());
                if let Some(piece) = self.join(layout, &pair.0, &pair.1) {
                    return Some((first.min(other), first.max(other), piece));
                }
            }
        }
        None
    }

    /// The pieces in one if they are `first` where an equation holds, and `other` beyond it.
    fn join(
        &mut self,
        layout: &Layout,
        first: &[Constraint],
        other: &[Constraint],
    ) -> Option<Vec<Constraint>> {
        let (common, own): (Vec<Constraint>, Vec<Constraint>) =
            first.iter().cloned().partition(|c| other.contains(c));
        let others: Vec<&Constraint> = other.iter().filter(|c| !common.contains(c)).collect();
        for equation in own.iter().filter(|c| c.relop == Relop::Eq) {
            for beyond in [equation.affine.clone(), -equation.affine.clone()] {
                let least = Constraint { affine: beyond.clone(), relop: Relop::Ge };
                let strict = Constraint { affine: beyond - Affine::constant(1), relop: Relop::Ge };
                if !others.contains(&&strict) {
                    continue;
                }
                let mut left = own.iter().filter(|c| *c != equation && **c != least);
                let mut right = others.iter().filter(|c| ***c != strict && ***c != least);
                let (Some(a), Some(b)) = (left.next(), right.next()) else { continue };
                if left.next().is_some() || right.next().is_some() {
                    continue;
                }
                let Some((coordinate, then, otherwise)) = lower_bounds(layout, a, b) else {
                    continue;
                };
                let mut piece = common.clone();
                piece.extend((!common.contains(&least)).then(|| least.clone()));
                let bound = self.bound(layout, &coordinate, &piece, equation, then, otherwise)?;
                piece.push(Constraint::le(bound, Affine::var(coordinate)));
                return Some(piece);
            }
        }
        None
    }

    /// A bound of this kind; the same for the same.
    fn bound(
        &mut self,
        layout: &Layout,
        coordinate: &Name,
        piece: &[Constraint],
        first: &Constraint,
        then: i64,
        otherwise: Call,
    ) -> Option<Affine> {
        let positions = &layout.relation.positions;
        let mut args: Vec<Name> = Vec::new();
        let mut fits = true;
        let mut see = |n: &Name| match positions.contains(n) {
            true if args.contains(n) => {}
            true => args.push(n.clone()),
            false => fits &= !layout.relation.coordinates.contains(n),
        };
        first.affine.visit_vars(&mut see);
        otherwise.args.iter().for_each(|a| a.visit_vars(&mut see));
        if !fits {
            return None;
        }
        args.sort_by_key(|n| positions.iter().position(|p| p == n));
        let of_args = |c: &&Constraint| {
            let mut own = true;
            c.affine.visit_vars(&mut |n| {
                own &= args.contains(n)
                    || !positions.contains(n) && !layout.relation.coordinates.contains(n);
            });
            own
        };
        let domain = piece.iter().filter(of_args).cloned().collect();
        let same = |b: &&Piecewise| b.first == *first && b.then == then && b.otherwise == otherwise;
        let name = match self.bounds.iter().find(same) {
            Some(known) => known.name.clone(),
            None => {
                let mut name = format!("begin_{coordinate}");
                let taken = |name: &str| {
                    positions.iter().chain(&layout.relation.coordinates).any(|n| **n == *name)
                        || layout.arrays.contains_key(name)
                        || layout.params.contains_key(name)
                        || *layout.value.name == *name
                        || self.bounds.iter().any(|b| *b.name == *name)
                };
                while taken(&name) {
                    name.push('_');
                }
                let (name, first) = (Name::from(name), first.clone());
                let args = args.clone();
                self.bounds.push(Piecewise {
                    name: name.clone(),
                    args,
                    domain,
                    first,
                    then,
                    otherwise,
                });
                name
            }
        };
        Some(Affine::call(name, args.into_iter().map(Affine::var).collect()))
    }
}

/// `c >= number` and `c >= element`, of one coordinate.
fn lower_bounds(layout: &Layout, a: &Constraint, b: &Constraint) -> Option<(Name, i64, Call)> {
    if a.relop != Relop::Ge || b.relop != Relop::Ge {
        return None;
    }
    layout.relation.coordinates.iter().find_map(|coordinate| {
        let own = Affine::var(coordinate.clone());
        let number = (own.clone() - a.affine.clone()).as_constant()?;
        let element = own - b.affine.clone();
        let Some(Atom::Call(call)) = element.as_atom() else { return None };
        let natural = layout.arrays.get(&call.array).is_some_and(|array| !admits_negative(array));
        (number >= 0 && natural).then(|| (coordinate.clone(), number, call.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::conjunction;

    fn shown(name: &str) -> Vec<String> {
        let layout = Layout::named(name).unwrap();
        let Some(Joined { pieces, bounds }) = joined(&layout) else { return Vec::new() };
        let pieces = pieces.iter().map(|p| conjunction(p).to_string());
        pieces.chain(bounds.iter().map(|b| b.definition().to_string())).collect()
    }

    #[test]
    fn runs_that_begin_where_the_one_before_ends() {
        assert_eq!(
            shown("Dense(RunList(Element(0)))"),
            [
                "0 <= p0 < J and j = p0 and q1 < ptr1(p0 + 1) and i < right1(q1) and ptr1(p0) <= q1 \
             and begin_i(p0, q1) <= i",
                "(q1 = ptr1(p0) => begin_i(p0, q1) = 0) and \
             (q1 != ptr1(p0) => begin_i(p0, q1) = right1(q1 - 1))"
            ]
        );
    }

    #[test]
    fn runs_of_runs_are_one_piece() {
        let shown = shown("RunList(RunList(Element(0)))");
        assert_eq!(shown.len(), 3, "{shown:?}");
    }

    #[test]
    fn other_pieces_stay() {
        for name in ["symmetric-csr", "csr", "Dense(SparseRunList(Element(0)))"] {
            assert_eq!(shown(name), [""; 0], "{name}");
        }
    }
}
