//! A loop nest as Rust statements.

use super::facts::Facts;
use super::find::is_shared;
use super::limit::{Limit, bind_limits};
use super::rust_expr::{ArrayCode, Scope, Sign, ident};
use super::search;
use super::{Statement, parallel, value};
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Atom, Constraint, Name};
use crate::layout::checks::admits_negative;
use crate::prover::Prover;
use crate::scan::Bind;
use crate::synth::{Find, Plan};
use crate::tensor::ValueType;

/// An array access of the generated code, and whether it is proved to be in bounds. Accesses without
/// a proof keep their check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessProof {
    pub access: String,
    pub proved: bool,
}

/// The code of one statement.
pub struct NestCode {
    pub body: String,
    pub accesses: Vec<AccessProof>,
    /// The nest uses the four-chain summation of the module.
    pub uses_sum: bool,
}

/// Renders the nest of `statement`.
pub fn nest(
    statement: &Statement,
    value_type: ValueType,
    prover: &mut dyn Prover,
) -> Result<NestCode> {
    let mut writer = Writer::new(statement, value_type, prover);
    let nest = &statement.nest;
    let mut open = String::new();
    let mut close = String::new();
    if !nest.guards.is_empty() {
        let tests = writer.scope.tests(&nest.guards, &mut writer.facts);
        open = format!("if {} {{\n", tests.join(" && "));
        close = "}\n".to_string();
    }
    writer.facts.enter(&nest.guards);
    let body = writer.level(0)?;
    let accesses = writer
        .scope
        .accesses
        .iter()
        .map(|(access, proved)| AccessProof { access: access.clone(), proved: *proved })
        .collect();
    Ok(NestCode { body: format!("{open}{body}{close}"), accesses, uses_sum: writer.uses_sum })
}

pub(super) struct Writer<'a> {
    pub(super) statement: &'a Statement,
    pub(super) value_type: ValueType,
    pub(super) facts: Facts<'a>,
    pub(super) scope: Scope,
    /// Level before which the accumulator is declared; the sum goes to the output after that level.
    pub(super) accumulate_at: Option<usize>,
    /// Values loaded before the innermost loop, by factor.
    pub(super) hoisted: Vec<Option<String>>,
    pub(super) uses_sum: bool,
    /// Ranges of finds that a state bound to variables.
    pub(super) ranges: Vec<(Name, String, String)>,
}

pub(super) const ACCUMULATOR: &str = "sum";

impl<'a> Writer<'a> {
    fn new(statement: &'a Statement, value_type: ValueType, prover: &'a mut dyn Prover) -> Self {
        let space = &statement.space;
        let mut scope = Scope::default();
        for p in space.params() {
            scope.declare(&p, Sign::Unsigned);
        }
        for a in space.operands.iter().flat_map(|o| o.arrays.values()) {
            scope.arrays.insert(
                a.name.clone(),
                ArrayCode {
                    signed: admits_negative(a),
                    shape: a.shape.clone(),
                    domain: a.domain.clone(),
                    args: a.args.clone(),
                },
            );
        }
        let mut facts = Facts::new(prover);
        facts.enter(&space.facts);
        let mut writer = Writer {
            statement,
            value_type,
            facts,
            scope,
            accumulate_at: None,
            hoisted: vec![None; space.inputs().len()],
            uses_sum: false,
            ranges: Vec::new(),
        };
        writer.facts.enter(writer.assumptions_at(0).iter());
        writer.accumulate_at = writer.accumulator_level();
        writer
    }

    pub(super) fn levels(&self) -> usize {
        self.statement.nest.levels.len()
    }

    /// Number of levels after which every variable of `a` is bound.
    pub(super) fn depth_of(&self, a: &Affine) -> usize {
        let mut depth = 0;
        a.visit_vars(&mut |n| {
            if let Some(level) = self.statement.nest.level_of(n) {
                depth = depth.max(level + 1);
            }
        });
        depth
    }

    pub(super) fn depth_of_all(&self, index: &[Arith]) -> usize {
        let mut depth = 0;
        for a in index {
            a.visit_vars(&mut |n| {
                if let Some(level) = self.statement.nest.level_of(n) {
                    depth = depth.max(level + 1);
                }
            });
        }
        depth
    }

    /// Assumptions about calls that become complete at `depth`.
    pub(super) fn assumptions_at(&self, depth: usize) -> Vec<Constraint> {
        let facts = self.statement.nest.assumptions.iter();
        facts.filter(|c| self.depth_of(&c.affine) == depth).cloned().collect()
    }

    /// The first loop inside which the output element stays the same, if there is one.
    pub(super) fn accumulator_level(&self) -> Option<usize> {
        let bound = self.depth_of_all(&self.statement.space.output().value_index);
        let levels = &self.statement.nest.levels;
        // A find meets its element a few times at most: a miss should not touch the output.
        (bound..self.levels()).find(|&d| levels[d].is_loop() && !levels[d].is_find())
    }

    pub(super) fn find_at(&self, level: usize) -> Option<(&'a Find, &'a Plan)> {
        let statement: &'a Statement = self.statement;
        let k = statement.finds.iter().position(|f| f.problem.level == level)?;
        Some((&statement.finds[k], &statement.chosen[k]))
    }

    /// The code of levels `d..`.
    pub(super) fn level(&mut self, d: usize) -> Result<String> {
        if d == self.levels() {
            return self.innermost();
        }
        let Some(parallel) = self.statement.parallel.filter(|p| p.level == d) else {
            let before = self.states_before(d, |_| true)?;
            return Ok(before + &self.summed_level(d)?);
        };
        let Bind::Loop { lower, upper } = self.statement.nest.levels[d].bind.clone() else {
            unreachable!("only a loop is parallel")
        };
        let lo = self.lower(&lower).text(Sign::Unsigned);
        let hi = self.upper(&upper).text(Sign::Unsigned);
        let outside = self.states_before(d, is_shared)?;
        let private = self.states_before(d, |plan| !is_shared(plan))?;
        let inside = private + &self.summed_level(d)?;
        let output = ident(&self.statement.space.output().value_array);
        Ok(parallel::region(parallel, &lo, &hi, &output, &outside, &inside))
    }

    /// Level `d`, with the accumulator around it if this is where it belongs.
    pub(super) fn summed_level(&mut self, d: usize) -> Result<String> {
        if self.accumulate_at != Some(d) {
            return self.bound_level(d);
        }
        let zero = value::zero(self.value_type);
        if let Some(code) = self.unrolled(d)? {
            return Ok(code);
        }
        let t = self.value_type.rust_name();
        let inner = self.bound_level(d)?;
        let store = self.store(ACCUMULATOR)?;
        Ok(format!("let mut {ACCUMULATOR}: {t} = {zero};\n{inner}{store}\n"))
    }

    /// The range of a loop; within a parallel region, the chunk at hand.
    pub(super) fn range(&mut self, d: usize, lower: &[Affine], upper: &[Affine]) -> (Limit, Limit) {
        if self.statement.parallel.is_some_and(|p| p.level == d) {
            return (Limit::fixed("range.start"), Limit::fixed("range.end"));
        }
        (self.lower(lower), self.upper(upper))
    }

    /// One level with everything inside it.
    pub(super) fn bound_level(&mut self, d: usize) -> Result<String> {
        let level = self.statement.nest.levels[d].clone();
        let var = level.var.clone();
        let here = match &level.bind {
            Bind::Let(e) => Header::Let(e.clone()),
            Bind::Loop { lower, upper } => {
                let (lo, hi) = self.range(d, lower, upper);
                if level.is_find() { Header::Find(lo, hi) } else { Header::For(lo, hi) }
            }
        };
        let header = match here {
            Header::Let(e) => {
                let alias = match e.as_atom() {
                    Some(Atom::Call(call)) => Some(call.clone()),
                    _ => None,
                };
                let (text, sign) = self.scope.value(&e, &mut self.facts);
                self.scope.declare(&var, sign);
                if let Some(call) = alias {
                    self.scope.loaded.push((call, var.clone()));
                }
                Range::Value(text)
            }
            Header::For(lo, hi) | Header::Find(lo, hi) => {
                // Positions and coordinates are natural numbers unless their bounds say otherwise.
                let nonnegative = {
                    let bounds = level.bound_constraints();
                    self.facts.enter(&bounds);
                    let yes = self.facts.is_nonnegative(&Affine::var(var.clone()));
                    self.facts.leave();
                    yes
                };
                let sign = if nonnegative { Sign::Unsigned } else { Sign::Signed };
                self.scope.declare(&var, sign);
                Range::Ends(lo.text(sign), hi.text(sign))
            }
        };
        let mut limits = String::new();
        let header = match header {
            Range::Ends(lo, hi) if level.is_find() => {
                match self.ranges.iter().find(|r| r.0 == var) {
                    Some((_, lo, hi)) => Range::Ends(lo.clone(), hi.clone()),
                    None => {
                        let (code, lo, hi) = bind_limits(&var, lo, hi);
                        limits = code;
                        Range::Ends(lo, hi)
                    }
                }
            }
            other => other,
        };
        self.facts.enter(&level.bound_constraints());
        self.facts.enter(self.assumptions_at(d + 1).iter());

        let loaded_before = self.scope.loaded.len();
        let mut tests = self.scope.tests(&level.guards, &mut self.facts);
        self.facts.enter(&level.guards);
        for r in &level.restrictions {
            let text = self.scope.formula(r, &mut self.facts);
            let alone = tests.is_empty() && level.conditions.is_empty();
            let alone = alone && level.restrictions.len() == 1;
            tests.push(if alone { text } else { format!("({text})") });
        }
        let search = match self.find_at(d) {
            Some((find, plan)) => Some(self.search_code(find, plan, &header, &level.conditions)?),
            None => None,
        };
        if !level.is_find() {
            tests.extend(self.scope.tests(&level.conditions, &mut self.facts));
        }
        self.facts.enter(&level.conditions);
        let hoisted = self.hoist_values(d + 1)?;
        let mut inner = hoisted + &self.level(d + 1)?;
        if let Some(guard) = self.tile_guard(d) {
            inner = format!("{guard}if may_match {{\n{inner}}}\n");
        }
        for _ in 0..4 {
            self.facts.leave();
        }
        self.scope.loaded.truncate(loaded_before);
        self.unhoist(d + 1);

        if !tests.is_empty() {
            inner = format!("if {} {{\n{inner}}}\n", tests.join(" && "));
        }
        Ok(match (header, search) {
            (_, Some(search)) => limits + &search::search(&search, &inner)?,
            (Range::Value(text), None) => {
                if mentions(&inner, &ident(&var)) {
                    format!("let {} = {text};\n{inner}", ident(&var))
                } else {
                    inner
                }
            }
            (Range::Ends(lo, hi), None) => {
                let v = ident(&var);
                let v = if mentions(&inner, &v) { v } else { format!("_{v}") };
                format!("for {v} in {lo}..{hi} {{\n{inner}}}\n")
            }
        })
    }

    pub(super) fn lower(&mut self, parts: &[Affine]) -> Limit {
        Limit::new(parts, "max", &mut self.scope, &mut self.facts)
    }

    pub(super) fn upper(&mut self, parts: &[Affine]) -> Limit {
        Limit::new(parts, "min", &mut self.scope, &mut self.facts)
    }

    /// The innermost reduction over a plain range, as a call of the module's four-chain `sum`.
    pub(super) fn unrolled(&mut self, d: usize) -> Result<Option<String>> {
        let levels = &self.statement.nest.levels;
        let plain = |l: &crate::scan::Level| {
            l.guards.is_empty() && l.conditions.is_empty() && l.restrictions.is_empty()
        };
        let lets_inside = levels[d + 1..].iter().all(|l| !l.is_loop());
        if !levels[d..].iter().all(plain) || !lets_inside || self.find_at(d).is_some() {
            return Ok(None);
        }
        if levels[d + 1..].iter().any(|l| {
            self.statement.space.owner(&l.var).is_some() && matches!(l.bind, Bind::Loop { .. })
        }) {
            return Ok(None);
        }
        let accumulate_at = self.accumulate_at.take();
        let level = levels[d].clone();
        let Bind::Loop { lower, upper } = &level.bind else { return Ok(None) };
        let (lo, hi) = self.range(d, lower, upper);
        self.facts.enter(&level.bound_constraints());
        let nonnegative = self.facts.is_nonnegative(&Affine::var(level.var.clone()));
        if !nonnegative {
            self.facts.leave();
            self.accumulate_at = accumulate_at;
            return Ok(None);
        }
        self.scope.declare(&level.var, Sign::Unsigned);
        self.facts.enter(self.assumptions_at(d + 1).iter());
        let loaded_before = self.scope.loaded.len();
        // The lets inside, then the product, as the closure's body.
        let mut lets = Vec::new();
        for (k, l) in levels.iter().enumerate().skip(d + 1) {
            let Bind::Let(e) = &l.bind else { unreachable!("only lets inside") };
            let (text, sign) = self.scope.value(e, &mut self.facts);
            self.scope.declare(&l.var, sign);
            if let Some(Atom::Call(call)) = e.as_atom() {
                self.scope.loaded.push((call.clone(), l.var.clone()));
            }
            lets.push((ident(&l.var), text));
            self.facts.enter(&l.bound_constraints());
            self.facts.enter(self.assumptions_at(k + 1).iter());
        }
        let product = self.product()?;
        let mut body = product;
        for (name, text) in lets.iter().rev() {
            if mentions(&body, name) {
                body = format!("let {name} = {text};\n{body}");
            }
        }
        for _ in 0..2 + 2 * lets.len() {
            self.facts.leave();
        }
        self.scope.loaded.truncate(loaded_before);
        self.accumulate_at = accumulate_at;
        self.uses_sum = true;
        let var = ident(&level.var);
        let (lo, hi) = (lo.text(Sign::Unsigned), hi.text(Sign::Unsigned));
        let closure = if mentions(&body, &var) { var } else { "_".to_string() };
        let total =
            format!("let {ACCUMULATOR} = sum({lo}, {hi}, |{closure}: usize| {{\n{body}\n}});");
        let store = self.store(ACCUMULATOR)?;
        Ok(Some(format!("{total}\n{store}\n")))
    }
}

enum Header {
    Let(Affine),
    For(Limit, Limit),
    Find(Limit, Limit),
}

/// A level's header, rendered.
pub(super) enum Range {
    Value(String),
    Ends(String, String),
}

/// True if `name` occurs in `code` as a whole word.
pub fn mentions(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(is_word);
        let after = code[at + name.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}
