//! Printing, so that it reads back to an equal program.

use std::fmt;

use super::ir::{Access, AssignOp, Expr, Literal, Program};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.output)?;
        // Without brackets a scalar output reads back too; with them it cannot be taken for a
        // variable of some outer program.
        if self.output.rank() == 0 {
            f.write_str("[]")?;
        }
        write!(f, " {} {}", self.op, self.rhs)?;
        match &self.restriction {
            Some(restriction) => write!(f, " if {restriction}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for AssignOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tensor)?;
        for (k, subscript) in self.subscripts.iter().enumerate() {
            write!(f, "{}{subscript}", if k == 0 { "[" } else { "," })?;
        }
        if self.subscripts.is_empty() { Ok(()) } else { f.write_str("]") }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Binding strengths of the grammar's levels.
const SUM: u8 = 1;
const TERM: u8 = 2;
const UNARY: u8 = 3;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, f, SUM)
    }
}

/// Prints `e` where the grammar wants at least the strength `min`.
fn print(e: &Expr, f: &mut fmt::Formatter<'_>, min: u8) -> fmt::Result {
    let (strength, left, op, right) = match e {
        Expr::Access(access) => return write!(f, "{access}"),
        Expr::Literal(literal) => return write!(f, "{literal}"),
        Expr::Call(call) => {
            write!(f, "{}(", call.function)?;
            for (k, arg) in call.args.iter().enumerate() {
                if k > 0 {
                    f.write_str(", ")?;
                }
                print(arg, f, SUM)?;
            }
            return f.write_str(")");
        }
        // `unary` is the strongest level that an operand can ask for.
        Expr::Neg(a) => {
            f.write_str("-")?;
            return print(a, f, UNARY);
        }
        Expr::Add(a, b) => (SUM, a, " + ", b),
        Expr::Sub(a, b) => (SUM, a, " - ", b),
        Expr::Mul(a, b) => (TERM, a, " * ", b),
        Expr::Div(a, b) => (TERM, a, " / ", b),
    };
    if strength < min {
        f.write_str("(")?;
    }
    // Operators associate to the left.
    print(left, f, strength)?;
    f.write_str(op)?;
    print(right, f, strength + 1)?;
    if strength < min {
        f.write_str(")")?;
    }
    Ok(())
}
