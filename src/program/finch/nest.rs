//! Nests of loops, taken apart into updates, one behind the other.
//!
//! Before → after:
//!
//! ```text
//! forall j in 4 {
//!   declare w 0                          begin w[j,…] = 0
//!   forall k in 6 {                      for j, k, i:  w[j,i] += A[i,k] * B[k,j]
//!     forall i in 5 {                    for j, i:     C[i,j] = w[j,i]
//!       w[i] += A[i,k] * B[k,j]      ⟼
//!     }
//!   }
//!   forall i in 5 {
//!     C[i,j] = w[i]
//!   }
//! }
//! ```
//! A workspace gets the indices of the loops around it as dimensions, so that each iteration has one of its own.
//! Then the iterations of a free loop touch elements of their own, or combine into one by one operator: all of
//! the first statement may run before any of the next. So may those of a fixed loop if what depends on their order
//! is one update, which has to keep it, or several of one tensor that take turns. Values of `let` are written out.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::keeping::{Kept, kept};
use super::operations::{call, reads, with_leaves};
use super::refusal::not_compiled;
use crate::diagnostic::Result;
use crate::formula::{Affine, Formula, Name};
use crate::operators::Operator;
use crate::program::independence::depends_on_order;
use crate::program::ir::{Access, AssignOp, Declare, Expr, Fill, Loop, Order, Stmt};
use crate::program::parse::MAX_LENGTH;

/// What a program does, in order.
pub(super) enum Event<'a> {
    /// A tensor begins, with these indices in front of its subscripts.
    Begin { tensor: &'a Name, around: Vec<Name>, fill: Option<&'a Fill> },
    /// Elements are updated.
    Update(Box<Update<'a>>),
}

/// An update of elements, in the loops around it.
pub(super) struct Update<'a> {
    /// Outer ones first.
    pub loops: Vec<&'a Loop>,
    /// Over indices.
    pub formulas: Vec<Formula>,
    /// Truth values, all of which must hold; the later ones are only asked where the earlier ones hold.
    pub conditions: Vec<Expr>,
    /// What subscripts mention by name.
    pub values: IndexMap<Name, Expr>,
    pub output: Access,
    pub kind: Kind,
    pub value: Expr,
    /// Of the output, in the program's text.
    pub place: Range<usize>,
    /// Updates of one tensor that take turns: their order matters among each other.
    pub turns: Option<Turns>,
}

/// Which updates take turns.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    pub group: usize,
    /// How many they are.
    pub count: usize,
}

/// How an element changes.
pub(super) enum Kind {
    /// It becomes the value.
    Store,
    /// It becomes the operator of itself and the value.
    Combine(Arc<Operator>),
    /// It becomes the first value that is not this, unless it is something else already.
    First(Expr),
    /// It becomes the value if `op` holds of the value and itself, and so do these, which depend on it.
    Best { op: Arc<Operator>, others: Vec<(Access, Expr)> },
}

/// The updates of a program. The loops around workspaces are their first dimensions, but the last ones of those of
/// which that `is_layered`, from the inside out.
pub(super) fn events<'a>(
    root: &'a Stmt,
    is_layered: &'a dyn Fn(&Name) -> bool,
) -> Result<Vec<Event<'a>>> {
    let around = IndexMap::new();
    let mut nests = Nests { out: Vec::new(), around, is_layered, ordered: Vec::new() };
    nests.walk(root, &Around::default())?;
    nests.verify_order()?;
    Ok(nests.out)
}

struct Nests<'a> {
    out: Vec<Event<'a>>,
    /// The indices around each workspace.
    around: IndexMap<Name, Vec<Name>>,
    is_layered: &'a dyn Fn(&Name) -> bool,
    /// The order of a loop decides what becomes of a tensor.
    ordered: Vec<(&'a Loop, Name)>,
}

/// Where a statement stands.
#[derive(Clone, Default)]
struct Around<'a> {
    loops: Vec<&'a Loop>,
    formulas: Vec<Formula>,
    conditions: Vec<Expr>,
    values: IndexMap<Name, Expr>,
}

impl<'a> Nests<'a> {
    fn walk(&mut self, stmt: &'a Stmt, around: &Around<'a>) -> Result<()> {
        if let Some(kept) = kept(stmt) {
            return self.keeps(kept, around);
        }
        let mut inner = around.clone();
        match stmt {
            Stmt::Loop(l) => {
                if l.order == Order::Fixed {
                    let decided = depends_on_order(l).into_iter();
                    self.ordered.extend(decided.map(|(access, _)| (l, access.tensor.clone())));
                }
                inner.loops.push(l);
            }
            Stmt::If(i) => {
                inner.formulas.push(i.condition.clone());
                self.block(&i.then, &inner)?;
                inner.formulas.pop();
                inner.formulas.push(i.condition.clone().not());
                return self.block(i.otherwise.as_deref().unwrap_or_default(), &inner);
            }
            Stmt::When(w) => {
                unchanged(&w.condition, stmt)?;
                let condition = self.written_out(&w.condition, &around.values)?;
                inner.conditions.push(condition.clone());
                fits(&inner.conditions, stmt)?;
                self.block(&w.then, &inner)?;
                inner.conditions.pop();
                inner.conditions.push(call("!", vec![condition])?);
                return self.block(w.otherwise.as_deref().unwrap_or_default(), &inner);
            }
            Stmt::Let(l) => {
                unchanged(&l.value, stmt)?;
                let value = self.written_out(&l.value, &around.values)?;
                fits(std::slice::from_ref(&value), stmt)?;
                inner.values.insert(l.name.clone(), value);
            }
            Stmt::Declare(Declare { tensor, fill, .. }) => {
                let around: Vec<Name> = around.loops.iter().map(|l| l.index.clone()).collect();
                self.around.insert(tensor.clone(), around.clone());
                self.out.push(Event::Begin { tensor, around, fill: fill.as_ref() });
            }
            Stmt::Assign(a) => {
                let kind = match &a.op {
                    AssignOp::Assign => Kind::Store,
                    AssignOp::Combine(op) => Kind::Combine(op.clone()),
                };
                return self.update(kind, &a.output, &a.value, &inner);
            }
            Stmt::Block(_) => {}
        }
        stmt.blocks().into_iter().try_for_each(|block| self.block(block, &inner))
    }

    fn block(&mut self, block: &'a [Stmt], around: &Around<'a>) -> Result<()> {
        block.iter().try_for_each(|s| self.walk(s, around))
    }

    fn update(
        &mut self,
        kind: Kind,
        output: &Access,
        value: &Expr,
        around: &Around<'a>,
    ) -> Result<()> {
        let Around { loops, formulas, conditions, values } = around.clone();
        let value = self.written_out(value, &values)?;
        let place = output.span.clone();
        let output = self.expanded(output);
        let turns = None;
        let update =
            Update { loops, formulas, conditions, values, output, kind, value, place, turns };
        self.out.push(Event::Update(Box::new(update)));
        Ok(())
    }

    /// An update that reads what it writes.
    fn keeps(&mut self, kept: Kept<'_>, around: &Around<'a>) -> Result<()> {
        match kept {
            Kept::First { output, value, unless } => {
                let unless = self.written_out(unless, &around.values)?;
                self.update(Kind::First(unless), output, value, around)
            }
            Kept::Best { op, parts } => {
                let mut others = Vec::new();
                for (access, value) in &parts[1..] {
                    others.push((self.expanded(access), self.written_out(value, &around.values)?));
                }
                self.update(Kind::Best { op: op.clone(), others }, parts[0].0, parts[0].1, around)
            }
        }
    }

    fn expanded(&self, access: &Access) -> Access {
        let mut out = access.clone();
        let around = self.around.get(&access.tensor).into_iter().flatten();
        let around = around.map(|i| Affine::var(i.clone()));
        match (self.is_layered)(&access.tensor) {
            true => out.subscripts.extend(around.rev()),
            false => drop(out.subscripts.splice(0..0, around)),
        }
        out
    }

    /// An expression with the values of `let` in place of their names, and with all dimensions of workspaces.
    fn written_out(&self, e: &Expr, values: &IndexMap<Name, Expr>) -> Result<Expr> {
        with_leaves(e, &mut |e| {
            Ok(match e {
                Expr::Name(name, _) => values.get(name).cloned(),
                Expr::Access(access) => Some(Expr::Access(self.expanded(access))),
                Expr::Within(within) => {
                    let mut within = within.clone();
                    within.access = self.expanded(&within.access);
                    within.inside = self.written_out(&within.inside, values)?;
                    within.outside = self.written_out(&within.outside, values)?;
                    Some(Expr::Within(within))
                }
                _ => None,
            })
        })
    }

    /// What depends on the order of the iterations of a fixed loop is one update, or several that take turns.
    fn verify_order(&mut self) -> Result<()> {
        for (l, tensor) in std::mem::take(&mut self.ordered) {
            let mut all: Vec<usize> = Vec::new();
            for (k, event) in self.out.iter().enumerate() {
                if let Event::Update(u) = event
                    && u.loops.iter().any(|own| std::ptr::eq(*own, l))
                    && (u.reads(&tensor) || u.writes(&tensor))
                {
                    all.push(k);
                }
            }
            let refused = |why: String| {
                Err(not_compiled("a loop of fixed order", l.span.0.clone()).note(why))
            };
            let update = |k: &usize| match &self.out[*k] {
                Event::Update(u) => Some(&**u),
                Event::Begin { .. } => None,
            };
            if all.iter().filter_map(update).any(|u| u.reads(&tensor)) {
                return refused(format!("`{tensor}` is read while it changes"));
            }
            if all.len() < 2 || all.iter().filter_map(update).all(|u| u.turns.is_some()) {
                continue;
            }
            if !self.take_turns(&all) {
                return refused(format!(
                    "more than one statement depends on the order in which `{tensor}` changes"
                ));
            }
            let turns = Turns { group: all[0], count: all.len() };
            for k in all {
                if let Event::Update(u) = &mut self.out[k] {
                    u.turns = Some(turns);
                }
            }
        }
        Ok(())
    }

    /// Whether updates are of one kind and in the same loops, and may all be done where the last of them is.
    fn take_turns(&self, all: &[usize]) -> bool {
        let own = |k: &usize| match &self.out[*k] {
            Event::Update(u) => Some(&**u),
            Event::Begin { .. } => None,
        };
        let updates: Vec<&Update<'_>> = all.iter().filter_map(own).collect();
        let (Some(first), Some(from), Some(to)) = (updates.first(), all.first(), all.last()) else {
            return false;
        };
        let alike = updates.iter().all(|u| {
            let kind = match (&u.kind, &first.kind) {
                (Kind::Store, Kind::Store) => true,
                (Kind::First(a), Kind::First(b)) => a == b,
                _ => false,
            };
            let same = |(a, b): (&&Loop, &&Loop)| std::ptr::eq(*a, *b);
            let loops = u.loops.len() == first.loops.len();
            kind && loops && u.loops.iter().zip(&first.loops).all(same) && u.turns.is_none()
        });
        let written = self.out[*from..*to].iter().map(|event| match event {
            Event::Update(u) => &u.output.tensor,
            Event::Begin { tensor, .. } => tensor,
        });
        alike && written.into_iter().all(|tensor| updates.iter().all(|u| !u.reads(tensor)))
    }
}

impl Update<'_> {
    fn reads(&self, tensor: &Name) -> bool {
        let mut values = vec![&self.value];
        values.extend(&self.conditions);
        values.extend(self.values.values());
        if let Kind::Best { others, .. } = &self.kind {
            values.extend(others.iter().map(|(_, value)| value));
        }
        values.into_iter().any(|value| reads(value, tensor))
    }

    fn writes(&self, tensor: &Name) -> bool {
        let others: &[(Access, Expr)] = match &self.kind {
            Kind::Best { others, .. } => others,
            _ => &[],
        };
        self.output.tensor == *tensor || others.iter().any(|(a, _)| a.tensor == *tensor)
    }
}

/// That a statement in which all of these are written out can be one of index notation.
fn fits(values: &[Expr], stmt: &Stmt) -> Result<()> {
    match values.iter().map(|value| value.to_string().len()).sum::<usize>() {
        0..=MAX_LENGTH => Ok(()),
        _ => Err(not_compiled("a statement that is so long", stmt.span())),
    }
}

/// That a value can be computed later: nothing inside of the statement changes what it reads.
fn unchanged(value: &Expr, stmt: &Stmt) -> Result<()> {
    let mut changed = None;
    stmt.visit(&mut |s| {
        if let Stmt::Assign(a) = s
            && reads(value, &a.output.tensor)
        {
            changed.get_or_insert(a.output.span.clone());
        }
    });
    match changed {
        None => Ok(()),
        Some(place) => Err(not_compiled("a change of what is asked around it", place)),
    }
}
