//! Whether index arrays are read inside their domains.
//!
//! A read may rely on the conditions of the relation that need no unproved read themselves: in
//! `pos(p0) <= p1 < pos(p0 + 1)` the bounds of `p0` come first, then both reads of `pos`, and only
//! then the range of `pos` says where `p1` is, at which `crd` is read.

use indexmap::IndexSet;

use super::declared::{Declared, Which};
use super::report::{Finding, Question, Verdict, tuple};
use super::small::SmallTensors;
use crate::formula::{Affine, Arith, Call, Constraint, Formula, Products, conjunction};
use crate::prover::Prover;

/// One finding for each read that is not proved, or one for all.
pub(super) fn findings(
    declared: &Declared<'_>,
    small: &mut SmallTensors<'_>,
    prover: &mut dyn Prover,
) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    let mut proved: IndexSet<Call> = IndexSet::new();
    for piece in 0..declared.layout.relation.pieces.len() {
        for read in reads(declared, piece, prover) {
            if read.proved {
                proved.insert(read.call);
                continue;
            }
            let finding = failure(declared, &read, small);
            if !out.contains(&finding) {
                out.push(finding);
            }
        }
    }
    if out.is_empty() {
        let calls: Vec<String> = proved.iter().map(call_text).collect();
        let says = match calls.as_slice() {
            [] => "no index array is read".to_string(),
            [one] => format!("{one} is read inside its domain"),
            all => format!("{} are read inside their domains", all.join(", ")),
        };
        out.push(Finding::new(Question::Access, Verdict::Proved, says));
    }
    out
}

fn call_text(call: &Call) -> String {
    Affine::call(call.array.clone(), call.args.clone()).to_string()
}

/// A read of an index array, and what is known before it.
struct Read {
    call: Call,
    /// What the relation establishes without it.
    before: Vec<Formula>,
    /// The array's domain at the arguments.
    domain: Vec<Constraint>,
    proved: bool,
}

/// The reads of a piece, of the value's subscripts and of the definitions of sizes, in an order in
/// which each relies on earlier ones only.
fn reads(declared: &Declared<'_>, piece: usize, prover: &mut dyn Prover) -> Vec<Read> {
    let constraints = &declared.layout.relation.pieces[piece];
    let mut waiting: IndexSet<Call> = IndexSet::new();
    let mut add = |call: &Call| {
        waiting.insert(call.clone());
    };
    constraints.iter().for_each(|c| c.visit_calls(&mut add));
    for subscript in &declared.layout.value.index {
        if let Some(affine) = Products::default().linear(subscript) {
            affine.visit_calls(&mut |call| {
                if !Products::is_product(call) {
                    add(call);
                }
            });
        }
    }
    for size in declared.layout.params.values().flatten().flat_map(Arith::to_affine) {
        size.visit_calls(&mut add);
    }
    let mut done: IndexSet<Call> = IndexSet::new();
    // After a read that is not proved its domain is taken for granted: one mistake, one finding.
    let mut assumed: Vec<Formula> = Vec::new();
    let mut out = Vec::new();
    while !waiting.is_empty() {
        let mut before = established(constraints, &done);
        before.extend(assumed.iter().cloned());
        let mut next = None;
        for (k, call) in waiting.iter().enumerate() {
            let mut ready = true;
            call.args.iter().for_each(|a| a.visit_calls(&mut |c| ready &= done.contains(c)));
            if !ready {
                continue;
            }
            let domain = domain(declared, call);
            let claim = Formula::and(domain.iter().cloned().map(Formula::Constraint));
            let proved = claim.is_true() || declared.proves(&before, &claim, prover);
            if proved || next.is_none() {
                next =
                    Some((k, Read { call: call.clone(), before: before.clone(), domain, proved }));
            }
            if proved {
                break;
            }
        }
        // An argument contains no call of its own, so some read is always ready.
        let Some((k, read)) = next else { break };
        waiting.shift_remove_index(k);
        if !read.proved {
            assumed.extend(read.domain.iter().cloned().map(Formula::Constraint));
        }
        done.insert(read.call.clone());
        out.push(read);
    }
    out
}

/// The conditions that only the reads `done` are needed for.
fn established(constraints: &[Constraint], done: &IndexSet<Call>) -> Vec<Formula> {
    let known = |c: &&Constraint| {
        let mut known = true;
        c.visit_calls(&mut |call| known &= done.contains(call));
        known
    };
    constraints.iter().filter(known).cloned().map(Formula::Constraint).collect()
}

fn domain(declared: &Declared<'_>, call: &Call) -> Vec<Constraint> {
    let array = declared.layout.arrays.get(&call.array);
    array.map_or_else(Vec::new, |array| array.domain_at(&call.args))
}

fn failure(declared: &Declared<'_>, read: &Read, small: &mut SmallTensors<'_>) -> Finding {
    let places = &declared.layout.places;
    let at = places.relation.iter().chain(places.arrays.get(&read.call.array));
    let finding = |verdict, says: String| Finding::new(Question::Access, verdict, says).at(at);
    let shown = call_text(&read.call);
    let mut facts = read.before.clone();
    facts.push(Formula::and(read.domain.iter().cloned().map(Formula::Constraint)).not());
    let Some(found) = small.find(&facts) else {
        let reason = small.describe();
        let says = format!("is {shown} read inside {}?", conjunction(&read.domain));
        return finding(Verdict::Unknown { reason }, says);
    };
    let entry = found.entry(Which::First);
    let positions = &declared.layout.relation.positions;
    let at = match positions.as_slice() {
        [] => String::new(),
        _ => format!("at ({}) = {}, ", positions.join(", "), tuple(entry.position.values())),
    };
    let counterexample =
        found.showing(vec![entry], format!("{at}{} is read", found.call(&read.call)));
    let array = &declared.layout.arrays[&read.call.array];
    let domain = conjunction(&array.domain);
    let says = format!("{shown} is read outside the domain of {}, {domain}", array.name);
    finding(Verdict::Refuted { counterexample }, says)
}
