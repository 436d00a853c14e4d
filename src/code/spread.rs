//! Values that are looked up are spread over their coordinates, where nothing but the value is read of a match.
//!
//! Before → after, for a sparse matrix times a sparse vector:
//!
//! ```text
//! let mut table = Table::new(NNZ_x);           let mut there = vec![false; J];
//! for px in 0..NNZ_x {                         let mut value = vec![0.0; J];
//!     table.insert([crd_x[px]], px);           for px in 0..NNZ_x {
//! }                                                there[crd_x[px]] = true;
//! …                                                value[crd_x[px]] = val_x[px];
//! for pA in … {                                }
//!     let j = crd_A[pA];                    →  …
//!     if let Some(px) = table.first([j]) {     sum += sum_of(…, |pA| {
//!         sum += val_A[pA] * val_x[px];            let j = crd_A[pA];
//!     }                                            choose(there[j], val_A[pA] * value[j], 0.0)
//! }                                            });
//! ```
//! No branch depends on what is there, and what is infinite or no number stays exact: where nothing is there,
//! nothing is added. A table within a loop is two arrays around it, of which what was set is cleared.
//!
//! Where the value is a factor of what is added, and zero where nothing is there, that adds nothing by itself. Of floats
//! it may also be NaN, if another factor is infinite or NaN. Then the sum is, too, and is made again with the mask:
//!
//! ```text
//! let sum_of_all = sum_of(…, |pA| { let j = crd_A[pA]; val_A[pA] * value[j] });
//! if sum_of_all != sum_of_all { … }
//! ```
//!
//! Gustavson 1978, §2 (the switch array).

use super::ir::{
    ArrayId, Assign, BinaryOp, Block, Body, Element, Expr, LabelId, Load, Origin, Spreads, Stmt,
    Sum, TableTraits, Type, VarId,
};
use super::visit::{Part, visit};
use crate::formula::{Affine, Atom, Constraint, Name};
use crate::layout::checks::end_of_range;
use crate::tensor::{Value, ValueType};

/// A table that gives way to two arrays.
struct Spread {
    table: VarId,
    /// The values of what was entered.
    stored: ArrayId,
    there: ArrayId,
    value: ArrayId,
    /// Where nothing is there, a zero may take part in sums.
    expands: bool,
    /// It does in one.
    takes_part: bool,
}

impl Body {
    /// Spreads the values of all tables that may be; true if there are any.
    pub(super) fn spread_values(&mut self) -> bool {
        let tables: Vec<(VarId, Spreads)> =
            self.tables_of_one_part().filter_map(|(id, t)| Some((id, t.spreads?))).collect();
        let mut changed = false;
        for table in tables {
            let mut before = Vec::new();
            changed |= self.change(|body, block| {
                let spread = body.spread_table(table, block, &mut before, Around::Nothing);
                block.splice(0..0, std::mem::take(&mut before));
                spread
            });
        }
        changed
    }

    /// The variables that hold tables with keys of one part.
    pub(super) fn tables_of_one_part(&self) -> impl Iterator<Item = (VarId, TableTraits)> {
        let tables = self.variables().filter(|(_, v)| matches!(v.ty, Type::Table { parts: 1, .. }));
        tables.map(|(id, _)| (id, self.traits_of(id)))
    }

    /// `before`: what is allocated before the loops around the table.
    fn spread_table(
        &mut self,
        (table, how): (VarId, Spreads),
        block: &mut Block,
        before: &mut Block,
        around: Around,
    ) -> bool {
        let is_set_up = |stmt: &Stmt| matches!(stmt, Stmt::Let { var, .. } if *var == table);
        let Some(at) = block.iter().position(is_set_up) else {
            return block.iter_mut().any(|stmt| {
                if let Stmt::Parallel(parallel) = stmt {
                    // Each thread has arrays of its own, for all its chunks.
                    let mut own = Vec::new();
                    let within = &mut parallel.body;
                    let found = self.spread_table((table, how), within, &mut own, Around::Loop);
                    parallel.setup.extend(own);
                    return found;
                }
                let inner = match stmt {
                    Stmt::For { .. } | Stmt::While { .. } | Stmt::Drain(_) => Around::Loop,
                    _ => around,
                };
                let mut found = false;
                let mut within = |b: &mut Block| {
                    found = found || self.spread_table((table, how), b, before, inner);
                };
                stmt.parts_mut(&mut |_| {}, &mut within);
                found
            });
        };
        if how == Spreads::Positions {
            return self.keep_places(table, (block, at), before, around);
        }
        let Some((stored, extent)) = self.spreads(table, &block[at + 1..]) else { return false };
        let Element::Value(ty) = self.arr(stored).element else { return false };
        let hint = self.hint(table).trim_end_matches("_table").to_string();
        let mut array = |suffix: &str, ty: ValueType| {
            self.local(format!("{hint}_{suffix}"), Element::Value(ty), vec![extent.clone()])
        };
        let (there, value) = (array("there", ValueType::Bool), array("value", ty));
        let expands = how == Spreads::Alone;
        let mut spread = Spread { table, stored, there, value, expands, takes_part: false };
        let mut entered = block.clone();
        entered.retain(|stmt| enters(stmt, table));
        let rest = block.split_off(at);
        for stmt in rest.into_iter().skip(1) {
            self.read(stmt, &mut spread, block);
        }
        let masked = reads(block, there);
        if !masked {
            drop_stores(block, there);
        }
        let mut allocated = vec![Stmt::Allocate { array: value, fill: Expr::zero(ty) }];
        if masked {
            let nothing = Expr::Number(Value::Bool(false));
            allocated.insert(0, Stmt::Allocate { array: there, fill: nothing });
        }
        match around {
            Around::Loop => {
                before.extend(allocated);
                let zero = spread.takes_part.then(|| Expr::zero(ty));
                spread.clear(&mut entered, masked, zero.as_ref());
                before_leaving(block, &entered, (false, &[]));
                block.extend(entered);
            }
            _ => drop(block.splice(at..at, allocated)),
        }
        true
    }

    /// The array whose values are read of what a table says, and the extent of its keys, if these are all that
    /// is needed of it.
    fn spreads(&self, table: VarId, rest: &[Stmt]) -> Option<(ArrayId, Expr)> {
        let mut stored = None;
        let mut extent = None;
        let mut plain = true;
        visit(rest, &mut |part| match part {
            Part::Stmt(Stmt::Insert { table: t, key, .. }) if *t == table => {
                plain &= extent.is_none() && self.is_coordinate(key);
                extent = self.extent_of(key);
            }
            Part::Stmt(Stmt::Matches { table: t, key, var, all, body, .. }) if *t == table => {
                plain &= !*all && self.is_coordinate(key);
                let mut mentions = 0;
                visit(body, &mut |part| match part {
                    Part::Expr(Expr::Load(load)) if load.subscripts == [Expr::Var(*var)] => {
                        plain &= stored.is_none_or(|array| array == load.array);
                        stored = Some(load.array);
                        mentions -= 1;
                    }
                    Part::Expr(Expr::Var(v)) => mentions += i32::from(v == var),
                    _ => {}
                });
                plain &= mentions == 0;
            }
            Part::Stmt(Stmt::Assign { var, .. }) => plain &= *var != table,
            _ => {}
        });
        let stored = stored.filter(|array| self.arr(*array).origin == Origin::Input);
        stored.filter(|_| plain).zip(extent)
    }

    /// Whether a key is one natural number.
    pub(super) fn is_coordinate(&self, key: &Expr) -> bool {
        let Expr::Key(parts) = key else { return false };
        matches!(&parts[..], [part] if self.type_of(part) == Ok(Type::Unsigned))
    }

    /// What all keys are below, from the declared range of the array that holds them.
    pub(super) fn extent_of(&self, key: &Expr) -> Option<Expr> {
        let array = self.arr(entered_from(key)?);
        self.natural(&end_of_range(&array.name, &array.range)?)
    }

    /// A sum of sizes and of parts of such sums, each once.
    fn natural(&self, sum: &Affine) -> Option<Expr> {
        let parts = sum.terms().iter().map(|(atom, factor)| match atom {
            _ if *factor != 1 => None,
            Atom::Var(name) => self.variable_named(name).map(Expr::Var),
            Atom::Floor(of, by) => {
                Some(Expr::binary(BinaryOp::Div, self.natural(of)?, Expr::int(*by)))
            }
            Atom::Call(_) => None,
        });
        let parts: Option<Vec<Expr>> = parts.collect();
        let beyond = (sum.offset() > 0).then(|| Expr::int(sum.offset()));
        parts?.into_iter().chain(beyond).reduce(Expr::add)
    }

    /// A statement with the arrays in place of the table.
    fn read(&mut self, mut stmt: Stmt, spread: &mut Spread, out: &mut Block) {
        match stmt {
            Stmt::Insert { table, key: Expr::Key(key), position } if table == spread.table => {
                let truth = Expr::Number(Value::Bool(true));
                let value = Expr::load(spread.stored, vec![position]);
                for (array, value) in [(spread.there, truth), (spread.value, value)] {
                    let place = Load::checked(array, key.clone());
                    out.push(Stmt::Store { place, op: Assign::Set, value });
                }
            }
            Stmt::Matches { table, key: Expr::Key(key), var, mut body, .. }
                if table == spread.table =>
            {
                let name = self.var(var).name.clone();
                spread.replace(&mut body, (var, &name), &key);
                self.where_there(spread, &key, body, out);
            }
            _ => {
                stmt.parts_mut(&mut |_| {}, &mut |block| {
                    for stmt in std::mem::take(block) {
                        self.read(stmt, spread, block);
                    }
                });
                match self.sum(&stmt, spread) {
                    Some(sum) => out.extend(sum),
                    None => out.push(stmt),
                }
            }
        }
    }

    /// What is done where something is there: without a branch, where that adds to a number. What holds of a match does
    /// not hold then.
    fn where_there(&mut self, spread: &Spread, key: &[Expr], body: Block, out: &mut Block) {
        let condition = Expr::load(spread.there, key.to_vec());
        let mut always = body.clone();
        drop_facts(&mut always, &|_| false);
        match (self.adds(&always), always.last_mut()) {
            (Some(Added { ty, .. }), Some(Stmt::Assign { value, .. })) => {
                let (then, otherwise) = (Box::new(value.clone()), Box::new(Expr::zero(ty)));
                *value = Expr::Choose { condition: Box::new(condition), then, otherwise };
                out.append(&mut always);
            }
            _ => out.push(Stmt::If { condition, then: body, otherwise: Vec::new() }),
        }
    }

    /// A loop that adds to a number, as one sum in several chains.
    fn sum(&mut self, stmt: &Stmt, spread: &mut Spread) -> Option<Block> {
        let Stmt::For { var, lo, hi, body } = stmt else { return None };
        let (Stmt::Assign { var: sum, op: Assign::Add, value }, before) = body.split_last()? else {
            return None;
        };
        let lets = bindings(before)?;
        let Expr::Choose { then, .. } = value else { return None };
        let Type::Value(ty) = self.var(*sum).ty else { return None };
        if !self.sums_freely(*sum, body) {
            return None;
        }
        let (var, lo, hi) = (*var, lo.clone(), hi.clone());
        let sum_of = |term: &Expr| {
            let (lo, hi, lets, term) = (lo.clone(), hi.clone(), lets.clone(), term.clone());
            Expr::Sum(Box::new(Sum::new(var, (lo, hi), lets, term, ty)))
        };
        let add = |value: Expr| Stmt::Assign { var: *sum, op: Assign::Add, value };
        if !spread.expands || !spread.is_factor(then, &lets) {
            return Some(vec![add(sum_of(value))]);
        }
        spread.takes_part = true;
        if !ty.is_float() {
            return Some(vec![add(sum_of(then))]);
        }
        let all = self.variable(&format!("{}_of_all", self.hint(*sum)), Type::Value(ty));
        let number = || Box::new(Expr::Var(all));
        let is_none = Expr::Binary { op: BinaryOp::Ne, left: number(), right: number() };
        let again = vec![
            Stmt::Comment("What is missing may have met what is no finite number.".to_string()),
            Stmt::Assign { var: all, op: Assign::Set, value: sum_of(value) },
        ];
        Some(vec![
            Stmt::Let { var: all, mutable: true, value: sum_of(then) },
            Stmt::If { condition: is_none, then: again, otherwise: Vec::new() },
            add(Expr::Var(all)),
        ])
    }

    /// What a block adds to a number, if that may be computed for nothing, too.
    pub(super) fn adds(&self, block: &Block) -> Option<Added> {
        let (Stmt::Assign { var: sum, op: Assign::Add, value }, lets) = block.split_last()? else {
            return None;
        };
        let Type::Value(ty) = self.var(*sum).ty else { return None };
        let lets = bindings(lets)?;
        let is_number = ty != ValueType::Bool && may_be_wasted(ty, block);
        is_number.then(|| Added { sum: *sum, ty, lets, value: value.clone() })
    }

    /// Whether what a loop adds to a number may be summed up in any order.
    pub(super) fn sums_freely(&self, sum: VarId, body: &Block) -> bool {
        let Type::Value(ty) = self.var(sum).ty else { return false };
        let mut alone = true;
        visit(body, &mut |part| alone &= !matches!(part, Part::Expr(e) if *e == Expr::Var(sum)));
        !self.in_order && alone && self.is_of_result(ty)
    }
}

/// What is added to a number, and what is bound for that.
pub(super) struct Added {
    pub sum: VarId,
    pub ty: ValueType,
    pub lets: Vec<(VarId, Expr)>,
    pub value: Expr,
}

/// What statements bind, if that is all they do.
pub(super) fn bindings(block: &[Stmt]) -> Option<Vec<(VarId, Expr)>> {
    let bound = block.iter().map(|stmt| match stmt {
        Stmt::Let { var, mutable: false, value } => Some((*var, value.clone())),
        _ => None,
    });
    bound.collect()
}

/// What is around a table.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Around {
    Nothing,
    Loop,
}

impl Spread {
    /// Statements that entered, as such that clear: the mask, and values that take part even so.
    fn clear(&self, block: &mut Block, masked: bool, zero: Option<&Expr>) {
        for mut stmt in std::mem::take(block) {
            stmt.parts_mut(&mut |_| {}, &mut |inner| self.clear(inner, masked, zero));
            let Stmt::Insert { key: Expr::Key(key), .. } = &stmt else {
                block.push(stmt);
                continue;
            };
            let nothing = masked.then_some((self.there, Expr::Number(Value::Bool(false))));
            for (array, value) in nothing.into_iter().chain(zero.map(|z| (self.value, z.clone()))) {
                let place = Load::checked(array, key.clone());
                block.push(Stmt::Store { place, op: Assign::Set, value });
            }
        }
    }

    /// Whether a value is a product with the spread one: if that is zero, so is the product, or NaN.
    fn is_factor(&self, value: &Expr, lets: &[(VarId, Expr)]) -> bool {
        match value {
            Expr::Load(load) => load.array == self.value,
            Expr::Binary { op: BinaryOp::Mul, left, right } => {
                self.is_factor(left, lets) || self.is_factor(right, lets)
            }
            Expr::Choose { then, otherwise, .. } => {
                is_zero(otherwise) && self.is_factor(then, lets)
            }
            Expr::Given { value, .. } => self.is_factor(value, lets),
            // What is no number is true.
            Expr::Cast { to, value } => *to != ValueType::Bool && self.is_factor(value, lets),
            Expr::Var(var) => {
                lets.iter().any(|(bound, value)| bound == var && self.is_factor(value, lets))
            }
            _ => false,
        }
    }

    /// What is done with a match, by its key. Facts about the position are about nothing then.
    fn replace(&self, body: &mut Block, (position, name): (VarId, &Name), key: &[Expr]) {
        drop_facts(body, &|fact| !fact.mentions(name));
        self.by_key(body, position, key);
    }

    fn by_key(&self, body: &mut Block, position: VarId, key: &[Expr]) {
        for stmt in body {
            let mut by_key = |e: &mut Expr| {
                e.visit_mut(&mut |e| {
                    if let Expr::Load(load) = e
                        && load.array == self.stored
                        && load.subscripts == [Expr::Var(position)]
                    {
                        *e = Expr::load(self.value, key.to_vec());
                    }
                });
            };
            stmt.parts_mut(&mut by_key, &mut |b| self.by_key(b, position, key));
        }
    }
}

/// Whether a statement enters anything in a table.
pub(super) fn enters(stmt: &Stmt, table: VarId) -> bool {
    let mut found = false;
    visit(std::slice::from_ref(stmt), &mut |part| {
        found |= matches!(part, Part::Stmt(Stmt::Insert { table: t, .. }) if *t == table);
    });
    found
}

/// The array of which a key is one element.
pub(super) fn entered_from(key: &Expr) -> Option<ArrayId> {
    let Expr::Key(parts) = key else { return None };
    let [part] = &parts[..] else { return None };
    let mut part = part;
    while let Expr::Given { value, .. } | Expr::Convert { value, .. } = part {
        part = value;
    }
    match part {
        Expr::Load(load) => Some(load.array),
        _ => None,
    }
}

/// Drops all facts but those that are to stay.
pub(super) fn drop_facts(block: &mut Block, stays: &dyn Fn(&Constraint) -> bool) {
    let kept = |facts: &mut Vec<Constraint>| {
        facts.retain(|fact| stays(fact));
        !facts.is_empty()
    };
    let mut out = Vec::new();
    for mut stmt in std::mem::take(block) {
        let mut of_expr = |e: &mut Expr| {
            e.visit_mut(&mut |e| {
                while let Expr::Given { facts, value } = e
                    && !kept(facts)
                {
                    *e = (**value).clone();
                }
            });
        };
        stmt.parts_mut(&mut of_expr, &mut |inner| drop_facts(inner, stays));
        match stmt {
            Stmt::Given { mut facts, body } => match kept(&mut facts) {
                true => out.push(Stmt::Given { facts, body }),
                false => out.extend(body),
            },
            stmt => out.push(stmt),
        }
    }
    *block = out;
}

/// Whether values may be computed of which nothing is there: no division of whole numbers fails.
fn may_be_wasted(ty: ValueType, body: &Block) -> bool {
    let mut plain = true;
    visit(body, &mut |part| plain &= !matches!(part, Part::Expr(Expr::Operator { .. })));
    plain || ty.is_float()
}

fn is_zero(value: &Expr) -> bool {
    matches!(value, Expr::Number(number) if number.same(Value::zero(number.value_type())))
}

/// Whether an element of an array is read.
fn reads(block: &Block, array: ArrayId) -> bool {
    let mut found = false;
    visit(block, &mut |part| {
        found |= matches!(part, Part::Expr(Expr::Load(l)) if l.array == array)
    });
    found
}

/// A block without what is stored in an array.
fn drop_stores(block: &mut Block, array: ArrayId) {
    block.retain(|stmt| !matches!(stmt, Stmt::Store { place, .. } if place.array == array));
    for stmt in block {
        stmt.parts_mut(&mut |_| {}, &mut |inner| drop_stores(inner, array));
    }
}

/// Puts statements before each that leaves a block: a break that is not of a loop, or a labelled block, within it.
pub(super) fn before_leaving(
    block: &mut Block,
    first: &Block,
    (in_loop, labels): (bool, &[LabelId]),
) {
    for mut stmt in std::mem::take(block) {
        let mut labels = labels.to_vec();
        let in_loop = match &stmt {
            Stmt::Break(None) => {
                block.extend(first.iter().filter(|_| !in_loop).cloned());
                false
            }
            Stmt::Break(Some(label)) => {
                block.extend(first.iter().filter(|_| !labels.contains(label)).cloned());
                false
            }
            Stmt::Labelled { label, .. } => {
                labels.push(*label);
                in_loop
            }
            Stmt::For { .. } | Stmt::While { .. } | Stmt::Drain(_) => true,
            _ => in_loop,
        };
        let mut within = |inner: &mut Block| before_leaving(inner, first, (in_loop, &labels));
        stmt.parts_mut(&mut |_| {}, &mut within);
        block.push(stmt);
    }
}
