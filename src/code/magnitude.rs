//! Index arithmetic does not overflow: how large the sizes may be for that.
//!
//! In: a body whose accesses are proved. For each integer there is a polynomial in `L`, the largest size
//! that the kernel is given, that it does not exceed. Out: the largest `L` with which all of them fit
//! `isize` ([`size_limit`]), which the safe function tests before it starts.
//!
//! ```text
//! if 4 * i < N0_x { … }        i < L, so 4*i <= 4*L
//! ```
//! The place of a proved access needs no test of its own: it is below the length of its array, which
//! was multiplied out with overflow checks, and so are the products within it.

use rustc_hash::FxHashMap;

use super::ir::{
    Access, BinaryOp, Block, Body, Element, Expr, IndexWidth, Load, Origin, Stmt, Type, VarId,
};
use crate::formula::{Affine, Atom, Relop};

/// Terms of a [`Magnitude`]: subscripts with more factors are refused by their size.
const TERMS: usize = 8;

/// A polynomial in `L`, its coefficients by degree, saturating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Magnitude([u128; TERMS]);

/// What a walk adds to its position at most before it tests it again, and more.
const STEPS: u128 = 64;

impl Magnitude {
    fn constant(value: u128) -> Magnitude {
        Magnitude::of(value, 0)
    }

    fn size() -> Magnitude {
        Magnitude::of(0, 1)
    }

    /// `constant + linear * L`
    fn of(constant: u128, linear: u128) -> Magnitude {
        let mut out = Magnitude::default();
        (out.0[0], out.0[1]) = (constant, linear);
        out
    }

    fn each(self, other: Magnitude, f: impl Fn(u128, u128) -> u128) -> Magnitude {
        Magnitude(std::array::from_fn(|k| f(self.0[k], other.0[k])))
    }

    fn plus(self, other: Magnitude) -> Magnitude {
        self.each(other, u128::saturating_add)
    }

    fn max(self, other: Magnitude) -> Magnitude {
        self.each(other, u128::max)
    }

    fn times(self, other: Magnitude) -> Magnitude {
        let mut out = Magnitude::default();
        for (i, a) in self.0.into_iter().enumerate().filter(|(_, a)| *a > 0) {
            for (j, b) in other.0.into_iter().enumerate().filter(|(_, b)| *b > 0) {
                // What is beyond the last term makes it as large as can be.
                let (degree, product) = match i + j {
                    degree if degree < TERMS => (degree, a.saturating_mul(b)),
                    _ => (TERMS - 1, u128::MAX),
                };
                out.0[degree] = out.0[degree].saturating_add(product);
            }
        }
        out
    }

    /// At most this, divided and rounded away from zero.
    fn divided(self, by: u128) -> Magnitude {
        let up = Magnitude(self.0.map(|x| x.div_ceil(by.max(1))));
        up.plus(Magnitude::constant(1))
    }

    /// The largest size with which nothing exceeds `most`.
    pub fn limit(self, most: u64) -> u64 {
        let fits = |size: u128| {
            let terms = self.0.iter().rev();
            let value = terms.fold(0_u128, |sum, c| sum.saturating_mul(size).saturating_add(*c));
            value <= u128::from(most)
        };
        let (mut low, mut high) = (0_u128, u128::from(most) + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        low as u64
    }
}

/// The largest size with which no integer of the body exceeds `most`.
pub fn size_limit(body: &Body, most: u64) -> u64 {
    let mut walk = Walk { body, known: FxHashMap::default(), found: Vec::new(), proved: false };
    walk.block(&body.block);
    walk.found.iter().map(|m| m.limit(most)).min().unwrap_or(most)
}

struct Walk<'a> {
    body: &'a Body,
    known: FxHashMap<VarId, Magnitude>,
    /// How large the integers are; those that others exceed are left out.
    found: Vec<Magnitude>,
    /// Within the place of a proved access.
    proved: bool,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn bind(&mut self, var: VarId, value: Magnitude) {
        self.known.insert(var, value);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { var, mutable, value } => {
                let value = self.expr(value);
                // What is assigned later is a position: it stays near a range.
                let moving = Magnitude::of(STEPS, 1);
                self.bind(*var, if *mutable { value.max(moving) } else { value });
            }
            Stmt::For { var, lo, hi, body } => {
                let ends = self.expr(lo).max(self.expr(hi));
                self.bind(*var, ends);
                self.block(body);
            }
            Stmt::Drain(d) => {
                d.key.iter().for_each(|var| self.bind(*var, Magnitude::size()));
                self.block(&d.body);
            }
            Stmt::Matches { key, var, body, .. } => {
                self.expr(key);
                self.bind(*var, Magnitude::size());
                self.block(body);
            }
            Stmt::Parallel(p) => {
                let ends = self.expr(&p.lo).max(self.expr(&p.hi));
                self.bind(p.start, ends);
                self.bind(p.end, ends);
                p.writes.variables().for_each(|var| self.bind(var, Magnitude::of(STEPS, 1)));
                self.block(&p.setup);
                self.block(&p.body);
            }
            Stmt::Store { place, value, .. } => {
                self.place(place);
                self.expr(value);
            }
            other => {
                let mut expressions = Vec::new();
                let mut blocks = Vec::new();
                other.parts(&mut |e| expressions.push(e), &mut |b| blocks.push(b));
                for e in expressions {
                    self.expr(e);
                }
                for b in blocks {
                    self.block(b);
                }
            }
        }
    }

    fn place(&mut self, load: &Load) {
        let before = self.proved;
        self.proved = matches!(load.access, Access::Proved(_));
        for s in &load.subscripts {
            self.expr(s);
        }
        self.proved = before;
    }

    /// How large the integer may be; what is larger than anything before is kept.
    fn expr(&mut self, e: &Expr) -> Magnitude {
        let value = self.value(e);
        if matches!(self.body.type_of(e), Ok(Type::Unsigned | Type::Signed)) {
            let counted = match self.proved {
                // Products are multiplied out, what is read is added: linear terms may be new.
                true => Magnitude::of(0, value.0[1]),
                false => value,
            };
            if !self.found.iter().any(|f| f.max(counted) == *f) {
                self.found.retain(|f| f.max(counted) != counted);
                self.found.push(counted);
            }
        }
        value
    }

    fn value(&mut self, e: &Expr) -> Magnitude {
        match e {
            Expr::Int { value, .. } => Magnitude::constant(u128::from(value.unsigned_abs())),
            Expr::Var(v) => match self.known.get(v) {
                Some(known) => *known,
                None => Magnitude::size(),
            },
            Expr::Load(load) => {
                self.place(load);
                self.element(load)
            }
            Expr::Convert { value, .. } | Expr::Given { value, .. } => self.expr(value),
            // It is compared with an end before it is used.
            Expr::Wrapped(value) => {
                self.expr(value);
                Magnitude::size()
            }
            Expr::FromBool(c) => {
                self.expr(c);
                Magnitude::constant(1)
            }
            Expr::Choose { condition, then, otherwise } => {
                self.expr(condition);
                self.expr(then).max(self.expr(otherwise))
            }
            Expr::HomeSlot { coordinate, slots } => {
                self.expr(coordinate);
                self.expr(slots)
            }
            Expr::Binary { op, left, right } => {
                let (a, b) = (self.expr(left), self.expr(right));
                let unsigned = self.body.type_of(left) == Ok(Type::Unsigned);
                match op {
                    BinaryOp::Add => a.plus(b),
                    BinaryOp::Sub if unsigned => a,
                    BinaryOp::Sub => a.plus(b),
                    BinaryOp::Mul => a.times(b),
                    BinaryOp::Div => match **right {
                        Expr::Int { value, .. } => a.divided(u128::from(value.unsigned_abs())),
                        _ => a,
                    },
                    BinaryOp::Rem | BinaryOp::Min | BinaryOp::Max => a.max(b),
                    _ => a,
                }
            }
            Expr::Sum(sum) => {
                let ends = self.expr(&sum.lo).max(self.expr(&sum.hi));
                self.bind(sum.var, ends);
                for (var, e) in &sum.lets {
                    let value = self.expr(e);
                    self.bind(*var, value);
                }
                self.expr(&sum.term)
            }
            other => {
                let mut parts = Vec::new();
                other.parts(&mut |part| parts.push(part));
                let mut most = Magnitude::default();
                for part in parts {
                    most = most.max(self.expr(part));
                }
                most
            }
        }
    }

    /// The declared range of an index array, or what its type can hold. (Validation refuses elements
    /// beyond 63 bits.)
    fn element(&self, load: &Load) -> Magnitude {
        let array = self.body.arr(load.array);
        let Element::Index { signed, width } = array.element else {
            return Magnitude::of(STEPS, 1);
        };
        // Positions.
        if array.origin == Origin::Local {
            return Magnitude::of(STEPS, 1);
        }
        let of_type = Magnitude::constant(match width {
            IndexWidth::U32 => 1 << 32,
            IndexWidth::U64 => i64::MAX as u128,
        });
        let (mut above, mut below): (Option<Magnitude>, Option<Magnitude>) = (None, None);
        for c in array.range.iter().filter(|c| c.relop == Relop::Ge) {
            let own = c
                .affine
                .terms()
                .iter()
                .find(|(a, _)| matches!(a, Atom::Call(call) if call.array == array.name));
            let Some((atom, k)) = own else { continue };
            let rest = c.affine.clone() - Affine::atom(atom.clone()) * *k;
            let side = if *k < 0 { &mut above } else { &mut below };
            *side = form(&rest);
        }
        let below = if signed { below } else { Some(Magnitude::default()) };
        match (above, below) {
            (Some(above), Some(below)) => {
                let declared = above.max(below);
                // The type may say more.
                if declared.0[1] == 1 || width == IndexWidth::U64 { declared } else { of_type }
            }
            _ if !self.body.beyond_sizes.contains(&load.array) => Magnitude::size(),
            _ => of_type,
        }
    }
}

/// A bound in terms of sizes and arguments.
fn form(a: &Affine) -> Option<Magnitude> {
    let mut out = Magnitude::constant(u128::from(a.offset().unsigned_abs()));
    for (atom, k) in a.terms() {
        let one = match atom {
            Atom::Var(_) => Magnitude::size(),
            Atom::Floor(inner, d) => form(inner)?.divided(d.unsigned_abs().into()),
            Atom::Call(_) => return None,
        };
        out = out.plus(one.times(Magnitude::constant(u128::from(k.unsigned_abs()))));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_largest_size_that_fits() {
        let quadruple = Magnitude::of(3, 4);
        assert_eq!(quadruple.limit(43), 10);
        assert_eq!(quadruple.limit(42), 9);
        let square = Magnitude::size().times(Magnitude::of(1, 1));
        assert_eq!(square.limit(110), 10);
        assert_eq!(Magnitude::constant(8).limit(7), 0);
        assert_eq!(Magnitude::size().limit(u64::MAX >> 1), u64::MAX >> 1);
    }

    #[test]
    fn products_of_many_sizes_leave_some_room() {
        let cube = Magnitude::size().times(Magnitude::size()).times(Magnitude::size());
        assert_eq!(cube.limit(1_000), 10);
        assert_eq!(cube.times(cube).times(cube).limit(u64::MAX >> 1), 0);
    }
}
