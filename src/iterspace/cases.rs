//! A region as conjunctions that do not overlap: who is walked, who is looked up.
//!
//! In: a [`Region`]. Out: [`Case`]s. In each, some operands are stored at every point and make the
//! space; those that earlier cases have walked are not stored; of the others a lookup tells. There is
//! at most one case for each operand and one more, so that code grows by the number of operands.
//!
//! ```text
//! a or b or c        →  a, looking up b and c; b without a, looking up c; c without a and b
//! (a or b) and c     →  a and c, looking up b; b and c without a
//! a and not b        →  a without b
//! not (a and b)      →  every point, looking up a and b
//! ```

use crate::operators::Region;

/// One conjunction.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Stored at every point of the case.
    pub stored: Vec<usize>,
    /// Stored at none.
    pub missed: Vec<usize>,
    /// What must hold of the others.
    pub rest: Region,
}

/// The cases of a region. Operands are walked in the order in which the region mentions them, those that
/// it needs everywhere first.
pub fn cases(region: &Region) -> Vec<Case> {
    let mut out = Vec::new();
    let mut missed: Vec<usize> = Vec::new();
    let mut left = region.clone();
    while left != Region::Nothing {
        let operands = left.operands();
        let needed = operands.iter().find(|&k| left.needs(k));
        let Some(&driver) = needed.or(operands.first()).filter(|_| !left.holds_without_any())
        else {
            out.push(Case { stored: Vec::new(), missed: missed.clone(), rest: left });
            break;
        };
        let (mut stored, mut without) = (vec![driver], missed.clone());
        let mut rest = left.with(&driver, true);
        for &k in operands.iter().filter(|&&k| k != driver) {
            if rest.needs(&k) {
                rest = rest.with(&k, true);
                stored.push(k);
            } else if rest.with(&k, true) == Region::Nothing {
                rest = rest.with(&k, false);
                without.push(k);
            }
        }
        if rest != Region::Nothing {
            stored.sort_unstable();
            without.sort_unstable();
            out.push(Case { stored, missed: without, rest });
        }
        missed.push(driver);
        left = left.with(&driver, false);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn s(k: usize) -> Region {
        Region::Stored(k)
    }

    fn shown(region: &Region) -> Vec<String> {
        let name = |k: usize| ["a", "b", "c", "d"][k].to_string();
        let list = |all: &[usize]| all.iter().map(|k| name(*k)).collect::<Vec<_>>().join(" ");
        let shown = |c: &Case| {
            let rest = c.rest.map(&|k: &usize| name(*k));
            format!("{} / {} / {rest}", list(&c.stored), list(&c.missed))
        };
        cases(region).iter().map(shown).collect()
    }

    #[test]
    fn regions_are_taken_apart() {
        let sum = Region::any_of([s(0), s(1), s(2)]);
        assert_eq!(
            shown(&sum),
            ["a /  / everywhere", "b / a / everywhere", "c / a b / everywhere"]
        );
        assert_eq!(shown(&Region::all_of([s(0), s(1)])), ["a b /  / everywhere"]);
        let masked = Region::all_of([Region::any_of([s(0), s(1)]), s(2)]);
        assert_eq!(shown(&masked), ["c /  / a or b"]);
        assert_eq!(shown(&Region::all_of([s(0), s(1).complement()])), ["a / b / everywhere"]);
        let xor = Region::any_of([
            Region::all_of([s(0), s(1).complement()]),
            Region::all_of([s(0).complement(), s(1)]),
        ]);
        assert_eq!(shown(&xor), ["a / b / everywhere", "b / a / everywhere"]);
        assert_eq!(shown(&Region::all_of([s(0), s(1)]).complement()), [" /  / not a or not b"]);
        assert_eq!(shown(&Region::All), [" /  / everywhere"]);
        assert!(shown(&Region::Nothing).is_empty());
    }

    fn region() -> impl Strategy<Value = Region> {
        let leaf = prop_oneof![(0_usize..4).prop_map(Region::Stored), Just(Region::All)];
        leaf.prop_recursive(4, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(Region::all_of),
                prop::collection::vec(inner.clone(), 2..4).prop_map(Region::any_of),
                inner.prop_map(Region::complement),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_point_of_a_region_is_in_one_case(region in region()) {
            for stored in 0_u32..16 {
                let is = |k: usize| stored >> k & 1 == 1;
                let holds = |r: &Region| (0..4).fold(r.clone(), |r, k| r.with(&k, is(k))) == Region::All;
                let within = |c: &&Case| {
                    c.stored.iter().all(|&k| is(k)) && !c.missed.iter().any(|&k| is(k)) && holds(&c.rest)
                };
                let all = cases(&region);
                prop_assert_eq!(all.iter().filter(within).count(), usize::from(holds(&region)));
                prop_assert!(all.len() <= 5);
            }
        }
    }
}
