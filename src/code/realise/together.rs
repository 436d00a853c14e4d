//! Operands that are walked at once: what happens at each choice of the indices that one of them comes to.
//!
//! Before → after, for two of them:
//!
//! ```text
//! merge j                                    let mut pA1 = pos_A[i]; let pA1_end = …; let mut pB1 = …
//!   walk found_A else 0.0 and whether        while pA1 < pA1_end && pB1 < pB1_end {
//!     for pA1 in pos_A(i)..pos_A(i + 1)          let j_A = crd_A[pA1]; let j_B = crd_B[pB1];
//!       let j = crd_A(pA1)                       let j = min(j_A, j_B);
//!       take found_A from val_A[pA1]     →       let has_A = j_A == j; let has_B = j_B == j;
//!   walk found_B else 0.0 and whether            let found_A = if has_A { val_A[pA1] } else { 0.0 }; …
//!     …                                          if has_A || has_B { … }
//!   when found_A or found_B                      pA1 += has_A; pB1 += has_B;
//!     …                                      }
//!                                            while pA1 < pA1_end { … } while pB1 < pB1_end { … }
//! ```
//! With more than two, a loop while none has ended is followed by one that runs until all have, so that code
//! grows with their number and no faster. Where one must be stored for anything to count, loops end with it.

use super::super::ir::{Assign, Block, Expr, Stmt, Type, VarId};
use super::merge::{At, same, set_least};
use super::{Found, Realiser};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Constraint, Name};
use crate::loops::{self, Lookup, Merge, Node, Take, Walked, updates};
use crate::operators::Region;

/// A walk that goes on.
struct Side<'a> {
    lookup: &'a Lookup,
    walked: Walked<'a>,
    take: &'a Take,
    at: At,
}

/// A loop over the keys that some of the walks come to.
#[derive(Clone, Copy)]
struct Phase<'a> {
    /// For each walk, whether it may go on.
    active: &'a [bool],
    /// Walks that may go on may have ended.
    guarded: bool,
}

/// What is there at the position of a walk.
struct Here {
    key: Vec<VarId>,
    value: Option<VarId>,
}

impl Realiser<'_, '_> {
    pub(super) fn walk_at_once(&mut self, m: &Merge, out: &mut Block) -> Result<()> {
        let hoisted = self.hoisted.len();
        self.load_before(&m.body, out);
        let targets = self.summed(&m.body);
        let sums = self.begin_sums(&m.body, &targets, out);
        self.within_loops += 1;
        let phases = self.apart(|this| {
            let mut phases = Vec::new();
            let mut sides = Vec::new();
            for lookup in &m.walks {
                let Some((walked, take)) = Walked::taking(&lookup.body) else {
                    return Err(Diagnostic::defect("what is walked at once is no walk"));
                };
                let ends = this.ends_of(&walked, &mut phases);
                let at = this.at_begin(&walked, ends, &mut phases);
                sides.push(Side { lookup, walked, take, at });
            }
            this.phases(m, &sides, &mut phases)?;
            Ok(phases)
        });
        self.within_loops -= 1;
        out.extend(phases?);
        self.end_sums(&m.body, sums, out);
        self.hoisted.truncate(hoisted);
        Ok(())
    }

    fn phases(&mut self, m: &Merge, sides: &[Side<'_>], out: &mut Block) -> Result<()> {
        let region = counts_where(&m.body);
        let is_needed = |walk: &Lookup| region.needs(&walk.name);
        let needed: Vec<bool> = m.walks.iter().map(is_needed).collect();
        let n = sides.len();
        let all = vec![true; n];
        let alone = [vec![true, false], vec![false, true]];
        let mut phases = vec![(Phase { active: &all, guarded: false }, all.clone())];
        if n == 2 {
            for (active, other) in alone.iter().zip([1, 0]) {
                if !needed[other] {
                    phases.push((Phase { active, guarded: false }, active.clone()));
                }
            }
        } else if n > 2 && !needed.iter().all(|needed| *needed) {
            phases.push((Phase { active: &all, guarded: true }, needed.clone()));
        }
        for (phase, needed) in phases {
            let goes_on = |k: usize| sides[k].at.goes_on();
            let some = Expr::or((0..n).filter(|k| phase.active[*k]).map(goes_on));
            let all = Expr::and((0..n).filter(|k| needed[*k]).map(goes_on));
            let condition = if needed.contains(&true) { all } else { some };
            let body = self.apart(|this| this.phase(m, sides, phase))?;
            let active = (0..n).filter(|k| phase.active[*k]);
            let invariants = active.map(|k| sides[k].at.invariant()).collect();
            out.push(Stmt::While { condition, invariants, body });
        }
        Ok(())
    }

    /// What happens at the least key.
    fn phase(&mut self, m: &Merge, sides: &[Side<'_>], phase: Phase<'_>) -> Result<Block> {
        let mut out = Vec::new();
        let mut heres: Vec<Option<Here>> = Vec::new();
        for (side, active) in sides.iter().zip(phase.active) {
            heres.push(match (active, phase.guarded) {
                (false, _) => None,
                (true, false) => Some(self.at_position(m, side, &mut out)),
                (true, true) => Some(self.at_position_if_any(m, side, &mut out)?),
            });
        }
        let keys: Vec<Vec<VarId>> = heres.iter().flatten().map(|here| here.key.clone()).collect();
        let least = match keys.as_slice() {
            // Of one walk, each key is the least.
            [only] => only.clone(),
            keys => {
                let least: Vec<VarId> =
                    m.key.iter().map(|index| self.body.variable(index, Type::Unsigned)).collect();
                set_least(&least, keys, &mut out);
                least
            }
        };
        for (index, var) in m.key.iter().zip(&least) {
            self.env.insert(index.clone(), *var);
            let least = Affine::var(self.body.var(*var).name.clone());
            self.enter(&[Constraint::le(Affine::zero(), least)]);
        }
        if let [least] = least.as_slice() {
            let name = |var: VarId| Affine::var(self.body.var(var).name.clone());
            let below = |key: &Vec<VarId>| Constraint::le(name(*least), name(key[0]));
            let facts: Vec<Constraint> = keys.iter().map(below).collect();
            self.enter(&facts);
        }
        let mut advances = Vec::new();
        for (side, here) in sides.iter().zip(&heres) {
            let found = self.found(side, here.as_ref(), (&least, keys.len() == 1), &mut out);
            if here.is_some() {
                let by = match &found.is_there {
                    Expr::Bool(true) => Expr::int(1),
                    is_there => Expr::FromBool(Box::new(is_there.clone())),
                };
                advances.push(side.at.advance(by));
            }
            self.lookups.insert(side.lookup.name.clone(), found);
        }
        let active = sides.iter().zip(&heres).filter(|(_, here)| here.is_some());
        let active = active.map(|(side, _)| side.lookup.name.clone()).collect();
        let outer = std::mem::replace(&mut self.some_found, active);
        let inner = self.block(&m.body);
        self.some_found = outer;
        out.extend(inner?);
        out.extend(advances);
        out.extend(self.early_exit(&m.body));
        Ok(out)
    }

    /// Whether a region holds wherever one of the walks has found something.
    pub(super) fn holds_anyway(&self, region: &Region<Name>) -> bool {
        // One of few: they are tried out.
        const FEW: usize = 8;
        let walks = &self.some_found;
        let known = region.operands().iter().all(|name| match self.lookups[name].is_there {
            Expr::Bool(there) => !there,
            _ => walks.contains(name),
        });
        let holds = |found: u32| {
            let is_found = |name: &Name| {
                walks.iter().position(|w| w == name).is_some_and(|k| found >> k & 1 == 1)
            };
            let all = region.operands();
            all.iter().fold(region.clone(), |region, name| region.with(name, is_found(name)))
                == Region::All
        };
        !walks.is_empty() && walks.len() <= FEW && known && (1..1_u32 << walks.len()).all(holds)
    }

    /// What a walk gives at the least key.
    fn found(
        &mut self,
        side: &Side<'_>,
        here: Option<&Here>,
        (least, only): (&[VarId], bool),
        out: &mut Block,
    ) -> Found {
        let lookup = side.lookup;
        let (fill, ty) = (lookup.fill, Type::Value(lookup.fill.value_type()));
        let Some(here) = here else {
            let value = lookup.read.then(|| self.body.variable(&lookup.name, ty));
            let set = |var| Stmt::Let { var, mutable: false, value: Expr::Number(fill) };
            out.extend(value.map(set));
            return Found { fill, value, is_there: Expr::Bool(false) };
        };
        if only {
            return Found { fill, value: here.value, is_there: Expr::Bool(true) };
        }
        let has = self.body.variable(&format!("has_{}", lookup.name), Type::Bool);
        out.push(Stmt::Let { var: has, mutable: false, value: same(&here.key, least) });
        let value = here.value.map(|value| {
            let var = self.body.variable(&lookup.name, ty);
            let value = Expr::Choose {
                condition: Box::new(Expr::Var(has)),
                then: Box::new(Expr::Var(value)),
                otherwise: Box::new(Expr::Number(fill)),
            };
            out.push(Stmt::Let { var, mutable: false, value });
            var
        });
        Found { fill, value, is_there: Expr::Var(has) }
    }

    /// The key and the value at the position of a walk that goes on.
    fn at_position(&mut self, m: &Merge, side: &Side<'_>, out: &mut Block) -> Here {
        self.within_walk(&side.walked, &side.at, out);
        let key = m.key.iter().map(|index| self.env[index]).collect();
        let value = side.lookup.read.then(|| {
            let ty = Type::Value(side.lookup.fill.value_type());
            let var = self.body.variable("here", ty);
            let value = Expr::Load(self.place(&side.take.place));
            out.push(Stmt::Let { var, mutable: false, value });
            var
        });
        Here { key, value }
    }

    /// The same of a walk that may have ended: then its key is greater than any.
    fn at_position_if_any(&mut self, m: &Merge, side: &Side<'_>, out: &mut Block) -> Result<Here> {
        let key: Vec<VarId> =
            m.key.iter().map(|_| self.body.variable("key", Type::Unsigned)).collect();
        let unset = |var: &VarId| Stmt::Let { var: *var, mutable: true, value: Expr::Unset };
        out.extend(key.iter().map(unset));
        let fill = side.lookup.fill;
        let value = side.lookup.read.then(|| {
            let var = self.body.variable("here", Type::Value(fill.value_type()));
            out.push(Stmt::Let { var, mutable: true, value: Expr::Number(fill) });
            var
        });
        let then = self.apart(|this| {
            let mut then = Vec::new();
            this.within_walk(&side.walked, &side.at, &mut then);
            let set = |var, value| Stmt::Assign { var, op: Assign::Set, value };
            let parts: Vec<Stmt> = key
                .iter()
                .zip(&m.key)
                .map(|(var, index)| set(*var, Expr::Var(this.env[index])))
                .collect();
            then.extend(parts);
            if let Some(var) = value {
                let value = Expr::Load(this.place(&side.take.place));
                then.push(set(var, value));
            }
            Ok(then)
        })?;
        out.push(Stmt::If { condition: side.at.goes_on(), then, otherwise: Vec::new() });
        Ok(Here { key, value })
    }
}

/// Where anything counts in a block, by what was found.
fn counts_where(block: &loops::Block) -> Region<Name> {
    let has_updates = |node: &&Node| !updates(&vec![(*node).clone()]).is_empty();
    let mut inside = block.iter().filter(has_updates);
    match (inside.next(), inside.next()) {
        (Some(Node::When { region, .. }), None) => region.clone(),
        (Some(Node::Assemble(a)), None) => counts_where(&a.body),
        (Some(Node::If { body, .. } | Node::Piece(body)), None) => counts_where(body),
        _ => Region::All,
    }
}
