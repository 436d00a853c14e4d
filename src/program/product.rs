//! The form that kernels are made from today: a sum of products.
//!
//! Before → after: `y[i] += 2.5 * alpha * -A[i,j]` becomes coefficient `-2.5` with the factors
//! `alpha`, `A[i,j]`. Accepts `=` and `+=` over products of literals and accesses with any signs;
//! everything else is parsed and interpreted, but refused here.

use std::ops::Range;

use super::SOURCE_NAME;
use super::ir::{Access, AssignOp, Expr, Literal, Program};
use crate::diagnostic::{Code, Diagnostic, Result};

/// `coefficient * factors[0] * factors[1] * …`
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// Finite; the product of the literals and signs.
    pub coefficient: f64,
    /// In the order of the text. A scalar is an access without subscripts.
    pub factors: Vec<Access>,
}

impl Program {
    /// The right side as a product, to be summed into the output.
    ///
    /// # Errors
    /// [`Code::Program`] if the assignment does not sum, or the right side is not a product.
    pub fn product(&self) -> Result<Product> {
        self.to_product().map_err(|e| e.within(SOURCE_NAME, &self.text))
    }

    fn to_product(&self) -> Result<Product> {
        if !matches!(self.op, AssignOp::Assign | AssignOp::Add) {
            return Err(Diagnostic::new(
                Code::Program,
                format!("`{}` is not supported yet", self.op),
            )
            .at(self.op_span(), "kernels sum")
            .help("use `=` or `+=`"));
        }
        let mut product = Product { coefficient: 1.0, factors: Vec::new() };
        collect(&self.rhs, &mut product)?;
        if product.coefficient.is_finite() {
            return Ok(product);
        }
        Err(Diagnostic::new(Code::Program, "the product of the literals does not fit 64 bits")
            .at(self.rhs.span(), "overflows")
            .help("pass one of them as a scalar tensor"))
    }

    /// The place of the assignment operator: the first text after the output.
    fn op_span(&self) -> Range<usize> {
        let end = self.output.span.end;
        let rest = self.text.get(end..).unwrap_or("");
        let start = end + (rest.len() - rest.trim_start().len());
        start..start + self.op.as_str().len()
    }
}

fn collect(e: &Expr, product: &mut Product) -> Result<()> {
    let what = match e {
        Expr::Access(access) => {
            product.factors.push(access.clone());
            return Ok(());
        }
        Expr::Literal(literal) => {
            product.coefficient *= exact(literal)?;
            return Ok(());
        }
        Expr::Neg(inner) => {
            product.coefficient = -product.coefficient;
            return collect(inner, product);
        }
        Expr::Mul(a, b) => {
            collect(a, product)?;
            return collect(b, product);
        }
        Expr::Add(..) => "a sum",
        Expr::Sub(..) => "a difference",
        Expr::Div(..) => "a division",
        Expr::Call(call) => &format!("the function `{}`", call.function),
    };
    Err(Diagnostic::new(Code::Program, format!("{what} is not supported yet"))
        .at(e.span(), "kernels are made from products only")
        .help("compute the operands of products beforehand, as separate statements"))
}

/// A literal's value; whole numbers must be exact, since integer kernels compute with them.
fn exact(literal: &Literal) -> Result<f64> {
    match literal.text.parse::<u128>() {
        Ok(whole) if literal.value as u128 != whole => {
            Err(Diagnostic::new(Code::Program, format!("`{literal}` is not exact in 64 bits"))
                .at(literal.span.clone(), format!("would become {}", literal.value))
                .help("pass it as a scalar tensor"))
        }
        _ => Ok(literal.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(text: &str) -> Result<Product> {
        Program::parse(text)?.product()
    }

    #[test]
    fn literals_and_signs_fold_into_the_coefficient() {
        for (text, coefficient, factors) in [
            ("y[i] += A[i,j] * x[j]", 1.0, "A[i,j] x[j]"),
            ("y[i] = 2.5 * alpha * -A[i,j]", -2.5, "alpha A[i,j]"),
            ("y[i] = -2 * (x[i] * -(3 * x[i]))", 6.0, "x[i] x[i]"),
            ("y[i] = 4", 4.0, ""),
        ] {
            let p = product(text).unwrap();
            let printed: Vec<String> = p.factors.iter().map(ToString::to_string).collect();
            assert_eq!(
                (p.coefficient, printed.join(" ").as_str()),
                (coefficient, factors),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_a_product_is_refused_in_its_place() {
        for (text, message, place) in [
            ("y[i] = x[i] * (a[i] + b[i])", "a sum is not supported yet", "a[i] + b[i]"),
            ("y[i] = a[i] - b[i]", "a difference is not supported yet", "a[i] - b[i]"),
            ("y[i] = 2 * a[i] / 2", "a division is not supported yet", "2 * a[i] / 2"),
            ("y[i] = 2 * min(a[i], 1)", "the function `min` is not supported yet", "min(a[i], 1)"),
            ("y[i]  min= a[i]", "`min=` is not supported yet", "min="),
            ("y *= a[i]", "`*=` is not supported yet", "*="),
            ("y max= a[i]", "`max=` is not supported yet", "max="),
            (
                "y = 9007199254740993 * a[i]",
                "`9007199254740993` is not exact in 64 bits",
                "9007199254740993",
            ),
            (
                "y = 1e200 * a[i] * 1e200",
                "the product of the literals does not fit 64 bits",
                "1e200 * a[i] * 1e200",
            ),
        ] {
            let e = product(text).unwrap_err();
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message));
            assert_eq!(&text[e.span.unwrap().0], place);
            assert!(e.help.is_some());
            assert_eq!(e.source.unwrap().name, SOURCE_NAME);
        }
    }
}
