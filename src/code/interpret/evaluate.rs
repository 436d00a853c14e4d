//! Expressions.

use super::fault::Reason;
use super::machine::{Machine, ill_formed};
use super::storage::{self, Table, fits_key};
use super::value::{Number, Value, arithmetic};
use crate::code::ir::{
    Access, ArrayId, BinaryOp, Chains, Element, Expr, Load, MANY, Origin, Question, SEVERAL, Sum,
    Type, VarId,
};
use crate::formula::Constraint;
use crate::layout::probing::home_slot;

type Result<T> = std::result::Result<T, Reason>;

impl<'b> Machine<'b, '_> {
    pub(super) fn read(&self, v: VarId) -> Result<Value> {
        match self.variable(v) {
            Some(value) => Ok(value.clone()),
            None => {
                let name = self.body.var(v).name.to_string();
                let argument = self.body.sizes.contains(&v);
                Err(if argument { Reason::Missing(name) } else { Reason::Unset(name) })
            }
        }
    }

    pub(super) fn unsigned(&mut self, e: &'b Expr) -> Result<usize> {
        match self.expr(e)? {
            Value::Unsigned(n) => Ok(n),
            _ => Err(ill_formed(format!("`{}` is no usize", self.body.print_expr(e)))),
        }
    }

    pub(super) fn condition(&mut self, e: &'b Expr) -> Result<bool> {
        match self.expr(e)? {
            Value::Bool(b) | Value::Number(Number::Bool(b)) => Ok(b),
            _ => Err(ill_formed(format!("`{}` is no condition", self.body.print_expr(e)))),
        }
    }

    pub(super) fn key(&mut self, e: &'b Expr) -> Result<Vec<i64>> {
        match self.expr(e)? {
            Value::Key(key) => Ok(key),
            _ => Err(ill_formed(format!("`{}` is no key", self.body.print_expr(e)))),
        }
    }

    pub(super) fn table(&self, v: VarId) -> Result<usize> {
        match self.read(v)? {
            Value::Table(k) => Ok(k),
            _ => Err(ill_formed(format!("`{}` is no table", self.body.var(v).name))),
        }
    }

    pub(super) fn check_facts(&self, facts: &[Constraint]) -> Result<()> {
        match facts.iter().find(|f| self.holds(f) == Some(false)) {
            Some(fact) => Err(Reason::Fact(fact.to_string())),
            None => Ok(()),
        }
    }

    pub(super) fn expr(&mut self, e: &'b Expr) -> Result<Value> {
        Ok(match e {
            Expr::Int { value, signed: true } => Value::Signed(*value as isize),
            Expr::Int { value, signed: false } => {
                let n = usize::try_from(*value);
                Value::Unsigned(n.map_err(|_| Reason::Literal(value.to_string()))?)
            }
            Expr::Unset => Value::Unsigned(usize::MAX),
            Expr::Bool(b) => Value::Bool(*b),
            Expr::Number(number) => Value::Number(*number),
            Expr::Operator { op, generic, args } => {
                let mut numbers = Vec::with_capacity(args.len());
                for arg in args {
                    match self.expr(arg)? {
                        Value::Number(number) => numbers.push(number),
                        _ => return Err(ill_formed(format!("`{}` of no value", op.name()))),
                    }
                }
                let value = op.apply(*generic, &numbers);
                Value::Number(value.ok_or_else(|| Reason::Endless(self.body.print_expr(e)))?)
            }
            Expr::Cast { to, value } => Value::Number(match self.expr(value)? {
                Value::Number(number) => number.cast(*to),
                Value::Unsigned(n) => Number::I64(n as i64).cast(*to),
                Value::Signed(n) => Number::I64(n as i64).cast(*to),
                _ => return Err(ill_formed("a cast of no number")),
            }),
            Expr::Var(v) => self.read(*v)?,
            Expr::Load(load) => {
                let k = self.locate(load)?;
                self.touch(load.array, k)?;
                self.element(load, k)?
            }
            Expr::Not(inner) => Value::Bool(!self.condition(inner)?),
            Expr::Binary { op, left, right } => self.binary(e, *op, left, right)?,
            Expr::Convert { signed, value } => {
                let n = match self.expr(value)? {
                    Value::Unsigned(n) => n as i128,
                    Value::Signed(n) => n as i128,
                    _ => return Err(ill_formed("a conversion of no integer")),
                };
                let wrong = |_| Reason::Conversion { text: self.body.print_expr(e), value: n };
                match signed {
                    true => Value::Signed(isize::try_from(n).map_err(wrong)?),
                    false => Value::Unsigned(usize::try_from(n).map_err(wrong)?),
                }
            }
            Expr::Wrapped(value) => match self.expr(value)? {
                Value::Number(Number::U8(n)) => Value::Unsigned(usize::from(n)),
                Value::Number(Number::I32(n)) => Value::Unsigned(n as usize),
                Value::Number(Number::I64(n)) => Value::Unsigned(n as usize),
                _ => return Err(ill_formed("a position of no whole number")),
            },
            Expr::Choose { condition, then, otherwise } => {
                let condition = self.condition(condition)?;
                let (then, otherwise) = (self.expr(then)?, self.expr(otherwise)?);
                if condition { then } else { otherwise }
            }
            Expr::FromBool(inner) => Value::Unsigned(usize::from(self.condition(inner)?)),
            Expr::NewTable { len, .. } => {
                let len = self.unsigned(len)?;
                self.tables.push(Table::new(len));
                Value::Table(self.tables.len() - 1)
            }
            Expr::Asked { question, args } => {
                let Value::Table(table) = self.expr(&args[0])? else {
                    return Err(ill_formed("a question to no table"));
                };
                let key = args.get(1).map(|key| self.key(key)).transpose()?.unwrap_or_default();
                let table = &self.tables[table];
                let found = table.matches(&key).first().copied();
                match question {
                    Question::IsDense => Value::Bool(table.is_dense()),
                    Question::Has => Value::Bool(found.is_some()),
                    Question::Near => {
                        let near = found.or_else(|| table.any());
                        Value::Unsigned(near.ok_or_else(|| ill_formed("nothing was entered"))?)
                    }
                }
            }
            Expr::NewWorkspace { .. } => return Err(ill_formed("a workspace that is not bound")),
            Expr::Len(array) => {
                let len = self.arrays[array.index()].len();
                Value::Unsigned(len.ok_or_else(|| ill_formed("no array grows"))?)
            }
            Expr::Key(parts) => {
                let mut key = Vec::with_capacity(parts.len());
                for part in parts {
                    let value = self.expr(part)?;
                    let n = match &value {
                        Value::Unsigned(n) => *n as i128,
                        Value::Signed(n) => *n as i128,
                        _ => return Err(ill_formed("a key of no integers")),
                    };
                    if !fits_key(&value, self.width) {
                        return Err(Reason::Key { text: self.body.print_expr(part), value: n });
                    }
                    key.push(n as i64);
                }
                Value::Key(key)
            }
            Expr::Fits { value, .. } => {
                let value = self.expr(value)?;
                Value::Bool(fits_key(&value, self.width))
            }
            Expr::HomeSlot { coordinate, slots } => {
                let coordinate = match self.expr(coordinate)? {
                    Value::Unsigned(n) => n as i64,
                    Value::Signed(n) => n as i64,
                    _ => return Err(ill_formed("a coordinate that is no integer")),
                };
                Value::Unsigned(home_slot(coordinate, self.unsigned(slots)?))
            }
            Expr::Sum(sum) => self.chains(sum)?,
            Expr::Given { facts, value } => {
                self.check_facts(facts)?;
                self.expr(value)?
            }
            Expr::Hole(hole) => return Err(ill_formed(format!("`{}!` is open", hole.name()))),
        })
    }

    fn binary(&mut self, e: &Expr, op: BinaryOp, left: &'b Expr, right: &'b Expr) -> Result<Value> {
        match op {
            BinaryOp::And => {
                return Ok(Value::Bool(self.condition(left)? && self.condition(right)?));
            }
            BinaryOp::Or => {
                return Ok(Value::Bool(self.condition(left)? || self.condition(right)?));
            }
            _ => {}
        }
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let text = || self.body.print_expr(e);
        let overflow = || Reason::Overflow(text());
        let is_order = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        let in_order = |order: std::cmp::Ordering| match op {
            BinaryOp::Eq => order.is_eq(),
            BinaryOp::Ne => order.is_ne(),
            BinaryOp::Lt => order.is_lt(),
            BinaryOp::Le => order.is_le(),
            BinaryOp::Gt => order.is_gt(),
            _ => order.is_ge(),
        };
        let compared = |order: std::cmp::Ordering| {
            let compares = is_order || matches!(op, BinaryOp::Eq | BinaryOp::Ne);
            compares.then(|| Value::Bool(in_order(order)))
        };
        let made = match (&left, &right) {
            (Value::Unsigned(a), Value::Unsigned(b)) => match op {
                BinaryOp::Add => Some(Value::Unsigned(a.checked_add(*b).ok_or_else(overflow)?)),
                BinaryOp::Sub => {
                    let difference = a.checked_sub(*b);
                    Some(Value::Unsigned(difference.ok_or_else(|| Reason::BelowZero(text()))?))
                }
                BinaryOp::Mul => Some(Value::Unsigned(a.checked_mul(*b).ok_or_else(overflow)?)),
                BinaryOp::Div => Some(Value::Unsigned(a.checked_div(*b).ok_or_else(overflow)?)),
                BinaryOp::Rem => Some(Value::Unsigned(a.checked_rem(*b).ok_or_else(overflow)?)),
                BinaryOp::Min => Some(Value::Unsigned(*a.min(b))),
                BinaryOp::Max => Some(Value::Unsigned(*a.max(b))),
                BinaryOp::SaturatingSub => Some(Value::Unsigned(a.saturating_sub(*b))),
                _ => compared(a.cmp(b)),
            },
            (Value::Signed(a), Value::Signed(b)) => match op {
                BinaryOp::Add => Some(Value::Signed(a.checked_add(*b).ok_or_else(overflow)?)),
                BinaryOp::Sub => Some(Value::Signed(a.checked_sub(*b).ok_or_else(overflow)?)),
                BinaryOp::Mul => Some(Value::Signed(a.checked_mul(*b).ok_or_else(overflow)?)),
                BinaryOp::Div => {
                    Some(Value::Signed(a.checked_div_euclid(*b).ok_or_else(overflow)?))
                }
                BinaryOp::Rem => {
                    Some(Value::Signed(a.checked_rem_euclid(*b).ok_or_else(overflow)?))
                }
                BinaryOp::Min => Some(Value::Signed(*a.min(b))),
                BinaryOp::Max => Some(Value::Signed(*a.max(b))),
                _ => compared(a.cmp(b)),
            },
            (Value::Number(a), Value::Number(b)) if op == BinaryOp::Eq => Some(Value::Bool(a == b)),
            (Value::Number(a), Value::Number(b)) if op == BinaryOp::Ne => Some(Value::Bool(a != b)),
            (Value::Number(a), Value::Number(b)) if op == BinaryOp::SameBits => {
                Some(Value::Bool(a.identical(*b)))
            }
            (Value::Number(Number::F64(a)), Value::Number(Number::F64(b))) if is_order => {
                Some(Value::Bool(a.partial_cmp(b).is_some_and(in_order)))
            }
            (Value::Number(Number::F32(a)), Value::Number(Number::F32(b))) if is_order => {
                Some(Value::Bool(a.partial_cmp(b).is_some_and(in_order)))
            }
            (Value::Number(a), Value::Number(b)) => arithmetic(op, *a, *b).map(Value::Number),
            (Value::Bool(a), Value::Bool(b)) if op == BinaryOp::BitOr => Some(Value::Bool(a | b)),
            _ => None,
        };
        made.ok_or_else(|| ill_formed(format!("{op:?} in `{}`", text())))
    }

    /// In chains, as the helpers of modules add them.
    fn chains(&mut self, sum: &'b Sum) -> Result<Value> {
        let (lo, hi) = (self.unsigned(&sum.lo)?, self.unsigned(&sum.hi)?);
        if sum.op != BinaryOp::Add {
            // The order does not matter.
            let mut extreme = Sum::beginning(sum.op, sum.ty);
            for p in lo..hi {
                let term = self.term(sum, p)?;
                extreme = arithmetic(sum.op, extreme, term)
                    .ok_or_else(|| ill_formed("an extreme of two types"))?;
            }
            return Ok(Value::Number(extreme));
        }
        if sum.chains == Chains::Eight && hi.saturating_sub(lo) >= MANY {
            let rest = hi - (hi - lo) % Chains::Eight.count();
            let mut chains = [Number::zero(sum.ty); 8];
            for p in lo..rest {
                let (term, chain) = (self.term(sum, p)?, &mut chains[(p - lo) % 8]);
                *chain = added(*chain, term)?;
            }
            let [a, b, c, d, e, f, g, h] = chains;
            let first = added(added(a, e)?, added(b, f)?)?;
            let both = added(first, added(added(c, g)?, added(d, h)?)?)?;
            return Ok(Value::Number(added(both, self.in_few(sum, (rest, hi))?)?));
        }
        self.in_few(sum, (lo, hi)).map(Value::Number)
    }

    /// In two chains or in four.
    fn in_few(&mut self, sum: &'b Sum, (lo, hi): (usize, usize)) -> Result<Number> {
        let few = match sum.chains {
            Chains::ByLength => hi.saturating_sub(lo) < SEVERAL,
            chains => chains == Chains::Two,
        };
        let mut chains = [Number::zero(sum.ty); 4];
        let mut p = lo;
        let together = if few { 2 } else { 4 };
        let fits = |p: usize| p.checked_add(together).is_some_and(|end| end <= hi);
        while fits(p) {
            for (k, chain) in chains.iter_mut().take(together).enumerate() {
                let term = self.term(sum, p + k)?;
                *chain = added(*chain, term)?;
            }
            p += together;
        }
        // Two of what is left, then one.
        let rest: &[usize] = match (hi.saturating_sub(p), few) {
            (0, _) => &[],
            (1, true) => &[0],
            (1, false) => &[2],
            (2, _) => &[0, 1],
            _ => &[0, 1, 2],
        };
        for (k, chain) in rest.iter().enumerate() {
            let term = self.term(sum, p + k)?;
            chains[*chain] = added(chains[*chain], term)?;
        }
        let [a, b, c, d] = chains;
        let first = added(a, b)?;
        if few { Ok(first) } else { added(first, added(c, d)?) }
    }

    fn term(&mut self, sum: &'b Sum, p: usize) -> Result<Number> {
        self.step()?;
        self.variables[sum.var.index()] = Some(Value::Unsigned(p));
        for (v, e) in &sum.lets {
            let value = self.expr(e)?;
            self.variables[v.index()] = Some(value);
        }
        let term = self.expr(&sum.term)?;
        for (v, _) in &sum.lets {
            self.variables[v.index()] = None;
        }
        self.variables[sum.var.index()] = None;
        match term {
            Value::Number(n) => Ok(n),
            _ => Err(ill_formed("a sum of no values")),
        }
    }

    /// The row-major place of an element, every subscript tested.
    pub(super) fn locate(&mut self, load: &'b Load) -> Result<usize> {
        let array = self.body.arr(load.array);
        let mut at = Vec::with_capacity(load.subscripts.len());
        for s in &load.subscripts {
            at.push(self.unsigned(s)?);
        }
        let len = self.arrays[load.array.index()].len();
        let len = len.ok_or_else(|| Reason::Missing(array.name.to_string()))?;
        // The domain of an index array may go on in the next row (`pos(b, c + 1)`): the place of a
        // proved access is all that counts. Without a proof the code tests every subscript.
        let in_rows = !matches!(array.element, Element::Index { .. })
            || load.access == Access::Checked && at.len() > 1;
        let goes_on = self.body.goes_on(load.array);
        let mut place: Option<usize> = Some(0);
        for (k, subscript) in at.iter().enumerate() {
            let extent = match array.shape.get(k) {
                Some(extent) => self.unsigned(extent)?,
                // One that grows is as long as it is by now.
                None if array.origin == Origin::Grown => len,
                None => 1,
            };
            let end = goes_on && k + 1 == at.len() && *subscript == extent;
            let inside = !in_rows || *subscript < extent || end;
            place = place
                .filter(|_| inside)
                .and_then(|place| place.checked_mul(extent)?.checked_add(*subscript));
        }
        match place {
            Some(place) if place < len => Ok(place),
            _ => {
                let access = self.body.print_place(load);
                Err(Reason::OutOfBounds { access, subscripts: at, len })
            }
        }
    }

    /// The element at a place that exists, of the type of a load.
    pub(super) fn element(&self, load: &Load, k: usize) -> Result<Value> {
        let array = self.body.arr(load.array);
        let element = self.arrays[load.array.index()].element(k);
        match element.ok_or_else(|| Reason::Missing(array.name.to_string()))? {
            storage::Element::Value(value) => Ok(value),
            storage::Element::Index(n) => {
                let wrong = |_| Reason::Conversion { text: self.body.print_place(load), value: n };
                Ok(match array.element.loaded() {
                    Type::Signed => Value::Signed(isize::try_from(n).map_err(wrong)?),
                    _ => Value::Unsigned(usize::try_from(n).map_err(wrong)?),
                })
            }
        }
    }

    /// An element for the test of a fact; `None` if there is none.
    pub(super) fn peek(&self, array: ArrayId, at: &[usize]) -> Option<storage::Element> {
        let declared = self.body.arr(array);
        if !matches!(declared.element, Element::Index { .. }) || at.is_empty() {
            return None;
        }
        let mut place = at[0];
        for (subscript, extent) in at.iter().zip(&declared.shape).skip(1) {
            let Expr::Var(extent) = extent else { return None };
            let Some(Value::Unsigned(extent)) = self.variable(*extent) else { return None };
            place = place.checked_mul(*extent)?.checked_add(*subscript)?;
        }
        let storage = &self.arrays[array.index()];
        if place < storage.len()? { storage.element(place) } else { None }
    }

    /// Notes that the chunk at hand touches an element, which no other chunk may do.
    pub(super) fn touch(&mut self, array: ArrayId, k: usize) -> Result<()> {
        let Some((output, chunk, owners)) = &mut self.touched else { return Ok(()) };
        if *output != array {
            return Ok(());
        }
        if owners[k] != usize::MAX && owners[k] != *chunk {
            let array = self.body.arr(array).name.to_string();
            return Err(Reason::Race { array, element: k });
        }
        owners[k] = *chunk;
        Ok(())
    }
}

fn added(a: Number, b: Number) -> Result<Number> {
    arithmetic(BinaryOp::Add, a, b).ok_or_else(|| ill_formed("a sum of two types"))
}
