//! Loops that end early: what is combined has become what annihilates its operator.
//!
//! ```text
//! for pA1 in …                       for pA1 in … {
//!   search px in … where …               …
//!     val_r[i] or= val_x[px]                 combined |= val_x[px];
//!                                        if combined {
//!                                            break;
//!                                        }
//!                                    }
//! ```
//! The rest of the loop would change nothing: it only combines into the same element. The loop around it
//! ends, too, as long as the element stays the same. Products of floats end with fast math only, sums of
//! floats never: infinity plus its opposite is NaN.

use super::super::ir::{BinaryOp, Expr, Stmt};
use super::Realiser;
use crate::formula::Name;
use crate::loops::{Block, Node, SearchId, updates};
use crate::operators::{CaseKind, SpecialResult};
use crate::tensor::ValueType;

impl Realiser<'_, '_> {
    /// What the body of a loop ends with, if that may end the loop.
    pub(super) fn early_exit(&self, body: &Block) -> Option<Stmt> {
        // What decides the element decides it whatever is counted.
        let mut all = updates(body);
        all.retain(|u| !self.loops.counters.contains(&u.target.array));
        let first = all.first()?;
        let alike = all.iter().all(|u| u.target == first.target && u.op == first.op);
        let (_, var) = self.sums.iter().find(|(place, _)| *place == first.target)?;
        let ty = self.element_type(&first.target);
        let pays = || self.loops.short_circuit || self.pays(body, ty);
        if !alike || !pays() || !self.ends_states(body) {
            return None;
        }
        let op = first.op.as_ref()?;
        let mut specials = op.specials(ty).into_iter();
        let annihilator = specials.find_map(|s| match s.result {
            SpecialResult::Value(value)
                if s.kind == CaseKind::Annihilator
                    && s.argument == 0
                    && (s.ieee || (self.loops.fast_math && !op.is_sum()))
                    && value.value_type() == ty =>
            {
                Some(value)
            }
            _ => None,
        })?;
        let condition = Expr::binary(BinaryOp::Eq, Expr::Var(*var), Expr::Number(annihilator));
        Some(Stmt::If { condition, then: vec![Stmt::Break(None)], otherwise: Vec::new() })
    }

    /// Whether the test costs little beside the rest of the body.
    ///
    /// The compiler makes vectors of a body that only reads and combines: measured on 2^18 elements, a test
    /// in it makes `or` of contiguous values 50 times slower, `min` and `*` of gathered numbers twice. Only
    /// truth values that are gathered lose nothing: every other one may be what ends the loop.
    fn pays(&self, body: &Block, ty: ValueType) -> bool {
        let counts = |node: &Node| match node {
            Node::Update(u) => self.loops.counters.contains(&u.target.array),
            _ => false,
        };
        let body: Block = body.iter().filter(|node| !counts(node)).cloned().collect();
        let Some((lets, update)) = self.plain(&body) else { return true };
        let mut read: Vec<Name> = Vec::new();
        for (name, value) in lets {
            let mut depends = value.has_calls();
            value.visit_vars(&mut |n| depends |= read.contains(n));
            read.extend(depends.then_some(name));
        }
        let gathers = update.elements().any(|place| {
            let mut calls = place.depends_on(&|n| read.contains(n));
            place.index.iter().for_each(|a| a.visit_calls(&mut |_| calls = true));
            calls
        });
        gathers && ty == ValueType::Bool
    }

    /// Whether no search relies on what a state has missed when the loop ends early: each state is shared
    /// and never changes, or is set up again before it is asked again.
    fn ends_states(&self, body: &Block) -> bool {
        let mut own = self.fresh.clone();
        states(body, &mut own);
        searches(body).into_iter().all(|id| {
            let plan = &self.loops.find(id).plan;
            plan.placement.is_none() || plan.is_shared() || own.contains(&id)
        })
    }
}

fn searches(block: &Block) -> Vec<SearchId> {
    let inner = block.iter().flat_map(Node::blocks).flat_map(searches);
    let own = block.iter().filter_map(|node| match node {
        Node::Search(s) => Some(s.id),
        _ => None,
    });
    own.chain(inner).collect()
}

/// The states that are set up inside.
fn states(block: &Block, out: &mut Vec<SearchId>) {
    for node in block {
        if let Node::State(id) = node {
            out.push(*id);
        }
        node.blocks().into_iter().for_each(|inner| states(inner, out));
    }
}
