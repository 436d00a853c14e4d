//! How the entries of a part of a relation become positions, and positions index arrays.
//!
//! A part is one piece of the relation, or several that share their index arrays.

use std::fmt;

use indexmap::IndexMap;

use super::columns::function_name;
use super::free_numbers::Chosen;
use super::inverse::Form;
use crate::diagnostic::Diagnostic;
use crate::formula::{Affine, Atom, Call, Constraint, Name};
use crate::layout::Layout;

/// How to pack the entries of a part.
///
/// Each position is either a function of the coordinates, or numbered: the distinct keys (values
/// of index arrays that the coordinates determine) within a group of outer positions are sorted,
/// and the position is the rank. Each index array then holds keys, or says where groups begin.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The part by itself: its pieces, and the index arrays that they read.
    pub layout: Layout,
    /// Each physical dimension, in storage order.
    pub positions: Vec<(Name, Position)>,
    /// The numbered positions, outer ones first.
    pub levels: Vec<Level>,
    /// What each array holds; several things where a constant argument tells them apart.
    pub arrays: IndexMap<Name, Vec<Role>>,
    /// What is measured over the entries once they are numbered, in this order.
    pub measures: Vec<Measure>,
    /// Positions that cut the coordinates into intervals.
    pub cuts: Vec<Cut>,
    /// Parameters that packing counts.
    pub counts: IndexMap<Name, Count>,
    pub pieces: Vec<Forms>,
    /// For each piece, what the relation asks beyond what packing keeps: tested for every entry.
    pub open: Vec<Vec<Constraint>>,
    /// Every position has one coordinate.
    pub single_valued: bool,
    /// Where entries may leave no gaps.
    pub covered: Option<Covered>,
    /// Arrays that hold their own positions.
    pub chosen: Vec<Chosen>,
    /// Sizes that nothing in this part counts, with the refusals if no other does.
    pub uncounted: Vec<(Name, Box<Diagnostic>)>,
}

/// Where a position comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Position {
    /// A function of the coordinates, for each piece.
    Determined,
    /// The rank of level number …
    Numbered(usize),
    /// A function of coordinates and numbered positions.
    Tied(Affine),
    /// A function of coordinates and of index arrays that are measured.
    Aligned(Affine),
    /// The number of the interval of cut number … that holds the entry.
    Cut(usize),
}

/// A position that is numbered.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub position: Name,
    /// Before its keys, the numbering follows how many positions of that level each has, most first.
    pub by_count: Option<usize>,
    /// What its numbering is relative to; constants for the root.
    pub group: Vec<Affine>,
    /// Index-array calls whose values identify the position in its group, most significant first.
    pub keys: Vec<Call>,
    pub order: Order,
    /// Every entry gets a position of its own, so duplicates are kept.
    pub each_entry: bool,
    /// Numbers start again in each group.
    pub restarts: bool,
    /// The first number.
    pub first: i64,
    /// Exclusive bound of the numbers in sizes, if they have one.
    pub size: Option<Affine>,
    /// The key whose coordinate decides the slot of a hash table, if the position is one.
    pub probed: Option<usize>,
    /// A position stands for consecutive coordinates.
    pub interval: Option<Interval>,
    /// Every group has as many positions as `size` says: those without an entry get keys that
    /// the group does not use.
    pub complete: bool,
}

/// Which entries share the position of an interval: those whose values of `along` follow each
/// other without a gap.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub along: Affine,
    /// One value serves the whole interval, so only entries of equal values share it.
    pub equal_values: bool,
}

/// The dimensions along which a part needs every coordinate: those of its runs, and the dense ones between
/// them and the last dimension of which only some coordinates are stored. The others come first.
#[derive(Clone, Debug)]
pub(super) struct Covered {
    pub some: Vec<usize>,
    pub every: Vec<usize>,
}

/// A position whose intervals `start(p) .. start(p + 1)` hold several forms of each entry, or which stands for a
/// whole interval.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub position: Name,
    /// The size that counts the intervals.
    pub count: Name,
    pub start: Call,
    pub end: Call,
    /// Forms over coordinates and determined positions, all of them within the interval.
    pub along: Vec<Affine>,
    /// The coordinate of which an entry tells nothing but its interval.
    pub run: Option<usize>,
}

/// Something that the entries determine only together: an extreme of forms over coordinates,
/// positions and what is measured before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    pub what: Measured,
    pub of: Vec<Affine>,
    /// The greatest value of all forms, else the least.
    pub greatest: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Measured {
    /// An element of an index array, over the entries that have these arguments.
    Element(Call),
    /// The length of the segment that begins at this element.
    Length(Call),
    /// A size parameter.
    Size(Name),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Increasing,
    Decreasing,
    /// The order in which the entries are given.
    Given,
}

/// What an index array holds. `args` are over positions and coordinates.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    /// `f(args) <= p < f(args + 1)`
    Segments { level: usize, args: Vec<Affine> },
    /// `f(args) <= p`
    Starts { level: usize, args: Vec<Affine> },
    /// `p < f(args)`
    Ends { level: usize, args: Vec<Affine> },
    /// `p < f(args) + offset`, `p` starting again in each group.
    Counts { level: usize, args: Vec<Affine>, offset: i64 },
    /// The key of a numbered position.
    Key { level: usize, key: usize, args: Vec<Affine> },
    /// A function of the coordinates at determined positions.
    Function { args: Vec<Affine> },
    /// What measure number … gives: an element, or the sum of the lengths before.
    Measured(usize),
    /// Where the intervals of cut number … begin, and where the last ends.
    Borders(usize),
}

/// What a counted parameter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// All positions of a level, plus the offset.
    Positions { level: usize, offset: i64 },
    /// The positions of a level's largest group, plus the offset.
    LargestGroup { level: usize, offset: i64 },
    /// The slots that the largest hash table of a level needs.
    Slots { level: usize },
    /// What measure number … gives.
    Measured(usize),
    /// The intervals of cut number ….
    Intervals(usize),
}

/// The functions that one piece of the relation inverts to.
#[derive(Clone, Debug)]
pub(super) struct Forms {
    /// Where the coordinates have a position in this piece; `None`: everywhere.
    pub domain: Option<Vec<Vec<Constraint>>>,
    /// For each physical dimension that is determined.
    pub positions: Vec<Option<Form>>,
    /// For each level, each key.
    pub keys: Vec<Vec<Form>>,
    /// For each call of role [`Role::Function`].
    pub functions: IndexMap<Name, Form>,
}

/// What entries are sorted by.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SortKey {
    /// The key of a level.
    Key { level: usize, key: usize },
    /// How many positions of that level there are in the entry's group, most first.
    Count { level: usize },
    /// An expression over determined positions and coordinates.
    Expression(Affine),
}

impl Part {
    /// Whether values may be stored where no entry is: blocks, padding, dense dimensions, runs that cover all.
    pub fn fills(&self) -> bool {
        self.covered.is_some() || self.fills_between()
    }

    /// The same without runs that cover all.
    pub fn fills_between(&self) -> bool {
        let used = |n: &Name| {
            let mentions = |args: &[Affine]| args.iter().any(|a| a.mentions(n));
            self.levels.iter().any(|level| {
                mentions(&level.group) || level.keys.iter().any(|key| mentions(&key.args))
            })
        };
        // A dimension that no level is numbered within is dense; so is one of fixed size.
        let dense = self
            .positions
            .iter()
            .any(|(name, position)| *position == Position::Determined && !used(name));
        let padded = self.levels.iter().enumerate().any(|(k, level)| {
            let counted = self
                .counts
                .values()
                .any(|count| matches!(count, Count::Positions { level, .. } if *level == k));
            level.size.is_some() && !counted
        });
        let aligned = self.positions.iter().any(|(_, p)| matches!(p, Position::Aligned(_)));
        // Levels that are not numbered within each other store all their combinations.
        let crossed = (0..self.levels.len())
            .any(|a| (0..a).any(|b| !self.is_within(a, b) && !self.is_within(b, a)));
        self.levels.is_empty() || dense || padded || crossed || aligned
    }

    /// Whether level `inner` is numbered within `outer`, directly or not.
    fn is_within(&self, inner: usize, outer: usize) -> bool {
        self.levels[inner]
            .group
            .iter()
            .filter_map(|arg| self.numbered_in(arg))
            .any(|level| level == outer || self.is_within(level, outer))
    }

    /// The columns that bring the entries of a level's groups, and within them its keys, together.
    /// The second component is the number of columns that identify the group.
    pub(super) fn sort_keys(&self, level: usize) -> (Vec<SortKey>, usize) {
        self.keys_of(level, true)
    }

    /// As [`Part::sort_keys`]; without `counts` no order depends on how many positions there are.
    pub(super) fn keys_of(&self, level: usize, counts: bool) -> (Vec<SortKey>, usize) {
        let mut out: Vec<SortKey> = Vec::new();
        let this = &self.levels[level];
        for arg in &this.group {
            if arg.as_constant().is_some() {
                continue;
            }
            let numbered = self.numbered_in(arg);
            let more = match numbered {
                // Slots of a hash table are not in the order of what is hashed. (Numbers that start
                // again in each group need no order of the groups.)
                Some(outer) if self.levels[outer].probed.is_some() && !this.restarts => {
                    vec![SortKey::Expression(arg.clone())]
                }
                // The expression moves with the number.
                Some(outer) => self.keys_of(outer, counts).0,
                None => vec![SortKey::Expression(arg.clone())],
            };
            for key in more {
                if !out.contains(&key) {
                    out.push(key);
                }
            }
        }
        let group = out.len();
        let closed = this
            .group
            .iter()
            .any(|arg| self.numbered_in(arg).is_some_and(|outer| self.is_entry_level(outer)));
        if let (Some(level), true) = (this.by_count, counts) {
            out.push(SortKey::Count { level });
        }
        // Below a level with a position for each entry, nothing is left to sort.
        if !closed && this.order != Order::Given {
            out.extend((0..this.keys.len()).map(|key| SortKey::Key { level, key }));
        }
        if let Some(interval) = &this.interval {
            out.push(SortKey::Expression(interval.along.clone()));
        }
        (out, group)
    }

    /// Adds what is measured before everything else, or `late`; its number.
    pub(super) fn add_measure(&mut self, measure: Measure, late: bool) -> usize {
        if late {
            self.measures.push(measure);
            return self.measures.len() - 1;
        }
        self.measures.insert(0, measure);
        for role in self.arrays.values_mut().flatten() {
            if let Role::Measured(k) = role {
                *k += 1;
            }
        }
        for count in self.counts.values_mut() {
            if let Count::Measured(k) = count {
                *k += 1;
            }
        }
        0
    }

    /// Whether positions are only known when all entries are placed.
    pub(super) fn is_known_late(&self) -> bool {
        let aligned = |(_, p): &(Name, Position)| matches!(p, Position::Aligned(_));
        self.positions.iter().any(aligned) || self.has_equal_values()
    }

    /// Whether something is numbered within such a position.
    pub(super) fn numbers_late(&self) -> bool {
        let late: Vec<&Name> = self
            .positions
            .iter()
            .filter(|(_, p)| matches!(p, Position::Aligned(_)))
            .map(|(name, _)| name)
            .collect();
        let mentions = |args: &[Affine]| args.iter().any(|a| late.iter().any(|p| a.mentions(p)));
        self.levels
            .iter()
            .any(|level| mentions(&level.group) || level.keys.iter().any(|key| mentions(&key.args)))
    }

    /// Whether every entry has its own position here or in an outer level.
    pub(super) fn is_entry_level(&self, level: usize) -> bool {
        let this = &self.levels[level];
        this.each_entry
            || this
                .group
                .iter()
                .any(|arg| self.numbered_in(arg).is_some_and(|outer| self.is_entry_level(outer)))
    }

    /// Whether one value serves an interval of coordinates.
    pub(super) fn has_equal_values(&self) -> bool {
        self.levels.iter().any(|l| l.interval.as_ref().is_some_and(|i| i.equal_values))
            || self.has_runs()
    }

    /// Whether a position stands for a run that begins where the one before ends.
    pub(super) fn has_runs(&self) -> bool {
        self.cuts.iter().any(|cut| cut.run.is_some())
    }

    /// Every array with each of its roles.
    pub(super) fn roles(&self) -> impl Iterator<Item = (&Name, &Role)> {
        self.arrays.iter().flat_map(|(name, roles)| roles.iter().map(move |role| (name, role)))
    }

    /// The level whose position occurs in `arg`.
    pub(super) fn numbered_in(&self, arg: &Affine) -> Option<usize> {
        self.levels.iter().position(|level| arg.mentions(&level.position))
    }
}

/// `left(p0) = least i`
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Measured::Element(call) => write!(f, "{} = ", Atom::Call(call.clone()))?,
            Measured::Length(call) => write!(f, "{} = prefix sum of ", Atom::Call(call.clone()))?,
            Measured::Size(name) => write!(f, "{name} = ")?,
        }
        f.write_str(if self.greatest { "greatest " } else { "least " })?;
        f.write_str(&list(&self.of))
    }
}

fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|x| x.to_string()).collect();
    items.join(", ")
}

/// `e - d*floor(e/d)` as `e mod d`.
fn shown(value: &Affine) -> String {
    for (atom, c) in value.terms() {
        if let Atom::Floor(inner, d) = atom
            && *c == -*d
            && value.clone() + Affine::atom(atom.clone()) * *d == **inner
        {
            return match inner.as_atom() {
                Some(_) => format!("{inner} mod {d}"),
                None => format!("({inner}) mod {d}"),
            };
        }
    }
    value.to_string()
}

fn cases(form: &Form) -> String {
    match form.as_slice() {
        [(_, value)] => shown(value),
        several => {
            let parts = several.iter().map(|(condition, value)| {
                format!("{} if {}", shown(value), crate::formula::conjunction(condition))
            });
            parts.collect::<Vec<_>>().join(" else ")
        }
    }
}

impl Part {
    /// What is done, one statement each: `sort by (i, j)`, `pos(p0) = prefix count of p1`, …
    pub fn steps(&self) -> Vec<String> {
        let mut steps = Vec::new();
        for (k, forms) in self.pieces.iter().enumerate() {
            let mut piece = self.piece(forms, k == 0);
            if let (Some(domain), Some(first)) = (&forms.domain, piece.first_mut()) {
                let parts: Vec<String> =
                    domain.iter().map(|c| crate::formula::conjunction(c)).collect();
                *first = format!("where {}: {first}", parts.join(" or "));
            }
            steps.extend(piece);
        }
        steps
    }

    fn piece(&self, forms: &Forms, arrays: bool) -> Vec<String> {
        let key = |k: &SortKey| match k {
            SortKey::Key { level, key } => match self.levels[*level].order {
                Order::Decreasing => format!("-({})", cases(&forms.keys[*level][*key])),
                _ => cases(&forms.keys[*level][*key]),
            },
            SortKey::Count { level } => format!("-(count of {})", self.levels[*level].position),
            SortKey::Expression(e) => {
                let at = self.positions.iter().position(|(n, _)| e.as_var() == Some(n));
                match at.and_then(|k| forms.positions[k].as_ref()) {
                    Some(form) => cases(form),
                    None => e.to_string(),
                }
            }
        };
        let mut parts = Vec::new();
        let mut sorted: Vec<Vec<SortKey>> = Vec::new();
        for level in 0..self.levels.len() {
            let (keys, _) = self.sort_keys(level);
            match sorted.last_mut() {
                Some(last) if keys.starts_with(last) => *last = keys,
                _ => sorted.push(keys),
            }
        }
        for keys in sorted.iter().filter(|keys| !keys.is_empty()) {
            parts.push(format!("sort by ({})", list(keys.iter().map(key))));
        }
        for (k, (name, position)) in self.positions.iter().enumerate() {
            parts.push(match position {
                Position::Determined => {
                    format!(
                        "{name} = {}",
                        forms.positions[k].as_ref().map_or_else(String::new, cases)
                    )
                }
                Position::Tied(e) | Position::Aligned(e) => format!("{name} = {e}"),
                Position::Cut(k) => {
                    let Cut { along, run, .. } = &self.cuts[*k];
                    let of = match run {
                        Some(_) => "run of equal values along",
                        None => "block of entries that overlap in",
                    };
                    format!("{name} = {of} ({})", list(along))
                }
                Position::Numbered(level) => {
                    let this = &self.levels[*level];
                    let of = if this.each_entry {
                        "entry".to_string()
                    } else if let Some(interval) = &this.interval {
                        let values = if interval.equal_values { " of equal values" } else { "" };
                        format!("interval of {}{values}", interval.along)
                    } else {
                        let group = this.group.iter().filter(|g| g.as_constant().is_none());
                        let group = group.map(ToString::to_string);
                        format!("({})", list(group.chain(forms.keys[*level].iter().map(cases))))
                    };
                    let number = if this.probed.is_some() { "slot" } else { "rank" };
                    let within = match this.group.as_slice() {
                        group if this.restarts && !group.is_empty() => {
                            format!(" within ({})", list(group))
                        }
                        _ => String::new(),
                    };
                    format!("{name} = {number} of {of}{within}")
                }
            });
        }
        if arrays {
            for (name, role) in self.roles() {
                let place = |level: &usize| &self.levels[*level].position;
                parts.push(match role {
                    Role::Segments { level, args } => {
                        format!("{name}({}) = prefix count of {}", list(args), place(level))
                    }
                    Role::Starts { level, args } => {
                        format!("{name}({}) = first {}", list(args), place(level))
                    }
                    Role::Ends { level, args } => {
                        format!("{name}({}) = end of {}", list(args), place(level))
                    }
                    Role::Counts { level, args, .. } => {
                        format!("{name}({}) = count of {}", list(args), place(level))
                    }
                    Role::Key { level, key, args } => {
                        format!("{name}({}) = {}", list(args), cases(&forms.keys[*level][*key]))
                    }
                    Role::Function { args } => {
                        let call = function_name(name, args);
                        format!("{call} = {}", cases(&forms.functions[&call]))
                    }
                    // In the order in which they are measured, below.
                    Role::Measured(_) => continue,
                    Role::Borders(k) => {
                        format!("{name} = borders of {}", self.cuts[*k].position)
                    }
                });
            }
            parts.extend(self.measures.iter().map(ToString::to_string));
            for (name, count) in &self.counts {
                parts.push(match count {
                    Count::Positions { level, .. } => {
                        format!("{name} = count of {}", self.levels[*level].position)
                    }
                    Count::LargestGroup { level, .. } => {
                        format!("{name} = largest count of {}", self.levels[*level].position)
                    }
                    Count::Slots { level } => {
                        format!("{name} = slots of the largest {}", self.levels[*level].position)
                    }
                    Count::Measured(_) => continue,
                    Count::Intervals(k) => format!("{name} = count of {}", self.cuts[*k].position),
                });
            }
        }
        parts
    }
}
