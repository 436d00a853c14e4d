//! Elements of a result that are written once are set, and a result of which all are needs no beginning.
//!
//! Before → after, for the sums of rows:
//!
//! ```text
//! val_y.fill(0.0);
//! for i in 0..I {                        for i in 0..I {
//!     …                              →       …
//!     val_y[i] += sum;                       val_y[i] = sum;
//! }                                      }
//! ```
//! isl decides both, of the loops and conditions as they are printed: no two iterations write one element, and each
//! element has an iteration. Sizes at which some have none are told to whoever calls the body
//! ([`Beginning::Where`]). Where elements are looked up in index arrays, Z3 proves first which loops they decide
//! (`decided`); such a result does begin, but is set.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::decided::{Decided, Level};
use super::ir::{
    Array, ArrayId, Assign, Beginning, BinaryOp, Block, Body, Expr, Load, Origin, Stmt, Type,
    VarId, Variable,
};
use super::meaning::Meaning;
use super::parts::Writes;
use super::path::Path;
use super::visit::{Part, left_for, visit};
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};
use crate::isl::{Frame, Set};
use crate::operators::Value;

/// With more stores than that, nothing is asked.
const MOST_STORES: usize = 15;

/// Of how many disjuncts the sizes may be at which elements are left out.
const MOST_CASES: usize = 4;

/// A statement that writes elements of the result.
struct Writing {
    /// What is bound around it.
    bound: Vec<Name>,
    /// When it is run, as far as that is known.
    when: Vec<Formula>,
    /// That is all there is to it.
    exact: bool,
    /// Of what is bound, and of sizes. Instead of those that decide loops, the variables of these.
    subscripts: Vec<Affine>,
    decided: Option<Decided>,
    /// What it writes depends on what was there.
    updates: bool,
}

impl Body {
    /// Sets what is written once of the result that an array holds, whose elements begin with `begin`, and notes in
    /// [`Body::beginnings`] whether they still have to.
    pub fn write_once(&mut self, result: &Name, begin: Value, path: &mut Path) {
        let is_it = |a: &Array| a.origin == Origin::Output && a.name == *result;
        let Some((array, _)) = self.arrays().find(|(_, a)| is_it(a)) else { return };
        let Some(writings) = self.writings(array) else { return };
        let updates = writings.iter().any(|w| w.updates);
        let decided = writings.first().and_then(|w| w.decided.as_ref());
        // What decides other loops is not to be compared.
        let comparable = writings.iter().all(|w| w.decided.as_ref() == decided);
        // Elements that no index array names are left: nothing is to be found out but whether to set the others.
        if !comparable || decided.is_some_and(|d| !updates || !d.is_proved(path)) {
            return;
        }
        let decided = decided.is_some();
        let Some(images) = images(&self.size_frame(), &writings) else { return };
        let once = || {
            let apart = |k: usize| images[..k].iter().all(|other| images[k].0.disjoint(&other.0));
            (0..images.len()).all(|k| images[k].1 && apart(k))
        };
        if updates {
            if !once() {
                return;
            }
            self.change(|_, block| {
                set_instead(block, array, begin);
                true
            });
        }
        if decided {
            return;
        }
        let exact =
            writings.iter().zip(&images).filter(|(w, _)| w.exact).map(|(_, (image, _))| image);
        let beginning = self.left_out(array, exact).unwrap_or_default();
        self.beginnings.insert(array, beginning);
    }

    fn size_frame(&self) -> Frame {
        Frame::of_vars(self.sizes.iter().map(|v| self.var(*v).name.clone()), Vec::<Name>::new())
    }

    /// Every statement that writes the array. Nothing if it is read, or written in ways that are not counted.
    fn writings(&self, array: ArrayId) -> Option<Vec<Writing>> {
        let mut walk = Walk {
            body: self,
            array,
            bound: Vec::new(),
            levels: Vec::new(),
            defined: FxHashMap::default(),
            when: Vec::new(),
            exact: true,
            chunk: None,
            found: Vec::new(),
        };
        walk.block(&self.block)?;
        (walk.found.len() <= MOST_STORES).then_some(walk.found)
    }

    /// For which sizes elements are in none of the images.
    fn left_out<'s>(
        &self,
        array: ArrayId,
        images: impl Iterator<Item = &'s Set>,
    ) -> Option<Beginning> {
        let meaning = Meaning { body: self, name: &|v| self.var(v).name.clone() };
        let shape = &self.arr(array).shape;
        let extents: Option<Vec<Affine>> = shape.iter().map(|e| meaning.affine(e)).collect();
        let dims = subscripts(shape.len());
        let natural = |a: Affine| Constraint::le(Affine::zero(), a);
        let known: Vec<Constraint> =
            self.sizes.iter().map(|v| natural(Affine::var(self.var(*v).name.clone()))).collect();
        let mut inside = known.clone();
        for (dim, extent) in dims.iter().zip(extents?) {
            inside.push(natural(Affine::var(dim.clone())));
            inside.push(Constraint::lt(Affine::var(dim.clone()), extent));
        }
        let mut frame = self.size_frame();
        let sizes = Rc::new(frame.clone());
        frame.dims = dims.into_iter().map(Atom::Var).collect();
        let whole = Set::new(&Rc::new(frame), &inside).ok()?;
        let left = images.fold(whole, |left, image| left.subtract(image)).keep_first_dims(0);
        let known = Set::new(&sizes, &known).ok()?;
        if left.is_empty() {
            return Some(Beginning::Never);
        }
        let cases = left.coalesce().gist(&known).constraints();
        let asked: Option<Vec<Expr>> = cases
            .iter()
            .map(|case| {
                let all: Option<Vec<Expr>> = case.iter().map(|c| self.comparison(c)).collect();
                Some(Expr::and(all?))
            })
            .collect();
        match Expr::or(asked.filter(|cases| cases.len() <= MOST_CASES)?) {
            Expr::Bool(_) => None,
            condition => Some(Beginning::Where(condition)),
        }
    }

    /// A comparison of a size with another, or with a number, which no sizes make overflow.
    fn comparison(&self, c: &Constraint) -> Option<Expr> {
        let mut sides = [Vec::new(), Vec::new()];
        for (atom, factor) in c.affine.terms() {
            let Atom::Var(name) = atom else { return None };
            sides[usize::from(*factor < 0)].push(Expr::Var(self.variable_named(name)?));
            if factor.abs() != 1 {
                return None;
            }
        }
        let offset = c.affine.offset();
        if i32::try_from(offset).is_err() || sides.iter().any(|side| side.len() > 1) {
            return None;
        }
        let [left, right] = sides.map(|mut side| side.pop().unwrap_or(Expr::int(0)));
        let (left, right) = match offset >= 0 {
            true => (left.add(Expr::int(offset)), right),
            false => (left, right.add(Expr::int(-offset))),
        };
        let op = match c.relop {
            Relop::Eq => BinaryOp::Eq,
            Relop::Ne => BinaryOp::Ne,
            Relop::Ge => BinaryOp::Ge,
        };
        Some(Expr::binary(op, left, right))
    }
}

fn subscripts(count: usize) -> Vec<Name> {
    // No name of a variable has a space.
    (0..count).map(|k| Name::from(format!("subscript {k}"))).collect()
}

/// Which elements each statement writes at most, and whether each of them in one iteration at most.
fn images(sizes: &Frame, writings: &[Writing]) -> Option<Vec<(Set, bool)>> {
    let image = |w: &Writing| {
        let dims = subscripts(w.subscripts.len());
        let mut frame = sizes.clone();
        frame.dims = w.bound.iter().chain(&dims).cloned().map(Atom::Var).collect();
        let frame = Rc::new(frame);
        let at = dims.iter().zip(&w.subscripts);
        let at = at.map(|(dim, e)| Formula::eq(Affine::var(dim.clone()), e.clone()));
        let points = Formula::and(w.when.iter().cloned().chain(at));
        let points = Set::from_dnf(&frame, &points.to_dnf()).ok()?;
        let once = points.is_injective(w.bound.len());
        Some((points.project_out(0, w.bound.len()), once))
    };
    writings.iter().map(image).collect()
}

/// What updates elements of the array that are as in the beginning sets them.
fn set_instead(block: &mut Block, array: ArrayId, begin: Value) {
    for stmt in block {
        if let Stmt::Store { place, op, value } = stmt
            && place.array == array
        {
            let zero = begin.same(Value::zero(begin.value_type()));
            match op {
                Assign::Add if zero => {}
                Assign::Add => {
                    let added = std::mem::replace(value, Expr::Bool(false));
                    *value = Expr::binary(BinaryOp::Add, Expr::Number(begin), added);
                }
                Assign::Set => value.visit_mut(&mut |e| {
                    let begins = |e: &Expr| matches!(e, Expr::Load(load) if load.array == array);
                    if let Expr::Binary { op: BinaryOp::Add, left, right } = e
                        && zero
                        && begins(left)
                    {
                        *e = std::mem::replace(right, Expr::Bool(false));
                    }
                    if begins(e) {
                        *e = Expr::Number(begin);
                    }
                }),
            }
            *op = Assign::Set;
        }
        stmt.parts_mut(&mut |_| {}, &mut |inner| set_instead(inner, array, begin));
    }
}

struct Walk<'b> {
    body: &'b Body,
    array: ArrayId,
    bound: Vec<Name>,
    /// The loops around, outermost first.
    levels: Vec<Level>,
    /// What variables are that were bound to a linear form, in which index arrays may be read.
    defined: FxHashMap<Name, Affine>,
    when: Vec<Formula>,
    exact: bool,
    /// The ends of a chunk of a loop on several threads, and those of the loop.
    chunk: Option<(VarId, VarId, &'b Expr, &'b Expr)>,
    found: Vec<Writing>,
}

impl<'b> Walk<'b> {
    fn block(&mut self, block: &'b Block) -> Option<()> {
        let (bound, when, exact) = (self.bound.len(), self.when.len(), self.exact);
        self.exact &= !may_be_left(block);
        for stmt in block {
            self.stmt(stmt)?;
        }
        self.bound.truncate(bound);
        self.when.truncate(when);
        self.exact = exact;
        Some(())
    }

    fn stmt(&mut self, stmt: &'b Stmt) -> Option<()> {
        match stmt {
            Stmt::Store { place, op, value } if place.array == self.array => {
                self.store(place, *op, value)
            }
            Stmt::Let { var, mutable: false, value } => {
                self.unread(value)?;
                let name = self.body.var(*var).name.clone();
                if let Some(value) = self.in_loops(value) {
                    self.defined.insert(name.clone(), value);
                }
                if let Some(value) = self.affine(value) {
                    self.when.push(Formula::eq(Affine::var(name.clone()), value));
                    self.bound.push(name);
                }
                Some(())
            }
            Stmt::If { condition, then, otherwise } => {
                self.unread(condition)?;
                self.under(self.condition(condition, true), then)?;
                self.under(self.condition(condition, false), otherwise)
            }
            Stmt::For { var, lo, hi, body } => {
                self.unread(lo)?;
                self.unread(hi)?;
                self.iterations(*var, lo, hi, body)
            }
            Stmt::Labelled { body, .. } | Stmt::Scope(body) | Stmt::Given { body, .. } => {
                self.block(body)
            }
            Stmt::Parallel(p) if !matches!(p.writes, Writes::Copies(a) if a == self.array) => {
                self.block(&p.setup)?;
                let outside = self.chunk.replace((p.start, p.end, &p.lo, &p.hi));
                self.block(&p.body)?;
                self.chunk = outside;
                Some(())
            }
            // Whatever else writes the array does so nobody knows how often.
            _ => {
                let mut untouched = true;
                visit(std::slice::from_ref(stmt), &mut |part| match part {
                    Part::Stmt(Stmt::Store { place, .. }) => untouched &= place.array != self.array,
                    Part::Stmt(Stmt::Parallel(p)) => {
                        untouched &= !p.writes.arrays().contains(&self.array);
                    }
                    Part::Expr(Expr::Load(load)) => untouched &= load.array != self.array,
                    _ => {}
                });
                untouched.then_some(())
            }
        }
    }

    fn store(&mut self, place: &'b Load, op: Assign, value: &'b Expr) -> Option<()> {
        let mut updates = op == Assign::Add;
        let mut others = false;
        value.visit(&mut |e| {
            if let Expr::Load(load) = e
                && load.array == self.array
            {
                updates = true;
                others |= load.subscripts != place.subscripts;
            }
        });
        let shape = &self.body.arr(self.array).shape;
        if others || place.subscripts.len() != shape.len().max(1) {
            return None;
        }
        // A scalar is the first element of its array.
        let subscripts = || place.subscripts.iter().filter(|_| !shape.is_empty());
        let known: Option<Vec<Affine>> = subscripts().map(|s| self.affine(s)).collect();
        let (subscripts, decided) = match known {
            Some(known) => (known, None),
            None => {
                let read: Option<Vec<Affine>> = subscripts().map(|s| self.in_loops(s)).collect();
                let (decided, known) = Decided::new(&self.levels, &read?)?;
                let others = subscripts().zip(known).filter(|(_, known)| !known);
                let others: Option<Vec<Affine>> = others.map(|(s, _)| self.affine(s)).collect();
                let variables = decided.variables().cloned().map(Affine::var);
                (variables.chain(others?).collect(), Some(decided))
            }
        };
        let (bound, when) = (self.bound.clone(), self.when.clone());
        // Which elements that are is not said any more.
        let exact = self.exact && decided.is_none();
        self.found.push(Writing { bound, when, exact, subscripts, decided, updates });
        Some(())
    }

    /// The linear form of an integer, of sizes and variables of loops, in which index arrays may be read.
    fn in_loops(&self, e: &Expr) -> Option<Affine> {
        let e = self.linear(e)?.substitute(&|n| self.defined.get(n).cloned());
        self.is_of(&e, |n| self.is_loop(n)).then_some(e)
    }

    /// The linear form of an integer.
    fn linear(&self, e: &Expr) -> Option<Affine> {
        let name = |v: VarId| self.body.var(v).name.clone();
        Meaning { body: self.body, name: &name }.affine(e)
    }

    /// Whether all that a form mentions is `bound`, or a size.
    fn is_of(&self, e: &Affine, bound: impl Fn(&Name) -> bool) -> bool {
        let mut known = true;
        e.visit_vars(&mut |n| known &= bound(n) || self.is_size(n));
        known
    }

    fn is_loop(&self, n: &Name) -> bool {
        self.levels.iter().any(|level| level.var == *n)
    }

    fn is_size(&self, n: &Name) -> bool {
        self.body.sizes.iter().any(|v| self.body.var(*v).name == *n)
    }

    /// What is known of the iterations of a loop, in terms of loops and sizes.
    fn level(&self, var: VarId, lo: &Expr, hi: &Expr) -> Level {
        let name = |v: VarId| self.body.var(v).name.clone();
        let Variable { name: own, ty, .. } = self.body.var(var);
        let v = Affine::var(own.clone());
        let range = Meaning { body: self.body, name: &name }.range(&v, lo, hi);
        let natural = Constraint::le(Affine::zero(), v);
        let all = range.into_iter().chain((*ty == Type::Unsigned).then_some(natural));
        let defined = |n: &Name| self.defined.get(n).cloned();
        let all = all.map(|fact| fact.substitute(&defined));
        let known = all.filter(|fact| self.is_of(&fact.affine, |n| n == own || self.is_loop(n)));
        Level { var: own.clone(), facts: known.map(Formula::Constraint).collect() }
    }

    /// The block, where the condition holds, if that is known.
    fn under(&mut self, condition: Option<Formula>, block: &'b Block) -> Option<()> {
        let exact = self.exact;
        let depth = self.when.len();
        self.exact &= condition.is_some();
        self.when.extend(condition);
        self.block(block)?;
        self.when.truncate(depth);
        self.exact = exact;
        Some(())
    }

    fn iterations(
        &mut self,
        var: VarId,
        lo: &'b Expr,
        hi: &'b Expr,
        body: &'b Block,
    ) -> Option<()> {
        // All chunks are the loop.
        let whole = self
            .chunk
            .filter(|(start, end, ..)| *lo == Expr::Var(*start) && *hi == Expr::Var(*end));
        let (lo, hi) = whole.map_or((lo, hi), |(_, _, lo, hi)| (lo, hi));
        let Variable { name, ty, .. } = self.body.var(var);
        let v = Affine::var(name.clone());
        let natural = match ty {
            Type::Unsigned => Formula::le(Affine::zero(), v.clone()),
            _ => Formula::truth(true),
        };
        let range = || Some(Formula::and([natural, self.from(&v, lo)?, self.below(&v, hi)?]));
        let range = range();
        let level = self.level(var, lo, hi);
        self.bound.push(name.clone());
        self.levels.push(level);
        self.under(range, body)?;
        self.levels.pop();
        self.bound.pop();
        Some(())
    }

    /// An expression does not read the array.
    fn unread(&self, e: &Expr) -> Option<()> {
        let mut read = false;
        e.visit(&mut |e| read |= matches!(e, Expr::Load(load) if load.array == self.array));
        (!read).then_some(())
    }

    /// The linear form of an integer, of sizes and what is bound.
    fn affine(&self, e: &Expr) -> Option<Affine> {
        let known = |e: &Affine| !e.has_calls() && self.is_of(e, |n| self.bound.contains(n));
        self.linear(e).filter(known)
    }

    /// When a condition has the value `truth`.
    fn condition(&self, e: &Expr, truth: bool) -> Option<Formula> {
        match e {
            Expr::Bool(value) => Some(Formula::truth(*value == truth)),
            Expr::Not(inner) => self.condition(inner, !truth),
            Expr::Given { value, .. } => self.condition(value, truth),
            Expr::Binary { op, left, right } => {
                use BinaryOp::{And, BitOr, Eq, Ge, Gt, Le, Lt, Ne, Or};
                if let And | Or | BitOr = op {
                    let both = [self.condition(left, truth)?, self.condition(right, truth)?];
                    return Some(match (*op == And) == truth {
                        true => Formula::and(both),
                        false => Formula::or(both),
                    });
                }
                let (a, b) = (self.affine(left)?, self.affine(right)?);
                let holds = match op {
                    Eq => Formula::eq(a, b),
                    Ne => Formula::ne(a, b),
                    Lt => Formula::lt(a, b),
                    Le => Formula::le(a, b),
                    Gt => Formula::lt(b, a),
                    Ge => Formula::le(b, a),
                    _ => return None,
                };
                Some(if truth { holds } else { holds.not() })
            }
            _ => None,
        }
    }

    /// `v` is at least `e`.
    fn from(&self, v: &Affine, e: &Expr) -> Option<Formula> {
        match e {
            Expr::Binary { op: op @ (BinaryOp::Max | BinaryOp::Min), left, right } => {
                let both = [self.from(v, left)?, self.from(v, right)?];
                Some(if *op == BinaryOp::Max { Formula::and(both) } else { Formula::or(both) })
            }
            Expr::Binary { op: BinaryOp::SaturatingSub, left, right } => {
                let difference = self.affine(left)? - self.affine(right)?;
                Some(Formula::and([
                    Formula::le(difference, v.clone()),
                    Formula::le(Affine::zero(), v.clone()),
                ]))
            }
            Expr::Convert { value, .. } | Expr::Given { value, .. } => self.from(v, value),
            _ => Some(Formula::le(self.affine(e)?, v.clone())),
        }
    }

    /// `v` is below `e`.
    fn below(&self, v: &Affine, e: &Expr) -> Option<Formula> {
        match e {
            Expr::Binary { op: op @ (BinaryOp::Max | BinaryOp::Min), left, right } => {
                let both = [self.below(v, left)?, self.below(v, right)?];
                Some(if *op == BinaryOp::Min { Formula::and(both) } else { Formula::or(both) })
            }
            Expr::Binary { op: BinaryOp::SaturatingSub, left, right } => {
                let difference = self.affine(left)? - self.affine(right)?;
                Some(Formula::or([
                    Formula::lt(v.clone(), difference),
                    Formula::lt(v.clone(), Affine::zero()),
                ]))
            }
            Expr::Convert { value, .. } | Expr::Given { value, .. } => self.below(v, value),
            _ => Some(Formula::lt(v.clone(), self.affine(e)?)),
        }
    }
}

/// Whether something in the block goes on behind it.
fn may_be_left(block: &Block) -> bool {
    let mut targets = Vec::new();
    left_for(block, &mut targets);
    !targets.is_empty()
}
