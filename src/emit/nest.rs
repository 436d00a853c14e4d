//! A loop nest as Rust statements.

use super::facts::Facts;
use super::rust_expr::{ArrayCode, Scope, Sign, ident, row_major};
use super::search::{self, KeyCode, SearchCode};
use super::{Statement, parallel, value};
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Atom, Call, Constraint, Name, Relop};
use crate::iterspace::Operand;
use crate::prover::Prover;
use crate::scan::Bind;
use crate::synth::{Find, Placement, Plan};
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

struct Writer<'a> {
    statement: &'a Statement,
    value_type: ValueType,
    facts: Facts<'a>,
    scope: Scope,
    /// Level before which the accumulator is declared; the sum goes to the output after that level.
    accumulate_at: Option<usize>,
    /// Values loaded before the innermost loop, by factor.
    hoisted: Vec<Option<String>>,
    uses_sum: bool,
    /// Ranges of finds that a state bound to variables.
    ranges: Vec<(Name, String, String)>,
}

const ACCUMULATOR: &str = "sum";

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
                    signed: !is_nonnegative_array(&a.range, &a.name),
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

    fn levels(&self) -> usize {
        self.statement.nest.levels.len()
    }

    /// Number of levels after which every variable of `a` is bound.
    fn depth_of(&self, a: &Affine) -> usize {
        let mut depth = 0;
        a.visit_vars(&mut |n| {
            if let Some(level) = self.statement.nest.level_of(n) {
                depth = depth.max(level + 1);
            }
        });
        depth
    }

    fn depth_of_all(&self, index: &[Arith]) -> usize {
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
    fn assumptions_at(&self, depth: usize) -> Vec<Constraint> {
        let facts = self.statement.nest.assumptions.iter();
        facts.filter(|c| self.depth_of(&c.affine) == depth).cloned().collect()
    }

    /// The first loop inside which the output element stays the same, if there is one.
    fn accumulator_level(&self) -> Option<usize> {
        let bound = self.depth_of_all(&self.statement.space.output().value_index);
        let levels = &self.statement.nest.levels;
        // A find meets its element a few times at most: a miss should not touch the output.
        (bound..self.levels()).find(|&d| levels[d].is_loop() && !levels[d].is_find())
    }

    fn find_at(&self, level: usize) -> Option<(&'a Find, &'a Plan)> {
        let statement: &'a Statement = self.statement;
        let k = statement.finds.iter().position(|f| f.problem.level == level)?;
        Some((&statement.finds[k], &statement.chosen[k]))
    }

    /// The code of levels `d..`.
    fn level(&mut self, d: usize) -> Result<String> {
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
        let outside = self.states_before(d, |plan| is_shared(plan))?;
        let private = self.states_before(d, |plan| !is_shared(plan))?;
        let inside = private + &self.summed_level(d)?;
        let output = ident(&self.statement.space.output().value_array);
        Ok(parallel::region(parallel, &lo, &hi, &output, &outside, &inside))
    }

    /// Level `d`, with the accumulator around it if this is where it belongs.
    fn summed_level(&mut self, d: usize) -> Result<String> {
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
    fn range(&mut self, d: usize, lower: &[Affine], upper: &[Affine]) -> (Limit, Limit) {
        if self.statement.parallel.is_some_and(|p| p.level == d) {
            return (Limit::fixed("range.start"), Limit::fixed("range.end"));
        }
        (self.lower(lower), self.upper(upper))
    }

    /// One level with everything inside it.
    fn bound_level(&mut self, d: usize) -> Result<String> {
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
                let (text, sign) = self.scope.affine(&e, &mut self.facts);
                self.scope.declare(&var, sign);
                if let Some(call) = alias {
                    self.scope.loaded.push((call, var.clone()));
                }
                Header2::Let(text)
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
                Header2::Range(lo.text(sign), hi.text(sign))
            }
        };
        let mut limits = String::new();
        let header = match header {
            Header2::Range(lo, hi) if level.is_find() => {
                match self.ranges.iter().find(|r| r.0 == var) {
                    Some((_, lo, hi)) => Header2::Range(lo.clone(), hi.clone()),
                    None => {
                        let (code, lo, hi) = bind_limits(&var, lo, hi);
                        limits = code;
                        Header2::Range(lo, hi)
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
            (Header2::Let(text), None) => {
                if mentions(&inner, &ident(&var)) {
                    format!("let {} = {text};\n{inner}", ident(&var))
                } else {
                    inner
                }
            }
            (Header2::Range(lo, hi), None) => {
                let v = ident(&var);
                let v = if mentions(&inner, &v) { v } else { format!("_{v}") };
                format!("for {v} in {lo}..{hi} {{\n{inner}}}\n")
            }
        })
    }

    /// `let may_match = …` for a tile loop whose tiles can be told to hold no match.
    fn tile_guard(&mut self, d: usize) -> Option<String> {
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
    fn states_before(&mut self, d: usize, select: impl Fn(&Plan) -> bool) -> Result<String> {
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
            let range = Header2::Range(lo, hi);
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

    fn search_code(
        &mut self,
        find: &Find,
        plan: &Plan,
        header: &Header2,
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
                let inner = self.scope.affine(&k.inner, &mut self.facts).0;
                let (outer, sign) = self.scope.affine(&k.outer, &mut self.facts);
                let params = self.statement.space.params();
                let fits = sign == Sign::Unsigned
                    && params.iter().any(|p| {
                        let extent = Affine::var(p.clone());
                        self.facts.proves(&Constraint::lt(k.outer.clone(), extent))
                    });
                KeyCode { inner, outer, fits }
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
            Header2::Let(text) => (String::new(), String::new(), text.clone()),
            Header2::Range(lo, hi) => (lo.clone(), hi.clone(), String::new()),
        };
        Ok(SearchCode::new(find, plan, lo, hi, value, matches.join(" && "), continues, key)
            .with_state(indices.iter().map(|n| ident(n)).collect(), extents))
    }

    /// A parameter that bounds a state index, for arrays of states.
    fn extent_of(&mut self, n: &Name) -> String {
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

    fn lower(&mut self, parts: &[Affine]) -> Limit {
        Limit::new(parts, "max", &mut self.scope, &mut self.facts)
    }

    fn upper(&mut self, parts: &[Affine]) -> Limit {
        Limit::new(parts, "min", &mut self.scope, &mut self.facts)
    }

    /// Loads values that are complete at `depth` and used inside a deeper loop.
    fn hoist_values(&mut self, depth: usize) -> Result<String> {
        let mut out = String::new();
        let levels = &self.statement.nest.levels[depth..];
        // A find runs its body at most a few times: loading before it would be waste on a miss.
        let deeper_loop = levels.iter().any(|l| l.is_loop() && !l.is_find());
        if !deeper_loop {
            return Ok(out);
        }
        let statement = self.statement;
        for (k, o) in statement.space.inputs().iter().enumerate() {
            if self.hoisted[k].is_none() && self.depth_of_all(&o.value_index) == depth {
                let name = format!("{}_{depth}", ident(&o.value_array));
                let load = self.value(o);
                out.push_str(&format!("let {name} = {load};\n"));
                self.hoisted[k] = Some(name);
            }
        }
        Ok(out)
    }

    fn unhoist(&mut self, depth: usize) {
        let suffix = format!("_{depth}");
        for h in &mut self.hoisted {
            if h.as_ref().is_some_and(|name| name.ends_with(&suffix)) {
                *h = None;
            }
        }
    }

    /// The value of an operand at the current position.
    fn value(&mut self, o: &Operand) -> String {
        let (index, proved) = self.value_place(o);
        self.scope.access(&ident(&o.value_array), &index, proved)
    }

    fn value_place(&mut self, o: &Operand) -> (String, bool) {
        let affine: Vec<Option<Affine>> =
            o.value_index.iter().map(|a| a.to_affine().ok()).collect();
        let mut proved = true;
        let mut parts = Vec::new();
        for (k, (a, written)) in affine.iter().zip(&o.value_index).enumerate() {
            match a {
                Some(a) => {
                    let extent = o.value_shape.get(k).and_then(|s| s.to_affine().ok());
                    proved &= extent.is_some_and(|extent| {
                        self.facts.is_nonnegative(a)
                            && self.facts.proves(&Constraint::lt(a.clone(), extent))
                    });
                    parts.push(self.scope.index(a, &mut self.facts));
                }
                None => {
                    proved = false;
                    parts.push(super::rust_expr::arith(written, &|n| ident(n)));
                }
            }
        }
        (row_major(&parts, &o.value_shape), proved)
    }

    /// The product of all factors.
    fn product(&mut self) -> Result<String> {
        let statement = self.statement;
        let mut factors = Vec::new();
        factors.extend(value::coefficient(self.value_type, statement.space.coefficient)?);
        for (k, o) in statement.space.inputs().iter().enumerate() {
            match self.hoisted[k].clone() {
                Some(name) => factors.push(name),
                None => factors.push(self.value(o)),
            }
        }
        if factors.is_empty() {
            factors.push(match self.value_type {
                ValueType::Bool => "true".to_string(),
                ValueType::F64 | ValueType::F32 => "1.0".to_string(),
                _ => "1".to_string(),
            });
        }
        Ok(value::product(self.value_type, &factors))
    }

    fn innermost(&mut self) -> Result<String> {
        let product = self.product()?;
        if self.accumulate_at.is_some() {
            return Ok(format!("{}\n", value::accumulate(self.value_type, ACCUMULATOR, &product)));
        }
        Ok(format!("{}\n", self.store(&product)?))
    }

    /// Adds `what` to the output element.
    fn store(&mut self, what: &str) -> Result<String> {
        let statement = self.statement;
        let output = statement.space.output();
        let (index, proved) = self.value_place(output);
        let array = ident(&output.value_array);
        self.scope.access(&array, &index, proved);
        let shared = statement.parallel.is_some_and(|p| !p.private);
        let target = match (proved, shared) {
            (true, false) => format!("*at_mut({array}, {index})"),
            (false, false) => format!("{array}[{index}]"),
            (true, true) => format!("*{array}.at_mut({index})"),
            (false, true) => format!("*{array}.checked({index})"),
        };
        Ok(value::accumulate(self.value_type, &target, what))
    }

    /// The innermost reduction over a plain range, as a call of the module's four-chain `sum`.
    fn unrolled(&mut self, d: usize) -> Result<Option<String>> {
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
            let (text, sign) = self.scope.affine(e, &mut self.facts);
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

/// State that no query changes may be shared between threads.
fn is_shared(plan: &Plan) -> bool {
    plan.template.shared && matches!(plan.placement, Some(Placement::Prefix { .. }))
}

/// Binds the ends of a range to variables unless they are names or numbers already.
fn bind_limits(var: &Name, lo: String, hi: String) -> (String, String, String) {
    let mut code = String::new();
    let mut bind = |text: String, suffix: &str| {
        if text.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return text;
        }
        let name = format!("{}_{suffix}", ident(var));
        code.push_str(&format!("let {name} = {text};\n"));
        name
    };
    let lo = bind(lo, "lo");
    let hi = bind(hi, "hi");
    (code, lo, hi)
}

enum Header {
    Let(Affine),
    For(Limit, Limit),
    Find(Limit, Limit),
}

enum Header2 {
    Let(String),
    Range(String, String),
}

/// A bound rendered for both signs: which one is used depends on the variable.
struct Limit {
    unsigned: String,
    signed: String,
}

impl Limit {
    fn fixed(text: &str) -> Limit {
        Limit { unsigned: text.to_string(), signed: format!("{text} as isize") }
    }

    fn new(parts: &[Affine], combine: &str, scope: &mut Scope, facts: &mut Facts) -> Limit {
        let join = |mut texts: Vec<String>| {
            // A literal cannot be the receiver of `min`: its type would be ambiguous.
            texts.sort_by_key(|t| t.chars().all(|c| c.is_ascii_digit()));
            let mut texts = texts.into_iter();
            let first = texts.next().unwrap_or_default();
            texts.fold(first, |all, t| {
                let all = if all.contains(' ') { format!("({all})") } else { all };
                format!("{all}.{combine}({t})")
            })
        };
        let mut unsigned = Vec::new();
        let mut signed = Vec::new();
        for a in parts {
            let (text, sign) = scope.affine(a, facts);
            match sign {
                Sign::Unsigned => {
                    signed.push(format!("({text}) as isize"));
                    unsigned.push(text);
                }
                Sign::Signed => {
                    unsigned.push(format!("({text}).max(0) as usize"));
                    signed.push(text);
                }
            }
        }
        Limit { unsigned: join(unsigned), signed: join(signed) }
    }

    fn text(&self, sign: Sign) -> String {
        match sign {
            Sign::Unsigned => self.unsigned.clone(),
            Sign::Signed => self.signed.clone(),
        }
    }
}

/// A declared range with a lower bound of at least zero.
pub fn is_nonnegative_array(range: &[Constraint], array: &Name) -> bool {
    range.iter().any(|c| {
        let calls = c.affine.terms().iter().filter(|(a, k)| {
            *k > 0 && matches!(a, Atom::Call(Call { array: f, .. }) if f == array)
        });
        c.relop == Relop::Ge
            && c.affine.terms().len() == 1
            && calls.count() == 1
            && c.affine.offset() <= 0
    })
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
