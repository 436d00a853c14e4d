//! Products of two unknowns, as value subscripts may have them: `p0*(p0 + 1)/2 + p1`.
//!
//! In: a subscript. Out: a linear form in which a product is the call of an uninterpreted array of
//! two arguments, and lemmas about the products at hand: consequences of what multiplication is,
//! enough to compare rows of a triangle or of a rectangle.

use indexmap::IndexSet;

use super::{Affine, Arith, Call, Formula};

/// The products that subscripts mention.
#[derive(Default)]
pub struct Products {
    seen: IndexSet<(Affine, Affine)>,
}

/// Subscripts with larger numbers are left alone: multiples of them are formed.
const MOST: u64 = 1 << 48;

/// No index array has this name.
const PRODUCT: &str = "·";

impl Products {
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
            Arith::Min(..) | Arith::Max(..) => return None,
        })
    }

    /// Facts about every product and every two products.
    pub fn lemmas(&self) -> Vec<Formula> {
        let product = |a: &Affine, b: &Affine| Affine::call(PRODUCT, vec![a.clone(), b.clone()]);
        let not_negative = |a: &Affine| Formula::le(Affine::zero(), a.clone());
        let mut out = Vec::new();
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
