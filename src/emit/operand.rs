//! Values within a nest: where they are loaded, multiplied and stored.

use super::nest::{ACCUMULATOR, Writer};
use super::rust_expr::{ident, row_major};
use super::value;
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Constraint, Formula, Products};
use crate::iterspace::Operand;
use crate::tensor::ValueType;

impl Writer<'_> {
    /// Loads values that are complete at `depth` and used inside a deeper loop.
    pub(super) fn hoist_values(&mut self, depth: usize) -> Result<String> {
        let mut out = String::new();
        let levels = &self.statement.nest.levels[depth..];
        // A find runs its body at most a few times: loading before it would be waste on a miss.
        let deeper_loop = levels.iter().any(|l| l.is_loop() && !l.is_find());
        if !deeper_loop {
            return Ok(out);
        }
        let statement = self.statement;
        for (k, o) in statement.space.inputs().iter().enumerate() {
            if self.hoisted[k].is_none() && self.depth_of_all(&o.value_index) == depth {
                let name = format!("{}_{depth}", ident(&o.value_array));
                let load = self.value(o);
                out.push_str(&format!("let {name} = {load};\n"));
                self.hoisted[k] = Some(name);
            }
        }
        Ok(out)
    }

    pub(super) fn unhoist(&mut self, depth: usize) {
        let suffix = format!("_{depth}");
        for h in &mut self.hoisted {
            if h.as_ref().is_some_and(|name| name.ends_with(&suffix)) {
                *h = None;
            }
        }
    }

    /// The value of an operand at the current position.
    pub(super) fn value(&mut self, o: &Operand) -> String {
        let (index, proved) = self.value_place(o);
        self.scope.access(&ident(&o.value_array), &index, proved)
    }

    pub(super) fn value_place(&mut self, o: &Operand) -> (String, bool) {
        let affine: Vec<Option<Affine>> =
            o.value_index.iter().map(|a| a.to_affine().ok()).collect();
        let mut proved = true;
        let mut parts = Vec::new();
        for (k, (a, written)) in affine.iter().zip(&o.value_index).enumerate() {
            match a {
                Some(a) => {
                    let extent = o.value_shape.get(k).and_then(|s| s.to_affine().ok());
                    proved &= extent.is_some_and(|extent| {
                        self.facts.is_nonnegative(a)
                            && self.facts.proves(&Constraint::lt(a.clone(), extent))
                    });
                    parts.push(self.scope.index(a, &mut self.facts));
                }
                None => {
                    let extent = o.value_shape.get(k);
                    proved &= extent.is_some_and(|extent| self.is_inside(written, extent));
                    parts.push(super::rust_expr::arith(written, &|n| ident(n)));
                }
            }
        }
        (row_major(&parts, &o.value_shape), proved)
    }

    /// Whether a subscript with products of unknowns lies in `0..extent`, no part of it being
    /// negative, and no product larger than one in the extent, which was computed without overflow.
    fn is_inside(&mut self, subscript: &Arith, extent: &Arith) -> bool {
        let mut products = Products::default();
        let mut linear = |e: &Arith| products.linear(e);
        let (Some(index), Some(length)) = (linear(subscript), linear(extent)) else {
            return false;
        };
        let parts: Option<Vec<Affine>> = subscript.parts().into_iter().map(&mut linear).collect();
        let mut factors = |e: &Arith| -> Option<Vec<Affine>> {
            let products = e.parts().into_iter().filter(|part| matches!(part, Arith::Mul(..)));
            products.map(&mut linear).collect()
        };
        let (Some(parts), Some(small), Some(large)) = (parts, factors(subscript), factors(extent))
        else {
            return false;
        };
        let mut claims = vec![Formula::lt(index, length)];
        claims.extend(parts.into_iter().map(|part| Formula::le(Affine::zero(), part)));
        claims.extend(small.into_iter().map(|product| {
            Formula::or(large.iter().map(|bound| Formula::le(product.clone(), bound.clone())))
        }));
        self.facts.imply(&products.lemmas(), &Formula::and(claims))
    }

    /// The product of all factors.
    pub(super) fn product(&mut self) -> Result<String> {
        let statement = self.statement;
        let mut factors = Vec::new();
        factors.extend(value::coefficient(self.value_type, statement.space.coefficient)?);
        for (k, o) in statement.space.inputs().iter().enumerate() {
            match self.hoisted[k].clone() {
                Some(name) => factors.push(name),
                None => factors.push(self.value(o)),
            }
        }
        if factors.is_empty() {
            factors.push(match self.value_type {
                ValueType::Bool => "true".to_string(),
                ValueType::F64 | ValueType::F32 => "1.0".to_string(),
                _ => "1".to_string(),
            });
        }
        Ok(value::product(self.value_type, &factors))
    }

    pub(super) fn innermost(&mut self) -> Result<String> {
        let product = self.product()?;
        if self.accumulate_at.is_some() {
            return Ok(format!("{}\n", value::accumulate(self.value_type, ACCUMULATOR, &product)));
        }
        Ok(format!("{}\n", self.store(&product)?))
    }

    /// Adds `what` to the output element.
    pub(super) fn store(&mut self, what: &str) -> Result<String> {
        let statement = self.statement;
        let output = statement.space.output();
        let (index, proved) = self.value_place(output);
        let array = ident(&output.value_array);
        self.scope.access(&array, &index, proved);
        let shared = statement.parallel.is_some_and(|p| !p.private);
        let target = match (proved, shared) {
            (true, false) => format!("*at_mut({array}, {index})"),
            (false, false) => format!("{array}[{index}]"),
            (true, true) => format!("*{array}.at_mut({index})"),
            (false, true) => format!("*{array}.checked({index})"),
        };
        Ok(value::accumulate(self.value_type, &target, what))
    }
}
