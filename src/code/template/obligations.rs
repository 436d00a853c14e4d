//! That a template stays inside the range it is given, for any `lo`, `hi`.
//!
//! Every path through the code is followed with symbols for its variables. A loop is cut at its
//! head: its invariants hold on entry, are kept by each turn, and are all that is known of the
//! variables that it assigns. On the way each hole at a position `p` must have `lo <= p < hi`,
//! `found!(p)` must be reached only where `p` matches, and no subtraction may go below zero.
//!
//! What is kept between queries is known by the invariants at the end of `setup` alone: they hold
//! there and at the end of every query. That they speak of the same `lo` and `hi` each time is the
//! find's own obligation that queries of one state search one range.

use rustc_hash::FxHashMap;

use super::super::ir::Hole;
use super::super::ir::{Assign, BinaryOp, Block, Expr, LabelId, Stmt, Type, VarId};
use super::super::visit::{Part, visit};
use super::find_code::{FindCode, refused};
use crate::diagnostic::Result;
use crate::formula::{Affine, Formula, Name};
use crate::prover::{Answer, Prover};
use crate::synth::Template;

/// Proves every obligation of `code`.
pub(super) fn prove(code: &FindCode, template: &Template, prover: &mut dyn Prover) -> Result<()> {
    let ends = [
        Formula::le(Affine::zero(), Affine::var("lo")),
        Formula::le(Affine::zero(), Affine::var("hi")),
    ];
    prover.push(&ends);
    let mut walk = Walk { code, template, prover, symbols: 0, part: "setup", exits: Vec::new() };
    let result = walk.run();
    prover.pop();
    result
}

/// What is known on one path.
#[derive(Clone, Default)]
struct Path {
    integers: FxHashMap<VarId, Affine>,
    conditions: FxHashMap<VarId, Formula>,
    facts: Vec<Formula>,
}

#[derive(Clone, Copy, PartialEq)]
enum Exit {
    Loop,
    Label(LabelId),
}

struct Walk<'a> {
    code: &'a FindCode,
    template: &'a Template,
    prover: &'a mut dyn Prover,
    symbols: usize,
    part: &'static str,
    /// Paths that left a block or a loop.
    exits: Vec<(Exit, Path)>,
}

fn lo() -> Affine {
    Affine::var("lo")
}

fn hi() -> Affine {
    Affine::var("hi")
}

fn inside(p: &Affine) -> Formula {
    Formula::and([Formula::le(lo(), p.clone()), Formula::lt(p.clone(), hi())])
}

/// A property of positions that nothing else is known of.
fn predicate(name: &str, args: Vec<Affine>) -> Formula {
    Formula::le(Affine::constant(1), Affine::call(name, args))
}

impl Walk<'_> {
    fn run(&mut self) -> Result<()> {
        let code = self.code;
        let ends = self.block(&code.setup, Path::default())?;
        for path in &ends {
            self.invariants(path, "does not hold when the state is set up")?;
        }
        self.part = "search";
        let mut path = Path::default();
        for v in code.state() {
            self.unknown(v, &mut path);
        }
        self.assume_invariants(&mut path)?;
        for path in &self.block(&code.search, path)? {
            self.invariants(path, "does not hold at the end of a query")?;
        }
        Ok(())
    }

    fn invariants(&mut self, path: &Path, why: &str) -> Result<()> {
        let code = self.code;
        for i in &code.invariants {
            let mut path = path.clone();
            let claim = self.condition(i, &mut path)?;
            let text = code.body.print_expr(i);
            self.oblige(&path, claim, &format!("the invariant `{text}` {why}"))?;
        }
        Ok(())
    }

    fn assume_invariants(&mut self, path: &mut Path) -> Result<()> {
        let code = self.code;
        for i in &code.invariants {
            let fact = self.condition(i, path)?;
            path.facts.push(fact);
        }
        Ok(())
    }

    fn symbol(&mut self, hint: &str) -> Affine {
        self.symbols += 1;
        Affine::var(Name::from(format!("{hint}{}", self.symbols)))
    }

    /// A new symbol for `v`, of which nothing is known.
    fn unknown(&mut self, v: VarId, path: &mut Path) {
        let declared = self.code.body.var(v);
        let symbol = self.symbol(&declared.name);
        match declared.ty {
            Type::Bool => {
                path.conditions.insert(v, Formula::le(Affine::constant(1), symbol));
            }
            Type::Unsigned => {
                path.facts.push(Formula::le(Affine::zero(), symbol.clone()));
                path.integers.insert(v, symbol);
            }
            _ => {
                path.integers.insert(v, symbol);
            }
        }
    }

    fn forget_assigned(&mut self, block: &Block, path: &mut Path) {
        let mut assigned = Vec::new();
        visit(block, &mut |part| {
            if let Part::Stmt(Stmt::Assign { var, .. }) = part {
                assigned.push(*var);
            }
        });
        for v in assigned {
            self.unknown(v, path);
        }
    }

    /// Refuses the template unless the facts of the path imply the claim.
    fn oblige(&mut self, path: &Path, claim: Formula, what: &str) -> Result<()> {
        if claim.is_true() {
            return Ok(());
        }
        let mut query = path.facts.clone();
        query.push(claim.clone().not());
        let refuse = |note: String| {
            refused(self.code, self.part, format!("template `{}`: {what}", self.template.name))
                .note(format!("wanted: {claim}"))
                .note(note)
                .help("test the position against `lo!()` and `hi!()` first, or state an invariant that says why it is inside")
        };
        match self.prover.decide(&query) {
            Answer::Unsat => Ok(()),
            Answer::Sat(model) => {
                let shown = self.prover.illustrate(&query).unwrap_or(model);
                Err(refuse(format!("counterexample: {shown}")))
            }
            Answer::Unknown(why) => Err(refuse(format!("the prover gave up: {why}"))),
        }
    }

    /// A position in a hole.
    fn position(&mut self, e: &Expr, hole: &str, path: &mut Path) -> Result<Affine> {
        let p = self.integer(e, path)?;
        let text = self.code.body.print_expr(e);
        self.oblige(path, inside(&p), &format!("`{hole}!({text})` may be outside the range"))?;
        Ok(p)
    }

    /// The paths that reach the end of the block.
    fn block(&mut self, block: &Block, path: Path) -> Result<Vec<Path>> {
        let mut paths = vec![path];
        for stmt in block {
            let mut next = Vec::new();
            for path in paths {
                next.extend(self.stmt(stmt, path)?);
            }
            paths = next;
        }
        Ok(paths)
    }

    /// Paths that left by `exit` since there were `before` of them.
    fn left_by(&mut self, exit: Exit, before: usize) -> Vec<Path> {
        let (ours, others): (Vec<_>, Vec<_>) =
            self.exits.drain(before..).partition(|(e, _)| *e == exit);
        self.exits.extend(others);
        ours.into_iter().map(|(_, path)| path).collect()
    }

    fn assign(&mut self, v: VarId, value: &Expr, path: &mut Path) -> Result<()> {
        match self.code.body.var(v).ty {
            Type::Bool => {
                let value = self.condition(value, path)?;
                path.conditions.insert(v, value);
            }
            Type::Unsigned | Type::Signed => {
                let value = self.integer(value, path)?;
                path.integers.insert(v, value);
            }
            _ => {
                let mut parts = Vec::new();
                value.parts(&mut |part| parts.push(part.clone()));
                for part in parts {
                    self.integer(&part, path)?;
                }
            }
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, mut path: Path) -> Result<Vec<Path>> {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let { var, value, .. } => self.assign(*var, value, &mut path)?,
            Stmt::Assign { var, op: Assign::Set, value } => self.assign(*var, value, &mut path)?,
            Stmt::Assign { var, op: Assign::Add, value } => {
                self.assign(*var, &Expr::var(*var).add(value.clone()), &mut path)?;
            }
            Stmt::If { condition, then, otherwise } => {
                let condition = self.condition(condition, &mut path)?;
                let mut other = path.clone();
                path.facts.push(condition.clone());
                other.facts.push(condition.not());
                let mut out = self.block(then, path)?;
                out.extend(self.block(otherwise, other)?);
                return Ok(out);
            }
            Stmt::While { condition, invariants, body } => {
                return self.repeat(condition, invariants, body, path);
            }
            Stmt::For { var, lo, hi, body } => {
                let (lo, hi) = (self.integer(lo, &mut path)?, self.integer(hi, &mut path)?);
                self.forget_assigned(body, &mut path);
                let mut inner = path.clone();
                self.unknown(*var, &mut inner);
                let v = inner.integers[var].clone();
                inner.facts.push(Formula::le(lo, v.clone()));
                inner.facts.push(Formula::lt(v, hi));
                return self.turns(body, inner, path);
            }
            Stmt::Labelled { label, body } => {
                let before = self.exits.len();
                let mut out = self.block(body, path)?;
                out.extend(self.left_by(Exit::Label(*label), before));
                return Ok(out);
            }
            Stmt::Break(label) => {
                self.exits.push((label.map_or(Exit::Loop, Exit::Label), path));
                return Ok(Vec::new());
            }
            Stmt::Scope(body) | Stmt::Given { body, .. } => return self.block(body, path),
            Stmt::Insert { key, position, .. } => {
                if *key != Expr::Hole(Hole::StoredKey(Box::new(position.clone()))) {
                    return Err(refused(
                        self.code,
                        self.part,
                        format!(
                            "template `{}`: a position is entered under another key than its own",
                            self.template.name
                        ),
                    )
                    .help("write `table.insert(key!(p), p)`"));
                }
                self.position(position, "key", &mut path)?;
            }
            Stmt::Matches { key, var, all, body, .. } => {
                if *key != Expr::Hole(Hole::Query) {
                    return Err(refused(
                        self.code,
                        self.part,
                        format!(
                            "template `{}`: a table is searched for another key than the query's",
                            self.template.name
                        ),
                    )
                    .help("write `table.first(query!())` or `table.matches(query!())`"));
                }
                if *all {
                    self.forget_assigned(body, &mut path);
                }
                let mut inner = path.clone();
                self.unknown(*var, &mut inner);
                let p = inner.integers[var].clone();
                // The contract of tables: what comes out was entered, in the range of this state,
                // under the key that is asked for.
                inner.facts.push(inside(&p));
                if self.template.key_implies_match() {
                    inner.facts.push(predicate("matches", vec![p]));
                }
                return self.turns(body, inner, path);
            }
            Stmt::Hole(Hole::Found(e)) => {
                let p = self.position(e, "found", &mut path)?;
                let text = self.code.body.print_expr(e);
                self.oblige(
                    &path,
                    predicate("matches", vec![p]),
                    &format!("`found!({text})` may be reached where `{text}` does not match"),
                )?;
            }
            Stmt::Hole(Hole::Missed) => {}
            Stmt::Hole(Hole::Leave) => {
                self.invariants(&path, "does not hold where the loop is left")?;
                return Ok(Vec::new());
            }
            Stmt::Hole(_)
            | Stmt::Store { .. }
            | Stmt::Push { .. }
            | Stmt::Prefetch { .. }
            | Stmt::InMemory(_)
            | Stmt::Combine(_)
            | Stmt::Drain(_)
            | Stmt::Allocate { .. }
            | Stmt::Parallel(_) => {
                return Err(refused(
                    self.code,
                    self.part,
                    format!(
                        "template `{}`: a statement that templates may not have here",
                        self.template.name
                    ),
                )
                .help("invariants stand first in a `while`, or last in `setup`"));
            }
        }
        Ok(vec![path])
    }

    /// The paths behind a loop of which `inner` is a turn and `path` what is known anyway.
    fn turns(&mut self, body: &Block, inner: Path, path: Path) -> Result<Vec<Path>> {
        let before = self.exits.len();
        self.block(body, inner)?;
        let mut out = vec![path];
        out.extend(self.left_by(Exit::Loop, before));
        Ok(out)
    }

    fn repeat(
        &mut self,
        condition: &Expr,
        invariants: &[Expr],
        body: &Block,
        mut path: Path,
    ) -> Result<Vec<Path>> {
        let code = self.code;
        for i in invariants {
            let claim = self.condition(i, &mut path)?;
            let text = code.body.print_expr(i);
            self.oblige(&path, claim, &format!("the invariant `{text}` does not hold at first"))?;
        }
        self.forget_assigned(body, &mut path);
        for i in invariants {
            let fact = self.condition(i, &mut path)?;
            path.facts.push(fact);
        }
        let before = self.exits.len();
        let mut inner = path.clone();
        let stays = self.condition(condition, &mut inner)?;
        inner.facts.push(stays.clone());
        for mut end in self.block(body, inner)? {
            for i in invariants {
                let claim = self.condition(i, &mut end)?;
                let text = code.body.print_expr(i);
                self.oblige(
                    &end,
                    claim,
                    &format!("the invariant `{text}` is not kept by a turn of the loop"),
                )?;
            }
        }
        path.facts.push(stays.not());
        let mut out = vec![path];
        out.extend(self.left_by(Exit::Loop, before));
        Ok(out)
    }

    fn integer(&mut self, e: &Expr, path: &mut Path) -> Result<Affine> {
        Ok(match e {
            Expr::Int { value, .. } => Affine::constant(*value),
            Expr::Var(v) => match path.integers.get(v) {
                Some(value) => value.clone(),
                None => self.symbol("unknown"),
            },
            Expr::Hole(Hole::Lo) => lo(),
            Expr::Hole(Hole::Hi) => hi(),
            Expr::Hole(Hole::Position) => {
                // The exactness of the scan is the proof.
                let p = self.symbol("position");
                path.facts.push(inside(&p));
                path.facts.push(predicate("matches", vec![p.clone()]));
                p
            }
            Expr::Hole(Hole::StoredPart(p)) => {
                let p = self.position(p, "part", path)?;
                Affine::call("part", vec![p])
            }
            Expr::Convert { value, .. } => self.integer(value, path)?,
            Expr::FromBool(c) => {
                let c = self.condition(c, path)?;
                let r = self.symbol("bit");
                path.facts.push(c.clone().implies(Formula::eq(r.clone(), Affine::constant(1))));
                path.facts.push(c.not().implies(Formula::eq(r.clone(), Affine::zero())));
                r
            }
            Expr::Choose { condition, then, otherwise } => {
                let c = self.condition(condition, path)?;
                let (a, b) = (self.integer(then, path)?, self.integer(otherwise, path)?);
                let r = self.symbol("choice");
                path.facts.push(c.clone().implies(Formula::eq(r.clone(), a)));
                path.facts.push(c.not().implies(Formula::eq(r.clone(), b)));
                r
            }
            Expr::HomeSlot { slots, .. } => {
                self.integer(slots, path)?;
                let r = self.symbol("home");
                path.facts.push(Formula::le(Affine::zero(), r.clone()));
                r
            }
            Expr::Binary { op, left, right } => {
                let (a, b) = (self.integer(left, path)?, self.integer(right, path)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => {
                        if self.code.body.type_of(left) == Ok(Type::Unsigned) {
                            let text = self.code.body.print_expr(e);
                            let claim = Formula::le(b.clone(), a.clone());
                            self.oblige(path, claim, &format!("`{text}` may be negative"))?;
                        }
                        a - b
                    }
                    BinaryOp::Mul if b.as_constant().is_some() => a * b.offset(),
                    BinaryOp::Mul if a.as_constant().is_some() => b * a.offset(),
                    BinaryOp::Div if b.as_constant().is_some_and(|k| k > 0) => {
                        a.floor_div(b.offset())
                    }
                    BinaryOp::Rem if b.as_constant().is_some_and(|k| k > 0) => a.modulo(b.offset()),
                    BinaryOp::SaturatingSub => {
                        let r = self.symbol("difference");
                        let full = a - b;
                        path.facts.push(Formula::le(Affine::zero(), r.clone()));
                        path.facts.push(Formula::le(full.clone(), r.clone()));
                        path.facts.push(Formula::or([
                            Formula::eq(r.clone(), full),
                            Formula::eq(r.clone(), Affine::zero()),
                        ]));
                        r
                    }
                    BinaryOp::Min | BinaryOp::Max => {
                        let r = self.symbol("extreme");
                        for x in [&a, &b] {
                            path.facts.push(match op {
                                BinaryOp::Min => Formula::le(r.clone(), x.clone()),
                                _ => Formula::le(x.clone(), r.clone()),
                            });
                        }
                        path.facts.push(Formula::or([
                            Formula::eq(r.clone(), a),
                            Formula::eq(r.clone(), b),
                        ]));
                        r
                    }
                    _ => self.symbol("unknown"),
                }
            }
            other => {
                // Nothing is known of it, but its parts have obligations.
                let mut parts = Vec::new();
                other.parts(&mut |part| parts.push(part.clone()));
                for part in parts {
                    self.integer(&part, path)?;
                }
                self.symbol("unknown")
            }
        })
    }

    fn condition(&mut self, e: &Expr, path: &mut Path) -> Result<Formula> {
        let at = |name: &str, p: Affine| predicate(name, vec![p]);
        Ok(match e {
            Expr::Bool(value) => Formula::truth(*value),
            Expr::Var(v) => match path.conditions.get(v) {
                Some(value) => value.clone(),
                None => Formula::le(Affine::constant(1), self.symbol("unknown")),
            },
            Expr::Not(inner) => self.condition(inner, path)?.not(),
            Expr::Hole(Hole::Matches(p)) => at("matches", self.position(p, "matches", path)?),
            Expr::Hole(Hole::Continues(p)) => at("continues", self.position(p, "continues", path)?),
            Expr::Hole(_) => Formula::le(Affine::constant(1), self.symbol("unknown")),
            Expr::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let left = self.condition(left, path)?;
                let before = path.facts.len();
                let and = *op == BinaryOp::And;
                path.facts.push(if and { left.clone() } else { left.clone().not() });
                let right = self.condition(right, path)?;
                // What evaluating the right side says holds only where it is evaluated, but it
                // speaks of new symbols alone.
                path.facts.remove(before);
                if and { Formula::and([left, right]) } else { Formula::or([left, right]) }
            }
            Expr::Binary { op: BinaryOp::BitOr, left, right } => {
                Formula::or([self.condition(left, path)?, self.condition(right, path)?])
            }
            Expr::Binary { op, left, right } => {
                let (a, b) = (self.integer(left, path)?, self.integer(right, path)?);
                match op {
                    BinaryOp::Eq => Formula::eq(a, b),
                    BinaryOp::Ne => Formula::ne(a, b),
                    BinaryOp::Lt => Formula::lt(a, b),
                    BinaryOp::Le => Formula::le(a, b),
                    BinaryOp::Gt => Formula::lt(b, a),
                    BinaryOp::Ge => Formula::le(b, a),
                    _ => Formula::le(Affine::constant(1), self.symbol("unknown")),
                }
            }
            _ => Formula::le(Affine::constant(1), self.symbol("unknown")),
        })
    }
}
