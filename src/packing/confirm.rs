//! That every entry has a place: the other half of the promise that what is packed can be read back.
//!
//! A plan makes positions and index arrays from the conditions that it knows how to keep: a function of
//! the coordinates, a number within a segment, a key, an extreme. The relation may ask for more
//! (`p1 < 2`, `NNZ <= 3`, `len(p0) < W`). In: a plan. Out: for each piece the conditions that do not
//! follow from how it packs, by proof; they are tested for every entry: bounds of a number as soon as it
//! is known (`fits`), all of them on the packed arrays, before values are stored.
//!
//! ```text
//! { [p0, p1] -> [i, j] : p0 = i and 0 <= p1 < len(p0) and p1 < 2 and j = crd(p0, p1) … }
//! ```
//! leaves `p1 < 2`: `p0 = i` is computed, `crd(p0, p1)` is written, `len(p0)` counts.

use indexmap::IndexMap;

use super::bounds::Bounds;
use super::columns::Columns;
use super::inverse::Form;
use super::part::{Count, Measured, Part, Position};
use crate::check::follow;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Call, Constraint, Formula, Name};
use crate::layout::Layout;
use crate::tensor::Scope;

/// What the plan says of the bounds of numbered positions, and of the calls that it writes.
pub(super) struct Made<'a> {
    pub bounds: &'a [(Name, Bounds)],
    /// Calls, with their functions of the coordinates for each piece.
    pub keys: &'a [(Call, Vec<Form>)],
}

/// The conditions of each piece that packing does not keep by itself.
pub(super) fn open_conditions(
    layout: &Layout,
    plan: &Part,
    made: &Made<'_>,
) -> Vec<Vec<Constraint>> {
    let pieces = layout.relation.pieces.iter().enumerate();
    pieces
        .map(|(k, piece)| {
            // Positions that are functions of the coordinates are replaced by them: then most
            // conditions are what is known already.
            let solved = solved(plan, k);
            let known = |a: &Affine| a.substitute(&|n| solved.get(n).cloned());
            let mut facts: Vec<Formula> =
                layout.known_of_sizes().into_iter().map(Formula::Constraint).collect();
            facts.extend(kept(layout, plan, made, k));
            let facts: Vec<Formula> = facts.iter().map(|f| f.map_affine(&known)).collect();
            let claims: Vec<Constraint> = piece.iter().map(|c| c.map(known)).collect();
            let shown = follow(&facts, &claims);
            piece.iter().zip(shown).filter(|(_, shown)| !shown).map(|(c, _)| c.clone()).collect()
        })
        .collect()
}

/// The positions that are one function of the coordinates.
fn solved(plan: &Part, k: usize) -> IndexMap<Name, Affine> {
    let positions = plan.positions.iter().zip(&plan.pieces[k].positions);
    let of = |((name, position), form): (&(Name, Position), &Option<Form>)| match (position, form) {
        (Position::Determined, Some(form)) => match form.as_slice() {
            [(_, value)] => Some((name.clone(), value.clone())),
            _ => None,
        },
        _ => None,
    };
    positions.filter_map(of).collect()
}

/// What holds of an entry of piece `k` once it is packed.
fn kept(layout: &Layout, plan: &Part, made: &Made<'_>, k: usize) -> Vec<Formula> {
    let mut out: Vec<Formula> =
        layout.within_extents().into_iter().map(Formula::Constraint).collect();
    let forms = &plan.pieces[k];
    if let Some(domain) = &forms.domain {
        let conjunctions =
            domain.iter().map(|list| Formula::and(list.iter().cloned().map(Formula::Constraint)));
        out.push(Formula::or(conjunctions));
    }
    for ((name, position), form) in plan.positions.iter().zip(&forms.positions) {
        let p = Affine::var(name.clone());
        match position {
            Position::Determined => out.extend(form.iter().map(|form| equals(&p, form))),
            Position::Tied(e) | Position::Aligned(e) => out.push(Formula::eq(p, e.clone())),
            Position::Cut(k) => {
                let cut = &plan.cuts[*k];
                out.push(Formula::le(Affine::zero(), p.clone()));
                out.push(Formula::lt(p, Affine::var(cut.count.clone())));
                for e in &cut.along {
                    out.push(Formula::le(element(&cut.start), e.clone()));
                    out.push(Formula::lt(e.clone(), element(&cut.end)));
                }
            }
            Position::Numbered(level) => {
                let bounds = made.bounds.iter().find(|(n, _)| n == name);
                out.extend(bounds.iter().flat_map(|(_, b)| within(&p, b)));
                out.extend(below_count(plan, *level, &p));
            }
        }
    }
    for (call, forms) in made.keys {
        out.push(equals(&element(call), &forms[k]));
    }
    // An extreme is one of all pieces' forms.
    if plan.pieces.len() == 1 {
        for m in &plan.measures {
            let extreme = match &m.what {
                Measured::Element(call) => element(call),
                Measured::Size(name) => Affine::var(name.clone()),
                Measured::Length(_) => continue,
            };
            out.extend(m.of.iter().map(|form| match m.greatest {
                true => Formula::le(form.clone(), extreme.clone()),
                false => Formula::le(extreme.clone(), form.clone()),
            }));
        }
    }
    out
}

/// `crd(p0, p1)`
fn element(call: &Call) -> Affine {
    Affine::atom(Atom::Call(call.clone()))
}

/// `x` is the value of the first case that applies, else that of the last.
fn equals(x: &Affine, form: &Form) -> Formula {
    let mut before: Vec<Formula> = Vec::new();
    let mut out = Vec::new();
    for (at, (condition, value)) in form.iter().enumerate() {
        let applies = Formula::and(condition.iter().cloned().map(Formula::Constraint));
        let mut premises = before.clone();
        if at + 1 < form.len() {
            premises.push(applies.clone());
            before.push(applies.not());
        }
        out.push(Formula::and(premises).implies(Formula::eq(x.clone(), value.clone())));
    }
    Formula::and(out)
}

/// Numbers lie in their segment; the first is as declared.
fn within(p: &Affine, bounds: &Bounds) -> Vec<Formula> {
    match bounds {
        Bounds::Segments(_) | Bounds::Between { .. } => {
            let ends = bounds.calls();
            vec![
                Formula::le(element(&ends[0]), p.clone()),
                Formula::lt(p.clone(), element(&ends[1])),
            ]
        }
        Bounds::Lengths { start, count } => vec![
            Formula::le(element(start), p.clone()),
            Formula::lt(p.clone(), element(start) + element(count)),
        ],
        Bounds::Counted { first, count, offset } => vec![
            Formula::le(Affine::constant(*first), p.clone()),
            Formula::lt(p.clone(), element(count) + Affine::constant(*offset)),
        ],
        Bounds::Sized { first, .. } => {
            vec![Formula::le(Affine::constant(*first), p.clone())]
        }
    }
}

/// A size that counts the numbers of the level is above them.
fn below_count(plan: &Part, level: usize, p: &Affine) -> Vec<Formula> {
    let first = plan.levels[level].first;
    let counts = plan.counts.iter().filter_map(|(name, count)| match count {
        Count::Positions { level: of, offset } | Count::LargestGroup { level: of, offset }
            if *of == level =>
        {
            Some((name, offset))
        }
        _ => None,
    });
    // The size is the number of positions, plus the offset.
    counts
        .map(|(name, offset)| {
            let end = Affine::var(name.clone()) - Affine::constant(*offset);
            Formula::lt(p.clone(), end + Affine::constant(first))
        })
        .collect()
}

impl Part {
    /// What the relation asks beyond what packing keeps by itself.
    pub fn open_conditions(&self) -> impl Iterator<Item = &Constraint> {
        self.open.iter().flatten()
    }

    /// The names that the open conditions mention.
    pub(super) fn tested(&self) -> Vec<Name> {
        let mut out = Vec::new();
        for c in self.open_conditions() {
            c.affine.visit_vars(&mut |n| out.push(n.clone()));
        }
        out
    }

    /// Tests the open conditions of every entry.
    ///
    /// # Errors
    /// [`Code::NotPackable`] with the first entry that breaks one.
    pub(super) fn confirm(
        &self,
        layout: &Layout,
        columns: &Columns<'_>,
        scope: &Scope<'_>,
        piece_of: &dyn Fn(usize) -> usize,
        point: &dyn Fn(usize) -> Vec<usize>,
    ) -> Result<()> {
        if self.open.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let names: Vec<Name> = columns.named.keys().cloned().collect();
        let mut compiled = Vec::new();
        for piece in &self.open {
            let mut conditions = Vec::new();
            let open = |c: &&Constraint| c.affine.has_calls() || !columns.shows(c, &scope.sizes);
            for c in piece.iter().filter(open) {
                conditions.push((scope.condition(&Formula::Constraint(c.clone()), &names)?, c));
            }
            compiled.push(conditions);
        }
        if compiled.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let mut slots = vec![0; names.len()];
        for k in 0..columns.len {
            for (slot, column) in slots.iter_mut().zip(columns.named.values()) {
                *slot = column.get(k);
            }
            for (condition, c) in &compiled[piece_of(k)] {
                // What has no value does not hold.
                if condition.holds(scope, &slots) != Ok(true) {
                    return Err(no_place(layout, c, &point(k)));
                }
            }
        }
        Ok(())
    }
}

pub(super) fn no_place(layout: &Layout, broken: &Constraint, point: &[usize]) -> Box<Diagnostic> {
    let point: Vec<String> = point.iter().map(usize::to_string).collect();
    Diagnostic::new(
        Code::NotPackable,
        format!("entry ({}) has no place in layout `{}`", point.join(", "), layout.name),
    )
    .note(format!("its position would have to satisfy `{broken}`, which does not hold"))
    .help("choose a layout that has room for these entries")
}
