//! The parser of what the tree prints.

use super::outline::{Outline, Sought};
use super::tree::{
    Among, Assemble, Begin, Block, Gather, Groups, Lookup, Loop, Merge, Node, Place, Regions,
    Search, SearchId, Skip, Step, Take, Term, Threads, Update,
};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::split::split;
use crate::formula::{Constraint, Formula, Name, parse};
use crate::operators::{Operators, Region, Tree};
use crate::program::split_update;
use crate::scan::Range;

impl Outline {
    /// Reads back what [`Loops`](super::Loops) print: two blanks for each depth.
    ///
    /// # Errors
    /// `S0101` with the line that is not understood. Names that are words of the notation (`where`,
    /// `and`) cannot be told from them.
    pub fn parse(text: &str) -> Result<Outline> {
        let lines = text.lines().filter(|l| !l.trim().is_empty());
        let lines: Vec<(usize, &str)> = lines
            .map(|l| {
                let line = l.trim_start();
                ((l.len() - line.len()) / 2, line)
            })
            .collect();
        let mut reader = Reader {
            lines: &lines,
            at: 0,
            searches: Vec::new(),
            states: Vec::new(),
            names: Vec::new(),
        };
        let body = reader.block(0)?;
        match reader.lines.get(reader.at) {
            Some((_, line)) => Err(wrong(line, "it is deeper than what it is in")),
            None => Ok(Outline { body, searches: reader.searches }),
        }
    }
}

fn wrong(line: &str, why: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::Syntax, format!("not a tree of loops: {why}"))
        .at(0..line.len(), "")
        .within("<loops>", line)
        .help("the grammar is in the documentation of the module `loops`")
}

struct Reader<'a> {
    lines: &'a [(usize, &'a str)],
    at: usize,
    searches: Vec<Sought>,
    /// States that are set up, and in sight.
    states: Vec<SearchId>,
    /// What is looked up.
    names: Vec<Name>,
}

impl<'a> Reader<'a> {
    /// The next line, if it stands at this depth.
    fn peek(&self, depth: usize) -> Option<&'a str> {
        let (d, line) = self.lines.get(self.at)?;
        (*d == depth).then_some(*line)
    }

    fn block(&mut self, depth: usize) -> Result<Block> {
        let outer = self.states.len();
        let mut out = Vec::new();
        while let Some(line) = self.peek(depth) {
            self.at += 1;
            let node = self.node(line, depth)?;
            out.push(node.ok_or_else(|| wrong(line, "no node looks like this"))?);
        }
        self.states.truncate(outer);
        Ok(out)
    }

    /// `None` if the line is no node.
    fn node(&mut self, line: &str, depth: usize) -> Result<Option<Node>> {
        if line == "piece" {
            return Ok(Some(Node::Piece(self.block(depth + 1)?)));
        }
        if let Some(rest) = line.strip_prefix("let ") {
            let Some((var, value)) = rest.split_once(" = ") else { return Ok(None) };
            return Ok(Some(Node::Let { var: var.into(), value: parse::affine(value)? }));
        }
        if let Some(position) = line.strip_prefix("state ") {
            return Ok(Some(self.state(position)));
        }
        if let Some(rest) = line.strip_prefix("for ") {
            return self.nest(rest, depth);
        }
        if let Some(rest) = line.strip_prefix("group ") {
            return self.groups(rest, depth);
        }
        if let Some(rest) = line.strip_prefix("search ") {
            return self.search(rest, depth);
        }
        if let Some(rest) = line.strip_prefix("if ") {
            let mut parts = rest.split(" ; ");
            let tests = tests(parts.next().unwrap_or_default())?;
            let restrictions = parts.map(parse::formula).collect::<Result<Vec<Formula>>>()?;
            return Ok(Some(Node::If { tests, restrictions, body: self.block(depth + 1)? }));
        }
        if let Some(rest) = line.strip_prefix("lookup ") {
            let lookup = self.lookup(rest, depth)?;
            return Ok(lookup.map(|lookup| Node::Lookup(Box::new(lookup))));
        }
        if let Some(rest) = line.strip_prefix("merge ") {
            let key = rest.split(", ").map(Name::from).collect();
            let mut walks = Vec::new();
            while let Some(line) = self.peek(depth + 1)
                && let Some(rest) = line.strip_prefix("walk ")
            {
                self.at += 1;
                let Some(walk) = self.lookup(rest, depth + 1)? else { return Ok(None) };
                walks.push(walk);
            }
            let body = self.block(depth + 1)?;
            return Ok(Some(Node::Merge(Box::new(Merge { key, walks, body }))));
        }
        if let Some(rest) = line.strip_prefix("step ") {
            return self.step(rest, depth);
        }
        if let Some(rest) = line.strip_prefix("held ") {
            let walks = rest.split(", ").map(Name::from).collect();
            return Ok(Some(Node::Held { walks, body: self.block(depth + 1)? }));
        }
        if let Some(rest) = line.strip_prefix("when ") {
            let Some(region) = Region::parse(rest, &|name| Some(Name::from(name))) else {
                return Ok(None);
            };
            return Ok(Some(Node::When { region, body: self.block(depth + 1)? }));
        }
        if let Some(rest) = line.strip_prefix("assemble ") {
            return self.assemble(rest, depth);
        }
        if let Some(rest) = line.strip_prefix("begin ") {
            let Some((target, value)) = rest.split_once(" = ") else { return Ok(None) };
            let Some(Place { array, index: shape }) = place(target)? else { return Ok(None) };
            let number = Tree::parse(value, Operators::shipped()?, &|_| None::<Name>);
            let Some(Tree::Number(value)) = number else { return Ok(None) };
            return Ok(Some(Node::Begin(Box::new(Begin { array, shape, value }))));
        }
        match take(line)? {
            Some(node) => Ok(Some(node)),
            None => self.update(line),
        }
    }

    /// `each thread: state p`
    fn setup(&mut self, depth: usize) -> Block {
        let mut setup = Vec::new();
        while let Some(line) = self.peek(depth + 1)
            && let Some(position) = line.strip_prefix("each thread: state ")
        {
            self.at += 1;
            setup.push(self.state(position));
        }
        setup
    }

    /// `j in 0..J where p or q`, and `over …` for each walk
    fn step(&mut self, rest: &str, depth: usize) -> Result<Option<Node>> {
        let Some((rest, parallel)) = on_threads(rest) else { return Ok(None) };
        let (rest, counts) = match rest.split_once(" where ") {
            Some((rest, counts)) => match Region::parse(counts, &|name| Some(Name::from(name))) {
                Some(counts) => (rest, Some(counts)),
                None => return Ok(None),
            },
            None => (rest, None),
        };
        let Some((index, range)) = ranged(rest)? else { return Ok(None) };
        let outer = self.states.len();
        let setup = self.setup(depth);
        let mut walks = Vec::new();
        while let Some(line) = self.peek(depth + 1)
            && let Some(rest) = line.strip_prefix("over ")
        {
            self.at += 1;
            let Some(regions) = regions(rest)? else { return Ok(None) };
            walks.push(regions);
        }
        let body = self.block(depth + 1)?;
        self.states.truncate(outer);
        let counts = counts.unwrap_or_else(|| Step::all(&walks));
        let step = Step { index, range, parallel, setup, walks, counts, body };
        Ok(Some(Node::Step(Box::new(step))))
    }

    /// `found else 0.0 and whether`
    fn lookup(&mut self, rest: &str, depth: usize) -> Result<Option<Lookup>> {
        let (name, read, asked) =
            match (rest.strip_prefix("whether "), rest.strip_suffix(" and whether")) {
                (Some(name), _) => (name, false, true),
                (None, Some(name)) => (name, true, true),
                (None, None) => (rest, true, false),
            };
        let Some((name, fill)) = name.split_once(" else ") else { return Ok(None) };
        let number = Tree::parse(fill, Operators::shipped()?, &|_| None::<Name>);
        let Some(Tree::Number(fill)) = number else { return Ok(None) };
        let name = Name::from(name);
        self.names.push(name.clone());
        let body = self.block(depth + 1)?;
        Ok(Some(Lookup { name, fill, read, asked, body }))
    }

    /// `a[e] += -2.5 * b[e] * c[] + found`, or `:=`
    fn update(&self, line: &str) -> Result<Option<Node>> {
        let (target, op, value) = match (split_update(line), line.split_once(" := ")) {
            (Some((target, op, value)), _) => (target, Some(op.clone()), value),
            (None, Some((target, value))) => (target, None, value),
            (None, None) => return Ok(None),
        };
        let Some(target) = place(target)? else { return Ok(None) };
        let term = |text: &str| match place(text) {
            Ok(Some(place)) => Some(Term::Element(place)),
            Ok(None) if self.names.iter().any(|n| **n == *text) => Some(Term::Found(text.into())),
            Ok(None) => Some(Term::Index(Name::from(text))),
            Err(_) => None,
        };
        let Some(value) = Tree::parse(value, Operators::shipped()?, &term) else { return Ok(None) };
        Ok(Some(Node::Update(Box::new(Update { target, op, value }))))
    }

    /// `val_C[i, _] through dense`
    fn assemble(&mut self, rest: &str, depth: usize) -> Result<Option<Node>> {
        let (rest, in_parts) = match rest.strip_suffix(" on threads in parts") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let merged = rest.strip_suffix(" by merging");
        let counted = rest.strip_suffix(" by counting");
        let (place, gather) = match rest.split_once(" through ") {
            None => match (merged, counted) {
                (Some(place), _) => (place, Gather::Merge),
                (None, Some(place)) => (place, Gather::Counts),
                (None, None) => (rest, Gather::Nothing),
            },
            Some((place, "one element")) => (place, Gather::Element),
            Some((place, how)) => {
                let (name, sorted) = match how.strip_suffix(" in any order") {
                    Some(name) => (name, false),
                    None => (how, true),
                };
                (place, Gather::Workspace { template: name.into(), sorted })
            }
        };
        let parts = place.split_once('[').and_then(|(a, rest)| Some((a, rest.strip_suffix(']')?)));
        let Some((array, index)) = parts else { return Ok(None) };
        let known = |text: &str| match text {
            "_" => Ok(None),
            text => parse::arith(text).map(Some),
        };
        let key = split(index, ", ").into_iter().map(known).collect::<Result<Vec<_>>>()?;
        let body = self.block(depth + 1)?;
        let array = array.into();
        Ok(Some(Node::Assemble(Box::new(Assemble { array, key, gather, in_parts, body }))))
    }

    fn state(&mut self, position: &str) -> Node {
        let id = SearchId(self.searches.len() as u32);
        self.searches.push(Sought { position: position.into(), plan: String::new() });
        self.states.push(id);
        Node::State(id)
    }

    fn nest(&mut self, rest: &str, depth: usize) -> Result<Option<Node>> {
        let Some((var, rest)) = rest.split_once(" in ") else { return Ok(None) };
        let Some((text, parallel)) = on_threads(rest) else { return Ok(None) };
        let Some(range) = Range::parse(text)? else { return Ok(None) };
        let outer = self.states.len();
        let setup = self.setup(depth);
        let mut skipped = None;
        if let Some(line) = self.peek(depth + 1)
            && let Some(rest) = line.strip_prefix("skip unless ")
        {
            self.at += 1;
            skipped = Some(skip(rest)?.ok_or_else(|| wrong(line, "no guard of tiles"))?);
        }
        let body = self.block(depth + 1)?;
        self.states.truncate(outer);
        let var = Name::from(var);
        let l = Loop { var, range, parallel, setup, skip: skipped, body };
        Ok(Some(Node::For(Box::new(l))))
    }

    /// `p to q in 0..P by i = row(p)`
    fn groups(&mut self, rest: &str, depth: usize) -> Result<Option<Node>> {
        let Some((rest, parallel)) = on_threads(rest) else { return Ok(None) };
        let Some((positions, by)) = rest.split_once(" by ") else { return Ok(None) };
        let Some((ends, range)) = ranged(positions)? else { return Ok(None) };
        let Some((first, end)) = ends.split_once(" to ") else { return Ok(None) };
        let read = |text: &str| match text.split_once(" = ") {
            Some((var, value)) => parse::affine(value).map(|value| (Name::from(var), value)),
            None => Err(wrong(text, "no value is read")),
        };
        let by = split(by, ", ").into_iter().map(read).collect::<Result<Vec<_>>>()?;
        let outer = self.states.len();
        let setup = self.setup(depth);
        let body = self.block(depth + 1)?;
        self.states.truncate(outer);
        let (first, end) = (first.into(), end.into());
        let groups = Groups { first, end, range, by, parallel, setup, body };
        Ok(Some(Node::Groups(Box::new(groups))))
    }

    fn search(&mut self, rest: &str, depth: usize) -> Result<Option<Node>> {
        let Some((what, plan)) = rest.split_once(" : ") else { return Ok(None) };
        let (what, conditions) = match what.split_once(" where ") {
            Some((what, conditions)) => (what, tests(conditions)?),
            None => (what, Vec::new()),
        };
        let (var, among) = match (what.split_once(" in "), what.split_once(" = ")) {
            (Some((var, text)), _) => match Range::parse(text)? {
                Some(range) => (var, Among::Range(range)),
                None => return Ok(None),
            },
            (None, Some((var, e))) => (var, Among::One(parse::affine(e)?)),
            (None, None) => return Ok(None),
        };
        let var = Name::from(var);
        let state = self.states.iter().rev().find(|id| {
            let sought = &self.searches[id.index()];
            sought.position == var && sought.plan.is_empty()
        });
        let id = match state {
            Some(id) => *id,
            None => {
                let id = SearchId(self.searches.len() as u32);
                self.searches.push(Sought { position: var.clone(), plan: String::new() });
                id
            }
        };
        self.searches[id.index()].plan = plan.to_string();
        let found = self.block(depth + 1)?;
        Ok(Some(Node::Search(Box::new(Search { id, var, among, conditions, found }))))
    }
}

fn skip(rest: &str) -> Result<Option<Skip>> {
    let Some((what, continues)) = rest.split_once(" : ") else { return Ok(None) };
    let Some((what, conditions)) = what.split_once(" where ") else { return Ok(None) };
    let Some((var, text)) = what.split_once(" in ") else { return Ok(None) };
    let Some(range) = Range::parse(text)? else { return Ok(None) };
    let (conditions, continues) = (tests(conditions)?, parse::formula(continues)?);
    Ok(Some(Skip { var: var.into(), range, conditions, continues }))
}

/// A text, and how threads share it.
fn on_threads(text: &str) -> Option<(&str, Option<Threads>)> {
    match text.split_once(" on threads") {
        Some((text, "")) => Some((text, Some(Threads::Apart))),
        Some((text, " with private sums")) => Some((text, Some(Threads::Sums))),
        Some((text, " in parts")) => Some((text, Some(Threads::Parts))),
        Some(_) => None,
        None => Some((text, None)),
    }
}

/// `p to q in range where tests within r : region sought`
fn regions(text: &str) -> Result<Option<Regions>> {
    let Some((position, region)) = text.split_once(" : ") else { return Ok(None) };
    let (region, rises, is_sought) =
        match (region.strip_suffix(" sought"), region.strip_suffix(" rising")) {
            (Some(region), _) => (region, true, true),
            (None, Some(region)) => (region, true, false),
            (None, None) => (region, false, false),
        };
    let (position, within) = match position.split_once(" within ") {
        Some((position, within)) => (position, within.split(", ").map(Name::from).collect()),
        None => (position, Vec::new()),
    };
    let (position, tests) = match position.split_once(" where ") {
        Some((position, conditions)) => (position, tests(conditions)?),
        None => (position, Vec::new()),
    };
    let (Some((var, range)), Some(region)) = (ranged(position)?, Range::parse(region)?) else {
        return Ok(None);
    };
    let (var, end) = match var.split_once(" to ") {
        Some((var, end)) => (Name::from(var), Some(Name::from(end))),
        None => (var, None),
    };
    Ok(Some(Regions { var, end, range, tests, within, region, rises, is_sought }))
}

/// A conjunction of constraints, as it is printed.
fn tests(text: &str) -> Result<Vec<Constraint>> {
    let formula = parse::formula(text)?;
    formula.as_conjunction().ok_or_else(|| wrong(text, "no conjunction of constraints"))
}

/// `take l from a[e]`
fn take(line: &str) -> Result<Option<Node>> {
    let (rest, sums) = match (line.strip_prefix("take "), line.strip_prefix("add ")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return Ok(None),
    };
    let Some((name, from)) = rest.split_once(" from ") else { return Ok(None) };
    let Some(place) = place(from)? else { return Ok(None) };
    Ok(Some(Node::Take(Box::new(Take { name: name.into(), place, sums }))))
}

fn place(text: &str) -> Result<Option<Place>> {
    let Some((array, index)) = text.split_once('[') else { return Ok(None) };
    let Some(index) = index.strip_suffix(']') else { return Ok(None) };
    let parts = split(index, ", ");
    let index = parts.into_iter().map(parse::arith).collect::<Result<Vec<_>>>()?;
    Ok(Some(Place { array: array.into(), index }))
}

/// `v in range`
fn ranged(text: &str) -> Result<Option<(Name, Range)>> {
    let Some((var, range)) = text.split_once(" in ") else { return Ok(None) };
    Ok(Range::parse(range)?.map(|range| (var.into(), range)))
}
