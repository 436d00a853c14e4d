//! The range of a loop, or of a search.
//!
//! ```text
//! range := end '..' end                       the upper end exclusive
//! end   := affine | ('max' | 'min') '(' affine (',' affine)* ')'
//! ```

use std::fmt;

use crate::diagnostic::Result;
use crate::formula::split::split;
use crate::formula::{Affine, Constraint, Name, parse};

/// `max(lower)..min(upper)`, the upper end exclusive.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    pub lower: Vec<Affine>,
    pub upper: Vec<Affine>,
}

impl Range {
    /// What holds of a variable that runs over the range.
    pub fn of(&self, v: &Affine) -> Vec<Constraint> {
        let lower = self.lower.iter().map(|l| Constraint::le(l.clone(), v.clone()));
        let upper = self.upper.iter().map(|u| Constraint::lt(v.clone(), u.clone()));
        lower.chain(upper).collect()
    }

    /// Whether an end mentions a variable.
    pub fn mentions(&self, name: &Name) -> bool {
        self.lower.iter().chain(&self.upper).any(|end| end.mentions(name))
    }

    /// Reads back what is printed; `None` if it has no ends.
    ///
    /// # Errors
    /// `S0101` if an end is not affine.
    pub fn parse(text: &str) -> Result<Option<Range>> {
        let Some((lower, upper)) = text.split_once("..") else { return Ok(None) };
        Ok(Some(Range { lower: ends(lower, "max(")?, upper: ends(upper, "min(")? }))
    }
}

fn ends(text: &str, several: &str) -> Result<Vec<Affine>> {
    match text.strip_prefix(several).and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => split(inner, ", ").into_iter().map(parse::affine).collect(),
        None => Ok(vec![parse::affine(text)?]),
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |parts: &[Affine], name: &str| match parts {
            [one] => one.to_string(),
            many => {
                let parts: Vec<String> = many.iter().map(ToString::to_string).collect();
                format!("{name}({})", parts.join(", "))
            }
        };
        write!(f, "{}..{}", end(&self.lower, "max"), end(&self.upper, "min"))
    }
}
