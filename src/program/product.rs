//! The form that kernels are made from today: a sum of products.
//!
//! Before → after: `y[i] += 2.5 * alpha * -A[i,j]` becomes the literal `2.5`, one minus and the
//! factors `alpha`, `A[i,j]`. Accepts `=` and `+=` over products of literals and accesses with any
//! signs; everything else is parsed and interpreted, but refused here.

use std::ops::Range;

use super::SOURCE_NAME;
use super::ir::{Access, AssignOp, Expr, Literal, Op, Program};
use super::notation::Assignment;
use super::scalar::{Scalar, lacking, literal_value};
use crate::diagnostic::{Code, Diagnostic, Result};

/// `± literals[0] * … * factors[0] * …`
///
/// The literals are kept as written, because what they are and how they multiply is the value
/// type's to say: [`Product::fold`].
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// In the order of the text.
    pub literals: Vec<Literal>,
    /// The place of what each minus negates, in the order of the text.
    pub minuses: Vec<Range<usize>>,
    /// In the order of the text. A scalar is an access without subscripts.
    pub factors: Vec<Access>,
}

impl Program {
    /// The right side as a product, to be summed into the output.
    ///
    /// # Errors
    /// [`Code::Program`] if the program is not one assignment that sums a product.
    pub fn product(&self) -> Result<Product> {
        self.to_product().map_err(|e| e.within(SOURCE_NAME, &self.text))
    }

    fn to_product(&self) -> Result<Product> {
        let assignment = self.assignment()?;
        if !matches!(assignment.op, AssignOp::Assign | AssignOp::Add) {
            let message = format!("`{}` is not supported yet", assignment.op);
            return Err(Diagnostic::new(Code::Program, message)
                .at(op_span(&assignment, &self.text), "kernels sum")
                .help("use `=` or `+=`"));
        }
        let mut product =
            Product { literals: Vec::new(), minuses: Vec::new(), factors: Vec::new() };
        collect(assignment.value, &mut product)?;
        Ok(product)
    }
}

/// The place of the assignment operator: the first text after the output.
fn op_span(assignment: &Assignment<'_>, text: &str) -> Range<usize> {
    let end = assignment.output.span.end;
    let rest = text.get(end..).unwrap_or("");
    let start = end + (rest.len() - rest.trim_start().len());
    start..start + assignment.op.as_str().len()
}

fn collect(e: &Expr, product: &mut Product) -> Result<()> {
    let what = match e {
        Expr::Access(access) => {
            product.factors.push(access.clone());
            return Ok(());
        }
        Expr::Literal(literal) => {
            product.literals.push(literal.clone());
            return Ok(());
        }
        Expr::Index(name, _) => &format!("the value of index `{name}`"),
        Expr::Name(name, _) => &format!("the value of `{name}`"),
        Expr::Apply(apply) => match apply.op {
            Op::Neg | Op::Mul => {
                if apply.op == Op::Neg {
                    product.minuses.push(e.span());
                }
                return apply.args.iter().try_for_each(|arg| collect(arg, product));
            }
            Op::Add => "a sum",
            Op::Sub => "a difference",
            Op::Div => "a division",
            Op::Min | Op::Max => &format!("the function `{}`", apply.op.as_str()),
        },
    };
    Err(Diagnostic::new(Code::Program, format!("{what} is not supported yet"))
        .at(e.span(), "kernels are made from products only")
        .help("compute the operands of products beforehand, as separate statements"))
}

impl Product {
    /// Whether the signs leave a minus.
    pub fn is_negative(&self) -> bool {
        self.minuses.len() % 2 == 1
    }

    /// The product of literals and signs in the arithmetic of `T`, as the interpreter computes it:
    /// integers wrap, floats round each literal and each product, from left to right. 1 if there
    /// are none.
    ///
    /// # Errors
    /// [`Code::Program`]: a literal is not a value of `T` (see [`Scalar::literal`]), or `T` has no
    /// minus. Without a source; its places are those of the program's text.
    pub fn fold<T: Scalar>(&self) -> Result<T> {
        let mut out = T::ONE;
        for literal in &self.literals {
            out = out.mul(literal_value(literal)?);
        }
        for place in &self.minuses {
            out = out.neg().ok_or_else(|| lacking::<T>("minus", place.clone()))?;
        }
        Ok(out)
    }

    /// The product of literals and signs for every value type at once, where one `f64` can say it.
    ///
    /// # Errors
    /// [`Code::Program`]: it overflows, or is a whole number, written in digits, that is not exact in
    /// an `f64`, since integer kernels compute with it. Without a source, as [`Product::fold`].
    pub fn coefficient(&self) -> Result<f64> {
        let exact = |value: f64, whole: u128| value < 1e38 && value as u128 == whole;
        let help = "pass it as a scalar tensor";
        for literal in &self.literals {
            if digits(literal).is_some_and(|n| !exact(literal.value, n)) {
                let message = format!("`{literal}` is not exact in 64 bits");
                return Err(Diagnostic::new(Code::Program, message)
                    .at(literal.span.clone(), format!("would become {}", literal.value))
                    .help(help));
            }
        }
        let value = self.fold::<f64>()?;
        let place = match self.literals.as_slice() {
            [] => 0..0,
            [first, .., last] => first.span.start..last.span.end,
            [only] => only.span.clone(),
        };
        let refused = |message: &str, label: String| {
            Diagnostic::new(Code::Program, message)
                .at(place, label)
                .help("pass one of them as a scalar tensor")
        };
        if !value.is_finite() {
            let message = "the product of the literals does not fit 64 bits";
            return Err(refused(message, "overflows".to_string()));
        }
        let wholes: Option<Vec<u128>> = self.literals.iter().map(digits).collect();
        let product = |all: Vec<u128>| {
            if all.contains(&0) {
                return Some(0);
            }
            all.into_iter().try_fold(1_u128, u128::checked_mul)
        };
        match wholes.map(product) {
            Some(n) if n.is_none_or(|n| !exact(value.abs(), n)) => {
                let message = "the product of the literals is not exact in 64 bits";
                Err(refused(message, format!("would become {value}")))
            }
            _ => Ok(value),
        }
    }
}

/// The value of a literal that is written as an integer; what is written with a point or an exponent
/// is meant as a float.
fn digits(literal: &Literal) -> Option<u128> {
    literal.text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(text: &str) -> Result<Product> {
        Program::parse(text)?.product()
    }

    #[test]
    fn literals_and_signs_are_kept_as_written() {
        let p = product("y[i] = -2 * (x[i] * -(9007199254740993 * -x[i]))").unwrap();
        let texts: Vec<&str> = p.literals.iter().map(|l| l.text.as_str()).collect();
        assert_eq!((texts, p.minuses.len()), (vec!["2", "9007199254740993"], 3));
        assert!(p.is_negative());
    }

    #[test]
    fn literals_and_signs_fold_into_the_coefficient() {
        for (text, coefficient, factors) in [
            ("y[i] += A[i,j] * x[j]", 1.0, "A[i,j] x[j]"),
            ("y[i] = 2.5 * alpha * -A[i,j]", -2.5, "alpha A[i,j]"),
            ("y[i] = -2 * (x[i] * -(3 * x[i]))", 6.0, "x[i] x[i]"),
            ("y[i] = 4", 4.0, ""),
            ("y[i] = 0.5 * 4 * x[i]", 2.0, "x[i]"),
            ("y[i] = 0 * 1e300 * x[i]", 0.0, "x[i]"),
            ("y[i] = 9007199254740992 * x[i]", 9_007_199_254_740_992.0, "x[i]"),
        ] {
            let p = product(text).unwrap();
            let printed: Vec<String> = p.factors.iter().map(ToString::to_string).collect();
            assert_eq!(
                (p.coefficient().unwrap(), printed.join(" ").as_str()),
                (coefficient, factors),
                "{text}"
            );
        }
    }

    #[test]
    fn each_type_folds_literals_in_its_own_arithmetic() {
        let p = product("y = -9007199254740993 * 3 * a").unwrap();
        assert_eq!(p.fold::<i64>(), Ok(-27_021_597_764_222_979));
        assert_eq!(p.fold::<f64>(), Ok(-(9_007_199_254_740_992.0 * 3.0)));
        assert!(p.fold::<i32>().is_err());
        let p = product("y = 2147483647 * 2 * a").unwrap();
        assert_eq!(p.fold::<i32>(), Ok(-2), "integers wrap");
        assert_eq!(p.fold::<i64>(), Ok(4_294_967_294));
        let p = product("y = 0.1 * 0.1 * a").unwrap();
        assert_eq!(p.fold::<f32>(), Ok(0.1_f32 * 0.1_f32), "not rounded from f64");
        assert_eq!(product("y = a").unwrap().fold::<bool>(), Ok(true));
        assert_eq!(product("y = 0 * 1.0 * a").unwrap().fold::<bool>(), Ok(false));
    }

    #[test]
    fn a_type_refuses_what_the_interpreter_refuses() {
        let refusal = |text: &str| {
            let p = product(text).unwrap();
            let of = |e: Box<Diagnostic>| (e.message.clone(), e.span.unwrap().0);
            (p.fold::<i32>().map_err(of), p.fold::<bool>().map_err(of))
        };
        let lacks = |text: &str, at| Err((text.to_string(), at));
        let (of_i32, of_bool) = refusal("y = 0.5 * 2 * a");
        assert_eq!(of_i32, lacks("`0.5` is not a value of i32", 4..7));
        assert_eq!(of_bool, Err(("`0.5` is not a value of bool".into(), 4..7)));
        let (of_i32, of_bool) = refusal("y = --a");
        assert_eq!(of_i32, Ok(1));
        assert_eq!(of_bool, Err(("type bool has no minus".into(), 6..7)));
        let (of_i32, _) = refusal("y = 3000000000 * a");
        assert_eq!(of_i32, lacks("`3000000000` is not a value of i32", 4..14));
    }

    #[test]
    fn a_coefficient_that_one_f64_cannot_say_is_refused_in_its_place() {
        for (text, message, place) in [
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
            (
                "y = 3 * a[i] * 3002399751580331",
                "the product of the literals is not exact in 64 bits",
                "3 * a[i] * 3002399751580331",
            ),
        ] {
            let e = product(text).unwrap().coefficient().unwrap_err();
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message));
            assert_eq!(&text[e.span.unwrap().0], place);
            assert!(e.help.is_some());
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
            ("forall i { y[i] += 2 * i }", "the value of index `i` is not supported yet", "i"),
        ] {
            let e = product(text).unwrap_err();
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message));
            assert_eq!(&text[e.span.unwrap().0], place);
            assert!(e.help.is_some());
            assert_eq!(e.source.unwrap().name, SOURCE_NAME);
        }
    }
}
