//! The points of a space as a set, in isl's notation.
//!
//! ```text
//! points := '{' '[' dim (',' dim)* ']' ':' conjunction ('and' '(' guard ')')* '}'
//! ```

use std::fmt;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Constraint, Formula, Name, Relop, conjunction, parse};

/// `{ [dims] : constraints and guards }`
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    pub dims: Vec<Name>,
    pub constraints: Vec<Constraint>,
    /// What is no conjunction of equations and bounds.
    pub guards: Vec<Formula>,
}

impl Points {
    /// Reads back what is printed.
    ///
    /// # Errors
    /// `S0101` if it is no set, and those of formulas.
    pub fn parse(text: &str) -> Result<Points> {
        let parts = || {
            let inner = text.trim().strip_prefix("{ [")?.strip_suffix(" }")?;
            let (dims, rest) = inner.split_once(']')?;
            Some((dims, rest.strip_prefix(" :")?))
        };
        let (dims, rest) = parts().ok_or_else(|| {
            Diagnostic::new(Code::Syntax, "not a set of points")
                .at(0..text.len(), "")
                .within("<space>", text)
                .help("write `{ [dims] : conditions }`")
        })?;
        let dims = dims.split(',').map(|d| Name::from(d.trim())).filter(|d| !d.is_empty());
        let mut out = Points { dims: dims.collect(), constraints: Vec::new(), guards: Vec::new() };
        let conditions = match parse::formula(rest)? {
            Formula::And(parts) => parts,
            one => vec![one],
        };
        for condition in conditions {
            match condition {
                Formula::Constraint(c) if c.relop != Relop::Ne => out.constraints.push(c),
                guard => out.guards.push(guard),
            }
        }
        Ok(out)
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<&str> = self.dims.iter().map(|d| &**d).collect();
        write!(f, "{{ [{}] : {}", dims.join(", "), conjunction(&self.constraints))?;
        for guard in &self.guards {
            write!(f, " and ({guard})")?;
        }
        f.write_str(" }")
    }
}
