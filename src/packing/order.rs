//! In which order the keys of a numbered position are stored, and whether one may repeat.
//!
//! In: the keys and the declared properties. Out: [`Choice`].

use indexmap::IndexMap;

use super::part::{Level, Order, Role};
use crate::formula::{Call, Name};
use crate::layout::{Layout, Property, PropertyKind};

/// How the positions of a level are ordered.
pub(super) struct Choice {
    /// Indices of the keys, most significant first.
    pub keys: Vec<usize>,
    pub order: Order,
    /// Equal keys share a position.
    pub unique: bool,
    /// The first keys are declared to rise strictly by themselves: how many tell positions apart.
    pub telling: Option<usize>,
}

/// Whether the property says that values rise or fall.
fn orders(p: &Property) -> bool {
    use PropertyKind::{Lexicographic, Monotonic, PeriodicLexicographic, PeriodicMonotonic};
    matches!(p.kind, Monotonic | PeriodicMonotonic | Lexicographic | PeriodicLexicographic)
}

/// Decides from the properties that hold within the groups of a level; `segments` is the array
/// that bounds the groups.
pub(super) fn of_keys(layout: &Layout, keys: &[(Call, Name)], segments: Option<&Name>) -> Choice {
    let at = |name: &Name| keys.iter().position(|(_, array)| array == name);
    let within: Vec<&Property> = layout
        .properties
        .iter()
        .filter(|p| p.segments.is_none() || p.segments.as_ref() == segments)
        .filter(|p| !p.arrays.is_empty() && p.arrays.iter().all(|a| at(a).is_some()))
        .collect();
    // The property that speaks of most arrays refines the others.
    let longest = within.iter().filter(|p| orders(p)).max_by_key(|p| p.arrays.len());
    let strict = within.iter().any(|p| orders(p) && p.strict);
    use PropertyKind::{Injective, Permutation, Probing};
    let distinct = within.iter().any(|p| matches!(p.kind, Injective | Permutation | Probing));
    // A formula may ask for any order: increasing and distinct is the one that most have in mind.
    let stated = layout
        .properties
        .iter()
        .any(|p| p.kind == PropertyKind::Formula && p.arrays.iter().any(|a| at(a).is_some()));

    let mut order: Vec<usize> =
        longest.map_or_else(Vec::new, |p| p.arrays.iter().filter_map(at).collect());
    order.extend((0..keys.len()).filter(|k| !order.contains(k)).collect::<Vec<_>>());
    let direction = match longest {
        Some(p) if p.decreasing => Order::Decreasing,
        Some(_) => Order::Increasing,
        None if distinct || stated => Order::Increasing,
        None => Order::Given,
    };
    // The other keys follow from the position.
    let strictly = longest.filter(|p| p.strict).map(|p| p.arrays.len());
    let unique = strict || distinct || (longest.is_none() && stated);
    Choice { keys: order, order: direction, unique: unique && !keys.is_empty(), telling: strictly }
}

/// The level whose positions are counted at those of `level`, if the counts are declared to fall and
/// nothing orders the keys: then the positions follow the counts.
pub(super) fn by_count(
    layout: &Layout,
    levels: &[Level],
    level: usize,
    arrays: &IndexMap<Name, Vec<Role>>,
) -> Option<usize> {
    let this = &levels[level];
    let about = |p: &Property, name: &Name| p.arrays.contains(name);
    let is_ordered =
        layout.properties.iter().any(|p| orders(p) && this.keys.iter().any(|k| about(p, &k.array)));
    if is_ordered || this.each_entry || this.keys.is_empty() || this.interval.is_some() {
        return None;
    }
    arrays.iter().find_map(|(name, roles)| {
        let counted = roles.iter().find_map(|role| match role {
            Role::Counts { level: counted, args, .. }
                if args.iter().any(|a| a.mentions(&this.position)) =>
            {
                Some(*counted)
            }
            _ => None,
        })?;
        // A formula about counts may ask for any order: falling is the one that most have in mind.
        let falls = |p: &Property| {
            about(p, name)
                && (orders(p) && p.decreasing
                    || p.kind == PropertyKind::Formula && p.arrays.len() == 1)
        };
        layout.properties.iter().any(falls).then_some(counted)
    })
}
