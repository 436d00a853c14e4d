//! The printed form of the tree.

use std::fmt;

use super::outline::Outline;
use super::tree::{
    Among, Assemble, Block, Gather, Lookup, Loops, Node, Place, Regions, Step, Term, Threads,
};
use crate::formula::{Arith, Name, conjunction};
use crate::operators::Tree;
use crate::program::update_prefix;

impl fmt::Display for Loops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outline().fmt(f)
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.block(&self.body, 0, f)
    }
}

fn on_threads(threads: Option<Threads>) -> &'static str {
    match threads {
        None => "",
        Some(Threads::Apart) => " on threads",
        Some(Threads::Sums) => " on threads with private sums",
        Some(Threads::Parts) => " on threads in parts",
    }
}

impl Outline {
    /// What each thread sets up.
    fn setup(&self, setup: &Block, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pad = "  ".repeat(depth);
        for node in setup {
            if let Node::State(id) = node {
                writeln!(f, "{pad}  each thread: state {}", self.search(*id).position)?;
            }
        }
        Ok(())
    }

    fn block(&self, nodes: &Block, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pad = "  ".repeat(depth);
        for node in nodes {
            match node {
                Node::Let { var, value } => writeln!(f, "{pad}let {var} = {value}")?,
                Node::For(l) => {
                    writeln!(f, "{pad}for {} in {}{}", l.var, l.range, on_threads(l.parallel))?;
                    self.setup(&l.setup, depth, f)?;
                    if let Some(skip) = &l.skip {
                        let what = conjunction(&skip.conditions);
                        let (var, range) = (&skip.var, &skip.range);
                        let before = &skip.continues;
                        writeln!(f, "{pad}  skip unless {var} in {range} where {what} : {before}")?;
                    }
                    self.block(&l.body, depth + 1, f)?;
                }
                Node::Groups(g) => {
                    let by = g.by.iter().map(|(var, value)| format!("{var} = {value}"));
                    let by: Vec<String> = by.collect();
                    write!(f, "{pad}group {} to {} in {}", g.first, g.end, g.range)?;
                    writeln!(f, " by {}{}", by.join(", "), on_threads(g.parallel))?;
                    self.setup(&g.setup, depth, f)?;
                    self.block(&g.body, depth + 1, f)?;
                }
                Node::If { tests, restrictions, body } => {
                    write!(f, "{pad}if {}", conjunction(tests))?;
                    for r in restrictions {
                        write!(f, " ; {r}")?;
                    }
                    writeln!(f)?;
                    self.block(body, depth + 1, f)?;
                }
                Node::State(id) => writeln!(f, "{pad}state {}", self.search(*id).position)?,
                Node::Search(s) => {
                    match &s.among {
                        Among::Range(r) => write!(f, "{pad}search {} in {r}", s.var)?,
                        Among::One(e) => write!(f, "{pad}search {} = {e}", s.var)?,
                    }
                    if !s.conditions.is_empty() {
                        write!(f, " where {}", conjunction(&s.conditions))?;
                    }
                    writeln!(f, " : {}", self.search(s.id).plan)?;
                    self.block(&s.found, depth + 1, f)?;
                }
                Node::Lookup(l) => {
                    writeln!(f, "{pad}lookup {l}")?;
                    self.block(&l.body, depth + 1, f)?;
                }
                Node::Merge(m) => {
                    let key: Vec<&str> = m.key.iter().map(|index| &**index).collect();
                    writeln!(f, "{pad}merge {}", key.join(", "))?;
                    for walk in &m.walks {
                        writeln!(f, "{pad}  walk {walk}")?;
                        self.block(&walk.body, depth + 2, f)?;
                    }
                    self.block(&m.body, depth + 1, f)?;
                }
                Node::Step(s) => {
                    write!(f, "{pad}step {} in {}", s.index, s.range)?;
                    if s.counts != Step::all(&s.walks) {
                        write!(f, " where {}", s.counts)?;
                    }
                    writeln!(f, "{}", on_threads(s.parallel))?;
                    self.setup(&s.setup, depth, f)?;
                    for walk in &s.walks {
                        writeln!(f, "{pad}  over {walk}")?;
                    }
                    self.block(&s.body, depth + 1, f)?;
                }
                Node::Take(take) => {
                    let how = if take.sums { "add" } else { "take" };
                    writeln!(f, "{pad}{how} {} from {}", take.name, take.place)?;
                }
                Node::Held { walks, body } => {
                    let walks: Vec<&str> = walks.iter().map(|walk| &**walk).collect();
                    writeln!(f, "{pad}held {}", walks.join(", "))?;
                    self.block(body, depth + 1, f)?;
                }
                Node::When { region, body } => {
                    writeln!(f, "{pad}when {region}")?;
                    self.block(body, depth + 1, f)?;
                }
                Node::Update(u) => {
                    let prefix = u.op.as_ref().map_or(":", |op| update_prefix(op));
                    writeln!(f, "{pad}{} {prefix}= {}", u.target, u.value)?
                }
                Node::Piece(body) => {
                    writeln!(f, "{pad}piece")?;
                    self.block(body, depth + 1, f)?;
                }
                Node::Begin(begin) => {
                    let place = Place { array: begin.array.clone(), index: begin.shape.clone() };
                    let value: Tree<Name> = Tree::Number(begin.value);
                    writeln!(f, "{pad}begin {place} = {value}")?;
                }
                Node::Assemble(a) => {
                    writeln!(f, "{pad}assemble {a}")?;
                    self.block(&a.body, depth + 1, f)?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Element(place) => place.fmt(f),
            Term::Found(name) | Term::Index(name) => f.write_str(name),
        }
    }
}

/// `found_A else 0.0 and whether`
impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whether, too) = match (self.read, self.asked) {
            (false, _) => ("whether ", ""),
            (true, true) => ("", " and whether"),
            (true, false) => ("", ""),
        };
        let fill: Tree<Name> = Tree::Number(self.fill);
        write!(f, "{whether}{} else {fill}{too}", self.name)
    }
}

/// `val_C[i, _] through dense`
impl fmt::Display for Assemble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |e: &Option<Arith>| e.as_ref().map_or("_".to_string(), ToString::to_string);
        let key: Vec<String> = self.key.iter().map(part).collect();
        write!(f, "{}[{}]", self.array, key.join(", "))?;
        match &self.gather {
            Gather::Nothing => Ok(()),
            Gather::Element => f.write_str(" through one element"),
            Gather::Merge if self.in_parts => f.write_str(" by merging on threads in parts"),
            Gather::Merge => f.write_str(" by merging"),
            Gather::Counts => f.write_str(" by counting"),
            Gather::Workspace { template, sorted: true } => write!(f, " through {template}"),
            Gather::Workspace { template, sorted: false } => {
                write!(f, " through {template} in any order")
            }
        }
    }
}

impl fmt::Display for Regions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.var)?;
        if let Some(end) = &self.end {
            write!(f, " to {end}")?;
        }
        write!(f, " in {}", self.range)?;
        if !self.tests.is_empty() {
            write!(f, " where {}", conjunction(&self.tests))?;
        }
        if !self.within.is_empty() {
            let within: Vec<&str> = self.within.iter().map(|walk| &**walk).collect();
            write!(f, " within {}", within.join(", "))?;
        }
        let how = match (self.rises, self.is_sought) {
            (_, true) => " sought",
            (true, false) => " rising",
            (false, false) => "",
        };
        write!(f, " : {}{how}", self.region)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index: Vec<String> = self.index.iter().map(ToString::to_string).collect();
        write!(f, "{}[{}]", self.array, index.join(", "))
    }
}
