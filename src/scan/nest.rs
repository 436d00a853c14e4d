//! The loop nest: one level per dimension of the space.
//!
//! ```text
//! nest  := ['if' guards] level* 'S'
//! level := bind ['if' guards] ['if' conditions]
//! bind  := 'let' var '=' affine | 'for' var 'in' range | 'find' var 'in' range 'where' conditions
//! ```
//! Guards compare what is known before the level's index arrays are read; conditions need them. A
//! loop with conditions is a *find*: it looks for positions, and synthesis may replace it.

use std::fmt;

use super::Range;
use crate::formula::{Affine, Call, Constraint, Formula, Name, conjunction};

/// How a level's variable gets its values.
#[derive(Clone, Debug, PartialEq)]
pub enum Bind {
    /// One value.
    Let(Affine),
    /// All values of the range, in order.
    Loop(Range),
}

/// One dimension of the space.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub var: Name,
    pub bind: Bind,
    /// Tested right after the variable is bound.
    pub guards: Vec<Constraint>,
    /// Non-conjunctive restrictions whose variables are all bound here.
    pub restrictions: Vec<Formula>,
    /// Index-array calls whose arguments are complete here, inner calls first.
    pub calls: Vec<Call>,
    /// Tested once those calls are read.
    pub conditions: Vec<Constraint>,
}

impl Level {
    /// A loop whose iterations are filtered by the values it reads.
    pub fn is_find(&self) -> bool {
        matches!(self.bind, Bind::Loop(_)) && self.filters()
    }

    /// Whether the values that are read say what of it counts.
    pub fn filters(&self) -> bool {
        !self.conditions.is_empty()
    }

    pub fn is_loop(&self) -> bool {
        matches!(self.bind, Bind::Loop(_))
    }

    /// Whether a name is among what the variable is bound to, or what is searched for.
    pub fn reads(&self, name: &Name) -> bool {
        let bound = match &self.bind {
            Bind::Let(value) => value.mentions(name),
            Bind::Loop(range) => range.mentions(name),
        };
        bound || self.conditions.iter().any(|c| c.mentions(name))
    }

    /// What is true once the variable is bound, as constraints: the `let` or the bounds.
    pub fn bound_constraints(&self) -> Vec<Constraint> {
        let v = Affine::var(self.var.clone());
        match &self.bind {
            Bind::Let(e) => vec![Constraint::eq(v, e.clone())],
            Bind::Loop(range) => range.of(&v),
        }
    }

    /// Everything the level establishes.
    pub fn constraints(&self) -> Vec<Constraint> {
        let mut out = self.bound_constraints();
        out.extend(self.guards.iter().chain(&self.conditions).cloned());
        out
    }
}

/// A loop of which iterations that follow each other and read the same are taken together.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouped {
    /// The level of the loop.
    pub level: usize,
    /// What they have in common: values that are read at its position.
    pub by: Vec<Name>,
    /// The first level that does something for each of them: what comes before it is done once for a group.
    pub end: usize,
}

/// A scanned space.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// Tested once, on parameters only.
    pub guards: Vec<Constraint>,
    /// Index-array calls that are constant during the kernel.
    pub calls: Vec<Call>,
    pub levels: Vec<Level>,
    /// What the declared properties say of the calls at hand; holds whenever the calls are in domain.
    pub assumptions: Vec<Constraint>,
    /// How its points are visited; it has the same, in the same order.
    pub grouped: Option<Grouped>,
}

impl Nest {
    /// The nest of a space without points: `for i in 0..0`, all other dimensions inside.
    pub fn nothing(dims: &[Name]) -> Nest {
        let zero = Affine::zero;
        let level = |(d, var): (usize, &Name)| Level {
            var: var.clone(),
            bind: match d {
                0 => Bind::Loop(Range { lower: vec![zero()], upper: vec![zero()] }),
                _ => Bind::Let(zero()),
            },
            guards: Vec::new(),
            restrictions: Vec::new(),
            calls: Vec::new(),
            conditions: Vec::new(),
        };
        let never = Constraint::lt(zero(), zero());
        Nest {
            guards: if dims.is_empty() { vec![never] } else { Vec::new() },
            calls: Vec::new(),
            levels: dims.iter().enumerate().map(level).collect(),
            assumptions: Vec::new(),
            grouped: None,
        }
    }

    /// True if the nest is evidently never entered.
    pub fn is_nothing(&self) -> bool {
        let empty = |l: &Level| match &l.bind {
            Bind::Loop(Range { lower, upper }) => {
                let ends = |e: &[Affine]| match e {
                    [one] => one.as_constant(),
                    _ => None,
                };
                matches!((ends(lower), ends(upper)), (Some(lo), Some(hi)) if hi <= lo)
            }
            Bind::Let(_) => false,
        };
        self.guards.iter().any(|g| g.as_bool() == Some(false))
            || self.levels.first().is_some_and(empty)
    }

    /// Everything that holds at the start of level `depth`, assumptions included.
    pub fn known_before(&self, depth: usize) -> Vec<Constraint> {
        let mut out = self.guards.clone();
        for level in &self.levels[..depth] {
            out.extend(level.constraints());
        }
        out
    }

    /// The levels before number `at` that decide something, innermost first: those that it reads, and what is read by
    /// those among them that something is read `through`.
    pub fn deciding(
        &self,
        at: usize,
        reads: impl Fn(&Name) -> bool,
        through: impl Fn(&Level) -> bool,
    ) -> Vec<&Level> {
        let mut out: Vec<&Level> = Vec::new();
        for level in self.levels[..at].iter().rev() {
            let read = |inner: &&Level| through(inner) && inner.reads(&level.var);
            if reads(&level.var) || out.iter().any(read) {
                out.push(level);
            }
        }
        out
    }

    /// So many levels decide what forms are.
    pub fn depth_of(&self, forms: &[Affine]) -> usize {
        let mut depth = 0;
        let mut needs = |n: &Name| depth = depth.max(self.level_of(n).map_or(0, |at| at + 1));
        forms.iter().for_each(|form| form.visit_vars(&mut needs));
        depth
    }

    /// The loop that threads may share: the outermost one, unless it is a search.
    pub fn shared(&self) -> Option<usize> {
        let outermost = self.levels.iter().position(|level| level.is_loop())?;
        (!self.levels[outermost].is_find()).then_some(outermost)
    }

    /// Iterations of the loop at a level, taken together. Positions are levels that are `searched`, and not just computed.
    pub fn grouped(
        &self,
        level: usize,
        by: Vec<Name>,
        searched: impl Fn(&Name) -> bool,
    ) -> Grouped {
        let grouped = Grouped { level, by, end: self.levels.len() };
        let does = |at: &usize| {
            let level = &self.levels[*at];
            let is_let = !level.is_loop();
            let tests = !level.guards.is_empty() || is_let && !level.conditions.is_empty();
            let search = level.is_find() || is_let && searched(&level.var);
            !(level.is_find() || is_let)
                || !level.restrictions.is_empty()
                || (tests || search)
                    && self.reads_entry(&grouped, &self.decided_in_group(*at, &grouped))
        };
        let end = (level + 1..self.levels.len()).find(does).unwrap_or(self.levels.len());
        Grouped { end, ..grouped }
    }

    /// Whether level number `at` is the same for all of a group, and is visited before they are.
    pub fn is_of_group(&self, at: usize, grouped: &Grouped) -> bool {
        grouped.by.contains(&self.levels[at].var)
            || (grouped.level + 1..grouped.end).contains(&at)
                && !self.reads_entry(grouped, &self.decided_in_group(at, grouped))
    }

    /// Whether the range of level number `at` is the same for all of a group, and is known before they are visited.
    pub fn is_range_of_group(&self, at: usize, grouped: &Grouped) -> bool {
        let Bind::Loop(range) = &self.levels[at].bind else { return false };
        let decided =
            self.deciding(at, |name| range.mentions(name), |l| !grouped.by.contains(&l.var));
        let known = |level: &&Level| self.level_of(&level.var).is_some_and(|at| at < grouped.end);
        !self.reads_entry(grouped, &decided) && decided.iter().all(known)
    }

    fn reads_entry(&self, grouped: &Grouped, decided: &[&Level]) -> bool {
        let position = &self.levels[grouped.level].var;
        decided.iter().any(|level| level.var == *position)
    }

    /// What level number `at` reads, but for what is read only by what a group has in common.
    fn decided_in_group(&self, at: usize, grouped: &Grouped) -> Vec<&Level> {
        let level = &self.levels[at];
        // What is tested there may be of other levels.
        let tested = |name: &Name| {
            let tests = level.guards.iter().chain(&level.conditions);
            level.reads(name) || tests.into_iter().any(|test| test.mentions(name))
        };
        self.deciding(at, tested, |l| !grouped.by.contains(&l.var))
    }

    pub fn level_of(&self, var: &str) -> Option<usize> {
        self.levels.iter().position(|l| &*l.var == var)
    }
}

impl fmt::Display for Nest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut depth = 0;
        if !self.guards.is_empty() {
            writeln!(f, "if {}", conjunction(&self.guards))?;
            depth += 1;
        }
        for level in &self.levels {
            let pad = "  ".repeat(depth);
            match &level.bind {
                Bind::Let(e) => writeln!(f, "{pad}let {} = {e}", level.var)?,
                Bind::Loop(range) => {
                    let word = if level.is_find() { "find" } else { "for" };
                    write!(f, "{pad}{word} {} in {range}", level.var)?;
                    if level.is_find() {
                        write!(f, " where {}", conjunction(&level.conditions))?;
                    }
                    writeln!(f)?;
                    depth += 1;
                }
            }
            let mut tests: Vec<String> = Vec::new();
            if !level.guards.is_empty() {
                tests.push(conjunction(&level.guards));
            }
            tests.extend(level.restrictions.iter().map(|r| format!("({r})")));
            if !level.is_find() && !level.conditions.is_empty() {
                tests.push(conjunction(&level.conditions));
            }
            if !tests.is_empty() {
                writeln!(f, "{}if {}", "  ".repeat(depth), tests.join(" and "))?;
                depth += 1;
            }
        }
        write!(f, "{}S", "  ".repeat(depth))
    }
}
