//! Trying every template on every find.

use std::rc::Rc;

use super::conditions::{find_key, orderings};
use super::state_indices::{minimal_state, placement};
use super::vocabulary::{Arguments, Vocabulary};
use super::{Direction, FindProblem, KeyPart, Obligation, Plan, Refutation, Template, Verdict};
use crate::diagnostic::Result;
use crate::formula::{Affine, Atom, Call, Formula, Name};
use crate::iterspace::{Space, instantiate};
use crate::prover::{Answer, Model, Prover};
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
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
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
    for (level, l) in nest.levels.iter().enumerate() {
        match &l.bind {
            Bind::Let(_) if space.owner(&l.var).is_some() => {
                out.extend(closed_form(space, nest, level, templates));
            }
            Bind::Loop { .. } if l.is_find() => {
                if let Some(problem) = FindProblem::new(space, nest, level) {
                    out.push(Session::new(&problem, nest, prover).run(templates)?);
                }
            }
            _ => {}
        }
    }
    Ok(out)
}

/// Every choice of arguments of `template` that is refuted for `find`, with a small counterexample
/// each: other directions and *continue* conditions, fewer state indices, resuming after a match.
pub fn refutations(
    nest: &Nest,
    find: &Find,
    template: &Rc<Template>,
    prover: &mut dyn Prover,
) -> Result<Vec<Refutation>> {
    let mut session = Session::new(&find.problem, nest, prover);
    session.refuted = Some(Vec::new());
    let base = session.base(2);
    session.prover.push(&base);
    session.attempt(template, find.unique)?;
    session.prover.pop();
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
            facts: Vec::new(),
            properties: Vec::new(),
            kinds: Vec::new(),
            params: Vec::new(),
        },
        unique: true,
        attempts: vec![Attempt { template, verdict: Verdict::Proved(plan) }],
    })
}

/// The prover loaded with what holds of two iterations and two positions of one find.
pub(super) struct Session<'a> {
    pub problem: &'a FindProblem,
    pub nest: &'a Nest,
    pub prover: &'a mut dyn Prover,
    /// When asked for: every choice of arguments that was refuted on the way.
    refuted: Option<Vec<Refutation>>,
}

impl<'a> Session<'a> {
    pub fn new(problem: &'a FindProblem, nest: &'a Nest, prover: &'a mut dyn Prover) -> Self {
        Session { problem, nest, prover, refuted: None }
    }

    fn run(mut self, templates: &[Rc<Template>]) -> Result<Find> {
        let base = self.base(2);
        self.prover.push(&base);
        let vocabulary = Vocabulary { problem: self.problem, arguments: Arguments::default() };
        let possible = Formula::and([vocabulary.in_range(0, 0), vocabulary.matches(0, 0)]);
        let vacuous = self.prover.is_unsat(&[possible]);
        let twice = Formula::and([
            vocabulary.in_range(0, 0),
            vocabulary.in_range(1, 0),
            vocabulary.matches(0, 0),
            vocabulary.matches(1, 0),
            vocabulary.expand(&Formula::Predicate("less".into(), vec![var("q"), var("r")]))?,
        ]);
        let unique = self.prover.is_unsat(&[twice]);
        let mut attempts = Vec::new();
        for template in templates {
            let verdict = if vacuous && !template.obligations.is_empty() {
                Verdict::Vacuous
            } else {
                self.attempt(template, unique)?
            };
            attempts.push(Attempt { template: template.clone(), verdict });
        }
        self.prover.pop();
        Ok(Find { problem: self.problem.clone(), unique, attempts })
    }

    /// Facts, both iterations, and the instances of all properties on the calls in sight.
    fn base(&self, positions: usize) -> Vec<Formula> {
        let vocabulary = Vocabulary { problem: self.problem, arguments: Arguments::default() };
        let mut out: Vec<Formula> =
            self.problem.facts.iter().cloned().map(Formula::Constraint).collect();
        out.extend([vocabulary.context(0), vocabulary.context(1)]);
        let mut calls: Vec<Call> = Vec::new();
        let mut collect = |f: &Formula| {
            f.visit_calls(&mut |c| {
                if !calls.contains(c) {
                    calls.push(c.clone());
                }
            });
        };
        out.iter().for_each(&mut collect);
        for q in 0..positions {
            for i in 0..2 {
                collect(&vocabulary.in_range(q, i));
                collect(&vocabulary.matches(q, i));
            }
        }
        let is_param = |n: &str| self.problem.params.iter().any(|p| &**p == n);
        for property in &self.problem.properties {
            if property.free_vars().iter().all(|v| is_param(v)) {
                collect(property);
            }
        }
        for property in &self.problem.properties {
            out.extend(instantiate(property, &calls, &is_param));
        }
        out
    }

    fn attempt(&mut self, template: &Rc<Template>, unique: bool) -> Result<Verdict> {
        let inapplicable = |why: &str| Ok(Verdict::Inapplicable(why.to_string()));
        if template.closed_form {
            return inapplicable("the position is not a function of the outer indices");
        }
        let key = if template.key {
            match find_key(&self.problem.conditions, &self.problem.position) {
                Some(key) => key,
                None => return inapplicable("the find condition is not an equality of a key"),
            }
        } else {
            Vec::new()
        };
        for kind in &template.properties {
            let array = match key.as_slice() {
                [KeyPart { inner, .. }] => searched_array(inner, &self.problem.position),
                _ => None,
            };
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
            Some((_, Verdict::Refuted(mut r))) => {
                if r.counterexample.is_some() {
                    r.counterexample = self.illustrate(&r.query).or(r.counterexample);
                }
                Verdict::Refuted(r)
            }
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
                Err(why) => return Ok((met, Verdict::Inapplicable(why))),
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
        Ok((met + 1, Verdict::Proved(plan)))
    }

    /// `None` if the obligation is met, otherwise why not.
    pub fn fails(&mut self, o: &Obligation, vocabulary: &Vocabulary) -> Result<Option<Verdict>> {
        let query = vocabulary.expand(&o.formula)?;
        let third = self.mentions_third_position(&query);
        if third {
            let base = self.base(3);
            self.prover.push(&base);
        }
        let answer = self.prover.prove_unsat(std::slice::from_ref(&query));
        if third {
            self.prover.pop();
        }
        let refutation = |counterexample| {
            let arguments = &vocabulary.arguments;
            let mut shown = Vec::new();
            match arguments.direction {
                Some(Direction::Up) => shown.push("up".to_string()),
                Some(Direction::Down) => shown.push("down".to_string()),
                None => {}
            }
            if let Some(c) = &arguments.continues {
                shown.push(format!("while {c}"));
            }
            if o.state {
                let names: Vec<&str> = arguments.state.iter().map(|n| &**n).collect();
                shown.push(format!("state {{{}}}", names.join(", ")));
            }
            Refutation {
                obligation: o.name.clone(),
                reason: o.reason.clone(),
                arguments: shown.join(", "),
                query: query.clone(),
                counterexample,
            }
        };
        let refuted = match (answer, o.satisfiable) {
            (Answer::Unsat, false) | (Answer::Sat(_), true) => return Ok(None),
            (Answer::Sat(model), false) => refutation(Some(model)),
            (Answer::Unsat, true) => refutation(None),
            (Answer::Unknown(why), _) => {
                return Ok(Some(Verdict::Unknown(format!("{}: {why}", o.name))));
            }
        };
        if self.refuted.is_some() {
            let mut shown = refuted.clone();
            shown.counterexample = self.illustrate(&shown.query);
            self.refuted.get_or_insert_default().push(shown);
        }
        Ok(Some(Verdict::Refuted(refuted)))
    }

    /// The smallest counterexample found for a refuted obligation, without what does not matter.
    fn illustrate(&mut self, query: &Formula) -> Option<Model> {
        let third = self.mentions_third_position(query);
        let base = self.base(if third { 3 } else { 2 });
        if third {
            self.prover.push(&base);
        }
        let found = self.prover.illustrate(std::slice::from_ref(query));
        if third {
            self.prover.pop();
        }
        found.map(|model| model.about(query, &base))
    }

    fn mentions_third_position(&self, query: &Formula) -> bool {
        let third = format!("{}''", self.problem.position);
        query.free_vars().iter().any(|v| **v == *third)
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
