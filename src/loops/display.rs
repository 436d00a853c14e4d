//! The printed form of the tree.

use std::fmt;

use super::tree::{Among, Block, Loops, Node, Place, Range};
use crate::formula::{Affine, conjunction};

impl fmt::Display for Loops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        block(self, &self.body, 0, f)
    }
}

fn block(loops: &Loops, nodes: &Block, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let pad = "  ".repeat(depth);
    for node in nodes {
        match node {
            Node::Let { var, value } => writeln!(f, "{pad}let {var} = {value}")?,
            Node::For(l) => {
                let threads = match l.parallel {
                    None => "",
                    Some(false) => " on threads",
                    Some(true) => " on threads with private sums",
                };
                for node in &l.setup {
                    block(loops, &vec![node.clone()], depth, f)?;
                }
                writeln!(f, "{pad}for {} in {}{threads}", l.var, l.range)?;
                if let Some(skip) = &l.skip {
                    let what = conjunction(&skip.conditions);
                    writeln!(f, "{pad}  skip unless {} in {} where {what}", skip.var, skip.range)?;
                }
                block(loops, &l.body, depth + 1, f)?;
            }
            Node::If { tests, restrictions, body } => {
                let mut parts: Vec<String> = Vec::new();
                if !tests.is_empty() {
                    parts.push(conjunction(tests));
                }
                parts.extend(restrictions.iter().map(|r| format!("({r})")));
                writeln!(f, "{pad}if {}", parts.join(" and "))?;
                block(loops, body, depth + 1, f)?;
            }
            Node::State(id) => {
                writeln!(f, "{pad}state {}", loops.find(*id).find.problem.position)?;
            }
            Node::Search(s) => {
                let plan = &loops.find(s.id).plan;
                match &s.among {
                    Among::Range(r) => write!(f, "{pad}search {} in {r}", s.var)?,
                    Among::One(e) => write!(f, "{pad}search {} = {e}", s.var)?,
                }
                if !s.conditions.is_empty() {
                    write!(f, " where {}", conjunction(&s.conditions))?;
                }
                writeln!(f, " by {plan}")?;
                block(loops, &s.found, depth + 1, f)?;
            }
            Node::Update(u) => {
                let mut factors: Vec<String> = Vec::new();
                factors.extend(u.coefficient.literals.iter().map(ToString::to_string));
                if factors.is_empty() && u.factors.is_empty() {
                    factors.push("1".to_string());
                }
                factors.extend(u.factors.iter().map(ToString::to_string));
                let minus = if u.coefficient.is_negative() { "-" } else { "" };
                writeln!(f, "{pad}{} += {minus}{}", u.target, factors.join(" * "))?;
            }
            Node::Piece(body) => {
                writeln!(f, "{pad}piece")?;
                block(loops, body, depth + 1, f)?;
            }
        }
    }
    Ok(())
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index: Vec<String> = self.index.iter().map(ToString::to_string).collect();
        write!(f, "{}[{}]", self.array, index.join(", "))
    }
}
