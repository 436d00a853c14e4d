//! Formulas that are built from others: what is known without any name is computed at once.
//!
//! Before → after: `(1 + 0) * step:pos_A` becomes `step:pos_A`.

use std::ops::{Add, Div, Mul, Sub};

use super::cost_formula::{CostFormula, Function, Operation};

impl From<f64> for CostFormula {
    fn from(number: f64) -> CostFormula {
        CostFormula::Number(number)
    }
}

fn binary(operation: Operation, a: CostFormula, b: CostFormula) -> CostFormula {
    let number = |formula: &CostFormula| match formula {
        CostFormula::Number(number) => Some(*number),
        _ => None,
    };
    let (operation, b) = match (operation, b) {
        (Operation::Add, CostFormula::Negated(taken)) if number(&a) != Some(0.0) => {
            (Operation::Subtract, *taken)
        }
        as_it_is => as_it_is,
    };
    match (operation, number(&a), number(&b)) {
        (_, Some(a), Some(b)) => operation.of(a, b).into(),
        (Operation::Add, Some(0.0), _) | (Operation::Multiply, Some(1.0), _) => b,
        (Operation::Add | Operation::Subtract, _, Some(0.0)) => a,
        (Operation::Multiply | Operation::Divide, _, Some(1.0)) => a,
        (Operation::Multiply, Some(-1.0), _) => CostFormula::Negated(Box::new(b)),
        (Operation::Multiply, _, Some(-1.0)) => CostFormula::Negated(Box::new(a)),
        // No size is infinite.
        (Operation::Multiply, Some(0.0), _) | (Operation::Multiply, _, Some(0.0)) => 0.0.into(),
        // What is added to a sum or a difference with a number is added to that.
        (Operation::Add | Operation::Subtract, None, Some(n)) if ends_in_number(&a) => {
            let n = if operation == Operation::Add { n } else { -n };
            let CostFormula::Binary(inner, left, right) = a else { return a };
            let last = number(&right).unwrap_or(0.0);
            let last = if inner == Operation::Add { last } else { -last };
            *left + (last + n).into()
        }
        (Operation::Add, _, Some(n)) if n < 0.0 => binary(Operation::Subtract, a, (-n).into()),
        _ => CostFormula::Binary(operation, Box::new(a), Box::new(b)),
    }
}

/// Whether it is a sum or a difference with a number behind.
fn ends_in_number(formula: &CostFormula) -> bool {
    match formula {
        CostFormula::Binary(Operation::Add | Operation::Subtract, _, last) => {
            matches!(**last, CostFormula::Number(_))
        }
        _ => false,
    }
}

impl Add for CostFormula {
    type Output = CostFormula;

    fn add(self, other: CostFormula) -> CostFormula {
        binary(Operation::Add, self, other)
    }
}

impl Sub for CostFormula {
    type Output = CostFormula;

    fn sub(self, other: CostFormula) -> CostFormula {
        binary(Operation::Subtract, self, other)
    }
}

impl Mul for CostFormula {
    type Output = CostFormula;

    fn mul(self, other: CostFormula) -> CostFormula {
        binary(Operation::Multiply, self, other)
    }
}

impl Div for CostFormula {
    type Output = CostFormula;

    fn div(self, other: CostFormula) -> CostFormula {
        binary(Operation::Divide, self, other)
    }
}

impl CostFormula {
    /// The lesser of two.
    #[must_use]
    pub fn min(self, other: CostFormula) -> CostFormula {
        self.called_with(Function::Min, other, f64::min, f64::INFINITY)
    }

    /// The greater of two.
    #[must_use]
    pub fn max(self, other: CostFormula) -> CostFormula {
        self.called_with(Function::Max, other, f64::max, f64::NEG_INFINITY)
    }

    fn called_with(
        self,
        function: Function,
        other: CostFormula,
        of: fn(f64, f64) -> f64,
        neutral: f64,
    ) -> CostFormula {
        match (self, other) {
            (CostFormula::Number(a), CostFormula::Number(b)) => of(a, b).into(),
            (a, b) if a == b => a,
            // The lesser of 1 and what is at least 1.
            (CostFormula::Number(n), CostFormula::Call(inner, arguments))
                if inner != function
                    && matches!(arguments.last(), Some(CostFormula::Number(m)) if of(n, *m) == n) =>
            {
                n.into()
            }
            (CostFormula::Number(n), other) | (other, CostFormula::Number(n)) if n == neutral => {
                other
            }
            // Once is enough.
            (CostFormula::Call(inner, mut arguments), CostFormula::Number(b))
                if inner == function
                    && matches!(arguments.last(), Some(CostFormula::Number(_))) =>
            {
                if let Some(CostFormula::Number(a)) = arguments.last_mut() {
                    *a = of(*a, b);
                }
                CostFormula::Call(inner, arguments)
            }
            (a, b) => CostFormula::Call(function, vec![a, b]),
        }
    }

    /// A number or a name.
    pub fn is_leaf(&self) -> bool {
        matches!(self, CostFormula::Number(_) | CostFormula::Named(_))
    }

    /// What is added up, and what is taken away.
    pub fn summands(&self) -> (Vec<&CostFormula>, Vec<&CostFormula>) {
        match self {
            CostFormula::Binary(Operation::Add, a, b) => {
                let (mut added, mut taken) = a.summands();
                let (more, less) = b.summands();
                added.extend(more);
                taken.extend(less);
                (added, taken)
            }
            CostFormula::Binary(Operation::Subtract, a, b) => {
                let (mut added, mut taken) = a.summands();
                let (less, more) = b.summands();
                added.extend(more);
                taken.extend(less);
                (added, taken)
            }
            CostFormula::Negated(a) => {
                let (taken, added) = a.summands();
                (added, taken)
            }
            _ => (vec![self], Vec::new()),
        }
    }

    /// What it combines.
    pub fn parts_mut(&mut self) -> Vec<&mut CostFormula> {
        match self {
            CostFormula::Number(_) | CostFormula::Named(_) => Vec::new(),
            CostFormula::Negated(a) => vec![a],
            CostFormula::Binary(_, a, b) => vec![a, b],
            CostFormula::Call(_, arguments) => arguments.iter_mut().collect(),
        }
    }

    /// Their sum; 0 of none.
    pub fn sum(all: impl IntoIterator<Item = CostFormula>) -> CostFormula {
        all.into_iter().fold(0.0.into(), Add::add)
    }

    /// Their product; 1 of none.
    pub fn product(all: impl IntoIterator<Item = CostFormula>) -> CostFormula {
        all.into_iter().fold(1.0.into(), Mul::mul)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> CostFormula {
        CostFormula::Named(name.into())
    }

    #[test]
    fn what_is_known_is_computed() {
        let n = |number: f64| CostFormula::Number(number);
        for (formula, text) in [
            ((n(1.0) + n(0.0)) * named("a"), "a"),
            (named("a") * n(0.0) + named("b"), "b"),
            (named("a") + n(-2.0), "a - 2"),
            (named("a") - n(1.0) + n(1.0), "a"),
            (n(-1.0) * named("a"), "-a"),
            (n(0.0) + named("a") * n(-1.0), "-a"),
            (named("a") + named("b") * n(-1.0), "a - b"),
            (n(1.0).min(named("a").max(n(1.0))), "1"),
            (n(2.0) * n(3.0) / n(4.0), "1.5"),
            (named("a").max(n(0.0)).max(n(1.0)), "max(a, 1)"),
            (n(f64::INFINITY).min(named("a")), "a"),
            (named("a").min(named("a")), "a"),
            (CostFormula::sum([]) + CostFormula::product([named("a"), named("b")]), "a * b"),
        ] {
            assert_eq!(formula.to_string(), text);
        }
    }
}
