//! Values that may be missing, or nothing: a number, and what must hold for it to be there.
//!
//! ```text
//! x[~(i + 1)]                   x[i + 1], unless missing: x[i + 1] lies inside
//! y[i], of y .= missing         y[i], unless missing: y_there[i]
//! coalesce(x[~(i + 1)], y[i])   within(x[i + 1], x[i + 1], y[i]), unless missing: one of the two is there
//! ```
//! A number that is not there is never evaluated outside of its tensor.

use std::sync::Arc;

use super::context::{Lowered, Lowering};
use super::functions::operator;
use super::needs::{Need, Needs, Why};
use super::refusal::wrong;
use super::value::{apply, literal};
use crate::diagnostic::Result;
use crate::operators::{Absent, Operator};
use crate::program::ir::{self, Span, Within};

impl Why {
    fn lowered(self) -> Lowered {
        match self {
            Why::Missing => Lowered::Missing,
            Why::Nothing => Lowered::Nothing,
        }
    }

    /// What becomes of an argument of an operator that is.
    fn rule(self, op: &Operator) -> Absent {
        match self {
            Why::Missing => op.missing(),
            Why::Nothing => op.nothing(),
        }
    }
}

fn boolean(value: bool, span: &Span) -> ir::Expr {
    literal(value.to_string(), span)
}

impl Lowering<'_> {
    /// The value where all needs hold, else another, of which only one is evaluated if one may lie outside.
    pub fn where_there(
        &self,
        needs: &[Need],
        value: ir::Expr,
        otherwise: &ir::Expr,
        span: &Span,
    ) -> Result<ir::Expr> {
        let mut out = value;
        for need in needs.iter().rev() {
            out = match need {
                Need::Inside(access) => ir::Expr::Within(Box::new(Within {
                    access: access.clone(),
                    inside: out,
                    outside: otherwise.clone(),
                    span: span.clone(),
                })),
                Need::Holds(condition) => {
                    let select = operator("select", self.host.operators, span)?;
                    apply(select, vec![condition.clone(), out, otherwise.clone()], span)
                }
            };
        }
        Ok(out)
    }

    /// Whether all needs hold.
    pub fn holds(&self, needs: &[Need], span: &Span) -> Result<ir::Expr> {
        if let [Need::Holds(condition)] = needs {
            return Ok(condition.clone());
        }
        self.where_there(needs, boolean(true, span), &boolean(false, span), span)
    }

    /// A number that can be evaluated everywhere; any, where it is not there.
    pub fn anywhere(&self, value: &Lowered, span: &Span) -> Result<ir::Expr> {
        let none = boolean(false, span);
        match value {
            Lowered::Scalar(e, needs) => self.where_there(&needs.all(), e.clone(), &none, span),
            _ => Ok(none),
        }
    }

    /// That a value is not missing, or is not nothing; none if that is so in any case.
    pub fn is_not(&self, why: Why, value: &Lowered, span: &Span) -> Result<Option<ir::Expr>> {
        Ok(match value {
            Lowered::Scalar(_, needs) if needs.get(why).is_empty() => None,
            Lowered::Scalar(_, needs) => Some(self.holds(needs.get(why), span)?),
            Lowered::Missing => (why == Why::Missing).then(|| boolean(false, span)),
            Lowered::Nothing => (why == Why::Nothing).then(|| boolean(false, span)),
            Lowered::Tuple(_) => None,
        })
    }

    /// An operator of values of which some may not be there.
    pub fn combined(
        &self,
        op: Arc<Operator>,
        mut values: Vec<(Lowered, Span)>,
        span: &Span,
    ) -> Result<Lowered> {
        op.accepts(values.len()).map_err(|e| {
            let out = wrong(e.message.clone(), span);
            out.help(e.help.unwrap_or_default())
        })?;
        for why in Why::ALL {
            if why.rule(&op) == Absent::Skipped {
                return self.first_there(why, values, span);
            }
        }
        if let Some(kept) = op.kept() {
            return Ok(values.swap_remove(kept).0);
        }
        if let (Some(by), true) =
            (op.by(), values.iter().any(|(v, _)| matches!(v, Lowered::Tuple(_))))
        {
            let (b, a) = (values.pop(), values.pop());
            let (Some((a, _)), Some((b, _))) = (a, b) else {
                return Ok(Lowered::Nothing);
            };
            return self.replaced(op.name(), by, a, b, span);
        }
        let is_chosen = |why: Why| why.rule(&op) == Absent::Chosen;
        if Why::ALL.into_iter().any(is_chosen) && values.len() == 3 {
            return self.chosen(op, values, span);
        }
        let (mut args, mut needs) = (Vec::new(), Needs::default());
        let mut absent = None;
        for (value, place) in values {
            let may = |why: Why| match &value {
                Lowered::Scalar(_, needs) => !needs.get(why).is_empty(),
                Lowered::Missing => why == Why::Missing,
                Lowered::Nothing => why == Why::Nothing,
                Lowered::Tuple(_) => true,
            };
            if Why::ALL.into_iter().any(|why| may(why) && why.rule(&op) != Absent::Result) {
                let what = format!("an argument of `{}`", op.name());
                args.push(self.number(value, &place, &what)?);
                continue;
            }
            match value {
                Lowered::Scalar(e, own) => {
                    args.push(e);
                    needs.add(&own);
                }
                other => absent = Some(other),
            }
        }
        Ok(absent.unwrap_or_else(|| Lowered::Scalar(apply(op, args, span), needs)))
    }

    /// The first value that is not missing, or not nothing.
    fn first_there(&self, why: Why, values: Vec<(Lowered, Span)>, span: &Span) -> Result<Lowered> {
        let mut out = why.lowered();
        for (value, place) in values.into_iter().rev() {
            let absent = |v: &Lowered, why: Why| match why {
                Why::Missing => matches!(v, Lowered::Missing),
                Why::Nothing => matches!(v, Lowered::Nothing),
            };
            out = match (value, out) {
                (value @ Lowered::Tuple(_), _) => {
                    self.number(value, &place, "this")?;
                    why.lowered()
                }
                (value, rest) if absent(&value, why) => rest,
                (value, _) if absent(&value, why.other()) => value,
                (Lowered::Scalar(e, needs), _) if needs.get(why).is_empty() => {
                    Lowered::Scalar(e, needs)
                }
                (value, rest) if absent(&rest, why) => value,
                (value @ Lowered::Scalar(..), rest) => {
                    let own = match &value {
                        Lowered::Scalar(_, needs) => needs.get(why).to_vec(),
                        _ => Vec::new(),
                    };
                    let there = self.holds(&own, span)?;
                    let number = match &value {
                        Lowered::Scalar(e, needs) => {
                            let none = boolean(false, span);
                            self.where_there(needs.get(why.other()), e.clone(), &none, span)?
                        }
                        _ => boolean(false, span),
                    };
                    let other = self.anywhere(&rest, span)?;
                    let number = self.where_there(&own, number, &other, span)?;
                    let mut needs = Needs::default();
                    // Here it must be the rest that is there.
                    if let Some(rest) = self.is_not(why, &rest, span)? {
                        let yes = boolean(true, span);
                        let holds = self.either(&there, yes, rest, span)?;
                        needs.add(&Needs::of(why, vec![Need::Holds(holds)]));
                    }
                    let mine = self.is_not(why.other(), &value, span)?;
                    let others = self.is_not(why.other(), &rest, span)?;
                    if mine.is_some() || others.is_some() {
                        let [mine, others] =
                            [mine, others].map(|e| e.unwrap_or_else(|| boolean(true, span)));
                        let holds = self.either(&there, mine, others, span)?;
                        needs.add(&Needs::of(why.other(), vec![Need::Holds(holds)]));
                    }
                    Lowered::Scalar(number, needs)
                }
                (value, _) => value,
            };
        }
        Ok(out)
    }

    fn either(
        &self,
        condition: &ir::Expr,
        yes: ir::Expr,
        no: ir::Expr,
        span: &Span,
    ) -> Result<ir::Expr> {
        let select = operator("select", self.host.operators, span)?;
        Ok(apply(select, vec![condition.clone(), yes, no], span))
    }

    /// The second or the third value, as the first says.
    fn chosen(
        &self,
        op: Arc<Operator>,
        values: Vec<(Lowered, Span)>,
        span: &Span,
    ) -> Result<Lowered> {
        let mut values = values.into_iter();
        let (Some((c, place)), Some((a, a_place)), Some((b, b_place))) =
            (values.next(), values.next(), values.next())
        else {
            return Ok(Lowered::Nothing);
        };
        let condition = self.number(c, &place, &format!("what `{}` asks", op.name()))?;
        for (value, place) in [(&a, &a_place), (&b, &b_place)] {
            if matches!(value, Lowered::Tuple(_)) {
                self.number(value.clone(), place, &format!("an argument of `{}`", op.name()))?;
            }
        }
        let number = |e: ir::Expr, other: ir::Expr| {
            apply(op.clone(), vec![condition.clone(), e, other], span)
        };
        if let (Lowered::Scalar(a, m), Lowered::Scalar(b, n)) = (&a, &b)
            && m.is_empty()
            && n.is_empty()
        {
            return Ok(Lowered::Scalar(number(a.clone(), b.clone()), Needs::default()));
        }
        let value = number(self.anywhere(&a, span)?, self.anywhere(&b, span)?);
        let mut needs = Needs::default();
        for why in Why::ALL {
            let (mine, others) = (self.is_not(why, &a, span)?, self.is_not(why, &b, span)?);
            if mine.is_none() && others.is_none() {
                continue;
            }
            let [mine, others] = [mine, others].map(|e| e.unwrap_or_else(|| boolean(true, span)));
            let holds = self.either(&condition, mine, others, span)?;
            needs.add(&Needs::of(why, vec![Need::Holds(holds)]));
        }
        Ok(Lowered::Scalar(value, needs))
    }

    /// Of two tuples the second, if its first part is to replace that of the first.
    fn replaced(
        &self,
        name: &str,
        by: &str,
        a: Lowered,
        b: Lowered,
        span: &Span,
    ) -> Result<Lowered> {
        let (Lowered::Tuple(a), Lowered::Tuple(b)) = (a, b) else {
            return Err(wrong(format!("`{name}` compares tuples"), span)
                .help(format!("write `{name}(a => i, b => j)`")));
        };
        if a.len() != b.len() {
            return Err(
                wrong("tuples of different length", span).help("give them equally many parts")
            );
        }
        let replaces = self.replaces(by, &a[0], &b[0], span)?;
        let select = operator("select", self.host.operators, span)?;
        let parts = a.into_iter().zip(b).map(|(a, b)| {
            let values = vec![
                (Lowered::Scalar(replaces.clone(), Needs::default()), span.clone()),
                (b, span.clone()),
                (a, span.clone()),
            ];
            self.combined(select.clone(), values, span)
        });
        parts.collect::<Result<Vec<Lowered>>>().map(Lowered::Tuple)
    }

    /// Whether `b` takes the place of `a`; `by` compares the first with the second.
    pub fn replaces(&self, by: &str, a: &Lowered, b: &Lowered, span: &Span) -> Result<ir::Expr> {
        let op = operator(by, self.host.operators, span)?;
        let values = vec![(b.clone(), span.clone()), (a.clone(), span.clone())];
        let value = self.combined(op, values, span)?;
        self.number(value, span, "the first part of a tuple")
    }
}
