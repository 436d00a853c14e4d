//! Regions: sets of points, by what the operands store there.
//!
//! ```text
//! region := 'everywhere' | 'nowhere' | A | 'not' region | region 'and' region | region 'or' region
//! ```
//! `A` are the points at which operand `A` stores an entry. An entry may be stored and yet hold the
//! fill: such a point belongs to `A`, and to `not A` as well. Either way the region is the larger
//! one, so leaving out what is not in it is never wrong.

use std::fmt;

use crate::formula::split::{in_parentheses, split};

/// A set of points; operands are known by a number or a name. The constructors
/// [`both`](Region::both), [`either`](Region::either) and [`complement`](Region::complement) simplify.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region<K = usize> {
    /// Every point.
    All,
    /// No point.
    Nothing,
    /// Where this operand stores an entry.
    Stored(K),
    /// Where it stores none, or one that holds the fill.
    Not(Box<Region<K>>),
    /// Points of all of these, of which there are at least two, sorted.
    Both(Vec<Region<K>>),
    /// Points of any of these, of which there are at least two, sorted.
    Either(Vec<Region<K>>),
}

/// What an operand holds at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// No entry.
    Missing,
    /// An entry whose value is the fill.
    Fill,
    /// An entry with another value.
    Differs,
}

impl<K: Clone + Ord> Region<K> {
    /// The points that are in both. `A and (A or B)` is `A`.
    #[must_use]
    pub fn both(self, other: Region<K>) -> Region<K> {
        let mut parts = Vec::new();
        for region in [self, other] {
            match region {
                Region::Both(inner) => parts.extend(inner),
                region => parts.push(region),
            }
        }
        if parts.contains(&Region::Nothing) {
            return Region::Nothing;
        }
        parts.retain(|p| *p != Region::All);
        parts.sort();
        parts.dedup();
        // Absorption: a union is no restriction beside one of its parts.
        let kept: Vec<Region<K>> = parts
            .iter()
            .filter(|p| match p {
                Region::Either(inner) => !inner.iter().any(|i| parts.contains(i)),
                _ => true,
            })
            .cloned()
            .collect();
        one_or(kept, Region::All, Region::Both)
    }

    /// The points that are in one of them. `A or (A and B)` is `A`, `A or not A` is all.
    #[must_use]
    pub fn either(self, other: Region<K>) -> Region<K> {
        let mut parts = Vec::new();
        for region in [self, other] {
            match region {
                Region::Either(inner) => parts.extend(inner),
                region => parts.push(region),
            }
        }
        // `A and not A` has points, those with stored fills; `A or not A` has all.
        let complement = |p: &Region<K>| parts.contains(&Region::Not(Box::new(p.clone())));
        if parts.contains(&Region::All) || parts.iter().any(complement) {
            return Region::All;
        }
        parts.retain(|p| *p != Region::Nothing);
        parts.sort();
        parts.dedup();
        let kept: Vec<Region<K>> = parts
            .iter()
            .filter(|p| match p {
                Region::Both(inner) => !inner.iter().any(|i| parts.contains(i)),
                _ => true,
            })
            .cloned()
            .collect();
        one_or(kept, Region::Nothing, Region::Either)
    }

    /// The points that are not in it, by De Morgan's laws: complements stand before operands only.
    #[must_use]
    pub fn complement(self) -> Region<K> {
        match self {
            Region::All => Region::Nothing,
            Region::Nothing => Region::All,
            Region::Not(inner) => *inner,
            Region::Stored(k) => Region::Not(Box::new(Region::Stored(k))),
            Region::Both(parts) => {
                parts.into_iter().fold(Region::Nothing, |all, p| all.either(p.complement()))
            }
            Region::Either(parts) => {
                parts.into_iter().fold(Region::All, |all, p| all.both(p.complement()))
            }
        }
    }

    /// Whether it has no point where an operand is not stored.
    pub fn needs(&self, k: &K) -> bool {
        self.with(k, false) == Region::Nothing
    }

    /// Whether a point is in it, given what each operand holds there.
    pub fn contains(&self, presence: &dyn Fn(&K) -> Presence) -> bool {
        match self {
            Region::All => true,
            Region::Nothing => false,
            Region::Stored(k) => presence(k) != Presence::Missing,
            Region::Not(inner) => match &**inner {
                Region::Stored(k) => presence(k) != Presence::Differs,
                inner => inner.clone().complement().contains(presence),
            },
            Region::Both(parts) => parts.iter().all(|p| p.contains(presence)),
            Region::Either(parts) => parts.iter().any(|p| p.contains(presence)),
        }
    }

    /// The points that are in all of these.
    pub fn all_of(parts: impl IntoIterator<Item = Region<K>>) -> Region<K> {
        parts.into_iter().fold(Region::All, Region::both)
    }

    /// The points that are in any of these.
    pub fn any_of(parts: impl IntoIterator<Item = Region<K>>) -> Region<K> {
        parts.into_iter().fold(Region::Nothing, Region::either)
    }

    /// The region once it is known of an operand whether it is stored.
    #[must_use]
    pub fn with(&self, operand: &K, stored: bool) -> Region<K> {
        match self {
            Region::Stored(k) if k == operand => match stored {
                true => Region::All,
                false => Region::Nothing,
            },
            Region::All | Region::Nothing | Region::Stored(_) => self.clone(),
            Region::Not(inner) => inner.with(operand, stored).complement(),
            Region::Both(parts) => Region::all_of(parts.iter().map(|p| p.with(operand, stored))),
            Region::Either(parts) => Region::any_of(parts.iter().map(|p| p.with(operand, stored))),
        }
    }

    /// The operands that it mentions, in order of occurrence.
    pub fn operands(&self) -> Vec<K> {
        let mut out = Vec::new();
        self.collect(&mut out);
        out
    }

    fn collect(&self, out: &mut Vec<K>) {
        match self {
            Region::Stored(k) if !out.contains(k) => out.push(k.clone()),
            Region::Stored(_) | Region::All | Region::Nothing => {}
            Region::Not(inner) => inner.collect(out),
            Region::Both(parts) | Region::Either(parts) => {
                parts.iter().for_each(|p| p.collect(out));
            }
        }
    }

    /// Whether it holds where none of the operands is stored.
    pub fn holds_without_any(&self) -> bool {
        let operands = self.operands();
        operands.iter().fold(self.clone(), |r, k| r.with(k, false)) == Region::All
    }

    /// The same region by other names.
    pub fn map<M: Clone + Ord>(&self, f: &impl Fn(&K) -> M) -> Region<M> {
        match self {
            Region::All => Region::All,
            Region::Nothing => Region::Nothing,
            Region::Stored(k) => Region::Stored(f(k)),
            Region::Not(inner) => inner.map(f).complement(),
            Region::Both(parts) => Region::all_of(parts.iter().map(|p| p.map(f))),
            Region::Either(parts) => Region::any_of(parts.iter().map(|p| p.map(f))),
        }
    }

    /// Reads back what is printed; `name` reads what an operand is called.
    pub fn parse(text: &str, name: &impl Fn(&str) -> Option<K>) -> Option<Region<K>> {
        let parts = |separator: &str| -> Option<Vec<Region<K>>> {
            split(text, separator).into_iter().map(|part| Region::parse(part, name)).collect()
        };
        if split(text, " or ").len() > 1 {
            return Some(Region::any_of(parts(" or ")?));
        }
        if split(text, " and ").len() > 1 {
            return Some(Region::all_of(parts(" and ")?));
        }
        if let Some(inner) = text.strip_prefix("not ") {
            return Some(Region::parse(inner, name)?.complement());
        }
        match (text, in_parentheses(text)) {
            ("everywhere", _) => Some(Region::All),
            ("nowhere", _) => Some(Region::Nothing),
            (_, Some(inner)) => Region::parse(inner, name),
            _ => Some(Region::Stored(name(text)?)),
        }
    }
}

/// `(A or B) and not C`
impl<K: fmt::Display> fmt::Display for Region<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, parts) = match self {
            Region::All => return f.write_str("everywhere"),
            Region::Nothing => return f.write_str("nowhere"),
            Region::Stored(k) => return k.fmt(f),
            Region::Not(inner) => ("not ", std::slice::from_ref(&**inner)),
            Region::Both(parts) => (" and ", parts.as_slice()),
            Region::Either(parts) => (" or ", parts.as_slice()),
        };
        for (k, part) in parts.iter().enumerate() {
            let single = matches!(self, Region::Not(_));
            f.write_str(if k > 0 || single { word } else { "" })?;
            match part {
                Region::Both(_) | Region::Either(_) => write!(f, "({part})")?,
                part => write!(f, "{part}")?,
            }
        }
        Ok(())
    }
}

fn one_or<K>(
    mut parts: Vec<Region<K>>,
    none: Region<K>,
    many: fn(Vec<Region<K>>) -> Region<K>,
) -> Region<K> {
    match parts.len() {
        0 => none,
        1 => parts.remove(0),
        _ => many(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(k: usize) -> Region {
        Region::Stored(k)
    }

    fn text(region: &Region) -> String {
        region.map(&|&k| ["A", "B", "C"][k]).to_string()
    }

    #[test]
    fn regions_are_simplified_by_the_laws_of_sets() {
        let (a, b, c) = (stored(0), stored(1), stored(2));
        assert_eq!(text(&b.clone().both(a.clone()).both(b.clone())), "A and B");
        assert_eq!(text(&a.clone().both(a.clone().either(b.clone()))), "A");
        assert_eq!(text(&a.clone().either(a.clone().both(b.clone()))), "A");
        assert_eq!(text(&a.clone().either(a.clone().complement())), "everywhere");
        assert_eq!(text(&a.clone().both(Region::Nothing)), "nowhere");
        assert_eq!(text(&a.clone().either(b.clone()).both(c).both(Region::All)), "C and (A or B)");
        assert_eq!(text(&a.either(b).complement()), "not A and not B");
    }

    #[test]
    fn an_entry_that_holds_the_fill_is_on_both_sides() {
        let a = stored(0);
        let at = |presence: Presence| move |_: &usize| presence;
        for (presence, inside, outside) in [
            (Presence::Missing, false, true),
            (Presence::Fill, true, true),
            (Presence::Differs, true, false),
        ] {
            assert_eq!(a.contains(&at(presence)), inside);
            assert_eq!(a.clone().complement().contains(&at(presence)), outside);
        }
    }
}
