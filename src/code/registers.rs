//! Sums of a row are kept in registers while a segment is walked.
//!
//! Before → after, for a sparse matrix times a dense one:
//!
//! ```text
//! for p in pos_A[i]..pos_A[i + 1] {            for tile in 0..K / 32 {
//!     let j = crd_A[p];                            let mut sums = [0.0; 32];
//!     for k in 0..K {                              for p in pos_A[i]..pos_A[i + 1] {
//!         C[i, k] += val_A[p] * B[j, k];               let j = crd_A[p];
//!     }                                                for lane in 0..32 {
//! }                                                        let k = 32 * tile + lane;
//!                                          →               sums[lane] += val_A[p] * B[j, k];
//!                                                      }
//!                                                  }
//!                                                  for lane in 0..32 {
//!                                                      let k = 32 * tile + lane;
//!                                                      C[i, k] += sums[lane];
//!                                                  }
//!                                              }
//!                                              … and once more for what is left of 0..K
//! ```
//! The rows of a block, of which there are as many as its height unless it is the last, are one tile. So is the sum
//! over a row of a block: where all of it is there, it has a known number of terms, which are kept apart until the
//! segment ends (`sums[lane][term]`). What is left over are
//! tiles of fewer lanes, so that each element is written once ([`Body::write_once`]).
//!
//! The order of addition is free, as in sums; where it is not, sums begin with the elements. Only segments are walked
//! once for each tile, which stay in the cache.

use rustc_hash::{FxHashMap, FxHashSet};

use super::copies::Renamed;
use super::ir::{
    ArrayId, Assign, BinaryOp, Block, Body, Element, Expr, Load, Origin, Stmt, Sum, Type, VarId,
};
use super::visit::{Part, visit};
use crate::tensor::ValueType;

/// So many sums are kept, while there are as many: half of the registers of four numbers each that processors have.
/// A segment is walked once for each tile, and short ones have ends that are not foreseen: wide tiles pay.
const WIDE: i64 = 32;

/// Of what is left, so many at once, and then each by itself. A tile of as many as there are would be no registers.
const NARROW: [i64; 3] = [16, 8, 4];

/// In blocks of at most so many rows and columns, terms are kept apart: 25 % faster for 2 × 2 to 4 × 4 (Zen 4), and up to
/// 20 % slower for greater ones, whose rows are vectors of their own.
const SMALL: i64 = 4;

/// Bytes of a vector that all processors of today have.
const VECTOR: i64 = 32;

/// Rows that are usual, and are one tile. Each takes time to compile.
pub const USUAL_ROWS: [i64; 3] = [NARROW[1], NARROW[0], WIDE];

/// Loops within each other, of which the innermost updates a row of elements.
struct Nest<'a> {
    /// What the outer loops bind, and what follows from it.
    bound: FxHashSet<VarId>,
    /// The innermost loop.
    lane: VarId,
    hi: &'a Expr,
    body: &'a Block,
    place: &'a Load,
    ty: ValueType,
    /// What is computed in the innermost loop.
    lets: FxHashMap<VarId, &'a Expr>,
}

/// The elements of a row that are kept at once.
struct Tile {
    sums: ArrayId,
    /// Of each, so many sums are kept apart.
    apart: Option<i64>,
    /// These are read from memory in the end.
    in_memory: bool,
    lanes: Expr,
    /// The first of them, unless it is that of the row.
    first: Option<Expr>,
    /// The only one.
    only: Option<VarId>,
}

impl Body {
    /// Keeps sums; true if there are any.
    pub(super) fn keep_sums(&mut self) -> bool {
        let changed = self.change(|body, block| body.keep_in(block, false));
        if changed {
            // What an update needs is computed around its place, too.
            self.drop_unused();
        }
        changed
    }

    /// `looped`: the block is in a loop, so that what its loops walk is a part of something.
    fn keep_in(&mut self, block: &mut Block, looped: bool) -> bool {
        let mut changed = false;
        for mut stmt in std::mem::take(block) {
            if looped && let Some(kept) = self.kept(&stmt) {
                changed = true;
                block.extend(kept);
                continue;
            }
            let within = looped || matches!(stmt, Stmt::For { .. } | Stmt::Parallel(_));
            stmt.parts_mut(&mut |_| {}, &mut |inner| changed |= self.keep_in(inner, within));
            block.push(stmt);
        }
        changed
    }

    /// What a loop becomes.
    fn kept(&mut self, stmt: &Stmt) -> Option<Block> {
        let nest = self.nest(stmt)?;
        if let Some((count, width)) = at_most(nest.hi) {
            let then = self.tile(stmt, &nest, width, Expr::int(width), None);
            let condition = self.at_least(count.clone(), width);
            let otherwise = self.tile(stmt, &nest, width, nest.hi.clone(), None);
            return Some(vec![Stmt::If { condition, then, otherwise }]);
        }
        if self.type_of(nest.hi) != Ok(Type::Unsigned) {
            return None;
        }
        if let Expr::Var(size) = nest.hi
            && self.sizes.contains(size)
        {
            self.tiled.get_or_insert(*size);
        }
        let up_to = |width: i64| {
            let tiles = Expr::binary(BinaryOp::Div, nest.hi.clone(), Expr::int(width));
            (tiles.clone(), tiles.mul(Expr::int(width)))
        };
        let (tiles, mut done) = up_to(WIDE);
        let tile = self.variable("tile", Type::Unsigned);
        let first = Expr::var(tile).mul(Expr::int(WIDE));
        let body = self.tile(stmt, &nest, WIDE, Expr::int(WIDE), Some(first));
        let mut out = vec![Stmt::For { var: tile, lo: Expr::int(0), hi: tiles, body }];
        for narrow in NARROW {
            let then = self.tile(stmt, &nest, narrow, Expr::int(narrow), Some(done.clone()));
            let condition = self.at_least(nest.hi.clone().sub(done), narrow);
            out.push(Stmt::If { condition, then, otherwise: Vec::new() });
            (_, done) = up_to(narrow);
        }
        let one = self.variable("one", Type::Unsigned);
        let body = self.element(stmt, &nest, one);
        out.push(Stmt::For { var: one, lo: done, hi: nest.hi.clone(), body });
        Some(out)
    }

    fn at_least(&self, count: Expr, width: i64) -> Expr {
        let signed = self.type_of(&count) == Ok(Type::Signed);
        compared(count, BinaryOp::Ge, Expr::integer(width, signed))
    }

    /// The nest of a loop over a segment, if all that it does is to update a row of elements.
    fn nest<'a>(&self, stmt: &'a Stmt) -> Option<Nest<'a>> {
        let mut bound = FxHashSet::default();
        let mut at = stmt;
        let (lane, hi, body) = loop {
            let Stmt::For { var, lo, hi, body } = at else { return None };
            let mut inner = None;
            for stmt in body {
                match stmt {
                    Stmt::Comment(_) | Stmt::Let { mutable: false, .. } => {}
                    Stmt::For { .. } if inner.is_none() => inner = Some(stmt),
                    Stmt::Store { .. } if inner.is_none() => inner = Some(stmt),
                    _ => return None,
                }
            }
            match inner? {
                Stmt::Store { .. } if *lo == Expr::int(0) && !std::ptr::eq(at, stmt) => {
                    break (*var, hi, body);
                }
                Stmt::Store { .. } => return None,
                next => at = next,
            }
            bound.insert(*var);
            for stmt in body {
                if let Stmt::Let { var, .. } = stmt {
                    bound.insert(*var);
                }
            }
        };
        let mut lets = FxHashMap::default();
        let mut update = None;
        for stmt in body {
            match stmt {
                Stmt::Let { var, value, .. } => {
                    lets.insert(*var, value);
                }
                Stmt::Store { place, op: Assign::Add, .. } => update = Some(place),
                _ => {}
            }
        }
        let place = update?;
        let array = self.arr(place.array);
        let Element::Value(ty) = array.element else { return None };
        let nest = Nest { bound, lane, hi, body, place, ty, lets };
        let stays = place.subscripts.iter().chain([hi]).all(|e| !nest.changes(e));
        let moves = place.subscripts.iter().any(|e| nest.mentions(e, &|v| v == lane));
        let mut plain = ty != ValueType::Bool && array.origin == Origin::Output && stays && moves;
        let Stmt::For { body, .. } = stmt else { return None };
        visit(body, &mut |part| match part {
            Part::Expr(Expr::Load(load)) => plain &= load.array != place.array,
            Part::Expr(Expr::Given { .. } | Expr::Hole(_)) => plain = false,
            _ => {}
        });
        plain.then_some(nest)
    }

    /// The nest for a tile of the row, from `first` on: for so many `lanes`, at most `width`.
    fn tile(
        &mut self,
        stmt: &Stmt,
        nest: &Nest<'_>,
        width: i64,
        lanes: Expr,
        first: Option<Expr>,
    ) -> Block {
        // In registers are arrays of which all places are known.
        let apart = nest.terms().filter(|terms| {
            !self.is_in_order(nest) && lanes == Expr::int(width) && width.max(*terms) <= SMALL
        });
        // Terms of one lane that fit half a vector are read from memory as they are; else all lanes would be put together,
        // which pays if they fill one. What is read otherwise than it was stored would stop the processor.
        let bytes = |count: i64| count * nest.ty.size_bytes() as i64;
        let in_memory =
            apart.is_some_and(|terms| bytes(terms) <= VECTOR / 2) && bytes(width) != VECTOR;
        let shape = [Some(width), apart].into_iter().flatten().collect();
        let sums = self.sums(nest, shape);
        self.tiled(stmt, nest, Tile { sums, apart, in_memory, lanes, first, only: None })
    }

    /// The nest for one element of the row.
    fn element(&mut self, stmt: &Stmt, nest: &Nest<'_>, only: VarId) -> Block {
        let sums = self.sums(nest, vec![1]);
        let (lanes, only) = (Expr::int(1), Some(only));
        let tile = Tile { sums, apart: None, in_memory: false, lanes, first: None, only };
        let mut block = self.tiled(stmt, nest, tile);
        let sum = self.variable("sum", Type::Value(nest.ty));
        in_variable(&mut block, sums, sum);
        block
    }

    /// Whether terms are added to the elements themselves, one after another.
    fn is_in_order(&self, nest: &Nest<'_>) -> bool {
        self.in_order && nest.ty.is_float()
    }

    fn sums(&mut self, nest: &Nest<'_>, shape: Vec<i64>) -> ArrayId {
        let shape = shape.into_iter().map(Expr::int).collect();
        self.local("sums", Element::Value(nest.ty), shape)
    }

    fn tiled(&mut self, stmt: &Stmt, nest: &Nest<'_>, tile: Tile) -> Block {
        let walked = self.walked(stmt, nest, &tile, &mut Renamed::default());
        let mut renamed = Renamed::default();
        let (lane, mut body) = self.lane(nest, &tile, &mut renamed);
        let mut place = nest.place.clone();
        place.subscripts.iter_mut().for_each(|e| self.rename(e, &mut renamed));
        let sum = Load::checked(tile.sums, vec![Expr::var(lane)]);
        let kept = match tile.apart {
            None => Expr::Load(sum.clone()),
            Some(apart) => {
                let term = self.variable("term", Type::Unsigned);
                let one = Load::checked(tile.sums, vec![Expr::var(lane), Expr::var(term)]);
                let ends = (Expr::int(0), Expr::int(apart));
                Expr::Sum(Box::new(Sum::new(term, ends, Vec::new(), Expr::Load(one), nest.ty)))
            }
        };
        let lanes = tile.lanes;
        let all = |lane, body| Stmt::For { var: lane, lo: Expr::int(0), hi: lanes.clone(), body };
        let mut out = vec![Stmt::Allocate { array: tile.sums, fill: Expr::zero(nest.ty) }];
        let in_order = self.is_in_order(nest);
        if in_order {
            let mut renamed = Renamed::default();
            let mut load = body.clone();
            let value = Expr::Load(place.clone());
            load.push(Stmt::Store { place: sum.clone(), op: Assign::Set, value });
            let mut begin = all(lane, load);
            self.copied(&mut begin, &mut renamed);
            out.push(begin);
        }
        let op = if in_order { Assign::Set } else { Assign::Add };
        body.push(Stmt::Store { place, op, value: kept });
        out.push(walked);
        if tile.in_memory {
            out.push(Stmt::InMemory(tile.sums));
        }
        out.push(all(lane, body));
        out
    }

    /// The loops anew, with the innermost over the tile.
    fn walked(&mut self, stmt: &Stmt, nest: &Nest<'_>, tile: &Tile, renamed: &mut Renamed) -> Stmt {
        match stmt {
            Stmt::For { var, .. } if *var == nest.lane => {
                let whole = nest.whole_sums();
                let general = self.summed(nest, tile, renamed.clone(), false);
                let Some((count, width)) = whole else { return general };
                let mut count = count.clone();
                self.rename(&mut count, renamed);
                let condition = self.at_least(count, width);
                let then = vec![self.summed(nest, tile, renamed.clone(), true)];
                Stmt::If { condition, then, otherwise: vec![general] }
            }
            Stmt::For { var, lo, hi, body } => {
                let (mut lo, mut hi) = (lo.clone(), hi.clone());
                self.rename(&mut lo, renamed);
                self.rename(&mut hi, renamed);
                let var = self.anew(*var, renamed);
                let body = body.iter().map(|s| self.walked(s, nest, tile, renamed)).collect();
                Stmt::For { var, lo, hi, body }
            }
            Stmt::Let { var, mutable, value } => {
                let mut value = value.clone();
                self.rename(&mut value, renamed);
                Stmt::Let { var: self.anew(*var, renamed), mutable: *mutable, value }
            }
            other => other.clone(),
        }
    }

    /// The innermost loop, over the tile; its sums over rows of blocks have all of their terms if they are `whole`.
    fn summed(&mut self, nest: &Nest<'_>, tile: &Tile, mut renamed: Renamed, whole: bool) -> Stmt {
        let (lane, mut body) = self.lane(nest, tile, &mut renamed);
        let update = nest.body.iter().find_map(|stmt| match stmt {
            Stmt::Store { value, .. } => Some(value),
            _ => None,
        });
        let mut value = update.expect("a nest has an update").clone();
        self.rename(&mut value, &mut renamed);
        let mut place =
            Load { array: tile.sums, subscripts: vec![Expr::var(lane)], access: nest.place.access };
        let update = match (tile.apart, body.pop_if(|_| tile.apart.is_some())) {
            (Some(terms), Some(Stmt::Let { value: Expr::Sum(sum), .. })) => {
                place.subscripts.push(Expr::Var(sum.var));
                let lets = sum.lets.into_iter();
                let mut then: Block =
                    lets.map(|(var, value)| Stmt::Let { var, mutable: false, value }).collect();
                then.push(Stmt::Store { place, op: Assign::Add, value: sum.term });
                let body = match at_most(&sum.hi).filter(|_| !whole) {
                    Some((count, _)) => {
                        let signed = self.type_of(count) == Ok(Type::Signed);
                        let term = Expr::Var(sum.var);
                        let term = if signed { term.converted(true) } else { term };
                        let condition = compared(count.clone(), BinaryOp::Gt, term);
                        vec![Stmt::If { condition, then, otherwise: Vec::new() }]
                    }
                    None => then,
                };
                Stmt::For { var: sum.var, lo: sum.lo, hi: Expr::int(terms), body }
            }
            _ => Stmt::Store { place, op: Assign::Add, value },
        };
        body.push(update);
        if whole {
            body.iter_mut().for_each(|stmt| stmt.parts_mut(&mut whole_sums, &mut |_| {}));
        }
        Stmt::For { var: lane, lo: Expr::int(0), hi: tile.lanes.clone(), body }
    }

    /// The variable of a loop over a tile, and what the innermost loop computes before its update.
    fn lane(&mut self, nest: &Nest<'_>, tile: &Tile, renamed: &mut Renamed) -> (VarId, Block) {
        if let Some(only) = tile.only {
            renamed.insert(nest.lane, only);
            return (self.variable("lane", Type::Unsigned), self.lets(nest, renamed));
        }
        let Some(first) = &tile.first else {
            let lane = self.anew(nest.lane, renamed);
            return (lane, self.lets(nest, renamed));
        };
        let lane = self.variable("lane", Type::Unsigned);
        let value = first.clone().add(Expr::var(lane));
        let var = self.anew(nest.lane, renamed);
        let mut body = vec![Stmt::Let { var, mutable: false, value }];
        body.extend(self.lets(nest, renamed));
        (lane, body)
    }

    fn lets(&mut self, nest: &Nest<'_>, renamed: &mut Renamed) -> Block {
        let mut out = Vec::new();
        for stmt in nest.body {
            if let Stmt::Let { var, mutable, value } = stmt {
                let mut value = value.clone();
                self.rename(&mut value, renamed);
                out.push(Stmt::Let { var: self.anew(*var, renamed), mutable: *mutable, value });
            }
        }
        out
    }
}

impl Nest<'_> {
    /// Whether an expression is another in other iterations of the outer loops.
    fn changes(&self, e: &Expr) -> bool {
        self.mentions(e, &|v| self.bound.contains(&v))
    }

    /// Whether an expression needs a variable that `test` says, what it needs being written out.
    fn mentions(&self, e: &Expr, test: &dyn Fn(VarId) -> bool) -> bool {
        let mut found = false;
        e.visit(&mut |e| {
            if let Expr::Var(v) = e {
                found |= test(*v) || self.lets.get(v).is_some_and(|e| self.mentions(e, test));
            }
        });
        found
    }

    /// How many terms the sum has that is all of an update, where it is over a row of a block.
    fn terms(&self) -> Option<i64> {
        let (_, terms) = self.whole_sums()?;
        let [.., Stmt::Let { var, value: Expr::Sum(sum), .. }, Stmt::Store { value, .. }] =
            self.body.as_slice()
        else {
            return None;
        };
        let adds = sum.op == BinaryOp::Add && sum.ty == self.ty && at_most(&sum.hi).is_some();
        (adds && *value == Expr::Var(*var)).then_some(terms)
    }

    /// How many terms the sums of an update have, at most so many, if that is the same for all of the row.
    fn whole_sums(&self) -> Option<(&Expr, i64)> {
        let mut found: Option<(&Expr, i64)> = None;
        let mut same = true;
        visit(self.body, &mut |part| {
            if let Part::Expr(Expr::Sum(sum)) = part
                && let Some(most) = at_most(&sum.hi)
            {
                same &= sum.lo == Expr::int(0) && found.is_none_or(|other| other == most);
                found = Some(most);
            }
        });
        let own = |v| v == self.lane || self.lets.contains_key(&v);
        found.filter(|(count, _)| same && !self.mentions(count, &own))
    }
}

/// How many compares with a number. A difference of positions may not be known to be natural.
fn compared(count: Expr, op: BinaryOp, with: Expr) -> Expr {
    match count {
        Expr::Binary { op: BinaryOp::Sub, left, right } => Expr::binary(op, *left, right.add(with)),
        count => Expr::binary(op, count, with),
    }
}

/// An array of one element as a variable, and loops over it as what they do.
fn in_variable(block: &mut Block, array: ArrayId, var: VarId) {
    let is_it = |e: &Expr| matches!(e, Expr::Load(load) if load.array == array);
    for mut stmt in std::mem::take(block) {
        let over_it = match &stmt {
            Stmt::For { body, .. } => matches!(
                body.last(),
                Some(Stmt::Store { place, value, .. }) if place.array == array || is_it(value)
            ),
            _ => false,
        };
        stmt.parts_mut(
            &mut |e| {
                e.visit_mut(&mut |e| {
                    if is_it(e) {
                        *e = Expr::Var(var);
                    }
                });
            },
            &mut |inner| in_variable(inner, array, var),
        );
        match stmt {
            Stmt::Allocate { array: a, fill } if a == array => {
                block.push(Stmt::Let { var, mutable: true, value: fill });
            }
            Stmt::Store { place, op: Assign::Set, value } if place.array == array => {
                // It begins with that.
                block.retain(|stmt| !matches!(stmt, Stmt::Let { var: v, .. } if *v == var));
                block.push(Stmt::Let { var, mutable: true, value });
            }
            Stmt::Store { place, op, value } if place.array == array => {
                block.push(Stmt::Assign { var, op, value });
            }
            Stmt::For { body, .. } if over_it => block.extend(body),
            stmt => block.push(stmt),
        }
    }
}

/// The parts of `min(count, width)`, if the width is that of a block.
fn at_most(hi: &Expr) -> Option<(&Expr, i64)> {
    let Expr::Binary { op: BinaryOp::Min, left, right } = hi else { return None };
    match (&**left, &**right) {
        (count, Expr::Int { value, .. }) | (Expr::Int { value, .. }, count)
            if (2..=WIDE).contains(value) =>
        {
            Some((count, *value))
        }
        _ => None,
    }
}

/// Sums over at most so many terms have all of them.
fn whole_sums(e: &mut Expr) {
    e.visit_mut(&mut |e| {
        if let Expr::Sum(sum) = e
            && let Some((_, width)) = at_most(&sum.hi)
        {
            sum.hi = Expr::int(width);
        }
    });
}
