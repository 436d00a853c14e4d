//! An update of elements as statements of index notation.
//!
//! ```text
//! where c, y[i] min= v                      y[i] min= select(c, v, inf)
//! where c, y[i] = v, y being there          y_2[i] = select(c, v, y[i])
//! y[i] = v, once for each j, in order       at[i] min= 3 - j;  new[i] = select(3 - j == at[i], v, 0);
//!                                           y_2[i] = select(at[i] < 4, new[i], y[i])
//! ```
//! Where one of several values is kept, the first statement finds out which, by its number in the order of the
//! loops, and the second takes it. No order of loops is needed for that.

use std::sync::Arc;

use super::computed::Scope;
use super::nest::{Kind, Update};
use super::operations::{
    NOWHERE, applied, call, constant, element, guarded, index, literal, with_leaves, zero,
};
use super::refusal::not_compiled;
use super::statements::{Maker, Put, State};
use crate::diagnostic::Result;
use crate::formula::{Formula, Name};
use crate::operators::{Operator, Operators, Value};
use crate::program::ir::{Access, Expr, Fill};
use crate::tensor::ValueType;

/// An update in terms of what there is at its point of the program.
#[derive(Clone)]
struct Point {
    loops: Vec<Name>,
    formulas: Vec<Formula>,
    conditions: Vec<Expr>,
    output: Access,
    value: Expr,
    place: std::ops::Range<usize>,
}

/// How many iterations there are that may meet in one element, and the number of the current one.
#[derive(Clone)]
struct Rank {
    number: Expr,
    count: i64,
}

impl Rank {
    /// With an inner loop; none if the numbers get too large.
    fn then(self, extent: i64, inner: Expr) -> Option<Result<Rank>> {
        let count = self.count.checked_mul(extent.max(1)).filter(|n| *n < NOWHERE / 4)?;
        let number = match self.count {
            1 => Ok(inner),
            _ => call("*", vec![self.number, literal(extent.to_string())])
                .and_then(|scaled| call("+", vec![scaled, inner])),
        };
        Some(number.map(|number| Rank { number, count }))
    }
}

/// What goes with the output.
type Others = Vec<(Name, Expr)>;

impl Maker<'_> {
    pub fn update(&mut self, update: &Update<'_>) -> Result<()> {
        let (point, kind, others) = self.point(update)?;
        match kind {
            Kind::Combine(op) => self.combine(&op, point),
            Kind::Store if self.is_once(&point) => self.store(point),
            Kind::Store => self.last(&[point]),
            Kind::First(unless) => self.first(unless, &[point]),
            Kind::Best { op, .. } => self.best(&op, others, point),
        }
    }

    /// Updates of one kind of one tensor, which take turns in each iteration of their loops.
    pub fn take_turns(&mut self, updates: &[&Update<'_>]) -> Result<()> {
        let mut points = Vec::new();
        let mut first = None;
        for update in updates {
            let (point, kind, _) = self.point(update)?;
            points.push(point);
            first.get_or_insert(kind);
        }
        match first {
            Some(Kind::First(unless)) => self.first(unless, &points),
            _ => self.last(&points),
        }
    }

    /// An update in terms of what there is now.
    fn point(&mut self, update: &Update<'_>) -> Result<(Point, Kind, Others)> {
        let mut scope = Scope {
            loops: update.loops.iter().map(|l| l.index.clone()).collect(),
            formulas: update.formulas.clone(),
            conditions: Vec::new(),
            values: update.values.clone(),
        };
        for condition in &update.conditions {
            let condition = self.resolved(condition, &scope)?;
            scope.conditions.push(condition);
        }
        let value = self.resolved(&update.value, &scope)?;
        let mut others = Vec::new();
        let kind = match &update.kind {
            Kind::First(unless) => Kind::First(self.resolved(unless, &scope)?),
            Kind::Best { op, others: parts } => {
                for (access, value) in parts {
                    others.push((access.tensor.clone(), self.resolved(value, &scope)?));
                }
                Kind::Best { op: op.clone(), others: Vec::new() }
            }
            Kind::Store => Kind::Store,
            Kind::Combine(op) => Kind::Combine(op.clone()),
        };
        let ty = self.types[&update.output.tensor];
        let alone = matches!(kind, Kind::Store | Kind::Combine(_)) && scope.conditions.is_empty();
        let value = match alone {
            true => value,
            false => self.converted(value, ty, &scope.loops, &scope.formulas)?,
        };
        for (tensor, value) in &mut others {
            let ty = self.types[&*tensor];
            *value = self.converted(value.clone(), ty, &scope.loops, &scope.formulas)?;
        }
        let at_once = match &kind {
            Kind::Combine(op) => self.goes_to_places(op, &update.output.tensor),
            _ => false,
        };
        let output = self.place(&update.output, &mut scope, at_once)?;
        let Scope { loops, formulas, conditions, .. } = scope;
        let place = update.place.clone();
        Ok((Point { loops, formulas, conditions, output, value, place }, kind, others))
    }

    /// Whether no two iterations meet in one element.
    fn is_once(&self, point: &Point) -> bool {
        let plain =
            |index: &Name| (0..point.output.rank()).any(|d| point.output.plain(d) == Some(index));
        point.loops.iter().all(plain)
    }

    fn combine(&mut self, op: &Arc<Operator>, mut point: Point) -> Result<()> {
        let tensor = point.output.tensor.clone();
        let ty = self.types[&tensor];
        let identity = op.identity(ty, 1);
        if !op.is_reduction() || (identity.is_none() && !point.conditions.is_empty()) {
            if !self.is_once(&point) {
                let what = format!("`{}` in a loop of fixed order", op.name());
                return Err(not_compiled(&what, point.place));
            }
            let old = self.read(&point.output)?;
            point.value = applied(op, vec![old, point.value]);
            return self.store(point);
        }
        let Point { loops, formulas, conditions, mut output, mut value, .. } = point;
        if let Some(identity) = identity {
            value = guarded(&conditions, value, constant(identity)?)?;
        }
        let begins = match self.states.get(&tensor) {
            Some(State::Fresh(fill)) => {
                let begins = if op.is_sum() { Some(Value::zero(ty)) } else { op.identity(ty, 0) };
                begins.is_some_and(|v| is_filled(fill, ty, v))
            }
            _ => false,
        };
        if begins && self.covers(&output) {
            let op = if op.is_sum() { None } else { Some(op.clone()) };
            let before = self.steps.len();
            self.put(&Put { output, op, value, formulas, loops })?;
            // Where no iteration is left, it stays as it begins.
            if self.steps.len() > before {
                self.states.insert(tensor.clone(), State::Own(tensor));
            }
            return Ok(());
        }
        output.tensor = self.stored(&tensor)?;
        self.put(&Put { output, op: Some(op.clone()), value, formulas, loops })
    }

    /// Each element at most once.
    fn store(&mut self, point: Point) -> Result<()> {
        let tensor = point.output.tensor.clone();
        let ty = self.types[&tensor];
        let fresh_zero = matches!(self.states.get(&tensor),
            Some(State::Fresh(fill)) if is_filled(fill, ty, Value::zero(ty)));
        let covers = self.covers(&point.output);
        if fresh_zero && covers {
            let Point { loops, formulas, conditions, output, value, .. } = point;
            let value = guarded(&conditions, value, zero(ty)?)?;
            self.states.insert(tensor.clone(), State::Own(tensor));
            return self.put(&Put { output, op: None, value, formulas, loops });
        }
        if covers && point.formulas.is_empty() {
            let value = match point.conditions.as_slice() {
                [] => point.value.clone(),
                conditions => {
                    let old = self.read(&point.output)?;
                    guarded(conditions, point.value.clone(), old)?
                }
            };
            self.becomes(&tensor, Some(&point.output), |_, _| Ok(value))?;
            return Ok(());
        }
        let hit = self.like("hit", ValueType::Bool, &tensor);
        let or = super::functions::operator("||", Operators::shipped()?, &Default::default())?;
        let value = guarded(&point.conditions, literal("true"), literal("false"))?;
        self.put_at(&hit, literal("false"), Some(or), value, &point)?;
        let new = self.like("new", ty, &tensor);
        let value = guarded(&point.conditions, point.value.clone(), zero(ty)?)?;
        self.put_at(&new, zero(ty)?, None, value, &point)?;
        self.becomes(&tensor, Some(&point.output), |maker, at| {
            let [hit, new] = [&hit, &new].map(|t| Expr::Access(element(t, at)));
            call("select", vec![hit, new, maker.read(&element(&tensor, at))?])
        })?;
        Ok(())
    }

    /// The last value of each element.
    fn last(&mut self, points: &[Point]) -> Result<()> {
        let mut ranks = self.ranks(points)?;
        for rank in &mut ranks {
            let last = literal((rank.count - 1).to_string());
            rank.number = call("-", vec![last, rank.number.clone()])?;
        }
        let conditions: Vec<Vec<Expr>> = points.iter().map(|p| p.conditions.clone()).collect();
        self.kept(points, &ranks, &conditions, None)
    }

    /// The first value of each element that is not `unless`, if it is that.
    fn first(&mut self, unless: Expr, points: &[Point]) -> Result<()> {
        if !unless.accesses().is_empty() {
            let place = points[0].place.clone();
            return Err(not_compiled("a choice against elements of tensors", place));
        }
        let ranks = self.ranks(points)?;
        let mut conditions = Vec::new();
        for point in points {
            let mut own = point.conditions.clone();
            own.push(call("!=", vec![point.value.clone(), unless.clone()])?);
            conditions.push(own);
        }
        self.kept(points, &ranks, &conditions, Some(unless))
    }

    /// Elements become the value of the least number at which the conditions hold; if they are not yet something
    /// else than `unless`.
    fn kept(
        &mut self,
        points: &[Point],
        ranks: &[Rank],
        conditions: &[Vec<Expr>],
        unless: Option<Expr>,
    ) -> Result<()> {
        let at = self.least_rank(points, ranks, conditions)?;
        let values: Vec<Expr> = points.iter().map(|p| p.value.clone()).collect();
        let new = match points {
            [point] if of_number(point, &ranks[0]) => None,
            _ => Some(self.chosen(&at, points, ranks, conditions, &values)?),
        };
        let tensor = points[0].output.tensor.clone();
        self.becomes(&tensor, Some(&points[0].output), |maker, indices| {
            let old = maker.read(&element(&tensor, indices))?;
            let new = match &new {
                Some(new) => Expr::Access(element(new, indices)),
                None => at_number(&points[0], &Expr::Access(element(&at, indices)), indices)?,
            };
            let chosen = match unless {
                None => new,
                Some(unless) => call("choose", vec![old.clone(), new, unless])?,
            };
            call("select", vec![there(&at, &ranks[0], indices)?, chosen, old])
        })?;
        Ok(())
    }

    /// The value that is least or greatest, and what goes with the first of these.
    fn best(&mut self, op: &Arc<Operator>, others: Vec<(Name, Expr)>, point: Point) -> Result<()> {
        let tensor = point.output.tensor.clone();
        let ty = self.types[&tensor];
        let least = op.symbol() == Some("<");
        let operators = Operators::shipped()?;
        let name = if least { "min" } else { "max" };
        let reduce = super::functions::operator(name, operators, &Default::default())?;
        let Some(identity) = reduce.identity(ty, 1) else {
            return Err(not_compiled("a tuple whose first part is no number", point.place));
        };
        if let Some(State::Fresh(fill)) = self.states.get(&tensor).cloned()
            && !fill.value(ty).is_none_or(is_nan)
        {
            return self.best_of_fresh(op, &reduce, &fill, others, point);
        }
        let best = self.like("best", ty, &tensor);
        let value = guarded(&point.conditions, point.value.clone(), constant(identity)?)?;
        self.put_at(&best, constant(identity)?, Some(reduce), value, &point)?;
        let ranks = self.ranks(std::slice::from_ref(&point))?;
        let mut conditions = point.conditions.clone();
        let mut found = point.output.clone();
        found.tensor = best.clone();
        conditions.push(call("==", vec![point.value.clone(), Expr::Access(found)])?);
        let conditions = [conditions];
        let at = self.least_rank(std::slice::from_ref(&point), &ranks, &conditions)?;
        let mut parts = vec![(tensor.clone(), point.value.clone())];
        parts.extend(others);
        let mut new = Vec::new();
        for (tensor, value) in parts {
            let of = Access { tensor: tensor.clone(), ..point.output.clone() };
            let own = Point { output: of, conditions: Vec::new(), ..point.clone() };
            new.push((tensor, self.chosen(&at, &[own], &ranks, &conditions, &[value])?));
        }
        let old = self.states[&tensor].clone();
        for (part, new) in new {
            let (old, best) = (old.clone(), best.clone());
            let is_first = part == tensor;
            let first = tensor.clone();
            self.becomes(&part, Some(&point.output), |maker, indices| {
                let before = match &old {
                    State::Fresh(fill) => maker.begins(&first, fill)?,
                    State::Given => Expr::Access(element(&first, indices)),
                    State::Own(name) => Expr::Access(element(name, indices)),
                };
                let better = applied(op, vec![Expr::Access(element(&best, indices)), before]);
                let old = maker.read(&element(if is_first { &first } else { &part }, indices))?;
                call("select", vec![better, Expr::Access(element(&new, indices)), old])
            })?;
        }
        Ok(())
    }

    /// The same where nothing is there yet.
    fn best_of_fresh(
        &mut self,
        op: &Arc<Operator>,
        reduce: &Arc<Operator>,
        fill: &Fill,
        others: Vec<(Name, Expr)>,
        point: Point,
    ) -> Result<()> {
        let tensor = point.output.tensor.clone();
        let begins = self.begins(&tensor, fill)?;
        self.combine(reduce, point.clone())?;
        let best = self.read(&point.output)?;
        let ranks = self.ranks(std::slice::from_ref(&point))?;
        let mut conditions = point.conditions.clone();
        conditions.push(call("==", vec![point.value.clone(), best])?);
        conditions.push(applied(op, vec![point.value.clone(), begins]));
        for (part, value) in others {
            let own = Access { tensor: part.clone(), ..point.output.clone() };
            let own = Point { output: own, conditions: Vec::new(), ..point.clone() };
            let own = [own];
            let at = self.least_rank(&own, &ranks, std::slice::from_ref(&conditions))?;
            let new =
                self.chosen(&at, &own, &ranks, std::slice::from_ref(&conditions), &[value])?;
            self.becomes(&part, Some(&point.output), |maker, indices| {
                let old = maker.read(&element(&part, indices))?;
                let new = Expr::Access(element(&new, indices));
                call("select", vec![there(&at, &ranks[0], indices)?, new, old])
            })?;
        }
        Ok(())
    }

    /// The numbers of iterations among those that may meet in one element; of several points, in turns.
    fn ranks(&self, points: &[Point]) -> Result<Vec<Rank>> {
        let first = &points[0];
        let too_many = || not_compiled("so many iterations in a fixed order", first.place.clone());
        let mut rank = Rank { number: literal("0"), count: 1 };
        for own in first.loops.iter().filter(|own| points.iter().all(|p| p.loops.contains(own))) {
            // Where each iteration has elements of its own, they do not meet.
            let apart = |d: usize| points.iter().all(|p| p.output.plain(d) == Some(own));
            if (0..first.output.rank()).any(apart) {
                continue;
            }
            let extent = self.indices[own] as i64;
            rank = rank.then(extent, index(own)).ok_or_else(too_many)??;
        }
        let count = points.len() as i64;
        let turn = |k: usize| match count {
            1 => Ok(rank.clone()),
            _ => rank.clone().then(count, literal(k.to_string())).ok_or_else(too_many)?,
        };
        (0..points.len()).map(turn).collect()
    }

    /// The least number of an iteration at which the conditions hold, for each element.
    fn least_rank(
        &mut self,
        points: &[Point],
        ranks: &[Rank],
        conditions: &[Vec<Expr>],
    ) -> Result<Name> {
        let at = self.like("at", ValueType::I64, &points[0].output.tensor);
        let nowhere = literal(NOWHERE.to_string());
        let min = super::functions::operator("min", Operators::shipped()?, &Default::default())?;
        let mut values = Vec::new();
        for (rank, conditions) in ranks.iter().zip(conditions) {
            values.push(guarded(conditions, rank.number.clone(), nowhere.clone())?);
        }
        self.put_all(&at, nowhere, Some(min), points, &values)?;
        Ok(at)
    }

    /// The value of the iteration with the number at each element.
    fn chosen(
        &mut self,
        at: &Name,
        points: &[Point],
        ranks: &[Rank],
        conditions: &[Vec<Expr>],
        values: &[Expr],
    ) -> Result<Name> {
        let tensor = &points[0].output.tensor;
        let ty = self.types[tensor];
        let new = self.like("new", ty, tensor);
        let mut all = Vec::new();
        let each = points.iter().zip(ranks).zip(conditions).zip(values);
        for (((point, rank), conditions), value) in each {
            let mut number = point.output.clone();
            number.tensor = at.clone();
            let own = call("==", vec![rank.number.clone(), Expr::Access(number)])?;
            // They hold there: that is said for what then need not be visited.
            let conditions: Vec<Expr> = conditions.iter().cloned().chain([own]).collect();
            all.push(guarded(&conditions, value.clone(), zero(ty)?)?);
        }
        self.put_all(&new, zero(ty)?, None, points, &all)?;
        Ok(new)
    }

    /// Puts values into a new tensor, where each point puts its own.
    fn put_all(
        &mut self,
        tensor: &Name,
        otherwise: Expr,
        mut op: Option<Arc<Operator>>,
        points: &[Point],
        values: &[Expr],
    ) -> Result<()> {
        if let ([point], [value]) = (points, values) {
            return self.put_at(tensor, otherwise, op, value.clone(), point);
        }
        self.fill(tensor, otherwise)?;
        op = Some(op.map_or_else(Operators::sum, Ok)?);
        for (point, value) in points.iter().zip(values) {
            let output = Access { tensor: tensor.clone(), ..point.output.clone() };
            let (formulas, loops) = (point.formulas.clone(), point.loops.clone());
            self.put(&Put { output, op: op.clone(), value: value.clone(), formulas, loops })?;
        }
        Ok(())
    }

    /// A new tensor of the shape of another.
    fn like(&mut self, name: &str, ty: ValueType, tensor: &Name) -> Name {
        let dims = self.tensors[tensor].clone();
        self.tensor(name, ty, dims)
    }

    /// Puts a value into a new tensor, where the point puts its own.
    fn put_at(
        &mut self,
        tensor: &Name,
        otherwise: Expr,
        op: Option<Arc<Operator>>,
        value: Expr,
        point: &Point,
    ) -> Result<()> {
        let output = Access { tensor: tensor.clone(), ..point.output.clone() };
        let (formulas, loops) = (point.formulas.clone(), point.loops.clone());
        self.put_new(otherwise, Put { output, op, value, formulas, loops })
    }
}

/// Whether there is an iteration.
fn there(at: &Name, rank: &Rank, indices: &[Name]) -> Result<Expr> {
    let number = Expr::Access(element(at, indices));
    call("<", vec![number, literal(rank.count.to_string())])
}

/// Whether a value is known from the number of its iteration, which is an index, and from the element.
fn of_number(point: &Point, rank: &Rank) -> bool {
    let Expr::Index(number, _) = &rank.number else { return false };
    let output = &point.output;
    let own = |i: &Name| (0..output.rank()).any(|d| output.plain(d) == Some(i));
    let mut known = true;
    point.value.visit(&mut |e| match e {
        Expr::Literal(_) | Expr::Apply(_) => {}
        Expr::Index(i, _) => known &= i == number || own(i),
        _ => known = false,
    });
    known
}

/// Such a value, with `at` for the number.
fn at_number(point: &Point, at: &Expr, indices: &[Name]) -> Result<Expr> {
    with_leaves(&point.value, &mut |e| {
        let Expr::Index(name, _) = e else { return Ok(None) };
        let own = (0..indices.len()).find(|&d| point.output.plain(d) == Some(name));
        Ok(Some(own.map_or_else(|| at.clone(), |d| index(&indices[d]))))
    })
}

fn is_nan(value: Value) -> bool {
    matches!(value, Value::F64(x) if x.is_nan()) || matches!(value, Value::F32(x) if x.is_nan())
}

/// Whether a tensor begins with a value.
fn is_filled(fill: &Fill, ty: ValueType, wanted: Value) -> bool {
    fill.value(ty).is_some_and(|v| v.same(wanted))
}
