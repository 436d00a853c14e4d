//! Columns: one integer for each entry, computed a whole column at a time.
//!
//! In: coordinate arrays and quasi-affine forms. Out: [`Column`]s with bounds of their values, so
//! that sorting knows how many bits a key needs. Expressions are walked once for each column, not
//! once for each entry.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::inverse::Form;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Call, Constraint, Name, Relop};
use crate::tensor::IndexData;

/// Integers, one for each entry, and an interval that holds them all: what sorts, linearises and stores
/// relies on it.
#[derive(Clone, Debug)]
pub(super) struct Column<'a> {
    pub data: Data<'a>,
    pub least: i64,
    pub most: i64,
}

#[derive(Clone, Debug)]
pub(super) enum Data<'a> {
    /// Entry `k` has the number `k`.
    Counting,
    Constant(i64),
    U32(Cow<'a, [u32]>),
    I64(Cow<'a, [i64]>),
}

impl<'a> Column<'a> {
    pub fn constant(value: i64) -> Column<'a> {
        Column { data: Data::Constant(value), least: value, most: value }
    }

    /// The numbers `0..n` in order.
    pub fn counting(n: usize) -> Column<'a> {
        Column { data: Data::Counting, least: 0, most: (n as i64 - 1).max(0) }
    }

    /// Coordinates below `extent`.
    pub fn coordinates(data: &'a IndexData, extent: usize) -> Column<'a> {
        let most = i64::try_from(extent).unwrap_or(i64::MAX).saturating_sub(1).max(0);
        let data = match data {
            IndexData::U32(v) => Data::U32(Cow::Borrowed(v)),
            IndexData::I64(v) => Data::I64(Cow::Borrowed(v)),
            other => Data::I64(Cow::Owned(other.iter_i64().collect())),
        };
        Column { data, least: 0, most }
    }

    pub fn of_u32(values: Vec<u32>, least: i64, most: i64) -> Column<'a> {
        debug_assert!(values.iter().all(|&x| (least..=most).contains(&i64::from(x))));
        Column { data: Data::U32(Cow::Owned(values)), least, most }
    }

    pub fn of_i64(values: Vec<i64>, least: i64, most: i64) -> Column<'a> {
        debug_assert!(values.iter().all(|x| (least..=most).contains(x)));
        Column { data: Data::I64(Cow::Owned(values)), least, most }
    }

    /// Any numbers, with the interval of those that occur.
    pub fn of_numbers(values: Vec<i64>) -> Column<'a> {
        let (least, most) = values.iter().min().zip(values.iter().max()).unwrap_or((&0, &0));
        let (least, most) = (*least, *most);
        Column { data: Data::I64(Cow::Owned(values)), least, most }
    }

    #[inline]
    pub fn get(&self, k: usize) -> i64 {
        match &self.data {
            Data::Counting => k as i64,
            Data::Constant(c) => *c,
            Data::U32(v) => i64::from(v[k]),
            Data::I64(v) => v[k],
        }
    }

    /// The first of the numbers of `n` entries that is `wanted`.
    pub fn find(&self, n: usize, wanted: impl Fn(i64) -> bool) -> Option<i64> {
        match &self.data {
            Data::Counting => (0..n as i64).find(|&x| wanted(x)),
            Data::Constant(c) => (n > 0 && wanted(*c)).then_some(*c),
            Data::U32(v) => v.iter().map(|&x| i64::from(x)).find(|&x| wanted(x)),
            Data::I64(v) => v.iter().copied().find(|&x| wanted(x)),
        }
    }

    /// The entries `order[0]`, `order[1]`, …
    pub fn gather(&self, order: &[u32]) -> Column<'a> {
        let data = match &self.data {
            Data::Counting => Data::U32(Cow::Owned(order.to_vec())),
            Data::Constant(c) => Data::Constant(*c),
            Data::U32(v) => Data::U32(order.iter().map(|&k| v[k as usize]).collect()),
            Data::I64(v) => Data::I64(order.iter().map(|&k| v[k as usize]).collect()),
        };
        Column { data, ..*self }
    }

    /// Tightens the interval to the numbers that occur among the first `n`.
    pub fn tighten(&mut self, n: usize) {
        let found = match &self.data {
            Data::Counting | Data::Constant(_) => None,
            Data::U32(v) => v.iter().min().zip(v.iter().max()).map(|(a, b)| (*a as i64, *b as i64)),
            Data::I64(v) => v.iter().min().zip(v.iter().max()).map(|(a, b)| (*a, *b)),
        };
        match (found, n) {
            (Some((least, most)), _) => (self.least, self.most) = (least, most),
            (None, 0) => (self.least, self.most) = (0, 0),
            _ => {}
        }
    }
}

/// The name of the column that holds the values of a call.
pub(super) fn call_name(call: &Call) -> Name {
    Name::from(Atom::Call(call.clone()).to_string())
}

/// [`call_name`] of `array(args)`.
pub(super) fn function_name(array: &Name, args: &[Affine]) -> Name {
    call_name(&Call { array: array.clone(), args: args.to_vec() })
}

/// Named columns of `len` entries, and sizes.
pub(super) struct Columns<'a> {
    pub len: usize,
    pub named: IndexMap<Name, Column<'a>>,
    pub sizes: IndexMap<Name, i64>,
}

/// `constant` and the columns with their coefficients; the sum is in `least ..= most`.
struct Sum<'c, 'a> {
    terms: Vec<(Cow<'c, Column<'a>>, i64)>,
    constant: i64,
    least: i64,
    most: i64,
}

impl<'a> Columns<'a> {
    /// A form over named columns and sizes, for every entry. A plain name costs nothing.
    pub fn eval(&self, e: &Affine) -> Result<Cow<'_, Column<'a>>> {
        self.eval_with(e, &self.sizes)
    }

    /// [`Columns::eval`], where sizes are these.
    pub fn eval_with(
        &self,
        e: &Affine,
        sizes: &IndexMap<Name, i64>,
    ) -> Result<Cow<'_, Column<'a>>> {
        if let Some(column) = e.as_var().and_then(|n| self.named.get(n)) {
            return Ok(Cow::Borrowed(column));
        }
        let Sum { terms, constant, least, most } = self.sum(e, sizes)?;
        if terms.is_empty() {
            return Ok(Cow::Owned(Column::constant(constant)));
        }
        // Partial sums may wrap; the whole does not, as the interval shows.
        let mut sum = vec![constant; self.len];
        for (column, c) in &terms {
            match &column.data {
                Data::U32(v) => sum
                    .iter_mut()
                    .zip(v.iter())
                    .for_each(|(s, &x)| *s = s.wrapping_add(c.wrapping_mul(i64::from(x)))),
                Data::I64(v) => sum
                    .iter_mut()
                    .zip(v.iter())
                    .for_each(|(s, &x)| *s = s.wrapping_add(c.wrapping_mul(x))),
                _ => sum
                    .iter_mut()
                    .enumerate()
                    .for_each(|(k, s)| *s = s.wrapping_add(c.wrapping_mul(column.get(k)))),
            }
        }
        Ok(Cow::Owned(Column::of_i64(sum, least, most)))
    }

    /// Whether the intervals of the columns show that a condition holds for every entry.
    pub fn shows(&self, condition: &Constraint, sizes: &IndexMap<Name, i64>) -> bool {
        let sum = self.sum(&condition.affine, sizes);
        sum.is_ok_and(|sum| match condition.relop {
            Relop::Ge => sum.least >= 0,
            Relop::Eq => (sum.least, sum.most) == (0, 0),
            Relop::Ne => sum.least > 0 || sum.most < 0,
        })
    }

    fn sum(&self, e: &Affine, sizes: &IndexMap<Name, i64>) -> Result<Sum<'_, 'a>> {
        let (mut constant, mut least) = (i128::from(e.offset()), 0i128);
        let mut most = 0i128;
        let mut terms: Vec<(Cow<'_, Column<'a>>, i64)> = Vec::new();
        for (atom, c) in e.terms() {
            let column = match atom {
                Atom::Var(n) => match (self.named.get(n), sizes.get(n)) {
                    (Some(column), _) => Cow::Borrowed(column),
                    (None, Some(size)) => Cow::Owned(Column::constant(*size)),
                    (None, None) => return Err(unknown(n)),
                },
                Atom::Floor(inner, d) => Cow::Owned(self.floor(inner, *d, sizes)?),
                Atom::Call(call) => match self.named.get(&call_name(call)) {
                    Some(column) => Cow::Borrowed(column),
                    None => return Err(unknown(&call.array)),
                },
            };
            if let Data::Constant(value) = column.data {
                constant += i128::from(*c) * i128::from(value);
                continue;
            }
            let (low, high) = (i128::from(column.least), i128::from(column.most));
            let (a, b) = (low * i128::from(*c), high * i128::from(*c));
            least += a.min(b);
            most += a.max(b);
            terms.push((column, *c));
        }
        let narrow = |x: i128| i64::try_from(x).map_err(|_| too_large(e));
        let (least, most) = (narrow(least + constant)?, narrow(most + constant)?);
        Ok(Sum { terms, constant: narrow(constant)?, least, most })
    }

    fn floor(
        &self,
        inner: &Affine,
        divisor: i64,
        sizes: &IndexMap<Name, i64>,
    ) -> Result<Column<'a>> {
        let inner = self.eval_with(inner, sizes)?;
        let (least, most) = (inner.least.div_euclid(divisor), inner.most.div_euclid(divisor));
        let data = match &inner.data {
            Data::Constant(c) => Data::Constant(c.div_euclid(divisor)),
            // Unsigned division by a number known to be small is several times faster.
            Data::U32(v) if u32::try_from(divisor).is_ok() => {
                let d = divisor as u32;
                Data::U32(match d.is_power_of_two() {
                    true => v.iter().map(|x| x >> d.trailing_zeros()).collect(),
                    false => v.iter().map(|x| x / d).collect(),
                })
            }
            _ => Data::I64((0..self.len).map(|k| inner.get(k).div_euclid(divisor)).collect()),
        };
        Ok(Column { data, least, most })
    }

    /// A function by cases. Entries that no case covers get that of the last.
    pub fn form(&self, form: &Form) -> Result<Column<'a>> {
        let Some(((_, last), rest)) = form.split_last() else {
            return Ok(Column::constant(0));
        };
        let mut out = self.eval(last)?.into_owned();
        for (condition, value) in rest.iter().rev() {
            let value = self.eval(value)?;
            let applies = self.all(condition)?;
            let data =
                (0..self.len).map(|k| if applies[k] { value.get(k) } else { out.get(k) }).collect();
            let (least, most) = (out.least.min(value.least), out.most.max(value.most));
            out = Column::of_i64(data, least, most);
        }
        Ok(out)
    }

    /// For each entry, whether every constraint holds.
    pub fn all(&self, constraints: &[Constraint]) -> Result<Vec<bool>> {
        let mut out = vec![true; self.len];
        for c in constraints {
            let value = self.eval(&c.affine)?;
            for (k, flag) in out.iter_mut().enumerate() {
                *flag &= c.relop.holds(value.get(k));
            }
        }
        Ok(out)
    }
}

fn unknown(name: &Name) -> Box<Diagnostic> {
    Diagnostic::new(
        Code::NotPackable,
        format!("packing needs `{name}`, which is not known before it is done"),
    )
    .help("express positions by coordinates, extents and outer positions")
}

fn too_large(e: &Affine) -> Box<Diagnostic> {
    Diagnostic::new(Code::Shape, format!("`{e}` exceeds 64 bits for these extents"))
        .help("use smaller extents")
}
