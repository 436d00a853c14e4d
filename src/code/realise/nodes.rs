//! The nodes of the tree, from the outside in.

use super::super::ir::{
    Assign, BinaryOp, Block, Expr, Load, Parallel, Stmt, Sum, Type, VarId, Writes,
};
use super::super::meaning::Meaning;
use super::{Realiser, guarded};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Atom, Constraint, Formula, Name};
use crate::loops::{self, Among, Loop, Node, Place, Skip, Threads, Update, begun, updates};
use crate::operators::Region;
use crate::scan::Range;
use crate::tensor::ValueType;

/// A lookup has its own name.
fn itself(name: &Name) -> Option<&Name> {
    Some(name)
}

impl Realiser<'_, '_> {
    /// The code of a block; what it binds and establishes ends with it.
    pub(super) fn block(&mut self, nodes: &[Node]) -> Result<Block> {
        let fresh = std::mem::take(&mut self.fresh);
        let out = self.apart(|this| {
            let mut out = Vec::new();
            for node in nodes {
                this.node(node, &mut out)?;
            }
            Ok(out)
        });
        self.fresh = fresh;
        out
    }

    /// What `f` binds and establishes ends with it.
    pub(super) fn apart<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let env = self.env.clone();
        let (depth, loaded, hoisted) = (self.path.depth(), self.loaded.len(), self.hoisted.len());
        let elements = self.elements.len();
        let result = f(self);
        self.elements.truncate(elements);
        self.path.leave_to(depth);
        self.loaded.truncate(loaded);
        self.hoisted.truncate(hoisted);
        self.env = env;
        result
    }

    pub(super) fn node(&mut self, node: &Node, out: &mut Block) -> Result<()> {
        match node {
            Node::Let { var, value } => {
                let (v, value) = self.bind_let(var, value);
                out.push(Stmt::Let { var: v, mutable: false, value });
            }
            Node::For(l) => match l.parallel {
                None => {
                    let inner = self.for_loop(l, None)?;
                    out.extend(inner);
                }
                Some(threads) => self.parallel(l, threads, out)?,
            },
            Node::Groups(g) => self.groups(g, out)?,
            Node::If { tests, restrictions, body } => {
                let here = self.here_all(tests);
                let mut conditions = match self.granted.contains(tests) {
                    true => Vec::new(),
                    false => self.tests(&here),
                };
                let restrictions: Vec<Formula> =
                    restrictions.iter().map(|r| self.here_formula(r)).collect();
                for r in &restrictions {
                    conditions.push(self.formula(r));
                }
                self.enter(&here);
                self.path.enter(&restrictions);
                let inner = self.block(body);
                self.path.leave();
                self.path.leave();
                out.extend(guarded(conditions, inner?));
            }
            Node::State(id) => {
                let state = self.set_up(*id)?;
                out.extend(state);
                self.fresh.push(*id);
            }
            Node::Search(s) => {
                let search = self.search(s)?;
                out.extend(search);
            }
            Node::Lookup(l) => self.lookup(l, out)?,
            Node::Take(take) => self.take(take, out),
            Node::Merge(m) => self.walk_at_once(m, out)?,
            Node::Step(s) => self.step(s, out)?,
            Node::Held { walks, body } => {
                let held = self.apart(|this| this.held(walks, body))?;
                out.extend(held);
            }
            Node::When { region, body } => {
                let condition = self.asked_for(region);
                if condition != Expr::Bool(false) {
                    let inner = self.block(body)?;
                    out.extend(guarded(vec![condition], inner));
                }
            }
            Node::Assemble(a) => self.assemble(a, out)?,
            Node::Begin(b) => self.begin(b, out),
            Node::Update(u) => self.update(u, None, out)?,
            Node::Piece(body) => {
                let inner = self.block(body)?;
                out.push(Stmt::Scope(inner));
            }
        }
        Ok(())
    }

    /// Whether lookups have found something.
    pub(super) fn asked_for(&mut self, region: &Region<Name>) -> Expr {
        match self.holds_anyway(region) {
            true => Expr::Bool(true),
            false => self.region(region, itself),
        }
    }

    /// A variable with one value, and what follows from that.
    pub(super) fn bind_let(&mut self, var: &Name, value: &Affine) -> (VarId, Expr) {
        let e = self.here(value);
        let value = self.value(&e);
        let ty = if self.is_signed(&value) { Type::Signed } else { Type::Unsigned };
        let v = self.bind(var, ty);
        if let Some(Atom::Call(call)) = e.as_atom() {
            self.loaded.push((call.clone(), v));
        }
        let name = self.body.var(v).name.clone();
        self.enter(&[Constraint::eq(Affine::var(name), e)]);
        (v, value)
    }

    /// The ends of a range.
    pub(super) fn range(&mut self, range: &Range, signed: bool) -> (Expr, Expr) {
        let lower: Vec<Affine> = range.lower.iter().map(|a| self.here(a)).collect();
        let upper: Vec<Affine> = range.upper.iter().map(|a| self.here(a)).collect();
        (self.limit(&lower, BinaryOp::Max, signed), self.limit(&upper, BinaryOp::Min, signed))
    }

    /// `lo <= v < hi`, and what else is known of the numbers of a range, if `v` is the variable of its loop.
    pub(super) fn range_facts(&self, range: &Range, v: VarId) -> Vec<Constraint> {
        let v = Affine::var(self.body.var(v).name.clone());
        let here = Range {
            lower: range.lower.iter().map(|a| self.here(a)).collect(),
            upper: range.upper.iter().map(|a| self.here(a)).collect(),
        };
        let mut facts = here.of(&v);
        let sought: Vec<Constraint> = self.facts_of(range).cloned().collect();
        facts.extend(self.here_all(&sought));
        facts
    }

    /// Positions and coordinates are natural numbers unless their bounds say otherwise.
    fn may_be_negative(&mut self, range: &Range) -> bool {
        let v = Affine::var("a number of the range");
        let here = Range {
            lower: range.lower.iter().map(|a| self.here(a)).collect(),
            upper: range.upper.iter().map(|a| self.here(a)).collect(),
        };
        self.enter(&here.of(&v));
        let natural = self.is_natural(&v);
        self.path.leave();
        !natural
    }

    fn parallel(&mut self, l: &Loop, threads: Threads, out: &mut Block) -> Result<()> {
        let shared = (&l.var, &l.range, threads);
        self.shared(shared, (&l.setup, &l.body), out, |this, chunk| this.for_loop(l, Some(chunk)))
    }

    /// What several threads do with chunks of a range.
    pub(super) fn shared(
        &mut self,
        (var, range, threads): (&Name, &Range, Threads),
        (setup, body): (&loops::Block, &loops::Block),
        out: &mut Block,
        chunk: impl FnOnce(&mut Self, (VarId, VarId)) -> Result<Block>,
    ) -> Result<()> {
        // Chunks are ranges of natural numbers.
        if self.may_be_negative(range) {
            return Err(Diagnostic::new(
                Code::Dependence,
                format!("`{var}` may be negative: its loop cannot be shared among threads"),
            )
            .help("run it on one thread, or choose another loop order"));
        }
        let (lo, hi) = self.range(range, false);
        let mut own = Vec::new();
        for node in setup {
            self.node(node, &mut own)?;
        }
        // A thread keeps its states from chunk to chunk.
        self.fresh.clear();
        let targets = updates(body);
        let Some(first) = targets.first() else { return Ok(()) };
        let output = self.array_of(&first.target.array);
        let ty = self.element_type(&first.target);
        if threads == Threads::Sums && self.keeps_order(ty) {
            return Err(Diagnostic::new(
                Code::Dependence,
                format!("threads that share `{var}` would sum privately"),
            )
            .note("with --strict-fp, the terms of a sum are added one after another")
            .help("run it on one thread, or choose a loop order with the output's indices first"));
        }
        let writes = match threads {
            Threads::Apart => Writes::Shared(output),
            Threads::Sums => Writes::Copies(output),
            Threads::Parts => {
                let Some(parts) = self.begin_parts(&mut own) else { return Ok(()) };
                Writes::Parts(parts)
            }
        };
        let start = self.body.variable("start", Type::Unsigned);
        let end = self.body.variable("end", Type::Unsigned);
        let body = chunk(self, (start, end))?;
        let parallel = Parallel { start, end, lo, hi, writes, setup: own, body };
        out.push(Stmt::Parallel(Box::new(parallel)));
        Ok(())
    }

    /// True if everything that the place depends on is bound.
    fn is_bound(&self, place: &Place) -> bool {
        let known = |n: &Name| {
            self.env.contains_key(n) || self.body.sizes.iter().any(|v| self.body.var(*v).name == *n)
        };
        !place.depends_on(&|n| !known(n))
    }

    /// Whether the element is there even if the loop around which it is touched turns out empty.
    pub(super) fn is_inside(&mut self, load: &Load) -> bool {
        let array = self.body.arr(load.array);
        let meaning = Meaning { body: &self.body, name: &|v| self.body.var(v).name.clone() };
        let pairs: Option<Vec<(Arith, Arith)>> = load
            .subscripts
            .iter()
            .zip(&array.shape)
            .map(|(s, extent)| Some((meaning.arith(s)?, meaning.arith(extent)?)))
            .collect();
        pairs.is_some_and(|pairs| pairs.iter().all(|(s, extent)| self.path.is_inside(s, extent)))
    }

    /// A loop with what is done once around it: elements that stay the same are loaded before it, an
    /// output element that stays the same is summed in a variable. `chunk` are its ends, within a
    /// parallel region.
    pub(super) fn for_loop(&mut self, l: &Loop, chunk: Option<(VarId, VarId)>) -> Result<Block> {
        let mut out = Vec::new();
        if let (None, Some(again)) = (chunk, self.repeated(l)) {
            self.apart(|this| this.repeat(l, &again, &mut out))?;
            return Ok(out);
        }
        if let (None, Some(joined)) = (chunk, self.joined_segments(l)) {
            return self.for_loop(&joined, None);
        }
        if let (None, Some(code)) = (chunk, self.window(l)?) {
            return Ok(code);
        }
        let inside = updates(&l.body);
        let hoisted = self.hoisted.len();
        self.load_before(&l.body, &mut out);
        let targets = self.summed(&l.body);
        if let ([update], true) = (inside.as_slice(), self.gathers_one_element())
            && update.is_sum()
            && let Some(code) = self.unrolled(l, &update.target, chunk)?
        {
            let (lo, hi) = self.range(&l.range, false);
            let condition = Expr::binary(BinaryOp::Lt, lo, hi);
            out.push(Stmt::If { condition, then: code, otherwise: Vec::new() });
            self.hoisted.truncate(hoisted);
            return Ok(out);
        }
        if let [update] = inside.as_slice()
            && (targets.as_slice() == [update.target.clone()]
                || self.single(&update.target).is_some()
                || self.sums_neighbours(l, update))
            && update.is_sum()
            && let Some(code) = self.unrolled(l, &update.target, chunk)?
        {
            out.extend(code);
            self.hoisted.truncate(hoisted);
            return Ok(out);
        }
        let before = self.begin_sums(&l.body, &targets, &mut out);
        let signed = self.may_be_negative(&l.range);
        let (lo, hi) = match chunk {
            Some((start, end)) => (Expr::Var(start), Expr::Var(end)),
            None => self.range(&l.range, signed),
        };
        let is_sought = self.facts_of(&l.range).next().is_some();
        let apart = match chunk.is_none() && !signed && !is_sought {
            true => self.last_apart(l, lo.clone(), hi.clone())?,
            false => None,
        };
        if let Some(apart) = apart {
            out.extend(apart);
            self.end_sums(&l.body, before, &mut out);
            self.hoisted.truncate(hoisted);
            return Ok(out);
        }
        let env = self.env.clone();
        let var = self.bind(&l.var, if signed { Type::Signed } else { Type::Unsigned });
        let facts = self.range_facts(&l.range, var);
        self.enter(&facts);
        self.within_loops += 1;
        let body = self.block(&l.body);
        self.within_loops -= 1;
        let mut body = body?;
        if let Some(skip) = &l.skip {
            let (mut guard, condition) = self.tile_guard(skip);
            guard.push(Stmt::If { condition, then: body, otherwise: Vec::new() });
            body = guard;
        }
        body.extend(self.early_exit(&l.body));
        self.path.leave();
        self.env = env;
        out.push(Stmt::For { var, lo, hi, body });
        self.end_sums(&l.body, before, &mut out);
        self.hoisted.truncate(hoisted);
        Ok(out)
    }

    /// Loads the elements that stay the same in all of a loop, of which `body` is the body.
    pub(super) fn load_before(&mut self, body: &loops::Block, out: &mut Block) {
        // What begins inside is not there before, and what is written inside may change.
        let mut changes: Vec<&Name> = begun(body).into_iter().map(|b| &b.array).collect();
        let updates = updates(body);
        changes.extend(updates.iter().map(|u| &u.target.array));
        for u in updates {
            for place in u.elements() {
                let known = self.hoisted.iter().any(|(p, _)| p == place);
                let known =
                    known || changes.contains(&&place.array) || self.single(place).is_some();
                if self.is_bound(place) && !known {
                    let load = self.place(place);
                    if !self.is_inside(&load) {
                        continue;
                    }
                    let value = Expr::Load(load);
                    let ty = self.element_type(place);
                    let var = self.body.variable(&place.array, Type::Value(ty));
                    out.push(Stmt::Let { var, mutable: false, value });
                    self.hoisted.push((place.clone(), var));
                }
            }
        }
    }

    /// The output elements that stay the same in all of a loop.
    pub(super) fn summed(&mut self, body: &loops::Block) -> Vec<Place> {
        let begun: Vec<&Name> = begun(body).into_iter().map(|b| &b.array).collect();
        let inside = updates(body);
        // Who reads an element in the loop reads what has been combined into it so far.
        let is_read = |array: &Name| inside.iter().any(|u| u.elements().any(|p| p.array == *array));
        let mut targets: Vec<Place> = Vec::new();
        for u in &inside {
            let new = !self.assembles(&u.target)
                && !targets.contains(&u.target)
                && !begun.contains(&&u.target.array)
                && !is_read(&u.target.array)
                && self.single(&u.target).is_none()
                && !self.sums.iter().any(|(p, _)| *p == u.target);
            if new && self.is_bound(&u.target) {
                let element = self.place(&u.target);
                if self.is_inside(&element) {
                    targets.push(u.target.clone());
                }
            }
        }
        // An element that has two names would be written twice, each time without what the other combined;
        // sums are added.
        targets.retain(|target| {
            let other = |u: &&Update| u.target.array == target.array && u.target != *target;
            self.adds(body, target) || !inside.iter().any(|u| other(&&**u))
        });
        targets
    }

    /// Whether all that a loop does with the array of an element is to add to it, in any order.
    fn adds(&self, body: &loops::Block, target: &Place) -> bool {
        let sums = |u: &&Update| u.target.array == target.array;
        !self.keeps_order(self.element_type(target))
            && updates(body).iter().filter(|u| sums(&&***u)).all(|u| u.is_sum())
    }

    /// Whether the order of the terms of a sum is kept.
    pub(super) fn keeps_order(&self, ty: ValueType) -> bool {
        self.loops.strict_fp && ty.is_float()
    }

    /// Variables for elements that a loop combines into. From the number that is given back on, they are
    /// its own.
    pub(super) fn begin_sums(
        &mut self,
        body: &loops::Block,
        targets: &[Place],
        out: &mut Block,
    ) -> usize {
        let before = self.sums.len();
        for target in targets {
            let ty = self.element_type(target);
            let adds = self.adds(body, target);
            // A sum is added to the element; what is combined otherwise begins with it.
            let value = match adds {
                true => Expr::zero(ty),
                false => Expr::Load(self.place(target)),
            };
            let name = if adds { "sum" } else { "combined" };
            let sum = self.body.variable(name, Type::Value(ty));
            out.push(Stmt::Let { var: sum, mutable: true, value });
            self.sums.push((target.clone(), sum));
        }
        before
    }

    /// Writes the elements of variables behind the loop.
    pub(super) fn end_sums(&mut self, body: &loops::Block, before: usize, out: &mut Block) {
        let sums: Vec<(Place, VarId)> = self.sums.drain(before..).collect();
        for (target, sum) in sums {
            out.push(match self.adds(body, &target) {
                true => self.store(&target, Expr::Var(sum)),
                false => {
                    let place = self.place(&target);
                    Stmt::Store { place, op: Assign::Set, value: Expr::Var(sum) }
                }
            });
        }
    }

    /// The condition under which a tile may hold a match.
    fn tile_guard(&mut self, skip: &Skip) -> (Block, Expr) {
        let (lo, hi) = self.range(&skip.range, false);
        let mut out = vec![
            Stmt::Comment(
                "The positions are ordered: the last one must not be skipped, the first one is"
                    .to_string(),
            ),
            Stmt::Comment("skipped or matches.".to_string()),
        ];
        let mut end = |this: &mut Self, value, suffix| {
            let var = this.body.variable(&format!("{}_{suffix}", skip.var), Type::Unsigned);
            out.push(Stmt::Let { var, mutable: false, value });
            var
        };
        let lo = end(self, lo, "lo");
        let hi = end(self, hi, "hi");
        let name = |this: &Self, v: VarId| Affine::var(this.body.var(v).name.clone());
        let last = name(self, hi) - Affine::constant(1);
        let last = self.tile_end(skip, &last, true);
        let first = name(self, lo);
        let first = self.tile_end(skip, &first, false);
        let some = Expr::binary(BinaryOp::Lt, Expr::Var(lo), Expr::Var(hi));
        (out, Expr::and([some, last, first]))
    }

    fn tile_end(&mut self, skip: &Skip, p: &Affine, last: bool) -> Expr {
        let marker = Name::from("the position");
        let place = |this: &Self, a: &Affine| {
            let moved = a.rename(&|n| (*n == skip.var).then(|| marker.clone()));
            this.here(&moved).substitute(&|n| (*n == marker).then(|| p.clone()))
        };
        let position = Affine::var(skip.var.clone());
        let facts: Vec<Constraint> =
            skip.range.of(&position).iter().map(|c| c.map(|a| place(self, a))).collect();
        let continues = skip.continues.map_affine(&|a| place(self, a));
        let conditions: Vec<Constraint> =
            skip.conditions.iter().map(|c| c.map(|a| place(self, a))).collect();
        self.enter(&facts);
        let continues = self.formula(&continues);
        let value = match last {
            true => continues.negated(),
            false => {
                let matches = self.tests(&conditions);
                Expr::or([continues, Expr::and(matches)])
            }
        };
        self.path.leave();
        Expr::Given { facts, value: Box::new(value) }
    }

    /// The innermost reduction over a plain range, as a sum whose order is free.
    fn unrolled(
        &mut self,
        l: &Loop,
        target: &Place,
        chunk: Option<(VarId, VarId)>,
    ) -> Result<Option<Block>> {
        if self.keeps_order(self.element_type(target)) {
            return Ok(None);
        }
        let Some((lets, update)) = self.plain(&l.body) else { return Ok(None) };
        // Sums of one type are unrolled: that of the result.
        if !self.body.is_of_result(self.element_type(target)) {
            return Ok(None);
        }
        if l.skip.is_some() || self.may_be_negative(&l.range) {
            return Ok(None);
        }
        if self.assembles(target) && self.chosen(&update.value).is_some() {
            return Ok(None);
        }
        let (lo, hi) = match chunk {
            Some((start, end)) => (Expr::Var(start), Expr::Var(end)),
            None => self.range(&l.range, false),
        };
        let (env, depth, loaded) = (self.env.clone(), self.path.depth(), self.loaded.len());
        let var = self.bind(&l.var, Type::Unsigned);
        let facts = self.range_facts(&l.range, var);
        self.enter(&facts);
        let lets: Vec<(VarId, Expr)> =
            lets.into_iter().map(|(name, value)| self.bind_let(&name, &value)).collect();
        let term = self.computed(&update.value)?;
        self.path.leave_to(depth);
        self.loaded.truncate(loaded);
        self.env = env;
        let ty = self.element_type(target);
        let sum = Expr::Sum(Box::new(Sum::new(var, (lo, hi), lets, term, ty)));
        let total = self.body.variable("sum", Type::Value(ty));
        let mut out = vec![Stmt::Let { var: total, mutable: false, value: sum }];
        match (self.assembles(target), self.single(target)) {
            (true, _) => out.extend(self.gather(target, Expr::Var(total))),
            (false, Some(var)) => {
                out.push(Stmt::Assign { var, op: Assign::Add, value: Expr::Var(total) });
            }
            (false, None) => {
                let sum = self.sums.iter().find(|(place, _)| place == target);
                out.push(match sum.map(|(_, var)| *var) {
                    Some(var) => Stmt::Assign { var, op: Assign::Add, value: Expr::Var(total) },
                    None => self.store(target, Expr::Var(total)),
                });
            }
        }
        Ok(Some(out))
    }

    /// Whether a loop is part of a sum, and adds neighbours: a run or a block, of which index arrays say where they begin
    /// and end, or a whole row, of which a size does. What is looked up for each is not in order, and rows of that are
    /// short; so are rows of which a number says how long they are.
    fn sums_neighbours(&self, l: &Loop, update: &Update) -> bool {
        let is_short = l.range.upper.iter().any(|end| end.as_constant().is_some());
        let stands = || self.sums.iter().any(|(place, _)| *place == update.target);
        !is_short && stands() && self.is_in_order(l, update)
    }

    /// Whether no element is read at a place that the variable of a loop looks up.
    fn is_in_order(&self, l: &Loop, update: &Update) -> bool {
        let Some((lets, _)) = self.plain(&l.body) else { return false };
        let (mut decided, mut found) = (vec![l.var.clone()], Vec::new());
        let any = |names: &[Name], a: &Affine| names.iter().any(|n| a.mentions(n));
        let looks_up = |a: &Affine, decided: &[Name], found: &[Name]| {
            let mut some = any(found, a);
            a.visit_calls(&mut |call| some |= call.args.iter().any(|arg| any(decided, arg)));
            some
        };
        for (name, value) in lets {
            if looks_up(&value, &decided, &found) {
                found.push(name.clone());
            }
            if any(&decided, &value) {
                decided.push(name);
            }
        }
        let is_found = |a: &Arith| match a.to_affine() {
            Ok(a) => looks_up(&a, &decided, &found),
            Err(_) => {
                let mut calls = false;
                a.visit_calls(&mut |_| calls = true);
                calls
            }
        };
        !update.elements().any(|place| place.index.iter().any(is_found))
    }

    /// The values and the update of a block that has nothing else.
    pub(super) fn plain(&self, block: &loops::Block) -> Option<(Vec<(Name, Affine)>, Update)> {
        let mut lets = Vec::new();
        let mut nodes = block.iter();
        while let Some(node) = nodes.next() {
            match node {
                Node::Let { var, value } => lets.push((var.clone(), value.clone())),
                Node::Update(u) if nodes.len() == 0 => return Some((lets, (**u).clone())),
                Node::Search(s) if nodes.len() == 0 && s.conditions.is_empty() => {
                    let Among::One(value) = &s.among else { return None };
                    lets.push((s.var.clone(), value.clone()));
                    let (inner, update) = self.plain(&s.found)?;
                    lets.extend(inner);
                    return Some((lets, update));
                }
                _ => return None,
            }
        }
        None
    }
}
