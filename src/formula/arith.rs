//! Integer expressions as written, before they are known to be affine.
//!
//! Value expressions may be polynomial (`val(p0*(p0 + 1)/2 + p1)`: a packed triangle); everything
//! else must lower to [`Affine`].

use std::ops::Range;

use super::{Affine, Atom, Name};
use crate::diagnostic::{Code, Diagnostic, Result};

/// Linear forms with larger numbers are refused, so that sums and differences of two of them (a
/// constraint, a chain of substitutions) stay within 64 bits.
const MAX_MAGNITUDE: u64 = 1 << 60;

/// `a + b | a - b | a * b | a / b (floor) | a mod b | f(a, …) | x | 7`
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arith {
    Int(i64),
    Var(Name),
    Call(Name, Vec<Arith>),
    Add(Box<Arith>, Box<Arith>),
    Sub(Box<Arith>, Box<Arith>),
    Mul(Box<Arith>, Box<Arith>),
    /// Rounds down.
    Div(Box<Arith>, Box<Arith>),
    Mod(Box<Arith>, Box<Arith>),
    Min(Box<Arith>, Box<Arith>),
    Max(Box<Arith>, Box<Arith>),
}

impl Arith {
    /// Lowers to a linear form; the error names what is not linear.
    pub fn to_affine(&self) -> std::result::Result<Affine, String> {
        match self.fits() {
            true => self.lower(),
            false => Err("a coefficient could exceed 64 bits".into()),
        }
    }

    fn fits(&self) -> bool {
        self.magnitude() <= MAX_MAGNITUDE
    }

    fn lower(&self) -> std::result::Result<Affine, String> {
        Ok(match self {
            Arith::Int(n) => Affine::constant(*n),
            Arith::Var(n) => Affine::var(n.clone()),
            Arith::Call(f, args) => {
                let args: std::result::Result<Vec<_>, _> = args.iter().map(Arith::lower).collect();
                Affine::call(f.clone(), args?)
            }
            Arith::Add(a, b) => a.lower()? + b.lower()?,
            Arith::Sub(a, b) => a.lower()? - b.lower()?,
            Arith::Mul(a, b) => {
                let (a, b) = (a.lower()?, b.lower()?);
                match (a.as_constant(), b.as_constant()) {
                    (Some(c), _) => b * c,
                    (_, Some(c)) => a * c,
                    _ => return Err(format!("`({a}) * ({b})` multiplies two unknowns")),
                }
            }
            Arith::Div(a, b) => a.lower()?.floor_div(positive(b, "divides by")?),
            Arith::Mod(a, b) => a.lower()?.modulo(positive(b, "takes the remainder by")?),
            Arith::Min(..) | Arith::Max(..) => {
                return Err("`min` and `max` are not affine; write two constraints".into());
            }
        })
    }

    /// [`Arith::to_affine`] with the place of the expression in the diagnostic.
    pub fn to_affine_at(&self, span: Range<usize>) -> Result<Affine> {
        if !self.fits() {
            return Err(Diagnostic::new(Code::NotAffine, "numbers are too large")
                .at(span, "a coefficient could exceed 64 bits")
                .help("use smaller constants"));
        }
        self.to_affine().map_err(|why| {
            Diagnostic::new(Code::NotAffine, format!("expression is not affine: {why}"))
                .at(span, "only sums, constant multiples and index-array calls are allowed here")
                .help("make the term a value of an index array, or use a derived size in [params]")
        })
    }

    /// An upper bound of every coefficient and constant that lowering may meet. Leaves count at
    /// least 1, so that no part is larger than the whole.
    pub fn magnitude(&self) -> u64 {
        match self {
            Arith::Int(n) => n.unsigned_abs().max(1),
            Arith::Var(_) => 1,
            Arith::Call(_, args) => {
                args.iter().fold(1, |sum: u64, a| sum.saturating_add(a.magnitude()))
            }
            Arith::Mul(a, b) => a.magnitude().saturating_mul(b.magnitude()),
            // `a - m*floor(a/m)` mentions the coefficients of `a` twice.
            Arith::Mod(a, b) => a.magnitude().saturating_mul(2).saturating_add(b.magnitude()),
            Arith::Add(a, b)
            | Arith::Sub(a, b)
            | Arith::Div(a, b)
            | Arith::Min(a, b)
            | Arith::Max(a, b) => a.magnitude().saturating_add(b.magnitude()),
        }
    }

    pub fn from_affine(affine: &Affine) -> Arith {
        let mut out: Option<Arith> = None;
        for (atom, c) in affine.terms() {
            let base = match atom {
                Atom::Var(n) => Arith::Var(n.clone()),
                Atom::Call(call) => Arith::Call(
                    call.array.clone(),
                    call.args.iter().map(Arith::from_affine).collect(),
                ),
                Atom::Floor(inner, d) => {
                    Arith::Div(Box::new(Arith::from_affine(inner)), Box::new(Arith::Int(*d)))
                }
            };
            let scaled = |k: i64, base: Arith| match k {
                1 => base,
                _ => Arith::Mul(Box::new(Arith::Int(k)), Box::new(base)),
            };
            out = Some(match out {
                None => scaled(*c, base),
                Some(sum) if *c < 0 => Arith::Sub(Box::new(sum), Box::new(scaled(-c, base))),
                Some(sum) => Arith::Add(Box::new(sum), Box::new(scaled(*c, base))),
            });
        }
        match (out, affine.offset()) {
            (None, c) => Arith::Int(c),
            (Some(sum), 0) => sum,
            (Some(sum), c) if c < 0 => Arith::Sub(Box::new(sum), Box::new(Arith::Int(-c))),
            (Some(sum), c) => Arith::Add(Box::new(sum), Box::new(Arith::Int(c))),
        }
    }

    /// Replaces variables for which `f` answers.
    pub fn substitute(&self, f: &impl Fn(&Name) -> Option<Arith>) -> Arith {
        let go = |a: &Arith| Box::new(a.substitute(f));
        match self {
            Arith::Int(_) => self.clone(),
            Arith::Var(n) => f(n).unwrap_or_else(|| self.clone()),
            Arith::Call(n, args) => {
                Arith::Call(n.clone(), args.iter().map(|a| a.substitute(f)).collect())
            }
            Arith::Add(a, b) => Arith::Add(go(a), go(b)),
            Arith::Sub(a, b) => Arith::Sub(go(a), go(b)),
            Arith::Mul(a, b) => Arith::Mul(go(a), go(b)),
            Arith::Div(a, b) => Arith::Div(go(a), go(b)),
            Arith::Mod(a, b) => Arith::Mod(go(a), go(b)),
            Arith::Min(a, b) => Arith::Min(go(a), go(b)),
            Arith::Max(a, b) => Arith::Max(go(a), go(b)),
        }
    }

    /// Renames variables and index arrays for which `f` answers.
    pub fn rename(&self, f: &impl Fn(&Name) -> Option<Name>) -> Arith {
        let renamed = self.substitute(&|n| f(n).map(Arith::Var));
        renamed.rename_calls(f)
    }

    fn rename_calls(&self, f: &impl Fn(&Name) -> Option<Name>) -> Arith {
        let go = |a: &Arith| Box::new(a.rename_calls(f));
        match self {
            Arith::Int(_) | Arith::Var(_) => self.clone(),
            Arith::Call(n, args) => Arith::Call(
                f(n).unwrap_or_else(|| n.clone()),
                args.iter().map(|a| a.rename_calls(f)).collect(),
            ),
            Arith::Add(a, b) => Arith::Add(go(a), go(b)),
            Arith::Sub(a, b) => Arith::Sub(go(a), go(b)),
            Arith::Mul(a, b) => Arith::Mul(go(a), go(b)),
            Arith::Div(a, b) => Arith::Div(go(a), go(b)),
            Arith::Mod(a, b) => Arith::Mod(go(a), go(b)),
            Arith::Min(a, b) => Arith::Min(go(a), go(b)),
            Arith::Max(a, b) => Arith::Max(go(a), go(b)),
        }
    }

    /// The two sides of an operation.
    pub fn operands(&self) -> Option<(&Arith, &Arith)> {
        match self {
            Arith::Int(_) | Arith::Var(_) | Arith::Call(..) => None,
            Arith::Add(a, b)
            | Arith::Sub(a, b)
            | Arith::Mul(a, b)
            | Arith::Div(a, b)
            | Arith::Mod(a, b)
            | Arith::Min(a, b)
            | Arith::Max(a, b) => Some((a, b)),
        }
    }

    /// The expression and all its parts, those in calls left out.
    pub fn parts(&self) -> Vec<&Arith> {
        let mut out = vec![self];
        if let Some((a, b)) = self.operands() {
            out.extend(a.parts());
            out.extend(b.parts());
        }
        out
    }

    /// Calls `f` on the name of every index array that is read.
    pub fn visit_calls(&self, f: &mut impl FnMut(&Name)) {
        match self {
            Arith::Call(array, args) => {
                f(array);
                args.iter().for_each(|a| a.visit_calls(f));
            }
            _ => {
                if let Some((a, b)) = self.operands() {
                    a.visit_calls(f);
                    b.visit_calls(f);
                }
            }
        }
    }

    /// Calls `f` on every variable.
    pub fn visit_vars(&self, f: &mut impl FnMut(&Name)) {
        match self {
            Arith::Var(n) => f(n),
            Arith::Call(_, args) => args.iter().for_each(|a| a.visit_vars(f)),
            _ => {
                if let Some((a, b)) = self.operands() {
                    a.visit_vars(f);
                    b.visit_vars(f);
                }
            }
        }
    }
}

fn positive(divisor: &Arith, what: &str) -> std::result::Result<i64, String> {
    match divisor.lower()?.as_constant() {
        Some(c) if c > 0 => Ok(c),
        _ => Err(format!("it {what} `{divisor}`, which is not a positive constant")),
    }
}
