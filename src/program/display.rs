//! Printing, so that it reads back to an equal program: index notation where that says it all, the
//! tree of statements otherwise.

use std::fmt;

use super::ir::{Access, AssignOp, Block, Expr, Fill, Literal, Loop, Order, Program, Stmt};
use super::token::GIVEN;
use crate::operators::symbols::print_applied;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(assignments) = self.assignments() else { return write!(f, "{}", self.root) };
        for (k, assignment) in assignments.iter().enumerate() {
            if k > 0 {
                f.write_str("; ")?;
            }
            print_assign(assignment.output, assignment.op.prefix(), assignment.value, true, f)?;
            if let Some(restriction) = assignment.restriction {
                write!(f, " if {restriction}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Stmt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_stmt(self, f, 0)
    }
}

fn print_stmt(stmt: &Stmt, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    match stmt {
        Stmt::Loop(Loop { order, index, extent, body, .. }) => {
            let word = if *order == Order::Free { "forall" } else { "for" };
            write!(f, "{word} {index} ")?;
            if let Some(extent) = extent {
                write!(f, "in {extent} ")?;
            }
            print_block(body, f, depth)
        }
        Stmt::If(i) => {
            write!(f, "if {} ", i.condition)?;
            print_block(&i.then, f, depth)?;
            match &i.otherwise {
                Some(otherwise) => {
                    f.write_str(" else ")?;
                    print_block(otherwise, f, depth)
                }
                None => Ok(()),
            }
        }
        Stmt::When(w) => {
            write!(f, "when {} ", w.condition)?;
            print_block(&w.then, f, depth)?;
            match &w.otherwise {
                Some(otherwise) => {
                    f.write_str(" else ")?;
                    print_block(otherwise, f, depth)
                }
                None => Ok(()),
            }
        }
        Stmt::Let(l) => {
            write!(f, "let {} = {} ", l.name, l.value)?;
            print_block(&l.body, f, depth)
        }
        Stmt::Declare(d) => match &d.fill {
            Some(fill) => write!(f, "declare {} {fill}", d.tensor),
            None => write!(f, "declare {} {GIVEN}", d.tensor),
        },
        Stmt::Assign(a) => print_assign(&a.output, a.op.prefix(), &a.value, false, f),
        Stmt::Block(block) => print_block(block, f, depth),
    }
}

fn print_block(block: &Block, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    f.write_str("{\n")?;
    for stmt in block {
        write!(f, "{:1$}", "", 2 * (depth + 1))?;
        print_stmt(stmt, f, depth + 1)?;
        f.write_str("\n")?;
    }
    write!(f, "{:1$}}}", "", 2 * depth)
}

fn print_assign(
    output: &Access,
    prefix: &str,
    value: &Expr,
    windows: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    // Without brackets a scalar output reads back too; with them it cannot be taken for a
    // variable of some outer program.
    let brackets = if output.rank() == 0 { "[]" } else { "" };
    print_access(output, windows, f)?;
    write!(f, "{brackets} {prefix}= ")?;
    print(value, f, 0, windows)
}

/// An assignment in index notation, its windows as such.
pub(super) struct AsNotation<'a> {
    pub output: &'a Access,
    /// What stands before the `=`.
    pub prefix: &'a str,
    pub value: &'a Expr,
}

impl fmt::Display for AsNotation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_assign(self.output, self.prefix, self.value, true, f)
    }
}

/// With windows as they were written, or as subscripts.
fn print_access(access: &Access, windows: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&access.tensor)?;
    for (k, subscript) in access.subscripts.iter().enumerate() {
        f.write_str(if k == 0 { "[" } else { "," })?;
        match access.windows.iter().find(|w| windows && w.dimension == k) {
            Some(window) => write!(f, "{window}")?,
            None => write!(f, "{subscript}")?,
        }
    }
    if access.subscripts.is_empty() { Ok(()) } else { f.write_str("]") }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.negative { "-" } else { "" }, self.literal)
    }
}

impl fmt::Display for AssignOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=", self.prefix())
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_access(self, false, f)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, f, 0, false)
    }
}

/// Prints `e` where the grammar wants at least the strength `min`.
fn print(e: &Expr, f: &mut fmt::Formatter<'_>, min: u8, windows: bool) -> fmt::Result {
    match e {
        Expr::Access(access) => print_access(access, windows, f),
        Expr::Literal(literal) => write!(f, "{literal}"),
        Expr::Index(name, _) | Expr::Name(name, _) => f.write_str(name),
        Expr::Within(within) => {
            f.write_str("within(")?;
            print_access(&within.access, windows, f)?;
            for part in [&within.inside, &within.outside] {
                f.write_str(", ")?;
                print(part, f, 0, windows)?;
            }
            f.write_str(")")
        }
        Expr::Apply(apply) => {
            let inner = |e: &Expr, f: &mut fmt::Formatter<'_>, min| print(e, f, min, windows);
            print_applied(&apply.op, &apply.args, f, min, &inner)
        }
    }
}
