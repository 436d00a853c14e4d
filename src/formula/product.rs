//! Products of two unknowns, as value subscripts may have them: `p0*(p0 + 1)/2 + p1`.
//!
//! In: a subscript. Out: a linear form in which a product is the call of an uninterpreted array of
//! two arguments, and lemmas about the products at hand: consequences of what multiplication is,
//! enough to compare rows of a triangle or of a rectangle.

use indexmap::IndexSet;

use super::{Affine, Arith, Atom, Call, Formula};

/// The products that subscripts mention.
#[derive(Default)]
pub struct Products {
    seen: IndexSet<(Affine, Affine)>,
    /// What is known of unknowns that stand for `min` and `max`, if they may.
    extremes: Option<Vec<Formula>>,
}

/// Subscripts with larger numbers are left alone: multiples of them are formed.
const MOST: u64 = 1 << 48;

/// No index array has this name.
const PRODUCT: &str = "·";

impl Products {
    /// With unknowns in place of `min` and `max`, which the lemmas tell of.
    pub fn with_extremes() -> Products {
        Products { extremes: Some(Vec::new()), ..Products::default() }
    }

    pub fn is_product(call: &Call) -> bool {
        &*call.array == PRODUCT
    }

    /// The linear form of `arith`. `None` for a division by an unknown, for `min` and `max`, and for
    /// huge numbers.
    pub fn linear(&mut self, arith: &Arith) -> Option<Affine> {
        if arith.magnitude() <= MOST { self.lower(arith) } else { None }
    }

    fn lower(&mut self, arith: &Arith) -> Option<Affine> {
        Some(match arith {
            Arith::Int(_) | Arith::Var(_) => arith.to_affine().ok()?,
            Arith::Call(name, args) => {
                let args: Option<Vec<Affine>> = args.iter().map(|a| self.lower(a)).collect();
                Affine::call(name.clone(), args?)
            }
            Arith::Add(a, b) => self.lower(a)? + self.lower(b)?,
            Arith::Sub(a, b) => self.lower(a)? - self.lower(b)?,
            Arith::Mul(a, b) => {
                let (a, b) = (self.lower(a)?, self.lower(b)?);
                match (a.as_constant(), b.as_constant()) {
                    (Some(k), _) => b * k,
                    (_, Some(k)) => a * k,
                    _ => {
                        let (a, b) = if a <= b { (a, b) } else { (b, a) };
                        self.seen.insert((a.clone(), b.clone()));
                        Affine::call(PRODUCT, vec![a, b])
                    }
                }
            }
            Arith::Div(a, b) => {
                let by = self.lower(b)?.as_constant().filter(|k| *k > 0)?;
                self.lower(a)?.floor_div(by)
            }
            Arith::Mod(a, b) => {
                let by = self.lower(b)?.as_constant().filter(|k| *k > 0)?;
                self.lower(a)?.modulo(by)
            }
            Arith::Min(a, b) | Arith::Max(a, b) => {
                let (a, b) = (self.lower(a)?, self.lower(b)?);
                let facts = self.extremes.as_mut()?;
                let extreme = Affine::var(format!("extreme{}·", facts.len()));
                let is = |one: &Affine| Formula::eq(extreme.clone(), one.clone());
                let beyond = |one: &Affine| match arith {
                    Arith::Min(..) => Formula::le(extreme.clone(), one.clone()),
                    _ => Formula::le(one.clone(), extreme.clone()),
                };
                facts.push(Formula::and([Formula::or([is(&a), is(&b)]), beyond(&a), beyond(&b)]));
                extreme
            }
        })
    }

    /// Facts about every product and every two products.
    pub fn lemmas(&self) -> Vec<Formula> {
        let product = |a: &Affine, b: &Affine| Affine::call(PRODUCT, vec![a.clone(), b.clone()]);
        let not_negative = |a: &Affine| Formula::le(Affine::zero(), a.clone());
        let mut out = self.extremes.clone().unwrap_or_default();
        for (a, b) in &self.seen {
            let factors = Formula::and([not_negative(a), not_negative(b)]);
            out.push(factors.implies(not_negative(&product(a, b))));
        }
        for (k, (a, b)) in self.seen.iter().enumerate() {
            for (m, (c, d)) in self.seen.iter().enumerate() {
                if k == m {
                    continue;
                }
                let large = product(c, d);
                for (c, d) in [(c, d), (d, c)] {
                    let small = product(a, b);
                    // a < c, b = d: c*d >= a*b + b.
                    let same = Formula::and([
                        Formula::lt(a.clone(), c.clone()),
                        Formula::eq(b.clone(), d.clone()),
                        not_negative(b),
                    ]);
                    let more = small.clone() + b.clone();
                    out.push(same.implies(Formula::le(more, large.clone())));
                    let same = Formula::and([
                        Formula::lt(b.clone(), d.clone()),
                        Formula::eq(a.clone(), c.clone()),
                        not_negative(a),
                    ]);
                    let more = small.clone() + a.clone();
                    out.push(same.implies(Formula::le(more, large.clone())));
                    // a < c and b < d: c*d >= (a + 1)*(b + 1).
                    let both = Formula::and([
                        not_negative(a),
                        not_negative(b),
                        Formula::lt(a.clone(), c.clone()),
                        Formula::lt(b.clone(), d.clone()),
                    ]);
                    let more = small + a.clone() + b.clone() + Affine::constant(1);
                    out.push(both.implies(Formula::le(more, large.clone())));
                    // Equal factors in the other order.
                    let equal = Formula::and([
                        Formula::eq(a.clone(), c.clone()),
                        Formula::eq(b.clone(), d.clone()),
                    ]);
                    out.push(equal.implies(Formula::eq(product(a, b), large.clone())));
                }
            }
        }
        out
    }

    /// More about products, for triangles that count down, `p0*(2*n - p0 - 1)/2 + p1`: what they are as sums of products of
    /// two unknowns, and what is known of squares. `[]` where there is too much of it.
    pub fn squares(&self) -> Vec<Formula> {
        /// Facts grow with the third power.
        const MOST_UNKNOWNS: usize = 5;
        let mut unknowns: Vec<Affine> = Vec::new();
        for (a, b) in &self.seen {
            for (atom, _) in a.terms().iter().chain(b.terms()) {
                let atom = Affine::atom(atom.clone());
                if !unknowns.contains(&atom) {
                    unknowns.push(atom);
                }
            }
        }
        if unknowns.len() > MOST_UNKNOWNS {
            return Vec::new();
        }
        let product = |a: &Affine, b: &Affine| {
            let (a, b) = if a <= b { (a, b) } else { (b, a) };
            Affine::call(PRODUCT, vec![a.clone(), b.clone()])
        };
        let expanded = |a: &Affine, b: &Affine| {
            let one = |(atom, k): &(Atom, i64)| (Affine::atom(atom.clone()), *k);
            let mut out =
                a.clone() * b.offset() + (b.clone() - Affine::constant(b.offset())) * a.offset();
            for (u, k) in a.terms().iter().map(one) {
                for (v, m) in b.terms().iter().map(one) {
                    out = out + product(&u, &v) * (k * m);
                }
            }
            out
        };
        // u < v <= w: (w - u)^2 >= (w - v)^2 + 2*(w - v) + v - u, without w*w.
        let further = |u: &Affine, v: &Affine, w: &Affine| {
            let order = [Formula::lt(u.clone(), v.clone()), Formula::le(v.clone(), w.clone())];
            let square = |u: &Affine| product(u, u) - product(u, w) * 2;
            let more = w.clone() * 2 - v.clone() - u.clone();
            Formula::and(order).implies(Formula::le(square(v) + more, square(u)))
        };
        let mut out: Vec<Formula> =
            self.seen.iter().map(|(a, b)| Formula::eq(product(a, b), expanded(a, b))).collect();
        for (k, u) in unknowns.iter().enumerate() {
            // u*u and u are even or odd together, and a square is not less than its root.
            let (square, rest) = (product(u, u), product(u, u) - u.clone());
            out.push(Formula::eq(rest.clone().floor_div(2) * 2, rest));
            out.push(Formula::le(u.clone(), square.clone()));
            out.push(Formula::le(-u.clone(), square.clone()));
            for v in &unknowns[k + 1..] {
                // So is the square of a difference.
                let between = v.clone() - u.clone();
                let apart = square.clone() + product(v, v) - product(u, v) * 2;
                out.push(Formula::le(between.clone(), apart.clone()));
                out.push(Formula::le(-between, apart));
                // Equal unknowns have equal products.
                let equal = Formula::eq(u.clone(), v.clone());
                for w in &unknowns {
                    if w != u && w != v {
                        // Of two that are not above a third, the further one has the greater square of the difference.
                        out.push(further(u, v, w));
                        out.push(further(v, u, w));
                    }
                    out.push(equal.clone().implies(Formula::eq(product(u, w), product(v, w))));
                }
            }
        }
        out
    }

    /// What the products are while one of the factors is at most `most`, and that it is: for small
    /// tensors. No place of the product is mentioned but those at hand, so a small tensor can be
    /// told by its small numbers.
    pub fn table(&self, most: i64) -> Vec<Formula> {
        let mut out = Vec::new();
        for (a, b) in &self.seen {
            let product = Affine::call(PRODUCT, vec![a.clone(), b.clone()]);
            out.push(Formula::le(Affine::zero(), a.clone()));
            out.push(Formula::le(a.clone(), Affine::constant(most)));
            for k in 0..=most {
                let is = Formula::eq(a.clone(), Affine::constant(k));
                out.push(is.implies(Formula::eq(product.clone(), b.clone() * k)));
            }
        }
        out
    }

    /// Takes the products of `facts` in, wherever they come from.
    pub fn note(&mut self, affine: &Affine) {
        affine.visit_calls(&mut |call| {
            if let (true, [a, b]) = (Products::is_product(call), call.args.as_slice()) {
                self.seen.insert((a.clone(), b.clone()));
            }
        });
    }
}
