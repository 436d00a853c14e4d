//! Finds within a nest: their state, their code, and the guards that skip whole tiles.

use super::limit::bind_limits;
use super::nest::{Range, Writer, mentions};
use super::rust_expr::{Sign, ident};
use super::search::{self, KeyCode, SearchCode};
use crate::diagnostic::Result;
use crate::formula::{Affine, Constraint, Name};
use crate::scan::Bind;
use crate::synth::{Find, Placement, Plan};

impl Writer<'_> {
    /// `let may_match = …` for a tile loop whose tiles can be told to hold no match.
    pub(super) fn tile_guard(&mut self, d: usize) -> Option<String> {
        let statement = self.statement;
        let guard = statement.tile_guards.iter().find(|g| g.level == d)?;
        let find = &statement.nest.levels[d + 1];
        let Bind::Loop { lower, upper } = &find.bind else { return None };
        let lo = self.lower(lower).text(Sign::Unsigned);
        let hi = self.upper(upper).text(Sign::Unsigned);
        self.scope.declare(&find.var, Sign::Unsigned);
        self.facts.enter(&find.bound_constraints());
        self.facts.enter(self.assumptions_at(d + 2).iter());
        let continues = self.scope.formula(&guard.continues, &mut self.facts);
        let matches = self.scope.tests(&find.conditions, &mut self.facts).join(" && ");
        self.facts.leave();
        self.facts.leave();
        let p = ident(&find.var);
        Some(format!(
            "// The positions are ordered: the last one must not be skipped, the first one is \
             skipped or matches.\n\
             let ({p}_lo, {p}_hi) = ({lo}, {hi});\n\
             let may_match = {p}_lo < {p}_hi\n\
             && {{\nlet {p} = {p}_hi - 1;\n!({continues})\n}}\n\
             && {{\nlet {p} = {p}_lo;\n({continues}) || ({matches})\n}};\n"
        ))
    }

    /// States of finds that live from here on.
    pub(super) fn states_before(
        &mut self,
        d: usize,
        select: impl Fn(&Plan) -> bool,
    ) -> Result<String> {
        let mut out = String::new();
        let statement = self.statement;
        let region = statement.parallel.map(|p| p.level);
        for (find, plan) in statement.finds.iter().zip(&statement.chosen) {
            let place = match &plan.placement {
                Some(
                    Placement::Prefix { before }
                    | Placement::Reset { before, .. }
                    | Placement::Array { before, .. },
                ) => *before,
                None => continue,
            };
            // Private state of a parallel loop starts inside it.
            let place = match region {
                Some(level) if !is_shared(plan) && find.problem.level > level => place.max(level),
                _ => place,
            };
            if place != d || !select(plan) {
                continue;
            }
            let (lo, hi) = match &plan.placement {
                Some(Placement::Prefix { .. }) => {
                    let lo = self.lower(&find.problem.lower).text(Sign::Unsigned);
                    let hi = self.upper(&find.problem.upper).text(Sign::Unsigned);
                    let (code, lo, hi) = bind_limits(&find.problem.position, lo, hi);
                    out.push_str(&code);
                    self.ranges.push((find.problem.position.clone(), lo.clone(), hi.clone()));
                    (lo, hi)
                }
                _ => (String::new(), String::new()),
            };
            let range = Range::Ends(lo, hi);
            // Conditions are rendered with the position in range, as the template will use them.
            let level = &statement.nest.levels[find.problem.level];
            self.scope.declare(&level.var, Sign::Unsigned);
            self.facts.enter(&level.bound_constraints());
            // Only facts about what is bound here: one about an inner variable would claim that its
            // loop is not empty.
            let bound: Vec<&Name> =
                statement.nest.levels[..d].iter().chain([level]).map(|l| &l.var).collect();
            let mut facts = self.assumptions_at(find.problem.level + 1);
            facts.retain(|c| {
                let mut known = true;
                c.affine.visit_vars(&mut |n| {
                    known &= statement.nest.level_of(n).is_none() || bound.contains(&n);
                });
                known
            });
            self.facts.enter(&facts);
            let recorded = self.scope.accesses.len();
            let code = self.search_code(find, plan, &range, &level.conditions)?;
            let setup = search::setup(&code)?;
            // What the setup does not read is rendered again, and recorded, where it is searched.
            let mut position = 0;
            self.scope.accesses.retain(|(access, _)| {
                position += 1;
                let array = access.split('[').next().unwrap_or_default();
                position <= recorded || mentions(&setup, array)
            });
            self.facts.leave();
            self.facts.leave();
            out.push_str(&setup);
        }
        Ok(out)
    }

    pub(super) fn search_code(
        &mut self,
        find: &Find,
        plan: &Plan,
        header: &Range,
        conditions: &[Constraint],
    ) -> Result<SearchCode> {
        let mut matches = self.scope.tests(conditions, &mut self.facts);
        if matches.is_empty() {
            matches.push("true".to_string());
        }
        let continues = plan.continues.as_ref().map(|f| self.scope.formula(f, &mut self.facts));
        let key = plan
            .key
            .iter()
            .map(|k| {
                let (inner, inner_sign) = self.scope.affine(&k.inner, &mut self.facts);
                let signed = inner_sign == Sign::Signed;
                let (outer, sign) = self.scope.affine(&k.outer, &mut self.facts);
                let params = self.statement.space.params();
                let fits = sign == Sign::Unsigned
                    && !signed
                    && params.iter().any(|p| {
                        let extent = Affine::var(p.clone());
                        self.facts.proves(&Constraint::lt(k.outer.clone(), extent))
                    });
                KeyCode { inner, outer, fits, signed }
            })
            .collect();
        let indices: Vec<Name> = match &plan.placement {
            Some(Placement::Reset { indices, .. } | Placement::Array { indices, .. }) => {
                indices.clone()
            }
            _ => Vec::new(),
        };
        let extents = indices.iter().map(|n| self.extent_of(n)).collect();
        let (lo, hi, value) = match header {
            Range::Value(text) => (String::new(), String::new(), text.clone()),
            Range::Ends(lo, hi) => (lo.clone(), hi.clone(), String::new()),
        };
        Ok(SearchCode::new(find, plan, lo, hi, value, matches.join(" && "), continues, key)
            .with_state(indices.iter().map(|n| ident(n)).collect(), extents)
            .with_leave(search::may_leave(&self.statement.nest, find, plan)))
    }

    /// A parameter that bounds a state index, for arrays of states.
    pub(super) fn extent_of(&mut self, n: &Name) -> String {
        let space = &self.statement.space;
        for p in space.params() {
            let below = Constraint::lt(Affine::var(n.clone()), Affine::var(p.clone()));
            let level = self.statement.nest.level_of(n).unwrap_or(0);
            let known = self.statement.nest.known_before(level + 1);
            self.facts.enter(&known);
            self.facts.enter(&self.statement.nest.assumptions);
            let bounded = self.facts.proves(&below);
            self.facts.leave();
            self.facts.leave();
            if bounded {
                return ident(&p);
            }
        }
        "0".to_string()
    }
}

/// State that no query changes may be shared between threads.
pub fn is_shared(plan: &Plan) -> bool {
    plan.template.shared && matches!(plan.placement, Some(Placement::Prefix { .. }))
}
