//! What has to be checked on data before a layout's declaration may be relied on.
//!
//! In: a [`Layout`]. Out: [`Check`]s, in an order in which each may rely on those before: lengths,
//! so that no access is outside an array; ranges; then the properties. The common properties are
//! transitive, so comparing neighbours is enough and one pass does.
//!
//! ```text
//! crd strictly increasing within segments of pos:  pos(u) <= p < q < pos(u + 1) => crd(p) < crd(q)
//! ```
//! becomes [`Check::Ordered`]: neighbours `p`, `p + 1` of one segment.

use super::bounds::extent_of;
use super::visit::{self, Step};
use super::{IndexArray, Layout, Property, PropertyKind};
use crate::formula::{Affine, Arith, Atom, Constraint, Formula, Name, Relop};

/// A condition on index arrays and sizes that can be checked in one pass.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub enum Check {
    /// The index array (or the value array) has that many elements.
    Length { array: Name, len: Arith },
    /// Every element is within the inclusive bounds, which are over sizes.
    Range { array: Name, lower: Option<Affine>, upper: Option<Affine> },
    /// Neighbouring elements of the arrays are in lexicographic order; with `segments`, neighbours
    /// of one segment `segments[u] .. segments[u + 1]`.
    Ordered { arrays: Vec<Name>, segments: Option<Name>, strict: bool, decreasing: bool },
    /// No number occurs twice, or not twice in a segment.
    Injective { array: Name, segments: Option<Name> },
    /// Every number below the length occurs once.
    Permutation { array: Name },
    /// Intervals `left[p] .. right[p]` follow each other, or do so in each segment; `strict`: none
    /// is empty.
    Disjoint { left: Name, right: Name, segments: Option<Name>, strict: bool, decreasing: bool },
    /// Tables of `slots` elements each, one after the other, hold every coordinate where a search
    /// finds it: none is [misplaced](super::probing::misplaced).
    Probing { array: Name, slots: Arith },
    /// A formula over sizes and single elements, e.g. `pos(0) = 0`.
    Ground { formula: Formula },
    /// A formula with variables: the conclusion at every point that the steps visit.
    ForAll { formula: Formula, steps: Vec<Step>, conclusion: Formula },
    /// A formula that cannot be checked, since nothing bounds the variable.
    Unbounded { formula: Formula, variable: Name },
}

/// Every check that a layout asks for.
pub fn checks(layout: &Layout) -> Vec<Check> {
    let mut out = Vec::new();
    for array in layout.arrays.values() {
        out.push(Check::Length { array: array.name.clone(), len: array.len.clone() });
    }
    let value = &layout.value;
    out.push(Check::Length { array: value.name.clone(), len: value.len.clone() });
    for array in layout.arrays.values() {
        ranges(layout, array, &mut out);
    }
    let assumed = layout.assumptions.iter().cloned().map(Formula::Constraint);
    out.extend(assumed.map(|formula| Check::Ground { formula }));
    let mut late = Vec::new();
    for property in &layout.properties {
        // The order of segments is established before they are walked.
        let list = if property.segments.is_some() { &mut late } else { &mut out };
        of_property(layout, property, list);
    }
    out.extend(late);
    let mut distinct: Vec<Check> = Vec::new();
    for check in out {
        if !distinct.contains(&check) {
            distinct.push(check);
        }
    }
    distinct
}

/// Whether the declared range of an array admits negative numbers, so that it is stored signed.
pub fn admits_negative(array: &IndexArray) -> bool {
    !array.range.iter().any(|c| {
        let alone = matches!(
            c.affine.terms(),
            [(Atom::Call(call), k)] if *k > 0 && call.array == array.name
        );
        c.relop == Relop::Ge && alone && c.affine.offset() <= 0
    })
}

/// What all elements of an array are below, by the first bound of its range that adds up sizes and parts of them, and no
/// multiples: a table of so many places is no larger than what is stored otherwise.
pub fn end_of_range(array: &Name, range: &[Constraint]) -> Option<Affine> {
    range.iter().filter(|c| c.relop == Relop::Ge).find_map(|c| {
        let (mut bound, mut element) = (Affine::constant(c.affine.offset()), None);
        for (atom, factor) in c.affine.terms() {
            match (atom, factor) {
                (Atom::Call(call), ..=-1) if call.array == *array && element.is_none() => {
                    element = Some((call, -factor));
                }
                (atom, 1) if adds_sizes(atom) => bound = bound + Affine::atom(atom.clone()),
                _ => return None,
            }
        }
        let (element, times) = element?;
        let end = bound + Affine::constant(times);
        // Where the element is, is no size.
        let is_place = |name: &Name| element.args.iter().any(|a| a.mentions(name));
        let mut sized = end.offset() >= 0;
        end.visit_vars(&mut |name| sized &= !is_place(name));
        sized.then(|| end.floor_div(times))
    })
}

/// A size, or a part of a sum of sizes.
fn adds_sizes(atom: &Atom) -> bool {
    match atom {
        Atom::Var(_) => true,
        Atom::Floor(of, _) => {
            of.offset() >= 0 && of.terms().iter().all(|(atom, k)| *k == 1 && adds_sizes(atom))
        }
        Atom::Call(_) => false,
    }
}

/// The range of an array, bound by bound.
fn ranges(layout: &Layout, array: &IndexArray, out: &mut Vec<Check>) {
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    let mut others = Vec::new();
    for c in &array.range {
        match range_bound(layout, array, c) {
            Some((true, bound)) => lower.push(bound),
            Some((false, bound)) => upper.push(bound),
            None => others.push(c.clone()),
        }
    }
    if !others.is_empty() || !is_whole(layout, array) {
        let inside = Formula::and(array.domain.iter().cloned().map(Formula::from));
        let range = Formula::and(array.range.iter().cloned().map(Formula::from));
        return general(layout, &inside.implies(range), out);
    }
    let (mut lower, mut upper) = (lower.into_iter(), upper.into_iter());
    loop {
        let (lower, upper) = (lower.next(), upper.next());
        if lower.is_none() && upper.is_none() {
            break;
        }
        out.push(Check::Range { array: array.name.clone(), lower, upper });
    }
}

/// `f(args) >= bound` (true) or `f(args) <= bound` (false), the bound over sizes.
fn range_bound(layout: &Layout, array: &IndexArray, c: &Constraint) -> Option<(bool, Affine)> {
    let (call, k) = c.affine.terms().iter().find_map(|(atom, k)| match atom {
        Atom::Call(call) if call.array == array.name => Some((atom.clone(), *k)),
        _ => None,
    })?;
    let plain = matches!(&call, Atom::Call(call)
        if call.args.iter().zip(&array.args).all(|(a, n)| a.as_var() == Some(n)));
    let rest = c.affine.clone() - Affine::atom(call) * k;
    let mut sizes = plain && !rest.has_calls() && c.relop == Relop::Ge && k.abs() == 1;
    rest.visit_vars(&mut |n| sizes &= is_size(layout, n));
    sizes.then(|| if k > 0 { (true, -rest) } else { (false, rest) })
}

fn is_size(layout: &Layout, name: &Name) -> bool {
    layout.params.contains_key(name) || layout.extents().contains(name)
}

/// Whether the domain is all of the array's elements, so that passes over the array are exact.
fn is_whole(layout: &Layout, array: &IndexArray) -> bool {
    is_whole_with_overlap(layout, array).is_some()
}

/// As [`is_whole`]; the value tells whether the last argument may equal its extent, so that the
/// end of one row is the start of the next.
fn is_whole_with_overlap(layout: &Layout, array: &IndexArray) -> Option<bool> {
    if array.domain.len() != 2 * array.args.len() || array.shape.len() != array.args.len() {
        return None;
    }
    let mut overlap = false;
    for (k, arg) in array.args.iter().enumerate() {
        let from_zero = Constraint::le(Affine::zero(), Affine::var(arg.clone()));
        if !array.domain.contains(&from_zero) {
            return None;
        }
        let extent = extent_of(arg, &array.domain, &|n| is_size(layout, n))?;
        let shape = array.shape[k].to_affine().ok()?;
        let beyond = (extent.clone() - shape).as_constant()?;
        overlap = k > 0 && k + 1 == array.args.len() && beyond == 1;
        if beyond != 0 && !overlap {
            return None;
        }
        // One argument: the length is the extent. Rows of a product otherwise.
        if array.args.len() == 1 && array.len.to_affine().ok()? != extent {
            return None;
        }
    }
    Some(overlap)
}

fn of_property(layout: &Layout, property: &Property, out: &mut Vec<Check>) {
    let arrays: Option<Vec<&IndexArray>> =
        property.arrays.iter().map(|n| layout.arrays.get(n)).collect();
    let segments = match &property.segments {
        Some(name) => layout.arrays.get(name).filter(|s| is_whole(layout, s)).map(Some),
        None => Some(None),
    };
    let check = match (arrays, segments) {
        (Some(arrays), Some(segments)) => one_pass(layout, property, &arrays, segments),
        _ => None,
    };
    match check {
        Some(check) => out.push(check),
        // Checked with the array.
        None if property.kind == PropertyKind::Range => {}
        None => general(layout, &property.formula, out),
    }
}

/// The check of a property that one pass over its arrays does; `None` if only its formula tells.
fn one_pass(
    layout: &Layout,
    property: &Property,
    arrays: &[&IndexArray],
    segments: Option<&IndexArray>,
) -> Option<Check> {
    let first = *arrays.first()?;
    let overlaps: Option<Vec<bool>> =
        arrays.iter().map(|a| is_whole_with_overlap(layout, a)).collect();
    let same_length = arrays.iter().all(|a| a.len == first.len && a.args.len() == first.args.len());
    // Segments are intervals of positions, which are single numbers.
    let flat = segments.is_none() || arrays.iter().all(|a| a.args.len() == 1);
    let overlap = overlaps?.contains(&true);
    if !same_length || !flat {
        return None;
    }
    let array = first.name.clone();
    let segments = segments.map(|s| s.name.clone());
    let Property { strict, decreasing, .. } = *property;
    Some(match property.kind {
        PropertyKind::Monotonic
        | PropertyKind::PeriodicMonotonic
        | PropertyKind::Lexicographic
        | PropertyKind::PeriodicLexicographic => {
            // An element that is the end of one row and the start of the next is not below itself.
            if strict && overlap {
                return None;
            }
            Check::Ordered { arrays: property.arrays.clone(), segments, strict, decreasing }
        }
        PropertyKind::Injective if !overlap => Check::Injective { array, segments },
        PropertyKind::Permutation if first.args.len() == 1 => Check::Permutation { array },
        PropertyKind::Disjoint if arrays.len() == 2 && first.args.len() == 1 => {
            let right = arrays[1].name.clone();
            Check::Disjoint { left: array, right, segments, strict, decreasing }
        }
        PropertyKind::Probing => Check::Probing { slots: first.shape.last()?.clone(), array },
        _ => return None,
    })
}

/// A closed formula, one check for each of its conjuncts.
fn general(layout: &Layout, formula: &Formula, out: &mut Vec<Check>) {
    if let Formula::And(parts) = formula {
        return parts.iter().for_each(|part| general(layout, part, out));
    }
    let mut variables = formula.free_vars();
    variables.retain(|n| !is_size(layout, n));
    if variables.is_empty() {
        return out.push(Check::Ground { formula: formula.clone() });
    }
    let (premises, conclusion) = match formula {
        Formula::Implies(premise, conclusion) => (premise.to_dnf(), (**conclusion).clone()),
        other => (vec![Vec::new()], other.clone()),
    };
    for premise in premises {
        let formula = formula.clone();
        let conclusion = conclusion.clone();
        out.push(match visit::steps(&variables, &premise) {
            Ok(steps) => Check::ForAll { formula, steps, conclusion },
            Err(variable) => Check::Unbounded { formula, variable },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn named(text: &str) -> Vec<Check> {
        checks(&Layout::named(text).unwrap())
    }

    #[test]
    fn compressed_rows_need_no_general_formula() {
        let found = named("csr");
        let general = |c: &&Check| matches!(c, Check::ForAll { .. } | Check::Unbounded { .. });
        assert_eq!(found.iter().find(general), None);
        assert_eq!(
            found.last(),
            Some(&Check::Ordered {
                arrays: vec!["crd".into()],
                segments: Some("pos".into()),
                strict: true,
                decreasing: false,
            })
        );
        assert!(found.contains(&Check::Range {
            array: "crd".into(),
            lower: Some(Affine::zero()),
            upper: Some(parse::affine("J - 1").unwrap()),
        }));
        assert!(found.contains(&Check::Ground { formula: parse::formula("pos(0) = 0").unwrap() }));
    }

    #[test]
    fn a_segment_array_of_two_arguments_is_checked_in_one_pass() {
        let found = named("dense(i), dense(j), compressed(k)");
        let ordered = found.iter().filter(|c| matches!(c, Check::Ordered { .. })).count();
        assert_eq!(ordered, 2, "{found:?}");
    }

    #[test]
    fn ends_of_ranges_add_up_sizes_and_parts_of_them() {
        let end = |range: &str| {
            let range: Vec<Constraint> = range
                .split(';')
                .map(|text| match parse::formula(text).unwrap() {
                    Formula::Constraint(constraint) => constraint,
                    other => panic!("{other:?} is no bound"),
                })
                .collect();
            end_of_range(&"crd".into(), &range).map(|end| end.to_string())
        };
        let said = |text: &str| Some(parse::affine(text).unwrap().to_string());
        assert_eq!(end("0 <= crd(p); crd(p) < J"), said("J"));
        assert_eq!(end("crd(p) <= I + J"), said("I + J + 1"));
        assert_eq!(end("crd(p) < ceil(J/4)"), said("floor((J + 3)/4)"));
        assert_eq!(end("3 * crd(p) < J"), said("floor((J + 2)/3)"));
        // Less than nothing, what depends on the place, what another array says, no bound at all, and multiples.
        for none in
            ["crd(p) < 0 - 5", "crd(p) < J - 2", "crd(p) <= p", "crd(p) < pos(p)", "crd(p) >= 0"]
        {
            assert_eq!(end(none), None, "{none}");
        }
        for none in ["crd(p) < 1000000 * J", "crd(p) < floor(9*J/2)", "crd(p) < floor(J/2) * 3"] {
            assert_eq!(end(none), None, "{none}");
        }
    }

    #[test]
    fn arrays_with_negative_numbers_are_signed() {
        let layout = |range: &str| {
            let text = format!(
                "name = 't'\ndims = ['i', 'j']\nvalue = 'val(d, r)'\n\
                 relation = '{{ [d, r] -> [i, j] : 0 <= d < D and 0 <= r < I and i = r \
                 and j = r + off(d) }}'\n[params]\nD = 'count'\n\
                 [index.off]\ndomain = '0 <= d < D'\nrange = '{range}'\n"
            );
            super::super::LayoutSpec::from_toml("t", &text).unwrap().instantiate(2).unwrap()
        };
        assert!(admits_negative(&layout("-I < off(d) < J").arrays["off"]));
        assert!(!admits_negative(&layout("0 <= off(d) < J").arrays["off"]));
    }
}
