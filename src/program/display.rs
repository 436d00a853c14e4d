//! Printing, so that it reads back to an equal program: index notation where that says it all, the
//! tree of statements otherwise.

use std::fmt;

use super::ir::{
    Access, Apply, AssignOp, Block, Expr, Fill, Literal, Loop, Op, Order, Program, Stmt,
};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(assignment) = self.assignment() else { return write!(f, "{}", self.root) };
        print_assign(assignment.output, assignment.op, assignment.value, f)?;
        match assignment.restriction {
            Some(restriction) => write!(f, " if {restriction}"),
            None => Ok(()),
        }
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
        Stmt::Let(l) => {
            write!(f, "let {} = {} ", l.name, l.value)?;
            print_block(&l.body, f, depth)
        }
        Stmt::Declare(d) => write!(f, "declare {} {}", d.tensor, d.fill),
        Stmt::Assign(a) => print_assign(&a.output, a.op, &a.value, f),
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
    op: AssignOp,
    value: &Expr,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    // Without brackets a scalar output reads back too; with them it cannot be taken for a
    // variable of some outer program.
    let brackets = if output.rank() == 0 { "[]" } else { "" };
    write!(f, "{output}{brackets} {op} {value}")
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Fill::Number { negative, .. } | Fill::Infinity { negative }) = self;
        f.write_str(if *negative { "-" } else { "" })?;
        match self {
            Fill::Number { literal, .. } => write!(f, "{literal}"),
            Fill::Infinity { .. } => f.write_str("inf"),
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
    let Apply { op, args, .. } = match e {
        Expr::Access(access) => return write!(f, "{access}"),
        Expr::Literal(literal) => return write!(f, "{literal}"),
        Expr::Index(name, _) | Expr::Name(name, _) => return f.write_str(name),
        Expr::Apply(apply) => apply,
    };
    let strength = match op {
        Op::Add | Op::Sub => SUM,
        Op::Mul | Op::Div => TERM,
        Op::Neg | Op::Min | Op::Max => UNARY,
    };
    match (strength, args.as_slice()) {
        (SUM | TERM, [left, right]) => {
            f.write_str(if strength < min { "(" } else { "" })?;
            // Operators associate to the left.
            print(left, f, strength)?;
            write!(f, " {} ", op.as_str())?;
            print(right, f, strength + 1)?;
            f.write_str(if strength < min { ")" } else { "" })
        }
        // `unary` is the strongest level that an operand can ask for.
        (_, [arg]) if *op == Op::Neg => {
            f.write_str("-")?;
            print(arg, f, UNARY)
        }
        _ => {
            write!(f, "{}(", op.as_str())?;
            for (k, arg) in args.iter().enumerate() {
                f.write_str(if k > 0 { ", " } else { "" })?;
                print(arg, f, SUM)?;
            }
            f.write_str(")")
        }
    }
}
