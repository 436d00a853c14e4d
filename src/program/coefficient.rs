//! The literal factor of a product: numbers and signs, in the arithmetic of the values' type.
//!
//! Before → after: of `2.5 * alpha * -A[i,j]` it has the literal `2.5` and one minus. What they are and
//! how they multiply is the type's to say, so they are kept as written.

use std::ops::Range;

use super::ir::Literal;
use super::scalar::{Scalar, lacking, literal_value};
use crate::diagnostic::Result;

/// `± literals[0] * …`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coefficient {
    /// In the order of the text.
    pub literals: Vec<Literal>,
    /// The place of what each minus negates, in the order of the text.
    pub minuses: Vec<Range<usize>>,
}

impl Coefficient {
    /// The product of literals and signs in the arithmetic of `T`, as the interpreter computes it:
    /// integers wrap, floats round each literal and each product, from left to right. 1 if there
    /// are none.
    ///
    /// # Errors
    /// [`Code::Program`](crate::diagnostic::Code::Program): a literal is not a value of `T` (see
    /// [`Scalar::literal`]), or `T` has no minus. Without a source; its places are those of the
    /// program's text.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Code, Diagnostic};

    fn coefficient(text: &str) -> Coefficient {
        let mut out = Coefficient::default();
        let mut at = 0;
        for word in text.split(' ') {
            match word {
                "-" => out.minuses.push(at..at + 1),
                _ => out.literals.push(Literal {
                    value: word.parse().unwrap(),
                    text: word.to_string(),
                    span: at..at + word.len(),
                }),
            }
            at += word.len() + 1;
        }
        out
    }

    #[test]
    fn each_type_folds_literals_in_its_own_arithmetic() {
        let c = coefficient("- 9007199254740993 3");
        assert_eq!(c.fold::<i64>(), Ok(-27_021_597_764_222_979));
        assert_eq!(c.fold::<f64>(), Ok(-(9_007_199_254_740_992.0 * 3.0)));
        assert!(c.fold::<i32>().is_err());
        let c = coefficient("2147483647 2");
        assert_eq!(c.fold::<i32>(), Ok(-2), "integers wrap");
        assert_eq!(c.fold::<i64>(), Ok(4_294_967_294));
        let c = coefficient("0.1 0.1");
        assert_eq!(c.fold::<f32>(), Ok(0.1_f32 * 0.1_f32), "not rounded from f64");
        assert_eq!(Coefficient::default().fold::<bool>(), Ok(true));
        assert_eq!(coefficient("0 1.0").fold::<bool>(), Ok(false));
    }

    #[test]
    fn a_type_refuses_what_the_interpreter_refuses() {
        let refusal = |text: &str| {
            let c = coefficient(text);
            let of = |e: Box<Diagnostic>| {
                assert_eq!(e.code, Code::Program);
                (e.message.clone(), e.span.unwrap().0)
            };
            (c.fold::<i32>().map_err(of), c.fold::<bool>().map_err(of))
        };
        let (of_i32, of_bool) = refusal("0.5 2");
        assert_eq!(of_i32, Err(("`0.5` is not a value of i32".to_string(), 0..3)));
        assert_eq!(of_bool, Err(("`0.5` is not a value of bool".to_string(), 0..3)));
        let (of_i32, of_bool) = refusal("- -");
        assert_eq!(of_i32, Ok(1));
        assert_eq!(of_bool, Err(("type bool has no minus".to_string(), 0..1)));
        let (of_i32, _) = refusal("3000000000");
        assert_eq!(of_i32, Err(("`3000000000` is not a value of i32".to_string(), 0..10)));
    }
}
