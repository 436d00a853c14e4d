//! Typed expressions: operators over leaves, with every conversion written out.
//!
//! ```text
//! tree := leaf | number | type '(' tree ')' | '-' tree | name '(' tree, … ')'
//!       | tree ('+' | '-' | '*' | '/') tree | tree ('==' | '!=' | '<' | '<=' | '>' | '>=') tree
//!       | 'if(' region ',' tree ',' number ')'
//! ```
//! `A[i] + f64(n[i]) * 2.0`: the arguments of an operator have the types that it wants, and a number
//! has a type: `2.0` is an `f64`, `2_i64` says its own. What a leaf is, a stage of the compiler says: an
//! access, an operand, an element of an array. `if(B, B[i] * x[i], 0.0)` is 0 where `B`, a leaf, stores
//! nothing, whatever `x[i]` is. A tree is printed with as few parentheses as index
//! notation needs, and read back.

use std::fmt;
use std::sync::Arc;

use super::library::Operators;
use super::operator::Operator;
use super::region::Region;
use super::symbols::{is_prefix, print_applied, strength};
use super::value::Value;
use crate::diagnostic::Result;
use crate::formula::split::{in_parentheses, split};
use crate::tensor::ValueType;

/// An expression over leaves of type `L`.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree<L> {
    /// What the stage at hand takes values from.
    Leaf(L),
    /// A number of one type.
    Number(Value),
    /// A conversion: see [`Value::cast`].
    Cast(ValueType, Box<Tree<L>>),
    /// A use of an operator.
    Apply(Apply<L>),
    /// A tree at certain points.
    If(Box<If<L>>),
}

/// A tree at the points of a region, and a number elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct If<L> {
    /// By what leaves store there.
    pub region: Region<L>,
    /// The value in it.
    pub then: Tree<L>,
    /// The value outside.
    pub otherwise: Value,
}

/// An operator with its operands, which have the types that it wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Apply<L> {
    /// The operator.
    pub op: Arc<Operator>,
    /// As many as it takes.
    pub args: Vec<Tree<L>>,
}

impl<L> Tree<L> {
    /// A use of an operator.
    pub fn apply(op: &Arc<Operator>, args: Vec<Tree<L>>) -> Tree<L> {
        Tree::Apply(Apply { op: op.clone(), args })
    }

    /// The tree in another type; `from` is its own.
    #[must_use]
    pub fn converted(self, from: ValueType, to: ValueType) -> Tree<L> {
        match self {
            tree if from == to => tree,
            Tree::Number(number) => Tree::Number(number.cast(to)),
            tree => Tree::Cast(to, Box::new(tree)),
        }
    }

    /// The tree at the points of `region` only.
    #[must_use]
    pub fn within(self, region: Region<L>, otherwise: Value) -> Tree<L> {
        match (region, self) {
            (Region::All, tree) => tree,
            (Region::Nothing, _) => Tree::Number(otherwise),
            (_, Tree::Number(number)) if number.identical(otherwise) => Tree::Number(number),
            (region, then) => Tree::If(Box::new(If { region, then, otherwise })),
        }
    }

    /// The regions on which something in it depends.
    pub fn regions(&self) -> Vec<&Region<L>> {
        let mut out = Vec::new();
        self.visit(&mut |tree| {
            if let Tree::If(choice) = tree {
                out.push(&choice.region);
            }
        });
        out
    }

    /// The leaves that are read, from left to right.
    pub fn leaves(&self) -> Vec<&L> {
        let mut out = Vec::new();
        self.visit(&mut |tree| {
            if let Tree::Leaf(leaf) = tree {
                out.push(leaf);
            }
        });
        out
    }

    fn visit<'t>(&'t self, f: &mut impl FnMut(&'t Tree<L>)) {
        f(self);
        match self {
            Tree::Leaf(_) | Tree::Number(_) => {}
            Tree::Cast(_, inner) => inner.visit(f),
            Tree::Apply(apply) => apply.args.iter().for_each(|arg| arg.visit(f)),
            Tree::If(choice) => choice.then.visit(f),
        }
    }

    /// The same expression over other leaves.
    pub fn map<M: Clone + Ord>(&self, f: &impl Fn(&L) -> M) -> Tree<M>
    where
        L: Clone + Ord,
    {
        match self {
            Tree::Leaf(leaf) => Tree::Leaf(f(leaf)),
            Tree::Number(number) => Tree::Number(*number),
            Tree::Cast(ty, inner) => Tree::Cast(*ty, Box::new(inner.map(f))),
            Tree::Apply(Apply { op, args }) => {
                Tree::apply(op, args.iter().map(|arg| arg.map(f)).collect())
            }
            Tree::If(choice) => Tree::If(Box::new(If {
                region: choice.region.map(f),
                then: choice.then.map(f),
                otherwise: choice.otherwise,
            })),
        }
    }

    /// With other expressions, of the same types, in place of leaves. The regions stay.
    #[must_use]
    pub fn bind(self, f: &impl Fn(&L) -> Tree<L>) -> Tree<L> {
        match self {
            Tree::Leaf(leaf) => f(&leaf),
            Tree::Number(number) => Tree::Number(number),
            Tree::Cast(ty, inner) => Tree::Cast(ty, Box::new(inner.bind(f))),
            Tree::Apply(Apply { op, args }) => {
                Tree::apply(&op, args.into_iter().map(|arg| arg.bind(f)).collect())
            }
            Tree::If(choice) => {
                let If { region, then, otherwise } = *choice;
                Tree::If(Box::new(If { region, then: then.bind(f), otherwise }))
            }
        }
    }

    /// The type of the value, given those of leaves.
    ///
    /// # Errors
    /// If an operator does not exist for the types of its arguments: then conversions are missing.
    pub fn value_type(&self, leaf: &impl Fn(&L) -> ValueType) -> Result<ValueType> {
        Ok(match self {
            Tree::Leaf(l) => leaf(l),
            Tree::Number(number) => number.value_type(),
            Tree::Cast(ty, _) => *ty,
            Tree::Apply(Apply { op, args }) => {
                let types = args.iter().map(|arg| arg.value_type(leaf)).collect::<Result<Vec<_>>>();
                op.signature(&types?)?.result
            }
            Tree::If(choice) => choice.otherwise.value_type(),
        })
    }

    /// Reads back what is printed; `leaf` reads what is neither a number nor an operator.
    pub fn parse(
        text: &str,
        operators: &Operators,
        leaf: &impl Fn(&str) -> Option<L>,
    ) -> Option<Tree<L>>
    where
        L: Clone + Ord,
    {
        let read = |text: &str| Tree::parse(text, operators, leaf);
        if let Some((left, symbol, right)) = weakest(text) {
            let op = operators.infix(symbol)?;
            return Some(Tree::apply(op, vec![read(left)?, read(right)?]));
        }
        if let Some(number) = number(text) {
            return Some(Tree::Number(number));
        }
        if let Some(inner) = in_parentheses(text) {
            return read(inner);
        }
        if let Some(rest) = text.strip_prefix('-') {
            return Some(Tree::apply(operators.prefix("-")?, vec![read(rest)?]));
        }
        if let Some((name, rest)) = text.split_once('(')
            && let Some(inner) = rest.strip_suffix(')')
        {
            if name == "if" {
                let [region, then, otherwise] = split(inner, ", ")[..] else { return None };
                let (region, otherwise) = (Region::parse(region, leaf)?, number(otherwise)?);
                return Some(Tree::If(Box::new(If { region, then: read(then)?, otherwise })));
            }
            if let Ok(ty) = name.parse() {
                return Some(Tree::Cast(ty, Box::new(read(inner)?)));
            }
            if let Ok(op) = operators.named(name) {
                let args = split(inner, ", ").into_iter().map(read).collect::<Option<_>>()?;
                return Some(Tree::apply(op, args));
            }
        }
        Some(Tree::Leaf(leaf(text)?))
    }
}

/// A text at the operator that binds least, the last of them.
fn weakest(text: &str) -> Option<(&str, &str, &str)> {
    let mut found: Option<(u8, usize, usize)> = None;
    let (mut depth, mut at) = (0_usize, 0);
    // Symbols stand between blanks.
    for word in text.split(' ') {
        let inside = depth > 0;
        for c in word.chars() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if let Some(own) = strength(word)
            && !inside
            && at > 0
            && found.is_none_or(|(least, ..)| own <= least)
        {
            found = Some((own, at, word.len()));
        }
        at += word.len() + 1;
    }
    let (_, at, len) = found?;
    Some((text.get(..at - 1)?, &text[at..at + len], text.get(at + len + 1..)?))
}

/// `2.0`, `-3_i64`, `inf_f32`, `true`.
fn number(text: &str) -> Option<Value> {
    if let Ok(truth) = text.parse() {
        return Some(Value::Bool(truth));
    }
    let (digits, ty) = match text.rsplit_once('_') {
        Some((digits, ty)) => (digits, ty.parse().ok()?),
        None => (text, ValueType::F64),
    };
    let plain = digits.trim_start_matches('-');
    if !(plain.starts_with(|c: char| c.is_ascii_digit()) || matches!(plain, "inf" | "nan")) {
        return None;
    }
    Some(match ty {
        ValueType::F64 => Value::F64(digits.parse().ok()?),
        ValueType::F32 => Value::F32(digits.parse().ok()?),
        ValueType::I64 => Value::I64(digits.parse().ok()?),
        ValueType::I32 => Value::I32(digits.parse().ok()?),
        ValueType::U8 => Value::U8(digits.parse().ok()?),
        ValueType::Bool => return None,
    })
}

impl<L: fmt::Display> fmt::Display for Tree<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}

impl<L: fmt::Display> Tree<L> {
    /// Prints where the grammar wants at least the strength `min`.
    fn print(&self, f: &mut fmt::Formatter<'_>, min: u8) -> fmt::Result {
        match self {
            Tree::Leaf(leaf) => write!(f, "{leaf}"),
            Tree::Number(number) => print_number(*number, f),
            Tree::Cast(ty, inner) => {
                write!(f, "{ty}(")?;
                inner.print(f, 0)?;
                f.write_str(")")
            }
            Tree::If(choice) => {
                write!(f, "if({}, ", choice.region)?;
                choice.then.print(f, 0)?;
                f.write_str(", ")?;
                print_number(choice.otherwise, f)?;
                f.write_str(")")
            }
            // A number has its own minus.
            Tree::Apply(Apply { op, args }) => match args.as_slice() {
                [arg @ Tree::Number(_)] if is_prefix(op) => {
                    f.write_str("-(")?;
                    arg.print(f, 0)?;
                    f.write_str(")")
                }
                _ => print_applied(op, args, f, min, &|arg, f, min| arg.print(f, min)),
            },
        }
    }
}

fn print_number(number: Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let suffix = match number.value_type() {
        ValueType::F64 | ValueType::Bool => String::new(),
        ty => format!("_{ty}"),
    };
    let text = number.to_string().replace("NaN", "nan");
    write!(f, "{text}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        let operators = Operators::shipped().unwrap();
        let leaf = |text: &str| text.starts_with(char::is_alphabetic).then(|| text.to_string());
        for text in [
            "a",
            "2.0 * a * -b",
            "a - (b - c) + d",
            "a / (b * c) / d",
            "-(a + b) * 1.5",
            "min(a + 1_i64, b, -c) * max(d, 2_u8)",
            "--a",
            "-(2.0) + -2.0",
            "f64(a + b) <= inf - -inf_f32",
            "select(a == b[i + 1, j], not(c) != true, nan)",
            "(a < b) == (c < d)",
            "a + (b < c)",
            "shl(a[x - 1], i32(u8(b)))",
            "if(c and (a or b), (a + b) * c, -0.0) * 2.0",
            "1_i32 + if(a[i, j], if(b, a[i, j] + b, inf_f32), 0_i32)",
        ] {
            let tree = Tree::parse(text, operators, &leaf).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(tree.to_string(), text);
        }
        for text in ["a +", "+ a", "a b c", "min(a", "2.5.1", "if(a, b)", "if(a, b, c)"] {
            let simple =
                |text: &str| text.chars().all(|c| c.is_alphanumeric()).then(|| text.to_string());
            assert_eq!(Tree::parse(text, operators, &simple), None, "{text}");
        }
    }
}
