//! One find, as the prover sees it: its outer loops, its range and its conditions.

use std::sync::Arc;

use crate::formula::{Affine, Arith, Call, Constraint, Name, conjunction};
use crate::iterspace::{Operand, Space};
use crate::layout::checks::end_of_range;
use crate::layout::{IndexArray, PropertyKind};
use crate::scan::{Bind, Nest, Range};
use crate::theory::Theory;

/// A level of a nest whose position is to be found.
#[derive(Clone, Debug)]
pub struct FindProblem {
    /// Index of the level in the nest.
    pub level: usize,
    /// The position searched for.
    pub position: Name,
    pub tensor: Name,
    pub lower: Vec<Affine>,
    /// Exclusive.
    pub upper: Vec<Affine>,
    /// What a match satisfies.
    pub conditions: Vec<Constraint>,
    /// Loop variables around the find, outermost first.
    pub loops: Vec<Name>,
    /// Loops and, right before the loop that defines them, reduced indices: `let`s that read index
    /// arrays. The candidates for state indices, outermost first.
    pub state_candidates: Vec<Name>,
    /// All outer variables (loops and lets): those that differ between two iterations.
    pub outer: Vec<Name>,
    /// What holds of the outer variables.
    pub context: Vec<Constraint>,
    /// Parameters, what holds of them, and the laws of all index arrays.
    pub theory: Arc<Theory>,
    /// The kinds of the properties, with the arrays they are about.
    pub kinds: Vec<(PropertyKind, Vec<Name>)>,
    /// Nothing is read of a match but the value at its position.
    pub of_value: bool,
    /// The arrays of the tensor whose elements are below a sum of sizes, by their range.
    pub ended: Vec<Name>,
    /// A match whose value is zero changes nothing, but for what is infinite or NaN.
    pub vanishes: bool,
    /// Each match is stored for itself in a result that is assembled.
    pub is_appended: bool,
}

/// Whether a position names a value of its tensor, and nothing else depends on it.
fn is_of_value(space: &Space, nest: &Nest, level: usize) -> bool {
    let position = &nest.levels[level].var;
    let Some(owner) = space.owner(position) else { return false };
    let mentions = |index: &Arith| {
        let mut found = false;
        index.visit_vars(&mut |n| found |= n == position);
        found
    };
    let deeper = nest.levels[level + 1..].iter().any(|l| {
        l.constraints().iter().any(|c| c.mentions(position))
            || l.calls.iter().any(|c| c.args.iter().any(|a| a.mentions(position)))
            || l.restrictions.iter().any(|f| f.free_vars().contains(position))
    });
    let others = space.operands.iter().filter(|o| o.label != owner.label);
    owner.value_index == [Arith::Var(position.clone())]
        && !deeper
        && !others.flat_map(|o| &o.value_index).any(mentions)
}

/// The arrays whose elements are below a sum of sizes.
fn ended(owner: &Operand) -> Vec<Name> {
    let is_ended =
        |(name, array): &(&Name, &IndexArray)| end_of_range(name, &array.range).is_some();
    owner.arrays.iter().filter(is_ended).map(|(name, _)| name.clone()).collect()
}

impl FindProblem {
    /// The problem at `level` of `nest`; the level must be a loop.
    pub fn new(space: &Space, nest: &Nest, level: usize) -> Option<FindProblem> {
        let here = &nest.levels[level];
        let Bind::Loop(Range { lower, upper }) = &here.bind else { return None };
        let owner = space.owner(&here.var)?;
        let outer_levels = &nest.levels[..level];
        let mut loops = Vec::new();
        let mut candidates: Vec<Name> = Vec::new();
        let mut at_last_loop = 0;
        for l in outer_levels {
            match &l.bind {
                Bind::Loop(_) => {
                    loops.push(l.var.clone());
                    at_last_loop = candidates.len();
                    candidates.push(l.var.clone());
                }
                // An alias of a loop variable adds nothing; a value read from an index array may
                // say less than the loop that reads it, which makes it the better state index.
                Bind::Let(e) if e.has_calls() && !loops.is_empty() => {
                    candidates.insert(at_last_loop, l.var.clone());
                    at_last_loop += 1;
                }
                Bind::Let(_) => {}
            }
        }
        let mut conditions = here.conditions.clone();
        conditions.sort_by_key(|c| order_of_calls(c, &here.calls));
        Some(FindProblem {
            level,
            position: here.var.clone(),
            tensor: owner.tensor.clone(),
            lower: lower.clone(),
            upper: upper.clone(),
            conditions,
            loops,
            state_candidates: candidates,
            outer: outer_levels.iter().map(|l| l.var.clone()).collect(),
            context: nest.known_before(level),
            theory: space.theory.clone(),
            kinds: space.properties.iter().map(|p| (p.kind, p.arrays.clone())).collect(),
            of_value: is_of_value(space, nest, level),
            ended: ended(owner),
            vanishes: space.vanishes_with(&here.var),
            is_appended: space.is_assembled && space.writes_each_point(),
        })
    }

    /// The problem without those finds around it of which `unique` says that they have one match at
    /// most, as far as it does not read their positions; `None` if it reads all of them.
    ///
    /// A proof for this problem is one for the whole. Less is known, and `earlier` says no less: the
    /// first loop in which two iterations differ is never such a find, whose query would be the same
    /// in both and have two matches. A product of many factors is a nest of finds, and this keeps
    /// each of its problems small.
    pub fn without(&self, nest: &Nest, unique: &[Name]) -> Option<FindProblem> {
        let around = &nest.levels[..self.level];
        let mut needed: Vec<Name> = Vec::new();
        let mut need = |c: &Affine| {
            c.visit_vars(&mut |n| {
                if !needed.contains(n) {
                    needed.push(n.clone());
                }
            });
        };
        self.lower.iter().chain(&self.upper).for_each(&mut need);
        self.conditions.iter().for_each(|c| need(&c.affine));
        for level in around.iter().rev() {
            let is_loop = level.is_loop() && !unique.contains(&level.var);
            if is_loop || needed.contains(&level.var) {
                for c in level.constraints() {
                    c.affine.visit_vars(&mut |n| {
                        if !needed.contains(n) {
                            needed.push(n.clone());
                        }
                    });
                }
            }
        }
        let mut dropped: Vec<&Name> = Vec::new();
        for level in around.iter().filter(|l| !needed.contains(&l.var)) {
            let depends = match &level.bind {
                Bind::Let(e) => dropped.iter().any(|n| e.mentions(n)),
                Bind::Loop(_) => true,
            };
            if depends {
                dropped.push(&level.var);
            }
        }
        if dropped.is_empty() {
            return None;
        }
        let mut fewer = self.clone();
        let kept = |n: &Name| !dropped.contains(&n);
        fewer.loops.retain(kept);
        fewer.state_candidates.retain(kept);
        fewer.outer.retain(kept);
        fewer.context.retain(|c| !dropped.iter().any(|n| c.mentions(n)));
        Some(fewer)
    }

    /// Whether `array` has a property of that kind, by itself.
    pub fn has(&self, kind: PropertyKind, array: &Name) -> bool {
        self.kinds.iter().any(|(k, arrays)| *k == kind && arrays.as_slice() == [array.clone()])
    }

    /// `px in 0..NNZ_x where j = crd_x(px)`
    pub fn describe(&self) -> String {
        let list = |parts: &[Affine], f: &str| match parts {
            [one] => one.to_string(),
            many => {
                let parts: Vec<String> = many.iter().map(ToString::to_string).collect();
                format!("{f}({})", parts.join(", "))
            }
        };
        if self.lower.is_empty() && self.upper.is_empty() {
            return conjunction(&self.conditions);
        }
        format!(
            "{} in {}..{} where {}",
            self.position,
            list(&self.lower, "max"),
            list(&self.upper, "min"),
            conjunction(&self.conditions)
        )
    }
}

/// Conditions in the order in which the layout's arrays were declared: the order of a
/// lexicographic key.
fn order_of_calls(c: &Constraint, calls: &[Call]) -> usize {
    let mut first = usize::MAX;
    c.visit_calls(&mut |call| {
        if let Some(at) = calls.iter().position(|k| k == call) {
            first = first.min(at);
        }
    });
    first
}
