//! Stores to one element, one right after the other, become one.
//!
//! Before → after, where distances are copied and those that became less are set:
//!
//! ```text
//! d[i] += old[i];                 →       d[i] = (d[i] + old[i]).min(new[i]);
//! d[i] = d[i].min(new[i]);
//! ```
//! Then the element is written once, and often set instead of updated (`written_once.rs`).

use super::ir::{Assign, BinaryOp, Block, Body, Expr, Load, Stmt};

impl Body {
    /// Merges all such stores.
    pub fn merge_stores(&mut self) {
        self.change(|_, block| merge_in(block));
    }
}

fn merge_in(block: &mut Block) -> bool {
    let mut changed = false;
    let mut k = 0;
    while k < block.len() {
        block[k].parts_mut(&mut |_| {}, &mut |inner| changed |= merge_in(inner));
        let merged = k > 0 && {
            let (before, behind) = block.split_at_mut(k);
            before.last().and_then(only_store).is_some_and(|first| merge(&first, behind))
        };
        match merged {
            true => drop(block.remove(k - 1)),
            false => k += 1,
        }
        changed |= merged;
    }
    changed
}

/// What is stored where.
struct Store {
    place: Load,
    op: Assign,
    value: Expr,
}

/// The store that is all there is to a statement.
fn only_store(stmt: &Stmt) -> Option<Store> {
    match stmt {
        Stmt::Store { place, op, value } => {
            Some(Store { place: place.clone(), op: *op, value: value.clone() })
        }
        Stmt::Scope(block) if block.len() == 1 => only_store(&block[0]),
        _ => None,
    }
}

/// Makes the next store that of both, if nothing but definitions comes before it; true if that is so.
fn merge(first: &Store, behind: &mut [Stmt]) -> bool {
    for stmt in behind {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let { mutable: false, value, .. } if reads(value, first) == 0 => {}
            Stmt::Scope(inner) => return merge(first, inner),
            Stmt::Store { place, op, value } if place.is_same_place(&first.place) => {
                return merge_into(first, op, value);
            }
            _ => return false,
        }
    }
    false
}

fn merge_into(first: &Store, op: &mut Assign, value: &mut Expr) -> bool {
    let read = reads(value, first);
    let mut own = 0;
    value.visit(&mut |e| own += usize::from(is_own(e, first)));
    let mut repeated = false;
    value.visit(&mut |e| repeated |= matches!(e, Expr::Sum(_)) && reads(e, first) > 0);
    // Written where it is read, what the first one stores is computed once.
    if read != own || repeated || read > usize::from(*op == Assign::Set) {
        return false;
    }
    let before = match first.op {
        Assign::Set => first.value.clone(),
        Assign::Add => {
            let load = Expr::Load(first.place.clone());
            Expr::binary(BinaryOp::Add, load, first.value.clone())
        }
    };
    match op {
        Assign::Set => {
            let mut before = Some(before);
            value.visit_mut(&mut |e| {
                if is_own(e, first)
                    && let Some(before) = before.take()
                {
                    *e = before;
                }
            });
        }
        Assign::Add => {
            let added = std::mem::replace(value, Expr::Bool(false));
            *value = Expr::binary(BinaryOp::Add, before, added);
        }
    }
    *op = Assign::Set;
    true
}

/// How often an expression reads the array.
fn reads(e: &Expr, store: &Store) -> usize {
    let mut count = 0;
    e.visit(&mut |e| {
        count += usize::from(matches!(e, Expr::Load(load) if load.array == store.place.array));
    });
    count
}

fn is_own(e: &Expr, store: &Store) -> bool {
    matches!(e, Expr::Load(load) if load.is_same_place(&store.place))
}
