//! What is checked of a tree.

use super::tree::{Among, Block, Loops, Node, Place, SearchId, Term};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Name};
use crate::operators::Region;
use crate::scan::Range;

impl Loops {
    /// Checks that every dimension is bound before it is used, that the state of a search is set up
    /// where the search is inside, once, and that only proved plans stand in the tree.
    ///
    /// # Errors
    /// An internal diagnostic; nothing a user writes can cause it.
    pub fn verify(&self, parameters: &[Name]) -> Result<()> {
        let mut bound: Vec<Name> = parameters.to_vec();
        let mut states = Vec::new();
        self.check(&self.body, &mut bound, &mut states).map_err(|what| {
            Diagnostic::defect(format!("the loops are not well-formed: {what}"))
                .note(format!("the loops are\n{self}"))
        })
    }

    fn check(
        &self,
        block: &Block,
        bound: &mut Vec<Name>,
        states: &mut Vec<SearchId>,
    ) -> std::result::Result<(), String> {
        let (outer, outer_states) = (bound.len(), states.len());
        for node in block {
            match node {
                Node::Let { var, value } => {
                    known(bound, value)?;
                    bound.push(var.clone());
                }
                Node::For(l) => {
                    range_known(bound, &l.range)?;
                    self.check_open(&l.setup, bound, states)?;
                    bound.push(l.var.clone());
                    self.check(&l.body, bound, states)?;
                    bound.pop();
                }
                Node::Groups(g) => {
                    range_known(bound, &g.range)?;
                    self.check_open(&g.setup, bound, states)?;
                    let outer = bound.len();
                    bound.push(g.first.clone());
                    g.by.iter().try_for_each(|(_, value)| known(bound, value))?;
                    bound.extend(g.by.iter().map(|(var, _)| var.clone()).chain([g.end.clone()]));
                    self.check(&g.body, bound, states)?;
                    bound.truncate(outer);
                }
                Node::If { tests, body, .. } => {
                    tests.iter().try_for_each(|c| known(bound, &c.affine))?;
                    self.check(body, bound, states)?;
                }
                Node::State(id) => {
                    if states.contains(id) {
                        return Err("a state is set up within itself".into());
                    }
                    states.push(*id);
                }
                Node::Search(s) => {
                    match &s.among {
                        Among::Range(r) => range_known(bound, r)?,
                        Among::One(e) => known(bound, e)?,
                    }
                    let plan = &self.find(s.id).plan;
                    if plan.placement.is_some() && !states.contains(&s.id) {
                        return Err(format!("the state of `{}` is not set up", s.var));
                    }
                    bound.push(s.var.clone());
                    s.conditions.iter().try_for_each(|c| known(bound, &c.affine))?;
                    self.check(&s.found, bound, states)?;
                    bound.pop();
                }
                Node::Lookup(l) => {
                    bound.push(l.name.clone());
                    self.check(&l.body, bound, states)?;
                }
                Node::Merge(m) => {
                    for walk in &m.walks {
                        bound.push(walk.name.clone());
                        self.check(&walk.body, bound, states)?;
                    }
                    bound.extend(m.key.iter().cloned());
                    self.check(&m.body, bound, states)?;
                    bound.truncate(bound.len() - m.key.len() - m.walks.len());
                }
                Node::Step(s) => {
                    range_known(bound, &s.range)?;
                    if s.parallel.is_some() && !s.rises() {
                        return Err(format!("threads cannot seek their parts of `{}`", s.index));
                    }
                    self.check_open(&s.setup, bound, states)?;
                    let outer = bound.len();
                    for walk in &s.walks {
                        range_known(&bound[..outer], &walk.range)?;
                    }
                    for walk in &s.walks {
                        bound.push(walk.var.clone());
                        range_known(bound, &walk.region)?;
                        walk.tests.iter().try_for_each(|c| known(bound, &c.affine))?;
                        walk.within.iter().try_for_each(|walk| held_known(bound, walk))?;
                        bound.extend(walk.end.clone());
                    }
                    let own = |name: &Name| s.walks.iter().any(|walk| walk.var == *name);
                    if let Some(other) = s.counts.operands().into_iter().find(|name| !own(name)) {
                        return Err(format!("`{other}` is none of the walks of `{}`", s.index));
                    }
                    bound.push(s.index.clone());
                    self.check(&s.body, bound, states)?;
                    bound.truncate(outer);
                }
                Node::Take(take) => {
                    place_known(bound, &take.place)?;
                    found_known(bound, &take.name)?;
                }
                Node::Held { walks, body } => {
                    walks.iter().try_for_each(|walk| held_known(bound, walk))?;
                    self.check(body, bound, states)?;
                }
                Node::When { region, body } => {
                    region.operands().iter().try_for_each(|name| found_known(bound, name))?;
                    self.check(body, bound, states)?;
                }
                Node::Update(u) => {
                    place_known(bound, &u.target)?;
                    let asked = u.value.regions().into_iter().flat_map(Region::operands);
                    asked.into_iter().try_for_each(|term| match term.lookup() {
                        Some(name) => found_known(bound, name),
                        None => Err(format!("nothing looks `{term}` up")),
                    })?;
                    u.value.leaves().into_iter().try_for_each(|term| match term {
                        Term::Element(place) => place_known(bound, place),
                        Term::Found(name) => found_known(bound, name),
                        Term::Index(index) => known(bound, &Affine::var(index.clone())),
                    })?;
                }
                Node::Piece(body) => self.check(body, bound, states)?,
                Node::Begin(begin) => {
                    place_known(
                        bound,
                        &Place { array: begin.array.clone(), index: begin.shape.clone() },
                    )?;
                }
                Node::Assemble(a) => {
                    let index = a.key.iter().flatten().cloned().collect();
                    place_known(bound, &Place { array: a.array.clone(), index })?;
                    self.check(&a.body, bound, states)?;
                }
            }
        }
        bound.truncate(outer);
        states.truncate(outer_states);
        Ok(())
    }

    /// The states of a setup stay in sight.
    fn check_open(
        &self,
        block: &Block,
        bound: &mut Vec<Name>,
        states: &mut Vec<SearchId>,
    ) -> std::result::Result<(), String> {
        for node in block {
            match node {
                Node::State(id) => states.push(*id),
                _ => self.check(&vec![node.clone()], bound, states)?,
            }
        }
        Ok(())
    }
}

fn place_known(bound: &[Name], place: &Place) -> std::result::Result<(), String> {
    match place.depends_on(&|n| !bound.contains(n)) {
        true => Err(format!("a subscript of `{}` is not bound", place.array)),
        false => Ok(()),
    }
}

fn found_known(bound: &[Name], lookup: &Name) -> std::result::Result<(), String> {
    match bound.contains(lookup) {
        true => Ok(()),
        false => Err(format!("nothing looks `{lookup}` up")),
    }
}

fn held_known(bound: &[Name], walk: &Name) -> std::result::Result<(), String> {
    match bound.contains(walk) {
        true => Ok(()),
        false => Err(format!("nothing walks `{walk}`")),
    }
}

fn known(bound: &[Name], a: &Affine) -> std::result::Result<(), String> {
    let mut unknown = None;
    a.visit_vars(&mut |n| {
        if !bound.contains(n) {
            unknown = Some(n.clone());
        }
    });
    match unknown {
        Some(n) => Err(format!("`{n}` is used before it is bound")),
        None => Ok(()),
    }
}

fn range_known(bound: &[Name], range: &Range) -> std::result::Result<(), String> {
    range.lower.iter().chain(&range.upper).try_for_each(|a| known(bound, a))
}
