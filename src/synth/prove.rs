//! Trying every template on every find.

mod proved;

pub use proved::Proved;

use std::rc::Rc;

use super::conditions::{find_key, orderings};
use super::session::Session;
use super::state_indices::{minimal_state, placement, placement_in_groups, placement_in_loops};
use super::vocabulary::{Arguments, Vocabulary};
use super::{Direction, FindProblem, KeyPart, Obligation, Plan, Refutation, Template, Verdict};
use crate::diagnostic::Result;
use crate::formula::{Affine, Atom, Formula, Name};
use crate::iterspace::Space;
use crate::prover::Prover;
use crate::scan::{Bind, Nest};

/// One template tried on one find.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub template: Rc<Template>,
    pub verdict: Verdict,
}

/// A find with the verdict on every template.
#[derive(Clone, Debug)]
pub struct Find {
    pub problem: FindProblem,
    /// At most one position matches a query.
    pub unique: bool,
    pub attempts: Vec<Attempt>,
}

impl Find {
    pub fn plans(&self) -> impl Iterator<Item = &Proved<Plan>> {
        self.attempts.iter().filter_map(|a| a.verdict.plan())
    }
}

/// Tries all templates on all finds of `nest`, outermost first.
pub fn synthesize(
    space: &Space,
    nest: &Nest,
    templates: &[Rc<Template>],
    prover: &mut dyn Prover,
) -> Result<Vec<Find>> {
    let mut out = Vec::new();
    let mut unique: Vec<Name> = Vec::new();
    for (level, l) in nest.levels.iter().enumerate() {
        match &l.bind {
            Bind::Let(_) if space.owner(&l.var).is_some() => {
                out.extend(closed_form(space, nest, level, templates));
            }
            Bind::Loop(_) if l.is_find() => {
                if let Some(problem) = FindProblem::new(space, nest, level) {
                    let find = solve(problem, &unique, nest, templates, prover)?;
                    if find.unique {
                        unique.push(find.problem.position.clone());
                    }
                    out.push(find);
                }
            }
            _ => {}
        }
    }
    Ok(out)
}

/// Tries all templates; first without what need not be known of the finds around.
fn solve(
    problem: FindProblem,
    unique: &[Name],
    nest: &Nest,
    templates: &[Rc<Template>],
    prover: &mut dyn Prover,
) -> Result<Find> {
    let mut first = None;
    if let Some(fewer) = problem.without(nest, unique) {
        let found = Session::new(&fewer, (nest, unique), prover).run(templates, None)?;
        let settled = |a: &Attempt| match a.verdict {
            Verdict::Proved(_) | Verdict::Inapplicable(_) | Verdict::Vacuous => true,
            Verdict::Refuted(_) | Verdict::Unknown(_) => false,
        };
        if found.unique && found.attempts.iter().all(settled) {
            return Ok(Find { problem, ..found });
        }
        first = Some(found);
    }
    Session::new(&problem, (nest, unique), prover).run(templates, first)
}

/// Every choice of arguments of `template` that is refuted for `find`, with a counterexample
/// each: other directions and *continue* conditions, fewer state indices, resuming after a match.
pub fn refutations(
    nest: &Nest,
    find: &Find,
    template: &Rc<Template>,
    prover: &mut dyn Prover,
) -> Result<Vec<Refutation>> {
    let mut session = Session::new(&find.problem, (nest, &[]), prover);
    session.refuted = Some(Vec::new());
    session.attempt(template, find.unique)?;
    Ok(session.refuted.take().unwrap_or_default())
}

/// A position that scanning already solved: only templates for closed forms apply, and the
/// exactness of the scan is their proof.
fn closed_form(
    space: &Space,
    nest: &Nest,
    level: usize,
    templates: &[Rc<Template>],
) -> Option<Find> {
    let here = &nest.levels[level];
    let owner = space.owner(&here.var)?;
    let template = templates.iter().find(|t| t.closed_form)?.clone();
    let plan = Plan {
        template: template.clone(),
        direction: None,
        continues: None,
        resume: false,
        many: false,
        key: Vec::new(),
        state: Vec::new(),
        placement: None,
    };
    Some(Find {
        problem: FindProblem {
            level,
            position: here.var.clone(),
            tensor: owner.tensor.clone(),
            lower: Vec::new(),
            upper: Vec::new(),
            conditions: here.bound_constraints(),
            loops: Vec::new(),
            state_candidates: Vec::new(),
            outer: Vec::new(),
            context: Vec::new(),
            theory: space.theory.clone(),
            kinds: Vec::new(),
            of_value: false,
            ended: Vec::new(),
            vanishes: false,
            is_appended: false,
        },
        unique: true,
        attempts: vec![Attempt { template, verdict: Verdict::Proved(Proved::new(plan)) }],
    })
}

impl Session<'_> {
    /// `proved` are verdicts from less knowledge.
    fn run(mut self, templates: &[Rc<Template>], proved: Option<Find>) -> Result<Find> {
        let vocabulary = Vocabulary { problem: self.problem, arguments: Arguments::default() };
        let possible = Formula::and([vocabulary.in_range(0, 0), vocabulary.matches(0, 0)]);
        let vacuous = self.known.excludes(&[possible]);
        let twice = Formula::and([
            vocabulary.in_range(0, 0),
            vocabulary.in_range(1, 0),
            vocabulary.matches(0, 0),
            vocabulary.matches(1, 0),
            vocabulary.expand(&Formula::Predicate("less".into(), vec![var("q"), var("r")]))?,
        ]);
        let unique = self.known.excludes(&[twice]);
        // Plans for several matches do not look for the one there is.
        let proved = proved.filter(|find| find.unique == unique);
        let mut attempts = Vec::new();
        for (k, template) in templates.iter().enumerate() {
            let before = proved.as_ref().map(|find| &find.attempts[k].verdict);
            let verdict = match before {
                _ if vacuous && !template.obligations.is_empty() => Verdict::Vacuous,
                Some(verdict @ Verdict::Proved(_)) => verdict.clone(),
                _ => self.attempt(template, unique)?,
            };
            attempts.push(Attempt { template: template.clone(), verdict });
        }
        Ok(Find { problem: self.problem.clone(), unique, attempts })
    }

    fn attempt(&mut self, template: &Rc<Template>, unique: bool) -> Result<Verdict> {
        let inapplicable = |why: &str| Ok(Verdict::Inapplicable(why.to_string()));
        if template.closed_form {
            return inapplicable("the position is not a function of the outer indices");
        }
        if template.several && unique {
            return inapplicable("at most one position matches");
        }
        if template.values && !self.problem.of_value {
            return inapplicable("more is read of a match than one value");
        }
        if template.vanishes && !self.problem.vanishes {
            return inapplicable("a value of zero changes something");
        }
        let key = if template.key {
            match find_key(&self.problem.conditions, &self.problem.position) {
                Some(key) => key,
                None => return inapplicable("the find condition is not an equality of a key"),
            }
        } else {
            Vec::new()
        };
        let array = match key.as_slice() {
            [KeyPart { inner, .. }] => searched_array(inner, &self.problem.position),
            _ => None,
        };
        let is_ended = array.is_some_and(|array| self.problem.ended.contains(array));
        if template.values && key.len() == 1 && !is_ended {
            return inapplicable(
                "the key is not one element of an array whose range says what it is below",
            );
        }
        for kind in &template.properties {
            match array {
                Some(array) if self.problem.has(*kind, array) => {}
                Some(array) => return inapplicable(&format!("`{array}` is not declared {kind}")),
                None => {
                    return inapplicable("the key is not one element of an array at the position");
                }
            }
        }
        let directions: Vec<Option<Direction>> = if template.directions.is_empty() {
            vec![None]
        } else {
            let parse = |d: &String| match d.as_str() {
                "down" => Direction::Down,
                _ => Direction::Up,
            };
            template.directions.iter().map(|d| Some(parse(d))).collect()
        };
        let continues: Vec<Option<Formula>> = if template.ordering {
            let found = orderings(&self.problem.conditions, &self.problem.position);
            found.into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        let mut best: Option<(usize, Verdict)> = None;
        for direction in &directions {
            for continues in &continues {
                let arguments = Arguments {
                    direction: *direction,
                    continues: continues.clone(),
                    key: key.clone(),
                    state: Vec::new(),
                };
                let (met, verdict) = self.try_arguments(template, arguments, unique)?;
                if matches!(verdict, Verdict::Proved(_)) && self.refuted.is_none() {
                    return Ok(verdict);
                }
                // Report the attempt that got furthest: its refutation says most.
                if best.as_ref().is_none_or(|(most, _)| met > *most) {
                    best = Some((met, verdict));
                }
            }
        }
        Ok(match best {
            Some((_, verdict)) => verdict,
            None => Verdict::Inapplicable("the find condition has no ordering".to_string()),
        })
    }

    /// One choice of arguments; also returns how many obligations were met.
    fn try_arguments(
        &mut self,
        template: &Rc<Template>,
        arguments: Arguments,
        unique: bool,
    ) -> Result<(usize, Verdict)> {
        let mut vocabulary = Vocabulary { problem: self.problem, arguments };
        let required: Vec<&Obligation> = template
            .obligations
            .iter()
            .filter(|o| o.permits.is_none() && (!o.many || !unique))
            .collect();
        let mut met = 0;
        for o in required.iter().filter(|o| !o.state) {
            if let Some(verdict) = self.fails(o, &vocabulary)? {
                return Ok((met, verdict));
            }
            met += 1;
        }
        let mut place = None;
        if template.state {
            let with_state: Vec<&Obligation> =
                required.iter().filter(|o| o.state && !o.satisfiable).copied().collect();
            vocabulary.arguments.state = self.problem.state_candidates.clone();
            for o in &with_state {
                if let Some(verdict) = self.fails(o, &vocabulary)? {
                    return Ok((met, verdict));
                }
                met += 1;
            }
            vocabulary.arguments.state = minimal_state(self, &mut vocabulary, &with_state)?;
            for o in required.iter().filter(|o| o.state && o.satisfiable) {
                if let Some(verdict) = self.fails(o, &vocabulary)? {
                    return Ok((met, verdict));
                }
                met += 1;
            }
            match placement(self, template, &vocabulary)? {
                Ok(found) => place = Some(found),
                Err(why) => {
                    let all: Vec<&Obligation> =
                        required.iter().filter(|o| o.state).copied().collect();
                    place = placement_in_groups(self, template, &vocabulary);
                    if place.is_none() {
                        place = placement_in_loops(self, template, &mut vocabulary, &all)?;
                    }
                    if place.is_none() {
                        return Ok((met, Verdict::Inapplicable(why)));
                    }
                }
            }
        }
        let mut resume = false;
        for o in template.obligations.iter().filter(|o| o.permits.is_some()) {
            resume |= self.fails(o, &vocabulary)?.is_none();
        }
        let Arguments { direction, continues, key, state } = vocabulary.arguments;
        let plan = Plan {
            template: template.clone(),
            direction,
            continues,
            resume,
            many: !unique,
            key,
            state,
            placement: place,
        };
        Ok((met + 1, Verdict::Proved(Proved::new(plan))))
    }
}

/// The array of which the key is the element at the position itself, its last argument.
fn searched_array<'k>(inner: &'k Affine, position: &Name) -> Option<&'k Name> {
    let Some(Atom::Call(call)) = inner.as_atom() else { return None };
    let (slot, table) = call.args.split_last()?;
    let fits = slot.as_var() == Some(position) && !table.iter().any(|a| a.mentions(position));
    fits.then_some(&call.array)
}

fn var(name: &str) -> crate::formula::Affine {
    crate::formula::Affine::var(name)
}
