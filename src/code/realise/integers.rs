//! Linear forms, sizes and conditions as typed expressions.
//!
//! Positions and coordinates are `usize` where they are proved not to be negative, else `isize`.
//! Subtraction in `usize` is written only where the result is proved not to be negative;
//! comparisons move negative terms to the other side instead. (The bounds pass proves each of these
//! again, on the code as it is.)

use super::super::ir::{BinaryOp, Element, Expr, Type, VarId};
use super::Realiser;
use crate::formula::{Affine, Arith, Atom, Call, Constraint, Formula, Relop};
use crate::layout::Piecewise;

impl Realiser<'_, '_> {
    fn atom_is_signed(&mut self, atom: &Atom) -> bool {
        match atom {
            Atom::Var(n) => {
                let var = self.body.variable_named(n);
                var.is_some_and(|v| self.body.var(v).ty == Type::Signed)
            }
            Atom::Call(call) => match self.holding(call) {
                // It may have become `usize` when it was bound.
                Some(var) => self.body.var(var).ty == Type::Signed,
                None => {
                    let array = self.body.array_named(&call.array);
                    array.is_some_and(|a| self.body.arr(a).element.loaded() == Type::Signed)
                }
            },
            Atom::Floor(inner, _) => {
                let plain = inner.terms().iter().all(|(a, _)| !self.atom_is_signed(a));
                !(plain && self.is_natural(inner))
            }
        }
    }

    pub(super) fn is_natural(&mut self, a: &Affine) -> bool {
        self.path.proves(&Formula::le(Affine::zero(), a.clone()))
    }

    fn can_be_unsigned(&mut self, a: &Affine) -> bool {
        self.has_unsigned_terms(a) && (!subtracts(a) || self.is_natural(a))
    }

    fn has_unsigned_terms(&mut self, a: &Affine) -> bool {
        a.terms().iter().all(|(atom, _)| !self.atom_is_signed(atom))
    }

    /// `usize` if the form is proved not to be negative without a conversion, else `isize`.
    pub(super) fn affine(&mut self, a: &Affine) -> Expr {
        if self.can_be_unsigned(a) { self.unsigned(a) } else { self.signed(a) }
    }

    /// [`Realiser::affine`] for a variable: a difference of signed terms that is proved not to be
    /// negative becomes `usize`, so that what follows can index with it.
    pub(super) fn value(&mut self, a: &Affine) -> Expr {
        let e = self.affine(a);
        if self.is_signed(&e) && self.is_natural(a) { e.converted(false) } else { e }
    }

    /// `usize`, for a whole subscript. A negative one becomes a number that is in no array.
    pub(super) fn index(&mut self, a: &Affine) -> Expr {
        let e = self.affine(a);
        if self.is_signed(&e) { e.converted(false) } else { e }
    }

    /// `usize`, for a part of a subscript.
    fn part(&mut self, a: &Arith) -> Expr {
        let Ok(affine) = a.to_affine() else { return self.arith(a) };
        let e = self.value(&affine);
        if self.is_signed(&e) { self.at_least_zero(e) } else { e }
    }

    /// `e.max(0) as usize`.
    pub(super) fn at_least_zero(&mut self, e: Expr) -> Expr {
        Expr::binary(BinaryOp::Max, e, Expr::integer(0, true)).converted(false)
    }

    pub(super) fn is_signed(&self, e: &Expr) -> bool {
        self.body.type_of(e) == Ok(Type::Signed)
    }

    /// Positive terms first, so that no intermediate result is negative.
    fn unsigned(&mut self, a: &Affine) -> Expr {
        let mut out = self.terms(a, true, false);
        if a.offset() > 0 {
            out = Some(plus(out, Expr::int(a.offset())));
        }
        let mut out = out.unwrap_or(Expr::int(0));
        for (atom, c) in a.terms().iter().filter(|(_, c)| *c < 0) {
            let base = self.atom(atom, false);
            out = out.sub(scaled(-c, base, false));
        }
        if a.offset() < 0 { out.sub(Expr::int(-a.offset())) } else { out }
    }

    fn signed(&mut self, a: &Affine) -> Expr {
        let mut out: Option<Expr> = None;
        for (atom, c) in a.terms() {
            let base = self.atom(atom, true);
            out = Some(match out {
                None if *c > 0 => scaled(*c, base, true),
                None => Expr::integer(0, true).minus(scaled(-c, base, true)),
                Some(all) if *c > 0 => all.add(scaled(*c, base, true)),
                Some(all) => all.sub(scaled(-c, base, true)),
            });
        }
        match (out, a.offset()) {
            (None, c) => Expr::integer(c, true),
            (Some(all), 0) => all,
            (Some(all), c) if c < 0 => all.sub(Expr::integer(-c, true)),
            (Some(all), c) => all.add(Expr::integer(c, true)),
        }
    }

    /// The terms with positive (or negative) coefficients, without their sign.
    fn terms(&mut self, a: &Affine, positive: bool, signed: bool) -> Option<Expr> {
        let mut out = None;
        for (atom, c) in a.terms().iter().filter(|(_, c)| (*c > 0) == positive) {
            let base = self.atom(atom, signed);
            out = Some(plus(out, scaled(c.abs(), base, signed)));
        }
        out
    }

    fn atom(&mut self, atom: &Atom, signed: bool) -> Expr {
        let is_signed = self.atom_is_signed(atom);
        let e = match atom {
            Atom::Var(n) => match self.body.variable_named(n) {
                Some(v) => Expr::Var(v),
                // The verifier reports it: no variable of this name was bound.
                None => Expr::Var(self.body.variable(n, Type::Unsigned)),
            },
            Atom::Call(call) => self.element(call),
            Atom::Floor(inner, d) => {
                let by = Expr::integer(*d, is_signed);
                let inner = if is_signed { self.signed(inner) } else { self.unsigned(inner) };
                Expr::binary(BinaryOp::Div, inner, by)
            }
        };
        if signed && !is_signed { e.converted(true) } else { e }
    }

    /// The variable that holds this value of an index array.
    fn holding(&self, call: &Call) -> Option<VarId> {
        self.loaded.iter().find(|(c, _)| c == call).map(|(_, var)| *var)
    }

    /// The value of an index array, or the variable that holds it.
    pub(super) fn element(&mut self, call: &Call) -> Expr {
        if let Some(var) = self.holding(call) {
            return Expr::Var(var);
        }
        let function = self.body.functions.iter().find(|f| f.name == call.array).cloned();
        if let Some(function) = function {
            return self.piecewise(&function, &call.args);
        }
        let subscripts = call.args.iter().map(|a| self.index(a)).collect();
        match self.body.array_named(&call.array) {
            Some(array) => Expr::load(array, subscripts),
            None => Expr::int(0),
        }
    }

    /// A function of several cases, without a branch: the element that may not be meant is one that may be read.
    fn piecewise(&mut self, function: &Piecewise, args: &[Affine]) -> Expr {
        let first = function.first.map(|a| function.at(a, args));
        let otherwise = function.otherwise.args.iter().map(|a| function.at(a, args));
        let otherwise: Vec<Affine> = otherwise.collect();
        let subscripts = otherwise.iter().map(|a| self.at_zero_or_above(a)).collect();
        let otherwise = match self.body.array_named(&function.otherwise.array) {
            Some(array) => Expr::load(array, subscripts),
            None => Expr::int(0),
        };
        Expr::Choose {
            condition: Box::new(self.constraint(&first)),
            then: Box::new(Expr::int(function.then)),
            otherwise: Box::new(otherwise),
        }
    }

    /// `usize`: zero where the form is negative.
    fn at_zero_or_above(&mut self, a: &Affine) -> Expr {
        if a.terms().iter().any(|(atom, _)| self.atom_is_signed(atom)) {
            let e = self.signed(a);
            return self.at_least_zero(e);
        }
        let mut positive = self.terms(a, true, false);
        let mut negative = self.terms(a, false, false);
        match a.offset() {
            0 => {}
            k if k > 0 => positive = Some(plus(positive, Expr::int(k))),
            k => negative = Some(plus(negative, Expr::int(-k))),
        }
        let positive = positive.unwrap_or(Expr::int(0));
        match negative {
            Some(negative) => Expr::binary(BinaryOp::SaturatingSub, positive, negative),
            None => positive,
        }
    }

    /// The conjunction of tests, without those that hold of any natural numbers.
    pub(super) fn tests(&mut self, constraints: &[Constraint]) -> Vec<Expr> {
        let mut out = Vec::new();
        for c in constraints {
            let trivial = c.relop == Relop::Ge
                && c.affine.offset() >= 0
                && c.affine.terms().iter().all(|(a, k)| *k > 0 && !self.atom_is_signed(a));
            if !trivial {
                out.push(self.constraint(c));
            }
        }
        out
    }

    /// A test, in `usize` where possible, with the negative terms on the other side.
    pub(super) fn constraint(&mut self, c: &Constraint) -> Expr {
        let signed = c.affine.terms().iter().any(|(a, _)| self.atom_is_signed(a));
        let offset = c.affine.offset();
        let mut left = self.terms(&c.affine, true, signed);
        let mut right = self.terms(&c.affine, false, signed);
        let literal = |k: i64| Expr::integer(k, signed);
        let or_zero = |side: Option<Expr>| side.unwrap_or(literal(0));
        let (op, flipped) = match c.relop {
            Relop::Eq => (BinaryOp::Eq, false),
            Relop::Ne => (BinaryOp::Ne, false),
            Relop::Ge if offset < 0 => (BinaryOp::Lt, true),
            Relop::Ge => (BinaryOp::Le, true),
        };
        // left - right + offset >= 0 is `right < left` or `right <= left + offset`.
        let rest = if op == BinaryOp::Lt { offset + 1 } else { offset };
        match rest {
            0 => {}
            k if k > 0 => left = Some(plus(left, literal(k))),
            k => right = Some(plus(right, literal(-k))),
        }
        let (left, right) = (or_zero(left), or_zero(right));
        let nothing = |e: &Expr| matches!(e, Expr::Int { value: 0, .. });
        match op {
            // No `usize` is below nothing; `rustc` warns of such tests.
            BinaryOp::Lt if !signed && nothing(&left) => return Expr::Bool(false),
            BinaryOp::Le if !signed && nothing(&right) => return Expr::Bool(true),
            _ => {}
        }
        if flipped { Expr::binary(op, right, left) } else { Expr::binary(op, left, right) }
    }

    /// A Boolean combination of tests.
    pub(super) fn formula(&mut self, f: &Formula) -> Expr {
        match f {
            Formula::Constraint(c) => self.constraint(c),
            Formula::And(parts) => {
                let parts: Vec<Expr> = parts.iter().map(|p| self.formula(p)).collect();
                Expr::and(parts)
            }
            Formula::Or(parts) => {
                let parts: Vec<Expr> = parts.iter().map(|p| self.formula(p)).collect();
                Expr::or(parts)
            }
            Formula::Not(inner) => self.formula(inner).negated(),
            Formula::Implies(a, b) => {
                let (a, b) = (self.formula(a), self.formula(b));
                Expr::or([a.negated(), b])
            }
            // Restrictions and finds have none.
            Formula::Predicate(..) => Expr::Bool(false),
        }
    }

    /// A whole subscript, with products; all its values are `usize`.
    pub(super) fn arith(&mut self, a: &Arith) -> Expr {
        if let Ok(affine) = a.to_affine() {
            return self.index(&affine);
        }
        let mut both = |op, x: &Arith, y: &Arith| {
            let (x, y) = (self.part(x), self.part(y));
            Expr::binary(op, x, y)
        };
        match a {
            Arith::Add(x, y) => both(BinaryOp::Add, x, y),
            Arith::Sub(x, y) => both(BinaryOp::Sub, x, y),
            Arith::Mul(x, y) => both(BinaryOp::Mul, x, y),
            Arith::Div(x, y) => both(BinaryOp::Div, x, y),
            Arith::Mod(x, y) => both(BinaryOp::Rem, x, y),
            Arith::Min(x, y) => both(BinaryOp::Min, x, y),
            Arith::Max(x, y) => both(BinaryOp::Max, x, y),
            // These are linear: converted above.
            Arith::Int(_) | Arith::Var(_) | Arith::Call(..) => Expr::int(0),
        }
    }

    /// The greatest (or least) of several bounds, of the type that is wanted.
    pub(super) fn limit(&mut self, parts: &[Affine], op: BinaryOp, signed: bool) -> Expr {
        let mut out: Option<Expr> = None;
        for a in parts {
            let e = self.affine(a);
            let e = match (self.is_signed(&e), signed) {
                (true, false) if self.is_natural(a) => e.converted(false),
                (true, false) => self.at_least_zero(e),
                (false, true) => e.converted(true),
                _ => e,
            };
            // No `usize` is less.
            let is_least = |e: &Expr| !signed && op == BinaryOp::Max && *e == Expr::int(0);
            out = Some(match out {
                None => e,
                Some(all) if is_least(&e) => all,
                Some(all) if is_least(&all) => e,
                Some(all) => Expr::binary(op, all, e),
            });
        }
        out.unwrap_or(Expr::integer(0, signed))
    }

    /// Numbers that elements of this array have by their type.
    pub(super) fn holds_negative(element: Element) -> bool {
        matches!(element, Element::Index { signed: true, .. })
    }
}

impl Expr {
    fn minus(self, other: Expr) -> Expr {
        Expr::binary(BinaryOp::Sub, self, other)
    }
}

fn plus(all: Option<Expr>, part: Expr) -> Expr {
    match all {
        None => part,
        Some(all) => all.add(part),
    }
}

fn scaled(factor: i64, base: Expr, signed: bool) -> Expr {
    match factor {
        1 => base,
        k => Expr::binary(BinaryOp::Mul, Expr::integer(k, signed), base),
    }
}

fn subtracts(a: &Affine) -> bool {
    a.offset() < 0 || a.terms().iter().any(|(_, c)| *c < 0)
}
