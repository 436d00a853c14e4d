//! Positions are tuples: what a level's parent position `u` stands for.
//!
//! A level is written for a numeric parent position `u` out of `U`. Its parent may be the root (no
//! component: one position), a single position, or a tuple `(p0, p1)` with extents `(I, J)`, since a
//! level that appends a component does not multiply. With a tuple, `u` may only occur as
//! an argument of index arrays, where the last component carries the offset:
//!
//! ```text
//! pos(u + 1)      root: pos(1)    single: pos(p0 + 1)    tuple: pos(p0, p1 + 1)
//! pos(U)          root: pos(1)    single: pos(I)         tuple: pos(I - 1, J)
//! 0 <= u <= U     root: itself    single: 0 <= p0 <= I   tuple: 0 <= p0 < I and 0 <= p1 <= J
//! ```
//! `(I - 1, J)` and `(I, 0)` are the same element once calls are linearised; the former is in the
//! domain.

use super::bounds::product;
use crate::formula::{Affine, Arith, Atom, Call, Constraint, Name, Relop};

/// Stands for `u` while a level is specialised; no declaration can spell it.
pub(super) const PARENT: &str = "u'";
/// Stands for `U`, the number of parent positions.
pub(super) const PARENTS: &str = "U'";

/// A position tuple: its components and their extents, which are expressions over sizes.
#[derive(Clone, Debug, Default)]
pub(super) struct Tuple {
    pub components: Vec<(Name, Affine)>,
}

impl Tuple {
    pub fn names(&self) -> Vec<Name> {
        self.components.iter().map(|(n, _)| n.clone()).collect()
    }

    /// All components but the last `count`, and those; `None` if there are fewer.
    pub fn split(&self, count: usize) -> Option<(Tuple, Tuple)> {
        let at = self.components.len().checked_sub(count)?;
        let (head, last) = self.components.split_at(at);
        Some((Tuple { components: head.to_vec() }, Tuple { components: last.to_vec() }))
    }

    pub fn extents(&self) -> Vec<Arith> {
        self.components.iter().map(|(_, e)| Arith::from_affine(e)).collect()
    }

    /// Replaces `u` and `U`. `root` is what `u` means when there is no parent: `0` in a
    /// relation, a variable in the domain of an array. `is_parent_slot` tells which argument of
    /// which array is a parent position.
    pub fn expand(
        &self,
        affine: &Affine,
        root: &Affine,
        is_parent_slot: &dyn Fn(&str, usize) -> bool,
    ) -> Result<Affine, String> {
        match self.components.as_slice() {
            [] => Ok(replace(affine, root, &Affine::constant(1))),
            [(name, extent)] => Ok(replace(affine, &Affine::var(name.clone()), extent)),
            _ => {
                let mut failure = None;
                let out = affine.map_atoms(&mut |atom| match atom {
                    Atom::Call(call) => Affine::call(
                        call.array.clone(),
                        self.arguments(call, is_parent_slot, &mut failure),
                    ),
                    other => Affine::atom(other),
                });
                match failure {
                    Some(why) => Err(why),
                    None if out.mentions(PARENT) || out.mentions(PARENTS) => {
                        Err("uses its parent's position as a number".to_string())
                    }
                    None => Ok(out),
                }
            }
        }
    }

    /// The arguments of a call, each parent slot widened to a tuple.
    fn arguments(
        &self,
        call: Call,
        is_parent_slot: &dyn Fn(&str, usize) -> bool,
        failure: &mut Option<String>,
    ) -> Vec<Affine> {
        let mut out = Vec::new();
        for (slot, arg) in call.args.iter().enumerate() {
            if !is_parent_slot(&call.array, slot) {
                out.push(arg.clone());
                continue;
            }
            match self.argument(arg) {
                Some(tuple) => out.extend(tuple),
                None => *failure = Some(format!("computes the parent position `{arg}`")),
            }
        }
        out
    }

    /// `u + c`, `U + c`, `c` or `x + c` as a tuple; the last component takes the constant.
    fn argument(&self, arg: &Affine) -> Option<Vec<Affine>> {
        let offset = Affine::constant(arg.offset());
        let base = arg.clone() - offset.clone();
        let mut tuple: Vec<Affine> = if base.as_constant().is_some() {
            vec![Affine::zero(); self.components.len()]
        } else {
            match &**base.as_var()? {
                PARENT => self.components.iter().map(|(n, _)| Affine::var(n.clone())).collect(),
                PARENTS => {
                    let one = Affine::constant(1);
                    let mut ends: Vec<Affine> =
                        self.components.iter().map(|(_, e)| e.clone() - one.clone()).collect();
                    let last = ends.last_mut()?;
                    *last = last.clone() + one;
                    ends
                }
                other => (0..self.components.len())
                    .map(|k| Affine::var(format!("{other}_{k}")))
                    .collect(),
            }
        };
        let last = tuple.last_mut()?;
        *last = last.clone() + offset;
        Some(tuple)
    }

    /// A domain constraint: bounds of `u` become bounds of every component.
    pub fn expand_domain(
        &self,
        c: &Constraint,
        root: &Affine,
        is_parent_slot: &dyn Fn(&str, usize) -> bool,
    ) -> Result<Vec<Constraint>, String> {
        if self.components.len() < 2 || !(c.mentions(PARENT) || c.mentions(PARENTS)) {
            let affine = self.expand(&c.affine, root, is_parent_slot)?;
            return Ok(vec![Constraint { affine, relop: c.relop }]);
        }
        let (u, count) = (Affine::var(PARENT), Affine::var(PARENTS));
        let lower = (c.affine.clone() - u.clone()).as_constant();
        let upper = (c.affine.clone() + u - count).as_constant();
        let last = self.components.len() - 1;
        match (c.relop, lower, upper) {
            (Relop::Ge, Some(0), _) => Ok(self
                .components
                .iter()
                .map(|(n, _)| Constraint::le(Affine::zero(), Affine::var(n.clone())))
                .collect()),
            (Relop::Ge, _, Some(past_end @ (0 | -1))) => Ok(self
                .components
                .iter()
                .enumerate()
                .map(|(k, (n, extent))| {
                    let n = Affine::var(n.clone());
                    match k == last && past_end == 0 {
                        true => Constraint::le(n, extent.clone()),
                        false => Constraint::lt(n, extent.clone()),
                    }
                })
                .collect()),
            _ => {
                let expanded = self.expand(&c.affine, root, is_parent_slot)?;
                Ok(vec![Constraint { affine: expanded, relop: c.relop }])
            }
        }
    }

    /// A size expression; `U` alone is the product of the extents.
    pub fn expand_size(
        &self,
        size: &Arith,
        is_parent_slot: &dyn Fn(&str, usize) -> bool,
    ) -> Result<Arith, String> {
        let root = Affine::zero();
        let failure = match size.to_affine() {
            Ok(affine) => match self.expand(&affine, &root, is_parent_slot) {
                Ok(expanded) => return Ok(Arith::from_affine(&expanded)),
                Err(why) => why,
            },
            Err(why) => why,
        };
        let mut calls = false;
        super::declaration::visit_calls(size, &mut |_, _| calls = true);
        if calls {
            return Err(failure);
        }
        let count = product(&self.extents());
        Ok(size.substitute(&|n| (&**n == PARENTS).then(|| count.clone())))
    }
}

fn replace(affine: &Affine, parent: &Affine, parents: &Affine) -> Affine {
    affine.substitute(&|n| match &**n {
        PARENT => Some(parent.clone()),
        PARENTS => Some(parents.clone()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn tuple(extents: &[&str]) -> Tuple {
        let component =
            |(k, e): (usize, &&str)| (Name::from(format!("p{k}")), parse::affine(e).unwrap());
        Tuple { components: extents.iter().enumerate().map(component).collect() }
    }

    fn expanded(extents: &[&str], text: &str) -> Result<String, String> {
        let affine = parse::affine(text).unwrap();
        let out = tuple(extents).expand(&affine, &Affine::zero(), &|_, slot| slot == 0)?;
        Ok(out.to_string())
    }

    #[test]
    fn the_parent_is_a_constant_a_position_or_a_tuple() {
        assert_eq!(expanded(&[], "pos(u' + 1)").unwrap(), "pos(1)");
        assert_eq!(expanded(&["I"], "pos(u' + 1)").unwrap(), "pos(p0 + 1)");
        assert_eq!(expanded(&["I", "J"], "pos(u' + 1)").unwrap(), "pos(p0, p1 + 1)");
        assert_eq!(expanded(&["I", "J"], "pos(U')").unwrap(), "pos(I - 1, J)");
        assert_eq!(expanded(&["I", "J"], "pos(0)").unwrap(), "pos(0, 0)");
        assert_eq!(expanded(&["I", "J"], "pos(x - 1)").unwrap(), "pos(x_0, x_1 - 1)");
    }

    #[test]
    fn arithmetic_on_a_tuple_is_refused() {
        assert!(expanded(&["I", "J"], "2*u'").is_err());
        assert!(expanded(&["I", "J"], "pos(2*u')").is_err());
        assert_eq!(expanded(&["I"], "pos(2*u')").unwrap(), "pos(2*p0)");
    }

    #[test]
    fn only_the_last_component_may_reach_its_extent() {
        let at_most = parse::formula("u' <= U'").unwrap().as_conjunction().unwrap();
        let out = tuple(&["I", "J"]).expand_domain(&at_most[0], &Affine::zero(), &|_, _| true);
        let text: Vec<String> = out.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(text, ["p0 < I", "p1 <= J"]);
    }
}
