//! Finds within a nest: their state, and their templates with the holes filled.

use super::super::ir::{
    Access, ArrayId, Assign, BinaryOp, Block, Body, Element, Expr, Load, Stmt, Type, VarId,
};
use super::super::template::{Declare, Filling, KeyPartCode, instantiate};
use super::Realiser;
use super::state::State;
use crate::diagnostic::Result;
use crate::formula::{Affine, Atom, Constraint, Formula, Name};
use crate::loops::{self, Among, Find, Node, SearchId};
use crate::synth::Placement;

/// The template's holes, for one find of the nest.
struct Search<'r, 'a, 'p> {
    realiser: &'r mut Realiser<'a, 'p>,
    find: &'a Find,
    search: loops::Search,
    lo: Expr,
    hi: Expr,
}

impl Search<'_, '_, '_> {
    /// `lo <= at < hi` as the find has it, with all its bounds.
    fn range_facts(&self, at: &Affine) -> Vec<Constraint> {
        let v = Affine::var(self.search.var.clone());
        let facts = match &self.search.among {
            Among::Range(range) => range.of(&v),
            Among::One(e) => vec![Constraint::eq(v, e.clone())],
        };
        facts.iter().map(|c| c.map(|a| self.instance(a, at))).collect()
    }

    /// A linear form of the plan, as the tree calls its dimensions.
    fn of_plan(&self, a: &Affine) -> Affine {
        self.find.in_tree(a)
    }

    /// A linear form of the search with the position at `at`.
    fn instance(&self, a: &Affine, at: &Affine) -> Affine {
        let position = &self.search.var;
        // The position is a variable of the code already; all others are dimensions of the space.
        let marker = Name::from("the position");
        let moved = a.rename(&|n| (n == position).then(|| marker.clone()));
        self.realiser.here(&moved).substitute(&|n| (*n == marker).then(|| at.clone()))
    }

    /// The linear form of a position in a hole. Templates compute positions by `+` and `-` only.
    fn form(&self, at: &Expr) -> Affine {
        let body = &self.realiser.body;
        let meaning = super::super::meaning::Meaning { body, name: &|v| body.var(v).name.clone() };
        meaning.affine(at).unwrap_or_else(|| Affine::var("an unknown position"))
    }

    /// `make` under the facts of a position in the range.
    fn at(&mut self, at: &Expr, make: impl FnOnce(&mut Self, &Affine) -> Expr) -> Expr {
        let place = self.form(at);
        let facts = self.range_facts(&place);
        self.realiser.enter(&facts);
        let value = make(self, &place);
        self.realiser.path.leave();
        match value {
            Expr::Bool(_) => value,
            value => Expr::Given { facts, value: Box::new(value) },
        }
    }
}

impl Filling for Search<'_, '_, '_> {
    fn body(&mut self) -> &mut Body {
        &mut self.realiser.body
    }

    fn position_name(&self) -> String {
        self.search.var.to_string()
    }

    fn lo(&mut self) -> Expr {
        self.lo.clone()
    }

    fn hi(&mut self) -> Expr {
        self.hi.clone()
    }

    fn matches(&mut self, at: &Expr) -> Result<Expr> {
        let conditions = self.search.conditions.clone();
        Ok(self.at(at, |s, p| {
            let here: Vec<Constraint> =
                conditions.iter().map(|c| c.map(|a| s.instance(a, p))).collect();
            let tests = s.realiser.tests(&here);
            Expr::and(tests)
        }))
    }

    fn continues(&mut self, at: &Expr) -> Result<Expr> {
        let plan = &self.find.plan;
        let Some(continues) = &plan.continues else { return Ok(Expr::Bool(false)) };
        Ok(self.at(at, |s, p| {
            let here = continues.map_affine(&|a| s.instance(&s.of_plan(a), p));
            s.realiser.formula(&here)
        }))
    }

    fn stored(&mut self, at: &Expr) -> Result<Vec<Expr>> {
        let plan = &self.find.plan;
        let parts = plan.key.iter().map(|k| {
            self.at(at, |s, p| {
                let inner = s.instance(&s.of_plan(&k.inner), p);
                s.realiser.affine(&inner)
            })
        });
        Ok(parts.collect())
    }

    fn query(&mut self) -> Result<Vec<KeyPartCode>> {
        let plan = &self.find.plan;
        let params = self.find.params.clone();
        let mut out = Vec::new();
        for k in &plan.key {
            let mut stored_signed = false;
            for (atom, c) in k.inner.terms() {
                stored_signed |= *c < 0;
                if let Atom::Call(call) = atom {
                    let array = self.realiser.body.array_named(&call.array);
                    stored_signed |= array.is_some_and(|a| {
                        Realiser::holds_negative(self.realiser.body.arr(a).element)
                    });
                }
            }
            let outer = self.realiser.here(&self.of_plan(&k.outer));
            let value = self.realiser.affine(&outer);
            let signed = self.realiser.is_signed(&value);
            let fits = !signed
                && !stored_signed
                && params.iter().any(|p| {
                    self.realiser.path.proves(&Formula::lt(outer.clone(), Affine::var(p.clone())))
                });
            // A signed key is compared as such.
            let value = if stored_signed && !signed { value.converted(true) } else { value };
            out.push(KeyPartCode { value, fits });
        }
        Ok(out)
    }

    fn position(&mut self) -> Result<Expr> {
        match &self.search.among {
            Among::One(e) => {
                let e = self.realiser.here(e);
                Ok(self.realiser.value(&e))
            }
            Among::Range(_) => Ok(self.lo.clone()),
        }
    }

    fn found(&mut self, at: VarId) -> Result<Block> {
        let search = self.search.clone();
        let name = self.realiser.body.var(at).name.clone();
        let mut facts = self.range_facts(&Affine::var(name));
        let before = self.realiser.env.insert(search.var.clone(), at);
        facts.extend(self.realiser.here_all(&search.conditions));
        self.realiser.enter(&facts);
        let loaded = self.realiser.loaded.len();
        if let Among::One(e) = &search.among
            && let Some(Atom::Call(call)) = self.realiser.here(e).as_atom()
        {
            self.realiser.loaded.push((call.clone(), at));
        }
        let body = self.realiser.block(&search.found)?;
        self.realiser.loaded.truncate(loaded);
        self.realiser.path.leave();
        match before {
            Some(v) => self.realiser.env.insert(search.var.clone(), v),
            None => self.realiser.env.remove(&search.var),
        };
        Ok(vec![Stmt::Given { facts, body }])
    }
}

impl<'a> Realiser<'a, '_> {
    /// The node of the tree that searches.
    fn search_of(&self, id: SearchId) -> Option<loops::Search> {
        fn within(block: &loops::Block, id: SearchId) -> Option<&loops::Search> {
            block.iter().find_map(|node| match node {
                Node::Search(s) if s.id == id => Some(&**s),
                node => node.blocks().into_iter().find_map(|b| within(b, id)),
            })
        }
        within(&self.loops.body, id).cloned()
    }

    /// The state of a find that lives from here on.
    pub(super) fn set_up(&mut self, id: SearchId) -> Result<Block> {
        let find: &'a Find = self.loops.find(id);
        let code = self.codes[id.index()].clone();
        let Some(search) = self.search_of(id) else { return Ok(Vec::new()) };
        let position = search.var.clone();
        let mut out = Vec::new();
        let mut state = State::default();
        match &find.plan.placement {
            Some(Placement::Prefix { .. }) => {
                let (lo, hi) = self.search_range(&search, &mut out);
                self.ranges.insert(id, (lo.clone(), hi.clone()));
                let mut search = Search { realiser: self, find, search, lo, hi };
                let setup = instantiate(
                    &code.body,
                    &code.setup,
                    &mut state.variables,
                    Declare::New,
                    &mut search,
                )?;
                out.extend(setup);
            }
            Some(Placement::Reset { indices, .. }) => {
                self.declare_state(id, &position, &mut state, &mut out);
                for index in indices {
                    let hint = format!("{position}_{index}");
                    let var = self.body.variable(&hint, Type::Unsigned);
                    out.push(Stmt::Let { var, mutable: true, value: Expr::Unset });
                    state.last.push((find.name_in_tree(index), var));
                }
                if indices.is_empty() {
                    let var = self.body.variable(&format!("{position}_started"), Type::Bool);
                    out.push(Stmt::Let { var, mutable: true, value: Expr::Bool(false) });
                    state.started = Some(var);
                }
            }
            Some(Placement::Array { indices, .. }) => {
                let shape = indices.iter().map(|index| self.affine(&index.extent)).collect();
                let array = self.body.local(format!("{position}_at"), Element::Position, shape);
                out.push(Stmt::Allocate { array, fill: Expr::Unset });
                let indices = indices.iter().map(|index| find.name_in_tree(&index.name)).collect();
                state.array = Some((array, indices));
            }
            None => {}
        }
        self.states.insert(id, state);
        Ok(out)
    }

    /// The variables of a state that is set up by the query that first needs it.
    fn declare_state(&mut self, id: SearchId, position: &Name, state: &mut State, out: &mut Block) {
        let code = self.codes[id.index()].clone();
        let plan = &self.loops.find(id).plan;
        for v in code.state() {
            let declared = code.body.var(v).clone();
            let hint = match &*declared.hint {
                "p" => position.to_string(),
                name => format!("{position}_{name}"),
            };
            let (ty, value) = match declared.ty {
                Type::Table { table, .. } => {
                    let table = self.body.table(&code.body.table_name(table).clone());
                    let parts = plan.key.len();
                    let len = Box::new(Expr::int(0));
                    (Type::Table { table, parts }, Expr::NewTable { table, parts, len })
                }
                Type::Bool => (Type::Bool, Expr::Bool(false)),
                other => (other, Expr::Unset),
            };
            let var = self.body.variable(&hint, ty);
            out.push(Stmt::Let { var, mutable: true, value });
            state.variables.insert(v, var);
        }
    }

    /// The ends of the searched range, bound to variables unless they are names or numbers.
    fn search_range(&mut self, search: &loops::Search, out: &mut Block) -> (Expr, Expr) {
        let Among::Range(range) = &search.among else { return (Expr::int(0), Expr::int(0)) };
        let (lo, hi) = self.range(range, false);
        let mut bind = |this: &mut Self, value: Expr, suffix: &str| match value {
            Expr::Int { .. } | Expr::Var(_) => value,
            value => {
                let hint = format!("{}_{suffix}", search.var);
                let var = this.body.variable(&hint, Type::Unsigned);
                out.push(Stmt::Let { var, mutable: false, value });
                Expr::Var(var)
            }
        };
        let lo = bind(self, lo, "lo");
        let hi = bind(self, hi, "hi");
        (lo, hi)
    }

    /// A find, with everything inside it.
    pub(super) fn search(&mut self, node: &loops::Search) -> Result<Block> {
        let find: &'a Find = self.loops.find(node.id);
        let code = self.codes[node.id.index()].clone();
        let mut out = Vec::new();
        let (lo, hi) = match self.ranges.get(&node.id).cloned() {
            Some(range) => range,
            None => self.search_range(node, &mut out),
        };
        let mut state = self.states.get(&node.id).cloned().unwrap_or_default();
        let mut kept: Option<(Load, VarId)> = None;
        if let Some((array, indices)) = state.array.clone() {
            self.declare_from_array(node, &mut state, array, &indices, &mut kept, &mut out);
        }
        let mut again = Vec::new();
        let new = !state.last.is_empty() || state.started.is_some() || kept.is_some();
        let last = state.last.clone();
        let queried: Vec<Expr> = last
            .iter()
            .map(|(index, _)| {
                let a = self.here(&Affine::var(index.clone()));
                self.affine(&a)
            })
            .collect();
        // Where it finds several, it is a loop.
        let targets = if find.plan.many { self.summed(&node.found) } else { Vec::new() };
        let mut sums = Vec::new();
        let before = self.begin_sums(&node.found, &targets, &mut sums);
        let mut search = Search { realiser: self, find, search: node.clone(), lo, hi };
        if new {
            again = instantiate(
                &code.body,
                &code.setup,
                &mut state.variables,
                Declare::Again,
                &mut search,
            )?;
        }
        let inner =
            instantiate(&code.body, &code.search, &mut state.variables, Declare::New, &mut search)?;
        if new {
            let mut then = Vec::new();
            let mut changed: Vec<Expr> = Vec::new();
            for ((_, var), now) in last.iter().zip(queried) {
                // A coordinate may come out of an array of signed numbers; it is not negative.
                let signed = self.body.type_of(&now) == Ok(Type::Signed);
                let now = if signed { now.converted(false) } else { now };
                changed.push(Expr::binary(BinaryOp::Ne, Expr::Var(*var), now.clone()));
                then.push(Stmt::Assign { var: *var, op: Assign::Set, value: now });
            }
            if let Some(var) = state.started {
                changed.push(Expr::Var(var).negated());
                then.push(Stmt::Assign { var, op: Assign::Set, value: Expr::Bool(true) });
            }
            if let Some((_, var)) = &kept {
                changed.push(Expr::binary(BinaryOp::Eq, Expr::Var(*var), Expr::Unset));
            }
            then.extend(again);
            let condition = Expr::or(changed);
            out.push(Stmt::If { condition, then, otherwise: Vec::new() });
        }
        out.extend(sums);
        out.extend(inner);
        self.end_sums(&node.found, before, &mut out);
        if let Some((place, var)) = kept {
            out.push(Stmt::Store { place, op: Assign::Set, value: Expr::Var(var) });
        }
        Ok(out)
    }

    /// The state of this query out of the array of states.
    fn declare_from_array(
        &mut self,
        node: &loops::Search,
        state: &mut State,
        array: ArrayId,
        indices: &[Name],
        kept: &mut Option<(Load, VarId)>,
        out: &mut Block,
    ) {
        let code = self.codes[node.id.index()].clone();
        let position = node.var.clone();
        let mut subscripts = Vec::new();
        for index in indices {
            let a = self.here(&Affine::var(index.clone()));
            subscripts.push(self.index(&a));
        }
        let place = Load { array, subscripts, access: Access::Checked };
        // Templates that ask for an array of states keep one position (`synth` offers it to no other).
        for v in code.state() {
            let hint = match &*code.body.var(v).hint {
                "p" => position.to_string(),
                name => format!("{position}_{name}"),
            };
            let var = self.body.variable(&hint, Type::Unsigned);
            out.push(Stmt::Let { var, mutable: true, value: Expr::Load(place.clone()) });
            state.variables.insert(v, var);
            *kept = Some((place.clone(), var));
        }
    }
}
