//! What is combined for a row is kept until the row ends.
//!
//! Before → after, for a list of entries that is sorted by rows:
//!
//! ```text
//! for p in 0..P {                      if P / 512 >= I {
//!     let i = row_A[p];                    let mut p = 0;
//!     let j = col_A[p];                    while p < P {
//!     y[i] += val_A[p] * x[j];                 let i = row_A[p];
//! }                                            … the row ends at `end`, which is sought (`prefix.rs`)
//!                                              y[i] += sum_of(p, end, |p| { let j = col_A[p]; val_A[p] * x[j] });
//!                                              p = end;
//!                                          }
//!                                      } else if P / 4 >= I {
//!                                          let mut p = 0;
//!                                          while p < P {
//!                                              let i = row_A[p];
//!                                              let mut sum = y[i];
//!                                              while p < P {
//!                                                  let j = col_A[p];
//!                                    →             sum += val_A[p] * x[j];
//!                                                  p += 1;
//!                                                  if p >= P || row_A[p] != i {
//!                                                      break;
//!                                                  }
//!                                              }
//!                                              y[i] = sum;
//!                                          }
//!                                      } else { … as before }
//! ```
//! An update of memory waits for the one before it, if that is to the same element. Each element gets its terms in
//! the same order as before, but for sums of floats along long rows, whose order is free. Where rows have few entries, it
//! cannot be told whether the next one is another, and asking costs more than waiting: there are no more rows than the
//! result has elements. Where they have many, what is combined along one does not wait to be told that it goes on: 2.5 to
//! 2.9 times as fast from 2500 entries on, even at 100 if `x` is in the cache, half as fast there if it is not (Zen 4).

use rustc_hash::FxHashMap;

use super::copies::Renamed;
use super::ir::{
    ArrayId, Assign, BinaryOp, Block, Body, Element, Expr, Load, Origin, Stmt, Sum, Type, VarId,
};
use super::visit::{Part, visit};
use crate::tensor::ValueType;

/// So many entries on average make it worth the while to ask.
const ENTRIES: i64 = 4;

/// So many make it worth the while to look for the end of the row.
const MANY: i64 = 512;

/// What a loop does for each entry of a list.
struct Combined {
    array: ArrayId,
    subscripts: Vec<Expr>,
    op: Assign,
    /// It reads the variable instead of the element.
    value: Expr,
    kept: VarId,
    ty: ValueType,
}

/// A loop over a list of entries that is sorted by rows.
struct Entries {
    p: VarId,
    end: Expr,
    /// What is read for a row, and what says that another entry is of that row, too.
    of_row: Block,
    coordinates: Vec<(Expr, Expr)>,
    /// What is read for an entry.
    lets: Block,
    combined: Vec<Combined>,
}

impl Body {
    /// Keeps what is combined for rows; true if there are any.
    pub(super) fn keep_running_sums(&mut self) -> bool {
        self.change(Body::keep_running_in)
    }

    fn keep_running_in(&mut self, block: &mut Block) -> bool {
        let mut changed = false;
        for stmt in block {
            match self.running(stmt) {
                Some(kept) => {
                    changed = true;
                    *stmt = kept;
                }
                None => stmt.parts_mut(&mut |_| {}, &mut |inner| {
                    changed |= self.keep_running_in(inner);
                }),
            }
        }
        changed
    }

    fn running(&mut self, stmt: &Stmt) -> Option<Stmt> {
        let Stmt::For { hi, .. } = stmt else { return None };
        let arrays = self.sorted(stmt)?;
        let (last, outer) = self.arr(*arrays.first()?).shape.split_last()?;
        let (last, outer) = (last.clone(), outer.to_vec());
        // So many entries for each element; extents are not multiplied, since what that gives could be too large.
        let at_least = |entries: i64| {
            let some = |extent: Expr| Expr::binary(BinaryOp::Max, extent, Expr::int(1));
            let by = std::iter::once(Expr::int(entries)).chain(outer.iter().cloned().map(some));
            let each = by.fold(hi.clone(), |all, by| Expr::binary(BinaryOp::Div, all, by));
            Expr::binary(BinaryOp::Ge, each, last.clone())
        };
        let (many, some) = (self.entries(stmt)?, self.entries(stmt)?);
        let some = Stmt::If {
            condition: at_least(ENTRIES),
            then: some.one_by_one(),
            otherwise: vec![stmt.clone()],
        };
        let then = self.row_by_row(many);
        Some(Stmt::If { condition: at_least(MANY), then, otherwise: vec![some] })
    }

    /// A copy of a loop, taken apart.
    fn entries(&mut self, stmt: &Stmt) -> Option<Entries> {
        let mut own = stmt.clone();
        self.copied(&mut own, &mut Renamed::default());
        let Stmt::For { var: p, hi: end, body, .. } = own else { return None };
        let (stores, mut lets): (Block, Block) =
            body.into_iter().partition(|stmt| matches!(stmt, Stmt::Store { .. }));
        let (mut of_row, mut coordinates) = (Vec::new(), Vec::new());
        let mut rows: Vec<Expr> = Vec::new();
        let Some(Stmt::Store { place: first, .. }) = stores.first() else { return None };
        for subscript in &first.subscripts {
            let bound = lets.iter().position(
                |stmt| matches!(stmt, Stmt::Let { var, .. } if *subscript == Expr::Var(*var)),
            );
            let known = match (bound.map(|k| lets.remove(k)), subscript) {
                (Some(known), _) => known,
                // It is another subscript, too.
                (None, Expr::Var(_)) => {
                    rows.push(subscript.clone());
                    continue;
                }
                (None, value) => {
                    let row = self.variable("row", Type::Unsigned);
                    Stmt::Let { var: row, mutable: false, value: value.clone() }
                }
            };
            if let Stmt::Let { var: row, value, .. } = &known {
                coordinates.push((value.clone(), Expr::Var(*row)));
                rows.push(Expr::Var(*row));
            }
            of_row.push(known);
        }
        let mut combined = Vec::new();
        for store in stores {
            let Stmt::Store { place, op, mut value } = store else { continue };
            let Element::Value(ty) = self.arr(place.array).element else { return None };
            let name = if op == Assign::Add { "sum" } else { "combined" };
            let kept = self.variable(name, Type::Value(ty));
            let element = Expr::Load(place.clone());
            value.visit_mut(&mut |e| {
                if *e == element {
                    *e = Expr::Var(kept);
                }
            });
            let (array, subscripts) = (place.array, rows.clone());
            combined.push(Combined { array, subscripts, op, value, kept, ty });
        }
        Some(Entries { p, end, of_row, coordinates, lets, combined })
    }

    /// Each row is told from the next before anything is combined for it.
    fn row_by_row(&mut self, entries: Entries) -> Block {
        let Entries { p, end, mut of_row, coordinates, lets, combined } = entries;
        let mut out = Vec::new();
        let end = match end {
            Expr::Var(_) => end,
            // It is read once.
            value => {
                let hi = self.variable("hi", Type::Unsigned);
                out.push(Stmt::Let { var: hi, mutable: false, value });
                Expr::Var(hi)
            }
        };
        let (prefix, q) = (self.prefix("end"), self.variable("q", Type::Unsigned));
        // Whether the entry at a place is of the row.
        let of_same = |at: VarId| {
            let same = coordinates.iter().map(|(value, row)| {
                let mut there = value.clone();
                moved(&mut there, p, at);
                Expr::binary(BinaryOp::Eq, there, row.clone())
            });
            Expr::and(same.collect::<Vec<Expr>>())
        };
        let (of_ahead, of_middle) = (of_same(prefix.ahead), of_same(prefix.middle));
        of_row.extend(prefix.search(&Expr::Var(p), &end, of_ahead, of_middle));
        let mut inner = lets;
        of_row.extend(combined.iter().map(Combined::begin));
        inner.extend(combined.iter().map(Combined::update));
        for stmt in &mut inner {
            stmt.parts_mut(&mut |e| moved(e, p, q), &mut |_| {});
        }
        let (lo, hi) = (Expr::Var(p), Expr::Var(prefix.end));
        match self.free_sum(&combined, &inner) {
            Some((lets, term)) => {
                let Combined { kept, ty, .. } = combined[0];
                let value = Expr::Sum(Box::new(Sum::new(q, (lo, hi), lets, term, ty)));
                of_row.push(Stmt::Assign { var: kept, op: Assign::Add, value });
            }
            None => of_row.push(Stmt::For { var: q, lo, hi, body: inner }),
        }
        of_row.extend(combined.into_iter().map(Combined::end));
        let next = Expr::Var(prefix.end);
        of_row.push(Stmt::Assign { var: p, op: Assign::Set, value: next });
        let first = Stmt::Let { var: p, mutable: true, value: Expr::int(0) };
        out.extend([first, while_entries(p, &end, of_row)]);
        out
    }

    /// What is bound for each term and the term, of a sum of floats in any order.
    fn free_sum(&self, combined: &[Combined], inner: &Block) -> Option<(Vec<(VarId, Expr)>, Expr)> {
        let [Combined { op: Assign::Add, ty, .. }] = combined else { return None };
        if self.in_order || !ty.is_float() || !self.is_of_result(*ty) {
            return None;
        }
        let (last, before) = inner.split_last()?;
        let Stmt::Assign { value: term, .. } = last else { return None };
        let lets = before.iter().filter_map(|stmt| match stmt {
            Stmt::Let { var, value, .. } => Some((*var, value.clone())),
            _ => None,
        });
        Some((lets.collect(), term.clone()))
    }

    /// The arrays into whose elements a loop combines something, if that is all it does, and it comes to each element in
    /// iterations that follow one another.
    fn sorted(&self, stmt: &Stmt) -> Option<Vec<ArrayId>> {
        let Stmt::For { var, lo, hi, body } = stmt else { return None };
        if *lo != Expr::int(0) || self.type_of(hi) != Ok(Type::Unsigned) {
            return None;
        }
        let mut lets = FxHashMap::default();
        let (mut arrays, mut of_row): (Vec<ArrayId>, Option<&[Expr]>) = (Vec::new(), None);
        for stmt in body {
            match stmt {
                Stmt::Comment(_) => {}
                Stmt::Let { var, mutable: false, value } if arrays.is_empty() => {
                    lets.insert(*var, value);
                }
                Stmt::Store { place, op, value } => {
                    let array = self.arr(place.array);
                    let Element::Value(ty) = array.element else { return None };
                    let is_kept = matches!(array.origin, Origin::Output | Origin::Local)
                        && (*op == Assign::Set || ty != ValueType::Bool)
                        && !arrays.contains(&place.array)
                        && *of_row.get_or_insert(&place.subscripts) == place.subscripts;
                    // What is set is made from the element.
                    let mut own = 0;
                    value.visit(&mut |e| own += usize::from(*e == Expr::Load(place.clone())));
                    if !is_kept || (own > 0) != (*op == Assign::Set) {
                        return None;
                    }
                    arrays.push(place.array);
                }
                _ => return None,
            }
        }
        let rows: Option<Vec<ArrayId>> = of_row?
            .iter()
            .map(|e| match e {
                Expr::Var(v) => coordinate(lets.get(v)?, *var),
                e => coordinate(e, *var),
            })
            .collect();
        let rows = rows?;
        let is_sorted = |order: &Vec<ArrayId>| order.len() > rows.len() && order.starts_with(&rows);
        (self.reads_only_own(body, &arrays) && self.sorted_by.iter().any(is_sorted))
            .then_some(arrays)
    }

    /// Whether the elements of arrays are read only where they are combined with something.
    fn reads_only_own(&self, body: &Block, arrays: &[ArrayId]) -> bool {
        let mut loads = 0_isize;
        visit(body, &mut |part| {
            if let Part::Expr(Expr::Load(load)) = part {
                loads += isize::from(arrays.contains(&load.array));
            }
        });
        for stmt in body {
            if let Stmt::Store { place, value, .. } = stmt {
                value.visit(&mut |e| loads -= isize::from(*e == Expr::Load(place.clone())));
            }
        }
        loads == 0
    }
}

impl Entries {
    /// Each entry is asked whether it is of the same row as the one before.
    fn one_by_one(self) -> Block {
        let Entries { p, end, mut of_row, coordinates, lets: mut body, combined } = self;
        let mut ends = vec![Expr::binary(BinaryOp::Ge, Expr::Var(p), end.clone())];
        let others = coordinates.into_iter();
        ends.extend(others.map(|(value, row)| Expr::binary(BinaryOp::Ne, value, row)));
        body.extend(combined.iter().map(Combined::update));
        body.push(Stmt::Assign { var: p, op: Assign::Add, value: Expr::int(1) });
        let then = vec![Stmt::Break(None)];
        body.push(Stmt::If { condition: Expr::or(ends), then, otherwise: Vec::new() });
        of_row.extend(combined.iter().map(Combined::begin));
        of_row.push(while_entries(p, &end, body));
        of_row.extend(combined.into_iter().map(Combined::end));
        let first = Stmt::Let { var: p, mutable: true, value: Expr::int(0) };
        vec![first, while_entries(p, &end, of_row)]
    }
}

/// Says in an expression where another entry is.
fn moved(e: &mut Expr, p: VarId, to: VarId) {
    e.visit_mut(&mut |e| {
        if *e == Expr::Var(p) {
            *e = Expr::Var(to);
        }
    });
}

fn while_entries(p: VarId, end: &Expr, body: Block) -> Stmt {
    let condition = Expr::binary(BinaryOp::Lt, Expr::Var(p), end.clone());
    Stmt::While { condition, invariants: Vec::new(), body }
}

impl Combined {
    fn begin(&self) -> Stmt {
        let value = Expr::Load(Load::checked(self.array, self.subscripts.clone()));
        Stmt::Let { var: self.kept, mutable: true, value }
    }

    fn update(&self) -> Stmt {
        Stmt::Assign { var: self.kept, op: self.op, value: self.value.clone() }
    }

    fn end(self) -> Stmt {
        let place = Load::checked(self.array, self.subscripts);
        Stmt::Store { place, op: Assign::Set, value: Expr::Var(self.kept) }
    }
}

/// The array of which an expression is the element at `p`.
fn coordinate(e: &Expr, p: VarId) -> Option<ArrayId> {
    match e {
        Expr::Convert { value, .. } | Expr::Given { value, .. } => coordinate(value, p),
        Expr::Load(Load { array, subscripts, .. }) if *subscripts == [Expr::Var(p)] => Some(*array),
        _ => None,
    }
}
