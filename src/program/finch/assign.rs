//! Lowering assignments: what is stored, and by which operator.
//!
//! Before → after, for `y .= missing` and `m .= Inf => 0`:
//!
//! ```text
//! y[i] = x[~(i + 1)]       y[i] = within(x[i + 1], x[i + 1], false)
//!                          y_there[i] = within(x[i + 1], true, false)
//! m[] <<minby>>= x[i] => i    when x[i] < m_1 { m_1 = x[i]  m_2 = i }
//! ```
//! Which operator does what is in the operators' files: one that always is its second argument stores it.

use std::sync::Arc;

use super::context::{Flag, Lowered, Lowering, Part, Place};
use super::functions::operator;
use super::needs::{Need, Needs, Why};
use super::refusal::wrong;
use super::syntax::{self, Expr, Ident, Update};
use super::value::{apply, literal};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::Name;
use crate::operators::{Absent, Operator};
use crate::program::ir::{self, Access, Assign, AssignOp, Block, Span, When};

/// An operator, with the values of its parameters.
struct By {
    op: Arc<Operator>,
    parameters: Vec<(Lowered, Span)>,
    place: Span,
}

/// Where an assignment goes.
struct Goal<'a> {
    assign: &'a syntax::Assign,
    at: &'a dyn Fn(&Name) -> Access,
    permissive: bool,
    /// Of the value.
    span: Span,
}

impl Goal<'_> {
    fn assign(&self, tensor: &Name, op: AssignOp, value: ir::Expr) -> ir::Stmt {
        ir::Stmt::Assign(Assign { output: (self.at)(tensor), op, value })
    }

    fn tensor(&self) -> &str {
        &self.assign.output.tensor.name().name
    }
}

impl Lowering<'_> {
    pub fn assign(&mut self, assign: &syntax::Assign) -> Result<Block> {
        let mark = self.before.len();
        let place = self.place(&assign.output)?;
        let value = self.value(&assign.value)?;
        let by = self.by(&assign.op)?;
        let at = |tensor: &Name| Access {
            tensor: tensor.clone(),
            subscripts: place.subscripts.clone(),
            windows: Vec::new(),
            span: assign.output.span.0.clone(),
        };
        let (permissive, span) = (place.permissive, Span(assign.value.span()));
        let goal = Goal { assign, at: &at, permissive, span };
        let parts = self.parts_of(goal.tensor());
        let block = match parts.as_slice() {
            [part] => self.update(&goal, part, by, value)?,
            parts => self.update_tuple(&goal, parts, by, value)?,
        };
        let block = self.dropped(&place, parts.first().map(|p| at(&p.value)), block)?;
        Ok(self.bound(mark, block))
    }

    /// A write that may lie outside is dropped there. If a value decides the place, that must be asked.
    fn dropped(&self, place: &Place, output: Option<Access>, block: Block) -> Result<Block> {
        let mut by_value = false;
        for subscript in &place.subscripts {
            subscript.visit_vars(&mut |v| by_value |= !self.known.indices.contains_key(&**v));
        }
        let Some(output) = output.filter(|_| place.permissive && by_value) else {
            return Ok(block);
        };
        let span = Span(output.span.clone());
        let condition = self.holds(&[Need::Inside(output)], &span)?;
        Ok(vec![ir::Stmt::When(When { condition, then: block, otherwise: None, span })])
    }

    /// The operator that changes an element; none if that becomes the value.
    fn by(&mut self, update: &Update) -> Result<Option<By>> {
        let found = |op: Arc<Operator>, parameters, place: &Span| {
            let place = place.clone();
            Ok(Some(By { op, parameters, place }).filter(|by| by.op.kept() != Some(1)))
        };
        let named = |name: &str, at: &Span| {
            let op = operator(name, self.host.operators, at)?;
            match (op.arity(), op.parameters()) {
                (2, 0) => found(op, Vec::new(), at),
                (n, 0) => Err(wrong(format!("`{name}` has {n} arguments"), at)
                    .help("what updates an element takes it and a value")),
                (_, n) => Err(wrong(format!("`{name}` has {n} parameter(s)"), at)
                    .help(format!("give what it needs: `<<{name}(0)>>=`"))),
            }
        };
        match update {
            Update::Init(_) | Update::Overwrite(_) => Ok(None),
            Update::Symbol(symbol, at) => named(symbol, at),
            Update::By(Expr::Operator(symbol, at)) => named(symbol, at),
            Update::By(Expr::Name(ident)) => named(&ident.name, &ident.span),
            Update::By(Expr::Call(f, args, at)) => {
                let Expr::Name(Ident { name, .. }) = &**f else { return Err(no_update(at)) };
                let op = self.with_parameters_of(name, args.len(), at)?;
                if op.arity() != 2 + args.len() {
                    return Err(no_update(at));
                }
                let mut parameters = Vec::new();
                for arg in args {
                    let place = Span(arg.span());
                    let value = self.value(arg)?;
                    let value = self.number(value, &place, &format!("what `{name}` is given"))?;
                    parameters.push((Lowered::Scalar(value, Needs::default()), place));
                }
                found(op, parameters, at)
            }
            Update::By(other) => Err(no_update(&Span(other.span()))),
        }
    }

    fn update(
        &mut self,
        goal: &Goal<'_>,
        part: &Part,
        by: Option<By>,
        value: Lowered,
    ) -> Result<Block> {
        let Some(By { op, parameters, place }) = by else {
            return self.store(goal, part, value);
        };
        if op.by().is_some() && matches!(value, Lowered::Tuple(_)) {
            let output = Span(goal.assign.output.span.0.clone());
            return Err(wrong(format!("`{}` updates tuples", op.name()), &output).help(format!(
                "declare a tensor of tuples: `{} .= Inf => 0`",
                goal.assign.output.tensor
            )));
        }
        if matches!(value, Lowered::Tuple(_)) {
            return self.number(value, &goal.span, "the value").map(|_| Block::new());
        }
        let plain = matches!(&value, Lowered::Scalar(_, needs) if needs.is_empty());
        if let (true, true, Lowered::Scalar(e, _)) =
            (plain && part.flags.is_empty(), parameters.is_empty(), &value)
        {
            return Ok(vec![goal.assign(&part.value, AssignOp::Combine(op), e.clone())]);
        }
        let is_nothing = self.is_not(Why::Nothing, &value, &goal.span)?.is_some()
            || part.flags.iter().any(|flag| flag.why == Why::Nothing);
        if op.missing() == Absent::Result
            && op.kept().is_none()
            && parameters.is_empty()
            && !is_nothing
        {
            return self.missing_stays(goal, part, op, value);
        }
        // It is computed before any of it is stored.
        let mark = self.before.len();
        let old = self.element(part, goal.at, goal.permissive, &goal.span)?;
        // What lies outside is not written at all.
        let old = match old {
            Lowered::Scalar(e, needs) if goal.permissive => {
                let mut own = Needs::default();
                for why in Why::ALL {
                    let holds = needs.get(why).iter().filter(|n| matches!(n, Need::Holds(_)));
                    own.add(&Needs::of(why, holds.cloned().collect()));
                }
                Lowered::Scalar(e, own)
            }
            old => old,
        };
        let mut values = vec![(old, goal.span.clone()), (value, goal.span.clone())];
        values.extend(parameters);
        let new = self.combined(op, values, &place)?;
        let new = match new {
            Lowered::Scalar(e, needs) => {
                let value = Lowered::Scalar(e, needs);
                let number = self.anywhere(&value, &goal.span)?;
                let mut own = Needs::default();
                let mut names = vec![(self.fresh("new"), number)];
                for why in Why::ALL {
                    if let Some(holds) = self.is_not(why, &value, &goal.span)? {
                        let name = self.fresh("there");
                        let there = ir::Expr::Name(name.clone(), goal.span.clone());
                        own.add(&Needs::of(why, vec![Need::Holds(there)]));
                        names.push((name, holds));
                    }
                }
                let new = ir::Expr::Name(names[0].0.clone(), goal.span.clone());
                let bound = names.into_iter().map(|(name, e)| (name, e, goal.span.clone()));
                self.before.extend(bound);
                Lowered::Scalar(new, own)
            }
            other => other,
        };
        let block = self.store(goal, part, new)?;
        // Where it may lie outside, it is asked before the element is read.
        Ok(self.bound(mark, block))
    }

    /// The elements of a tensor turn out to be such that some may not be there.
    fn wanted(&mut self, goal: &Goal<'_>, why: Why, value: &Lowered) -> Result<()> {
        let name = goal.tensor();
        if self.parts.contains_key(name) {
            self.found.insert((name.to_string(), why));
            return Ok(());
        }
        let given =
            |e: Box<Diagnostic>| e.note(format!("`{name}` is given, and its elements are numbers"));
        self.number(value.clone(), &goal.span, "the value").map(|_| ()).map_err(given)
    }

    /// The element becomes the value, there or not.
    fn store(&mut self, goal: &Goal<'_>, part: &Part, value: Lowered) -> Result<Block> {
        if matches!(value, Lowered::Tuple(_)) {
            return self.number(value, &goal.span, "the value").map(|_| Block::new());
        }
        let mut out = Block::new();
        let begins = |flag: &Flag| flag.there && self.is_absent(flag.why, &value);
        if part.flags.iter().any(begins) && self.is_written_again(goal) {
            // As the elements begin: nothing is assigned.
            return Ok(out);
        }
        let number = self.anywhere(&value, &goal.span)?;
        out.push(goal.assign(&part.value, AssignOp::Assign, number));
        for why in Why::ALL {
            let holds = self.is_not(why, &value, &goal.span)?;
            let Some(flag) = part.flags.iter().find(|flag| flag.why == why) else {
                if holds.is_some() {
                    self.wanted(goal, why, &value)?;
                }
                continue;
            };
            let holds = holds.unwrap_or_else(|| literal("true", &goal.span));
            let holds = self.flagged(holds, flag.there, &goal.span)?;
            out.push(goal.assign(&flag.tensor, AssignOp::Assign, holds));
        }
        Ok(out)
    }

    fn is_absent(&self, why: Why, value: &Lowered) -> bool {
        match why {
            Why::Missing => matches!(value, Lowered::Missing),
            Why::Nothing => matches!(value, Lowered::Nothing),
        }
    }

    /// Whether another statement writes the tensor.
    fn is_written_again(&self, goal: &Goal<'_>) -> bool {
        let all = super::dimensions::accesses(&self.scoped.body).into_iter();
        let own = |(access, writes): &(&syntax::Access, bool)| {
            *writes && access.tensor.name().name == *goal.tensor()
        };
        all.filter(own).count() > 1
    }

    /// Whether something is there, as a flag has it.
    fn flagged(&self, there: ir::Expr, as_is: bool, span: &Span) -> Result<ir::Expr> {
        if as_is {
            return Ok(there);
        }
        if let ir::Expr::Literal(l) = &there {
            return Ok(literal(if l.text == "true" { "false" } else { "true" }, span));
        }
        Ok(apply(operator("!", self.host.operators, span)?, vec![there], span))
    }

    /// The element is combined with the value; where one of them is missing, the result is.
    fn missing_stays(
        &mut self,
        goal: &Goal<'_>,
        part: &Part,
        op: Arc<Operator>,
        value: Lowered,
    ) -> Result<Block> {
        let span = goal.span.clone();
        let there = self.is_not(Why::Missing, &value, &span)?;
        let mut out = Block::new();
        if let Lowered::Scalar(e, _) = &value {
            let combine = goal.assign(&part.value, AssignOp::Combine(op), e.clone());
            out.push(match there.clone() {
                None => combine,
                Some(condition) => {
                    let (then, span) = (vec![combine], span.clone());
                    ir::Stmt::When(When { condition, then, otherwise: None, span })
                }
            });
        }
        let flag = part.flags.iter().find(|flag| flag.why == Why::Missing);
        let Some(Flag { tensor, there: as_is, .. }) = flag else {
            if there.is_some() {
                self.wanted(goal, Why::Missing, &value)?;
            }
            return Ok(out);
        };
        // One that begins as missing stays so; that is said, for something must be said of it.
        if there.is_some() || *as_is {
            let both = operator(if *as_is { "&&" } else { "||" }, self.host.operators, &span)?;
            let there = there.unwrap_or_else(|| literal("true", &span));
            let holds = self.flagged(there, *as_is, &span)?;
            out.push(goal.assign(tensor, AssignOp::Combine(both), holds));
        }
        Ok(out)
    }

    fn update_tuple(
        &mut self,
        goal: &Goal<'_>,
        outputs: &[Part],
        by: Option<By>,
        value: Lowered,
    ) -> Result<Block> {
        let span = goal.span.clone();
        let Lowered::Tuple(parts) = value else {
            return Err(wrong("the value is no tuple, as the elements are", &span)
                .help("write a tuple: `(a, b)` or `a => b`"));
        };
        if parts.len() != outputs.len() {
            let message =
                format!("a tuple of {}, where elements have {}", parts.len(), outputs.len());
            return Err(wrong(message, &span).help("give it as many parts"));
        }
        let by = match by {
            None => None,
            Some(By { op, place, .. }) => match op.by() {
                Some(by) => Some(by.to_string()),
                None => return Err(no_tuple(&place)),
            },
        };
        // All parts before any is stored.
        let mark = self.before.len();
        let mut stores = Block::new();
        let mut first = None;
        for (part, output) in parts.into_iter().zip(outputs) {
            let there = output.flags.is_empty()
                && matches!(&part, Lowered::Scalar(_, needs) if needs.is_empty());
            let part = match (part, there) {
                (Lowered::Scalar(value, needs), true) => {
                    let name = self.fresh("part");
                    self.before.push((name.clone(), value, span.clone()));
                    Lowered::Scalar(ir::Expr::Name(name, span.clone()), needs)
                }
                (Lowered::Tuple(inner), _) => {
                    let value = Lowered::Tuple(inner);
                    self.number(value, &span, "a part of the value")?;
                    continue;
                }
                (part, _) => part,
            };
            first.get_or_insert(part.clone());
            stores.extend(self.store(goal, output, part)?);
        }
        let (Some(by), Some(new)) = (by, first) else { return Ok(self.bound(mark, stores)) };
        let old = self.element(&outputs[0], goal.at, false, &span)?;
        let condition = self.replaces(&by, &old, &new, &span)?;
        let choice = When { condition, then: stores, otherwise: None, span };
        Ok(self.bound(mark, vec![ir::Stmt::When(choice)]))
    }
}

fn no_update(span: &Span) -> Box<Diagnostic> {
    wrong("this updates no element", span)
        .help("write `<<op>>=` with a function of two arguments, `choose(z)` or `initwrite(z)`")
}

fn no_tuple(span: &Span) -> Box<Diagnostic> {
    wrong("tuples are not updated by this", span)
        .help("use `=`, `:=`, `<<minby>>=` or `<<maxby>>=`")
}
