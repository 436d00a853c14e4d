//! Printing, so that it reads back to an equal program.

use std::fmt::{Display, Formatter, Result, Write};

use super::precedence::{COMPARISON, PAIR, POWER, PREFIX, PRIMARY, above, strength};
use super::syntax::{
    Access, Assign, Declare, Expr, Extent, Finch, Ident, Literal, Stmt, Tensor, Update,
};

impl Display for Finch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        print_all(&self.body, f, 0)
    }
}

/// Statements, a line each.
fn print_all(stmts: &[Stmt], f: &mut Formatter<'_>, depth: usize) -> Result {
    stmts.iter().try_for_each(|s| print_stmt(s, f, depth))
}

fn print_stmt(stmt: &Stmt, f: &mut Formatter<'_>, depth: usize) -> Result {
    let indent = |f: &mut Formatter<'_>| write!(f, "{:1$}", "", 4 * depth);
    indent(f)?;
    let closed = |body: &[Stmt], f: &mut Formatter<'_>| {
        f.write_char('\n')?;
        print_all(body, f, depth + 1)?;
        indent(f)?;
        f.write_str("end\n")
    };
    match stmt {
        Stmt::Block(body) => {
            f.write_str("begin")?;
            closed(body, f)
        }
        Stmt::For(indices, body) => {
            for (k, (index, extent)) in indices.iter().enumerate() {
                let before = if k == 0 { "for " } else { ", " };
                write!(f, "{before}{index} = {extent}")?;
            }
            closed(body, f)
        }
        Stmt::If(branches, otherwise) => {
            for (k, branch) in branches.iter().enumerate() {
                if k > 0 {
                    indent(f)?;
                }
                let word = if k == 0 { "if" } else { "elseif" };
                writeln!(f, "{word} {}", branch.condition)?;
                print_all(&branch.body, f, depth + 1)?;
            }
            indent(f)?;
            match otherwise {
                Some(body) => {
                    f.write_str("else")?;
                    closed(body, f)
                }
                None => f.write_str("end\n"),
            }
        }
        Stmt::Let(bound, body) => {
            for (k, (name, value)) in bound.iter().enumerate() {
                let before = if k == 0 { "let " } else { ", " };
                write!(f, "{before}{name} = {value}")?;
            }
            closed(body, f)
        }
        Stmt::Declare(Declare { tensor, init, op: None }) => writeln!(f, "{tensor} .= {init}"),
        Stmt::Declare(Declare { tensor, init, op: Some(op) }) => {
            writeln!(f, "@declare({tensor}, {init}, {})", Alone(op))
        }
        Stmt::Assign(Assign { output, op, value }) => writeln!(f, "{output} {op} {value}"),
        Stmt::Freeze(tensor, op) => print_mode("freeze", tensor, op.as_ref(), f),
        Stmt::Thaw(tensor, op) => print_mode("thaw", tensor, op.as_ref(), f),
        Stmt::Return(tensors, _) => {
            let names: Vec<&str> = tensors.iter().map(|t| t.name.as_str()).collect();
            match names.as_slice() {
                [name] => writeln!(f, "return {name}"),
                names => writeln!(f, "return ({})", names.join(", ")),
            }
        }
    }
}

fn print_mode(mode: &str, tensor: &Ident, op: Option<&Expr>, f: &mut Formatter<'_>) -> Result {
    match op {
        Some(op) => writeln!(f, "@{mode}({tensor}, {})", Alone(op)),
        None => writeln!(f, "@{mode}({tensor})"),
    }
}

/// An operator where it needs no parentheses.
struct Alone<'a>(&'a Expr);

impl Display for Alone<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Expr::Operator(symbol, _) => f.write_str(symbol),
            other => write!(f, "{other}"),
        }
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Update::Init(_) => f.write_str("="),
            Update::Overwrite(_) => f.write_str(":="),
            Update::Symbol(symbol, _) => write!(f, "{symbol}="),
            Update::By(op) => write!(f, "<<{}>>=", Alone(op)),
        }
    }
}

impl Display for Ident {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.name)
    }
}

impl Display for Extent {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Extent::Infer(_) => f.write_char('_'),
            Extent::Range(from, to, _) => write!(f, "{from}:{to}"),
            Extent::Parallel(inner, rest, _) => {
                write!(f, "parallel({inner}")?;
                rest.iter().try_for_each(|e| write!(f, ", {e}"))?;
                f.write_char(')')
            }
        }
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}[", self.tensor)?;
        print_list(&self.subscripts, f)?;
        f.write_char(']')
    }
}

impl Display for Tensor {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Tensor::Named(name) => write!(f, "{name}"),
            Tensor::Swizzle(inner, order, _) => {
                write!(f, "swizzle({inner}")?;
                order.iter().try_for_each(|d| write!(f, ", {d}"))?;
                f.write_char(')')
            }
            Tensor::Mask(name, args) => {
                write!(f, "{name}(")?;
                print_list(args, f)?;
                f.write_char(')')
            }
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Literal::Integer(text) | Literal::Float(text) => f.write_str(text),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Inf => f.write_str("Inf"),
            Literal::Nan => f.write_str("NaN"),
            Literal::Missing => f.write_str("missing"),
            Literal::Nothing => f.write_str("nothing"),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        print(self, f, PAIR)
    }
}

fn print_list(list: &[Expr], f: &mut Formatter<'_>) -> Result {
    for (k, e) in list.iter().enumerate() {
        f.write_str(if k == 0 { "" } else { ", " })?;
        print(e, f, PAIR)?;
    }
    Ok(())
}

/// Whether a sign in front would make a call of what is printed: `-(a, b)`.
fn begins_with_tuple(e: &Expr) -> bool {
    match e {
        Expr::Infix("^", base, _) => begins_with_tuple(base),
        e => matches!(e, Expr::Tuple(..)),
    }
}

/// How strongly the outermost operator of an expression binds.
fn own(e: &Expr) -> u8 {
    match e {
        Expr::Infix("^", ..) => POWER,
        Expr::Infix(symbol, ..) => strength(symbol).unwrap_or(PRIMARY),
        Expr::Chain(..) => COMPARISON,
        Expr::Prefix(..) => PREFIX,
        _ => PRIMARY,
    }
}

/// Prints `e` where the grammar wants at least the strength `least`.
fn print(e: &Expr, f: &mut Formatter<'_>, least: u8) -> Result {
    let level = own(e);
    if level < least {
        f.write_char('(')?;
        print(e, f, PAIR)?;
        return f.write_char(')');
    }
    match e {
        Expr::Literal(literal, _) => write!(f, "{literal}"),
        Expr::Name(name) => write!(f, "{name}"),
        Expr::Operator(symbol, _) => write!(f, "({symbol})"),
        Expr::Access(access) => write!(f, "{access}"),
        Expr::Prefix(symbol, a, _) => {
            f.write_str(symbol)?;
            match begins_with_tuple(a) {
                true => write!(f, "({a})"),
                false => print(a, f, PREFIX),
            }
        }
        Expr::Infix("^", a, b) => {
            print(a, f, PRIMARY)?;
            f.write_str(" ^ ")?;
            print(b, f, PREFIX)
        }
        Expr::Infix(symbol, a, b) => {
            // `a => b => c` groups to the right, all others to the left.
            let (left, right) =
                if level == PAIR { (above(PAIR), PAIR) } else { (level, above(level)) };
            print(a, f, left)?;
            write!(f, " {symbol} ")?;
            print(b, f, right)
        }
        Expr::Chain(first, rest) => {
            print(first, f, above(COMPARISON))?;
            rest.iter().try_for_each(|(symbol, e)| {
                write!(f, " {symbol} ")?;
                print(e, f, above(COMPARISON))
            })
        }
        Expr::Call(called, args, _) => {
            print(called, f, PRIMARY)?;
            f.write_char('(')?;
            print_list(args, f)?;
            f.write_char(')')
        }
        Expr::Window(from, to, index, _) => write!(f, "({from}:{to})({index})"),
        Expr::Tuple(parts, _) => {
            f.write_char('(')?;
            print_list(parts, f)?;
            f.write_str(if parts.len() == 1 { ",)" } else { ")" })
        }
    }
}
