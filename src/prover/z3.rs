//! The prover that decides: Z3 with one solver, a stack of facts and a resource limit.
//!
//! Z3 is told the facts when it is asked, and is asked what neither an earlier answer decides nor a model
//! that it gave of the same facts: the search for finds asks the same of many templates, and refutes a lot.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use z3::ast::{Bool, Int};
use z3::{FuncDecl, Params, SatResult, Solver, Sort};

use super::memory::{Conjunction, Found, Memory};
use super::model::Model;
use super::propagation::Propagation;
use super::terms::{Terms, unexpanded};
use super::{Answer, Prover, kept};
use crate::formula::{Affine, Atom, Call, Constraint, Formula, Name, Relop};

/// Z3's own unit of work, so that results do not depend on the machine's speed. Queries about finds
/// take a fraction of a millisecond; this many units last some seconds.
const RESOURCES: u32 = 2_000_000;

/// Ranges in which to look for a smaller model, in this order.
const SMALL: [(i64, i64); 2] = [(0, 4), (-8, 8)];

/// Ranges for a model that people will read.
const TINY: [(i64, i64); 5] = [(0, 1), (0, 2), (0, 3), (0, 4), (-8, 8)];

/// Z3, incremental. Stays on its thread (Z3 contexts are implicit and thread-local).
///
/// The same sequence of questions gives the same answers. Which of several models is found may
/// depend on what was asked before.
pub struct Z3Prover {
    /// Made when it is asked first: that takes as long as many a proof.
    solver: Option<Solver>,
    /// Declarations outlive the facts: making them anew dominates small queries.
    vars: FxHashMap<Name, Int>,
    arrays: FxHashMap<(Name, usize), FuncDecl>,
    /// Z3's formulas, by number.
    formulas: FxHashMap<usize, Bool>,
    stack: Vec<Scope>,
    /// So many scopes of the stack Z3 was told.
    told: usize,
    memory: Memory,
    propagation: Propagation,
    small_models: bool,
}

/// Whether a model is wanted, or one is of use if it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    No,
    AtHand,
    Yes,
}

/// The facts of one push, and all facts up to them.
struct Scope {
    facts: Vec<usize>,
    all: Conjunction,
}

impl Default for Z3Prover {
    fn default() -> Self {
        Self::new()
    }
}

impl Z3Prover {
    pub fn new() -> Self {
        Z3Prover {
            solver: None,
            vars: FxHashMap::default(),
            arrays: FxHashMap::default(),
            formulas: FxHashMap::default(),
            stack: Vec::new(),
            told: 0,
            memory: Memory::default(),
            propagation: Propagation::default(),
            small_models: true,
        }
    }

    /// Takes the first model that comes: for searches that refute a lot and print little.
    #[must_use]
    pub fn with_any_model(mut self) -> Self {
        self.small_models = false;
        self
    }

    fn solver(&mut self) -> &Solver {
        self.solver.get_or_insert_with(|| {
            // Named, the logic spares Z3 the set-up of all others, most of the cost of a first query.
            let solver = Solver::new_for_logic("QF_AUFLIA").unwrap_or_default();
            limit(&solver, RESOURCES);
            solver
        })
    }

    fn var(&mut self, name: &Name) -> Int {
        if let Some(known) = self.vars.get(name) {
            return known.clone();
        }
        let declared = Int::new_const(&**name);
        self.vars.insert(name.clone(), declared.clone());
        declared
    }

    fn call(&mut self, call: &Call) -> Int {
        let args: Vec<Int> = call.args.iter().map(|arg| self.affine(arg)).collect();
        let args: Vec<&dyn z3::ast::Ast> = args.iter().map(|arg| arg as _).collect();
        let array = self.arrays.entry((call.array.clone(), args.len())).or_insert_with(|| {
            let int = Sort::int();
            FuncDecl::new(&*call.array, &vec![&int; args.len()], &int)
        });
        array.apply(&args).as_int().expect("index arrays hold integers")
    }

    fn atom(&mut self, atom: &Atom) -> Int {
        match atom {
            Atom::Var(name) => self.var(name),
            Atom::Call(call) => self.call(call),
            // Z3's division rounds down for a positive divisor.
            Atom::Floor(inner, divisor) => self.affine(inner).div(Int::from_i64(*divisor)),
        }
    }

    fn affine(&mut self, affine: &Affine) -> Int {
        let mut terms = Vec::with_capacity(affine.terms().len() + 1);
        for (atom, coefficient) in affine.terms() {
            let term = self.atom(atom);
            terms.push(match coefficient {
                1 => term,
                c => Int::mul(&[Int::from_i64(*c), term]),
            });
        }
        if affine.offset() != 0 || terms.is_empty() {
            terms.push(Int::from_i64(affine.offset()));
        }
        if terms.len() == 1 { terms.remove(0) } else { Int::add(&terms) }
    }

    fn constraint(&mut self, constraint: &Constraint) -> Bool {
        let form = self.affine(&constraint.affine);
        let zero = Int::from_i64(0);
        match constraint.relop {
            Relop::Eq => form.eq(zero),
            Relop::Ge => form.ge(zero),
            Relop::Ne => form.eq(zero).not(),
        }
    }

    fn formula(&mut self, formula: &Formula) -> Bool {
        match formula {
            Formula::Constraint(constraint) => self.constraint(constraint),
            Formula::And(parts) if parts.is_empty() => Bool::from_bool(true),
            Formula::Or(parts) if parts.is_empty() => Bool::from_bool(false),
            Formula::And(parts) => {
                let parts: Vec<Bool> = parts.iter().map(|part| self.formula(part)).collect();
                Bool::and(&parts)
            }
            Formula::Or(parts) => {
                let parts: Vec<Bool> = parts.iter().map(|part| self.formula(part)).collect();
                Bool::or(&parts)
            }
            Formula::Not(inner) => self.formula(inner).not(),
            Formula::Implies(condition, then) => {
                let condition = self.formula(condition);
                condition.implies(self.formula(then))
            }
            Formula::Predicate(name, _) => unexpanded(name),
        }
    }

    /// The current model, its values within 64 bits.
    fn model(&mut self, terms: &Terms) -> Option<Model> {
        let model = self.solver().get_model()?;
        let mut values: FxHashMap<Atom, i64> = FxHashMap::default();
        let vars = terms.vars.iter().cloned().map(Atom::Var);
        for atom in vars.chain(terms.calls.iter().cloned().map(Atom::Call)) {
            let value = model.eval(&self.atom(&atom), true)?.as_i64()?;
            values.insert(atom, value);
        }
        Model::new(terms, |atom| values.get(atom).copied())
    }

    /// A model of the current facts with every variable and array value in a small range.
    fn small_model(&mut self, terms: &Terms) -> Option<Model> {
        let values: Vec<Int> = {
            let vars: Vec<Int> = terms.vars.iter().map(|name| self.var(name)).collect();
            let calls: Vec<Int> = terms.calls.iter().map(|call| self.call(call)).collect();
            vars.into_iter().chain(calls).collect()
        };
        for (low, high) in SMALL {
            self.solver().push();
            for value in &values {
                self.solver().assert(value.ge(Int::from_i64(low)));
                self.solver().assert(value.le(Int::from_i64(high)));
            }
            let small = self.solver().check() == SatResult::Sat;
            let model = if small { self.model(terms) } else { None };
            self.solver().pop(1);
            if model.is_some() {
                return model;
            }
        }
        None
    }

    /// The lexicographically least model within the first range of [`TINY`] that has one: the same
    /// whatever was asked before.
    fn least_model(&mut self, terms: &Terms) -> Option<Model> {
        let vars = terms.vars.iter().cloned().map(Atom::Var);
        let atoms: Vec<Atom> = vars.chain(terms.calls.iter().cloned().map(Atom::Call)).collect();
        let values: Vec<Int> = atoms.iter().map(|atom| self.atom(atom)).collect();
        for (low, high) in TINY {
            self.solver().push();
            for value in &values {
                self.solver().assert(value.ge(Int::from_i64(low)));
                self.solver().assert(value.le(Int::from_i64(high)));
            }
            let mut found = None;
            if self.solver().check() == SatResult::Sat {
                found = self.model(terms);
                for value in &values {
                    let mut least = low;
                    while least < high {
                        let here = value.eq(Int::from_i64(least));
                        self.solver().push();
                        self.solver().assert(&here);
                        let possible = self.solver().check() == SatResult::Sat;
                        if possible {
                            found = self.model(terms).or(found);
                        }
                        self.solver().pop(1);
                        if possible {
                            break;
                        }
                        least += 1;
                    }
                    self.solver().assert(value.eq(Int::from_i64(least)));
                }
            }
            self.solver().pop(1);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

impl Z3Prover {
    /// The conjunction of the first scopes of the stack.
    fn all(&self, scopes: usize) -> Conjunction {
        self.stack[..scopes].last().map(|scope| scope.all).unwrap_or_default()
    }

    /// What is remembered of the facts on the stack; `None` also where a model is wanted and none is.
    fn remembered(&mut self, model: Wanted) -> Option<Found> {
        let all = self.all(self.stack.len());
        match self.memory.found(all) {
            Some(Found::Sat(None)) if model == Wanted::Yes => {}
            Some(found) => return Some(found.clone()),
            None => {}
        }
        // A small one has to be looked for.
        let is_enough = model == Wanted::No || !self.small_models;
        let known = self.memory.model(all).filter(|_| is_enough).cloned();
        let found = match known {
            Some(model) => Found::Sat(Some(model)),
            None => match kept::is_in_use().then(|| kept::is_unsat(self.memory.digest(all)))?? {
                true => Found::Unsat,
                false if is_enough && model != Wanted::Yes => Found::Sat(None),
                false => return None,
            },
        };
        self.keep(all, found.clone());
        Some(found)
    }

    /// Remembers what was found of a conjunction.
    fn keep(&mut self, all: Conjunction, found: Found) {
        if kept::is_in_use() {
            match found {
                Found::Unsat => kept::keep(self.memory.digest(all), true),
                Found::Sat(_) => kept::keep(self.memory.digest(all), false),
                Found::Unknown(_) => {}
            }
        }
        self.memory.keep(all, found);
    }

    /// Tells Z3 what is on the stack.
    fn tell(&mut self) {
        for k in self.told..self.stack.len() {
            self.solver().push();
            for fact in self.stack[k].facts.clone() {
                let told = match self.formulas.get(&fact) {
                    Some(told) => told.clone(),
                    None => {
                        let formula = self.memory.get(fact).clone();
                        let told = self.formula(&formula);
                        self.formulas.insert(fact, told.clone());
                        told
                    }
                };
                self.solver().assert(told);
            }
        }
        self.told = self.stack.len();
    }

    /// Whether the facts on the stack contradict each other, as far as bounds of their differences say.
    fn contradict(&mut self) -> bool {
        for scope in &self.stack[self.propagation.depth()..] {
            let facts = scope.facts.iter().map(|fact| (*fact, self.memory.get(*fact)));
            self.propagation.push(facts);
        }
        self.propagation.contradict()
    }

    /// What the facts on the stack mention.
    fn terms(&self) -> Terms {
        let facts = self.stack.iter().flat_map(|scope| &scope.facts);
        Terms::of(facts.map(|f| self.memory.get(*f)))
    }

    /// Asks Z3.
    fn ask(&mut self, with_model: bool) -> Found {
        self.tell();
        match self.solver().check() {
            SatResult::Unsat => Found::Unsat,
            SatResult::Unknown => Found::Unknown(
                self.solver().get_reason_unknown().unwrap_or_else(|| "no reason given".into()),
            ),
            SatResult::Sat if with_model => {
                let terms = self.terms();
                // Read before the search for a smaller one, which replaces it.
                let first = self.model(&terms);
                let small = if self.small_models { self.small_model(&terms) } else { None };
                match small.or(first) {
                    Some(model) => {
                        let satisfied = |f: &usize| model.satisfies(self.memory.get(*f));
                        debug_assert!(
                            self.stack
                                .iter()
                                .flat_map(|scope| &scope.facts)
                                .all(|f| satisfied(f) != Some(false)),
                            "Z3's model {model} refutes a fact"
                        );
                        let model = Rc::new(model);
                        let before = self.all(self.stack.len().saturating_sub(1));
                        self.memory.keep_model(before, &model);
                        Found::Sat(Some(model))
                    }
                    None => Found::Unknown("the model needs numbers beyond 64 bits".into()),
                }
            }
            SatResult::Sat => Found::Sat(None),
        }
    }

    /// What is remembered of the facts on the stack, or what Z3 says.
    fn find(&mut self, model: Wanted) -> Found {
        if let Some(found) = self.remembered(model) {
            return found;
        }
        let found = match self.contradict() {
            true => Found::Unsat,
            false => self.ask(model != Wanted::No),
        };
        self.keep(self.all(self.stack.len()), found.clone());
        found
    }

    fn answer(&mut self, model: Wanted) -> Answer {
        match self.find(model) {
            Found::Unsat => Answer::Unsat,
            Found::Sat(model) => Answer::Sat(model.map(|m| (*m).clone()).unwrap_or_default()),
            Found::Unknown(why) => Answer::Unknown(why),
        }
    }
}

impl Prover for Z3Prover {
    fn is_unsat(&mut self, query: &[Formula]) -> bool {
        self.push(query);
        let unsat = matches!(self.find(Wanted::No), Found::Unsat);
        self.pop();
        unsat
    }

    fn decide(&mut self, query: &[Formula]) -> Answer {
        self.push(query);
        let answer = self.answer(Wanted::AtHand);
        self.pop();
        answer
    }

    fn illustrate(&mut self, query: &[Formula]) -> Option<Model> {
        self.push(query);
        self.tell();
        let found = match self.solver().check() {
            SatResult::Sat => {
                let terms = self.terms();
                let first = self.model(&terms);
                self.least_model(&terms).or(first)
            }
            SatResult::Unsat | SatResult::Unknown => None,
        };
        self.pop();
        found
    }

    fn push(&mut self, facts: &[Formula]) {
        let facts: Vec<usize> = facts.iter().map(|fact| self.memory.formula(fact)).collect();
        let before = self.all(self.stack.len());
        let all = self.memory.and(before, &facts);
        self.memory.pass_models(before, all, &facts);
        self.stack.push(Scope { facts, all });
    }

    fn pop(&mut self) {
        assert!(self.stack.pop().is_some(), "a pop without a push");
        if self.told > self.stack.len() {
            self.solver().pop(1);
            self.told = self.stack.len();
        }
        if self.propagation.depth() > self.stack.len() {
            self.propagation.pop();
        }
        if self.stack.is_empty() && self.memory.forget_if_full() {
            self.formulas.clear();
            self.propagation = Propagation::default();
        }
    }

    fn check(&mut self) -> Answer {
        self.answer(Wanted::Yes)
    }
}

/// Sets the limit of each later check. Slow (Z3 starts afresh), so not changed between queries.
fn limit(solver: &Solver, resources: u32) {
    let mut params = Params::new();
    params.set_u32("rlimit", resources);
    solver.set_params(&params);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;

    fn facts(texts: &[&str]) -> Vec<Formula> {
        texts.iter().map(|text| parse::formula(text).unwrap()).collect()
    }

    #[test]
    fn counterexamples_are_small_concrete_arrays() {
        let mut prover = Z3Prover::new();
        let answer = prover.prove_unsat(&facts(&[
            "i = 2 and 0 <= crd(0) < crd(1)",
            "crd(1) = crd(2)",
            "crd(2) > crd(0) + 2",
            "pos(crd(0) + 7) = 1",
        ]));
        let shown = answer.model().expect("satisfiable").to_string();
        assert!(shown.starts_with("i = 2, crd = [0, "), "{shown}");
        assert!(shown.ends_with("pos(7) = 1") || shown.ends_with("pos(8) = 1"), "{shown}");
    }

    #[test]
    fn names_may_be_anything_the_relation_language_has() {
        let mut prover = Z3Prover::new();
        let query = facts(&["q' < div and div < pos(q')", "pos(pos) = q'", "äx = pos"]);
        let answer = prover.prove_unsat(&query);
        let model = answer.model().expect("satisfiable");
        assert_eq!(model.vars.keys().map(|n| &**n).collect::<Vec<_>>(), ["div", "q'", "pos", "äx"]);
    }

    #[test]
    fn a_query_beyond_the_limit_is_unknown_and_the_next_one_is_not() {
        let mut prover = Z3Prover::new();
        let hard: Vec<String> = (0..40)
            .map(|k| format!("f(x{k}) + f(x{}) < f(f(x{})) + {k}", k + 1, (k * 7 + 3) % 40))
            .chain((0..40).map(|k| format!("x{k} < f(x{}) - {k}", (k * 11 + 5) % 40)))
            .collect();
        let hard: Vec<Formula> = hard.iter().map(|t| parse::formula(t).unwrap()).collect();
        limit(prover.solver(), 1);
        let answer = prover.prove_unsat(&hard);
        limit(prover.solver(), RESOURCES);
        let Answer::Unknown(why) = answer else { panic!("decided without resources") };
        assert!(!why.is_empty());
        assert!(prover.prove_unsat(&facts(&["x < y and y < x"])).is_unsat());
        assert!(prover.prove_unsat(&facts(&["x < y"])).is_sat());
    }

    #[test]
    fn the_same_questions_get_the_same_models() {
        let run = || {
            let mut prover = Z3Prover::new();
            prover.push(&facts(&["0 <= p < n", "pos(p) <= q < pos(p + 1)"]));
            ["crd(q) > 3", "crd(q) < crd(q + 1)", "pos(p) + 2 < pos(p + 1)"]
                .map(|query| prover.prove_unsat(&facts(&[query])))
        };
        assert_eq!(run(), run());
    }

    #[test]
    #[ignore = "a measurement, not a check"]
    fn how_long_a_query_takes() {
        use crate::prover::IslProver;
        let base = facts(&[
            "0 <= i < m",
            "0 <= i2 < m",
            "i < i2",
            "0 <= q < n",
            "0 <= r < n",
            "q < r",
            "i < i2 => ia(i) < ia(i2)",
            "i2 < i => ia(i2) < ia(i)",
            "i = i2 => ia(i) = ia(i2)",
            "q < r => ib(q) < ib(r)",
            "r < q => ib(r) < ib(q)",
            "q = r => ib(q) = ib(r)",
            "0 <= ia(i) < k",
            "0 <= ia(i2) < k",
            "0 <= ib(q) < k",
            "0 <= ib(r) < k",
        ]);
        let queries = [
            facts(&["ib(q) = ia(i)", "ib(q) = ia(i2)"]),
            facts(&["not ib(q) < ia(i)", "ib(q) != ia(i)", "ib(r) = ia(i)"]),
            facts(&["ib(q) < ia(i)", "ib(q) = ia(i2)"]),
            facts(&["ib(q) > ia(i)", "ib(q) = ia(i2)"]),
        ];
        let time = |name: &str, prover: &mut dyn Prover| {
            prover.push(&base);
            prover.prove_unsat(&queries[0]);
            let start = std::time::Instant::now();
            // Each is another one: an answer is remembered.
            let query = |k: usize| {
                let other = facts(&[format!("z < {k}").as_str()]);
                [queries[k % 4].as_slice(), &other].concat()
            };
            let unsat: Vec<bool> =
                (0..672).map(|k| prover.prove_unsat(&query(k)).is_unsat()).collect();
            println!("{name}: {:?} each, {:?}", start.elapsed() / 672, &unsat[..4]);
        };
        time("Z3, small models", &mut Z3Prover::new());
        time("Z3, any model", &mut Z3Prover::new().with_any_model());
        time("isl", &mut IslProver::new());
    }
}
