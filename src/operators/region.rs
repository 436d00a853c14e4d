//! Regions: sets of points, by what the operands store there.
//!
//! ```text
//! region := all | nothing | A | not region | region and region | region or region
//! ```
//! `A` are the points at which operand `A` stores an entry. An entry may be stored and yet hold the
//! fill: such a point belongs to `A`, and to `not A` as well. Either way the region is the larger
//! one, so leaving out what is not in it is never wrong.

/// A set of points. The constructors [`both`](Region::both), [`either`](Region::either) and
/// [`without`](Region::without) simplify.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// Every point.
    All,
    /// No point.
    Nothing,
    /// Where the operand with this number stores an entry.
    Stored(usize),
    /// Where it stores none, or one that holds the fill.
    Not(Box<Region>),
    /// Points of all of these, of which there are at least two, sorted.
    Both(Vec<Region>),
    /// Points of any of these, of which there are at least two, sorted.
    Either(Vec<Region>),
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

impl Region {
    /// The points that are in both. `A and (A or B)` is `A`.
    #[must_use]
    pub fn both(self, other: Region) -> Region {
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
        let kept: Vec<Region> = parts
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
    pub fn either(self, other: Region) -> Region {
        let mut parts = Vec::new();
        for region in [self, other] {
            match region {
                Region::Either(inner) => parts.extend(inner),
                region => parts.push(region),
            }
        }
        // `A and not A` has points, those with stored fills; `A or not A` has all.
        let complement = |p: &Region| parts.contains(&Region::Not(Box::new(p.clone())));
        if parts.contains(&Region::All) || parts.iter().any(complement) {
            return Region::All;
        }
        parts.retain(|p| *p != Region::Nothing);
        parts.sort();
        parts.dedup();
        let kept: Vec<Region> = parts
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
    pub fn without(self) -> Region {
        match self {
            Region::All => Region::Nothing,
            Region::Nothing => Region::All,
            Region::Not(inner) => *inner,
            Region::Stored(k) => Region::Not(Box::new(Region::Stored(k))),
            Region::Both(parts) => {
                parts.into_iter().fold(Region::Nothing, |all, p| all.either(p.without()))
            }
            Region::Either(parts) => {
                parts.into_iter().fold(Region::All, |all, p| all.both(p.without()))
            }
        }
    }

    /// Whether a point is in it, given what each operand holds there.
    pub fn contains(&self, presence: &dyn Fn(usize) -> Presence) -> bool {
        match self {
            Region::All => true,
            Region::Nothing => false,
            Region::Stored(k) => presence(*k) != Presence::Missing,
            Region::Not(inner) => match &**inner {
                Region::Stored(k) => presence(*k) != Presence::Differs,
                inner => inner.clone().without().contains(presence),
            },
            Region::Both(parts) => parts.iter().all(|p| p.contains(presence)),
            Region::Either(parts) => parts.iter().any(|p| p.contains(presence)),
        }
    }

    /// As text, with the operands' names: `(A or B) and not C`.
    pub fn text(&self, names: &[&str]) -> String {
        let inside = |part: &Region| {
            let text = part.text(names);
            match part {
                Region::Both(_) | Region::Either(_) => format!("({text})"),
                _ => text,
            }
        };
        match self {
            Region::All => "all".to_string(),
            Region::Nothing => "nothing".to_string(),
            Region::Stored(k) => names.get(*k).copied().unwrap_or("?").to_string(),
            Region::Not(inner) => format!("not {}", inside(inner)),
            Region::Both(parts) => parts.iter().map(inside).collect::<Vec<_>>().join(" and "),
            Region::Either(parts) => parts.iter().map(inside).collect::<Vec<_>>().join(" or "),
        }
    }
}

fn one_or(mut parts: Vec<Region>, none: Region, many: fn(Vec<Region>) -> Region) -> Region {
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
        region.text(&["A", "B", "C"])
    }

    #[test]
    fn regions_are_simplified_by_the_laws_of_sets() {
        let (a, b, c) = (stored(0), stored(1), stored(2));
        assert_eq!(text(&b.clone().both(a.clone()).both(b.clone())), "A and B");
        assert_eq!(text(&a.clone().both(a.clone().either(b.clone()))), "A");
        assert_eq!(text(&a.clone().either(a.clone().both(b.clone()))), "A");
        assert_eq!(text(&a.clone().either(a.clone().without())), "all");
        assert_eq!(text(&a.clone().both(Region::Nothing)), "nothing");
        assert_eq!(text(&a.clone().either(b.clone()).both(c).both(Region::All)), "C and (A or B)");
        assert_eq!(text(&a.either(b).without()), "not A and not B");
    }

    #[test]
    fn an_entry_that_holds_the_fill_is_on_both_sides() {
        let a = stored(0);
        let at = |presence: Presence| move |_: usize| presence;
        for (presence, inside, outside) in [
            (Presence::Missing, false, true),
            (Presence::Fill, true, true),
            (Presence::Differs, true, false),
        ] {
            assert_eq!(a.contains(&at(presence)), inside);
            assert_eq!(a.clone().without().contains(&at(presence)), outside);
        }
    }
}
