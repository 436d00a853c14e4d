//! Appending: packing entries as they come, if they come in order.
//!
//! ```text
//! sort by (i, j); p0 = i; p1 = rank of (p0, j); pos(p0) = prefix count of p1; crd(p1) = j; val(p1)
//! ```
//! needs no sorting where entries come by rows, their columns rising: `j` and the value are pushed, and
//! `pos(i + 1)` becomes the number of entries so far. A kernel whose result has such a layout packs it
//! while it computes.
//!
//! Runs of equal values are appended as runs: one that begins where the last one ends, with its value, makes it
//! longer. Where runs cover all coordinates, so that only their ends are stored, what lies between is appended as
//! runs too.
//!
//! In: a [`Plan`]. Out: [`Appending`], if every position is a coordinate or numbered in the order of
//! coordinates. Blocks, padding, hash tables, other intervals and measures are not appended.

use super::covered;
use super::part::{Count, Covered, Level, Measured, Order, Part, Position, Role};
use super::plan::Plan;
use crate::check::property_follows;
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};
use crate::layout::{Layout, Property, PropertyKind};

/// What is pushed, level by level, when an entry comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Appending {
    /// The coordinates in the order in which entries are compared, most significant first; each once.
    pub order: Vec<usize>,
    /// Entries rise in so many of them; in the others they come in any order, none twice.
    pub ordered: usize,
    /// The numbered positions, outer ones first; values are pushed with the last.
    pub levels: Vec<Numbered>,
    /// Size parameters that count the positions of a level.
    pub counts: Vec<(Name, usize)>,
}

/// A position that is numbered in the order in which entries come.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    /// It is another position if one of so many coordinates of the order is another.
    pub prefix: usize,
    /// Arrays that get a coordinate for each position.
    pub coordinates: Vec<(Name, usize)>,
    /// Arrays that say where groups of positions begin and end.
    pub segments: Vec<(Name, Group)>,
    /// A position stands for a run of coordinates with one value: only in the last level.
    pub run: Option<Run>,
}

/// `begin(p) <= i < end(p)`
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The coordinate that runs, the last of the order.
    pub along: usize,
    /// Array of the first coordinate of each run; none if it begins where the one before it ends, or at 0.
    pub begin: Option<Name>,
    /// Array of the coordinate behind each run.
    pub end: Name,
}

/// What a group of positions belongs to.
#[derive(Clone, Debug, PartialEq)]
pub enum Group {
    /// To the tensor.
    Whole,
    /// To the position of the level before.
    Outer,
    /// To these coordinates: every combination has one.
    Coordinates(Vec<usize>),
}

impl Appending {
    /// The runs of the last level, if it stores runs.
    pub fn run(&self) -> Option<&Run> {
        self.levels.last()?.run.as_ref()
    }

    /// How many coordinates of the order have a segment for each combination, if those of an entry, its other
    /// coordinates and its value are all that is stored.
    pub fn grouped(&self) -> Option<usize> {
        let [Numbered { prefix, segments, run: None, .. }] = self.levels.as_slice() else {
            return None;
        };
        let [(_, Group::Coordinates(group))] = segments.as_slice() else { return None };
        let first = self.order.get(..group.len())? == group;
        (first && *prefix == self.order.len() && self.counts.is_empty()).then_some(group.len())
    }

    /// How entries that come in order are appended in `layout`; `None` if they are not.
    pub fn of(layout: &Layout) -> Option<Appending> {
        let plan = Plan::of(layout).ok()?;
        let [part] = plan.parts.as_slice() else { return None };
        // What is assembled may be any value.
        let constant = layout.value.constant.is_some();
        // Runs are verified when they are packed, since a position has several coordinates.
        let runs = part.levels.last().is_some_and(|level| level.interval.is_some());
        if constant
            || !part.chosen.is_empty()
            || plan.verify && !runs
            || part.fills_between()
            || part.open.iter().any(|open| !open.is_empty())
        {
            return None;
        }
        Reader { layout, part }.appending()
    }
}

struct Reader<'a> {
    layout: &'a Layout,
    part: &'a Part,
}

impl Reader<'_> {
    fn appending(&self) -> Option<Appending> {
        let part = self.part;
        let [piece] = part.pieces.as_slice() else { return None };
        let runs = part.levels.last().is_some_and(|level| level.interval.is_some());
        if piece.domain.is_some() || !part.measures.is_empty() && !runs || !part.cuts.is_empty() {
            return None;
        }
        let mut order: Vec<usize> = Vec::new();
        let mut levels = Vec::new();
        for (k, level) in part.levels.iter().enumerate() {
            let outer = match k {
                0 => None,
                _ => Some(&part.levels[k - 1]),
            };
            let last = k + 1 == part.levels.len();
            if !is_plain(level)
                || level.interval.is_some() && !last
                || !level.group.iter().all(|arg| self.is_group(arg, outer))
            {
                return None;
            }
            let grouped = level.group.iter().filter_map(|arg| self.determined(arg));
            let keys: Option<Vec<usize>> =
                piece.keys[k].iter().map(|form| self.coordinate(form)).collect();
            for coordinate in grouped.chain(keys?) {
                if order.contains(&coordinate) {
                    return None;
                }
                order.push(coordinate);
            }
            let run = match &level.interval {
                Some(_) => Some(self.run(level)?),
                None => None,
            };
            order.extend(run.as_ref().map(|run| run.along));
            levels.push(Numbered {
                prefix: order.len(),
                coordinates: Vec::new(),
                segments: Vec::new(),
                run,
            });
        }
        let rank = self.layout.rank();
        let known =
            |(_, p): &(Name, Position)| matches!(p, Position::Determined | Position::Numbered(_));
        if order.len() != rank || levels.is_empty() || !part.positions.iter().all(known) {
            return None;
        }
        for (name, role) in part.roles() {
            match role {
                Role::Key { level, key, args } => {
                    let position = Affine::var(part.levels[*level].position.clone());
                    let coordinate = self.coordinate(&piece.keys[*level][*key])?;
                    if *args != [position] {
                        return None;
                    }
                    levels[*level].coordinates.push((name.clone(), coordinate));
                }
                Role::Segments { level, args } => {
                    let group = self.group(args, *level)?;
                    levels[*level].segments.push((name.clone(), group));
                }
                Role::Measured(_) if runs => {}
                _ => return None,
            }
        }
        let mut counts = Vec::new();
        for (name, count) in &part.counts {
            match count {
                Count::Positions { level, offset: 0 } => counts.push((name.clone(), *level)),
                _ => return None,
            }
        }
        if let Some(every) = &part.covered
            && !self.covers(every, levels.last()?)
        {
            return None;
        }
        // A level without an array of its coordinates could not tell how many positions it has.
        let inner = levels.split_last().map(|(_, outer)| outer)?;
        if inner.iter().any(|level| level.coordinates.is_empty())
            || !self.values_are_last()
            || !self.arrays_end_with_positions(levels.last()?)
        {
            return None;
        }
        let by_order = |property: &Property| match (runs, property.kind) {
            (true, PropertyKind::Formula) => self.follows(&levels, property),
            _ => levels.iter().all(|level| keeps(level, property)),
        };
        if !self.layout.properties.iter().all(by_order) {
            return None;
        }
        let ordered = self.ordered(&levels);
        Some(Appending { order, ordered, levels, counts })
    }

    /// Whether a formula follows from how runs are appended: from the other properties, from that the first group
    /// begins at 0, and, if runs cover all, from that each group has some, of which the last one ends at the end.
    fn follows(&self, levels: &[Numbered], property: &Property) -> bool {
        let zero = |array: &Name| {
            let args = vec![Affine::zero(); self.layout.arrays[array].args.len()];
            Formula::eq(Affine::call(array.clone(), args), Affine::zero())
        };
        let segments = levels.iter().flat_map(|level| &level.segments);
        let mut known: Vec<Formula> = segments.map(|(array, _)| zero(array)).collect();
        if known.contains(&property.formula) {
            return true;
        }
        known.extend(self.every_group_is_covered(levels).into_iter().flatten());
        property_follows(self.layout, known, property)
    }

    /// That a group has runs, and that the last one ends with the last coordinate, if runs cover all.
    fn every_group_is_covered(&self, levels: &[Numbered]) -> Option<[Formula; 2]> {
        self.part.covered.as_ref()?;
        let level = levels.last()?;
        let (run, (segments, _)) = (level.run.as_ref()?, level.segments.first()?);
        let declared = &self.layout.arrays[segments];
        let one = || Affine::constant(1);
        let args: Vec<Affine> = declared.args.iter().cloned().map(Affine::var).collect();
        let (last, around) = args.split_last()?;
        let next: Vec<Affine> = around.iter().cloned().chain([last.clone() + one()]).collect();
        let extent = Affine::var(self.layout.extents()[run.along].clone());
        let premise = [declared.domain_at(&args), declared.domain_at(&next)].concat();
        let premise = premise.into_iter().map(Formula::Constraint);
        let premise = Formula::and(premise.chain([Formula::lt(Affine::zero(), extent.clone())]));
        let at = |args: Vec<Affine>| Affine::call(segments.clone(), args);
        let end = Affine::call(run.end.clone(), vec![at(next.clone()) - one()]);
        Some([
            premise.clone().implies(Formula::lt(at(args), at(next))),
            premise.implies(Formula::eq(end, extent)),
        ])
    }

    /// The run that a position of the last level is, if that is all that the relation says of its coordinate.
    fn run(&self, level: &Level) -> Option<Run> {
        let interval = level.interval.as_ref()?;
        // Of runs that cover all, what every piece says.
        let relation = &self.part.layout.relation;
        let (piece, least, greatest) = match (relation.pieces.as_slice(), &self.part.measures[..]) {
            ([piece], [least, greatest]) => (piece, Some(least), greatest),
            ([piece], [greatest]) if self.part.covered.is_some() => (piece, None, greatest),
            _ => return None,
        };
        let name = interval.along.as_var()?;
        let along = relation.coordinates.iter().position(|c| c == name)?;
        let i = Affine::var(name.clone());
        let position = Affine::var(level.position.clone());
        let array = |measured: &Measured| match measured {
            Measured::Element(call) if call.args == [position.clone()] => Some(call.clone()),
            _ => None,
        };
        let end = array(&greatest.what)?;
        let begin = match least {
            Some(least) if least.greatest || least.of != [i.clone()] => return None,
            Some(least) => Some(array(&least.what)?),
            None => None,
        };
        let next = i.clone() + Affine::constant(1);
        let size = Affine::var(self.layout.extents().get(along)?.clone());
        let mut says = vec![
            Affine::atom(Atom::Call(end.clone())) - next.clone(),
            i.clone(),
            size - next.clone(),
        ];
        says.extend(begin.iter().map(|begin| i.clone() - Affine::atom(Atom::Call(begin.clone()))));
        let plain = |c: &Constraint| c.relop == Relop::Ge && says.contains(&c.affine);
        let all = piece.iter().filter(|c| c.mentions(name)).all(plain);
        let extreme = greatest.greatest && greatest.of == [next];
        (all && interval.equal_values && extreme).then(|| Run {
            along,
            begin: begin.map(|begin| begin.array),
            end: end.array,
        })
    }

    /// Whether runs that cover all coordinates are those of one level, within all groups of coordinates or within
    /// each position of the level before, and nothing else is said of where they begin.
    fn covers(&self, covered: &Covered, last: &Numbered) -> bool {
        let (Some(run), [(segments, group)]) = (&last.run, last.segments.as_slice()) else {
            return false;
        };
        let every = match group {
            Group::Whole => covered.every == [run.along],
            Group::Outer => covered.every == [run.along],
            Group::Coordinates(around) => {
                let (own, around_it) = match covered.every.split_last() {
                    Some((own, around_it)) => (*own, around_it),
                    None => return false,
                };
                covered.some.is_empty() && own == run.along && around_it == around.as_slice()
            }
        };
        let level = self.part.levels.last();
        let args = self.part.roles().find_map(|(name, role)| match role {
            Role::Segments { args, .. } if name == segments => Some(args),
            _ => None,
        });
        match (level, args) {
            (Some(level), Some(args)) if every => {
                let along = &self.layout.relation.coordinates[run.along];
                covered::is_chain(self.layout, &level.position, (segments, args), &run.end, along)
            }
            _ => false,
        }
    }

    /// One value for each position of the last level.
    fn values_are_last(&self) -> bool {
        let last = self.part.levels.last().map(|level| level.position.clone());
        match self.layout.value.index.as_slice() {
            [index] => index.to_affine().ok().and_then(|a| a.as_var().cloned()) == last,
            _ => false,
        }
    }

    /// Whether the arrays of the last level have an element for each value, and no more.
    fn arrays_end_with_positions(&self, last: &Numbered) -> bool {
        let runs = last.run.iter().flat_map(|run| run.begin.iter().chain([&run.end]));
        let mut own = last.coordinates.iter().map(|(array, _)| array).chain(runs);
        own.all(|array| self.layout.arrays[array].len == self.layout.value.len)
    }

    /// Whether groups may be told apart by `arg`: a constant, a coordinate, or the position before.
    fn is_group(&self, arg: &Affine, outer: Option<&Level>) -> bool {
        let position = outer.map(|level| &level.position);
        arg.as_constant().is_some() || self.determined(arg).is_some() || arg.as_var() == position
    }

    /// The coordinate that a determined position is.
    fn determined(&self, arg: &Affine) -> Option<usize> {
        let name = arg.as_var()?;
        let at = self.part.positions.iter().position(|(n, _)| n == name)?;
        match self.part.positions[at].1 {
            Position::Determined => self.coordinate(self.part.pieces[0].positions[at].as_ref()?),
            _ => None,
        }
    }

    /// The coordinate that a form is everywhere.
    fn coordinate(&self, form: &super::inverse::Form) -> Option<usize> {
        let [(_, value)] = form.as_slice() else { return None };
        let name = value.as_var()?;
        self.layout.relation.coordinates.iter().position(|c| c == name)
    }

    fn group(&self, args: &[Affine], level: usize) -> Option<Group> {
        let coordinates: Option<Vec<usize>> = args.iter().map(|a| self.determined(a)).collect();
        match (args, coordinates) {
            ([arg], _) if arg.as_constant() == Some(0) => Some(Group::Whole),
            ([_, ..], Some(coordinates)) => Some(Group::Coordinates(coordinates)),
            ([arg], None) if level > 0 => {
                let outer = &self.part.levels[level - 1].position;
                (arg.as_var() == Some(outer)).then_some(Group::Outer)
            }
            _ => None,
        }
    }

    /// How many coordinates of the order the layout wants to rise: without the last level's, if no
    /// property orders them.
    fn ordered(&self, levels: &[Numbered]) -> usize {
        use PropertyKind::{Injective, Permutation};
        let rank = self.layout.rank();
        let Some((last, outer)) = levels.split_last() else { return rank };
        if last.run.is_some() {
            return rank;
        }
        let own = |name: &Name| last.coordinates.iter().any(|(array, _)| array == name);
        let free = self
            .layout
            .properties
            .iter()
            .filter(|p| p.arrays.iter().any(own))
            .all(|p| matches!(p.kind, Injective | Permutation | PropertyKind::Range));
        match free {
            true => outer.last().map_or(last.prefix - last.coordinates.len(), |l| l.prefix),
            false => rank,
        }
    }
}

/// Whether what a property says of the coordinates of a level holds of whatever entries come in order. Those of
/// several coordinates rise together; of them, only the first rises alone, and each may repeat.
fn keeps(level: &Numbered, property: &Property) -> bool {
    if let Some(run) = &level.run
        && run.begin.iter().chain([&run.end]).any(|own| property.arrays.contains(own))
    {
        return run_keeps(level, run, property);
    }
    let own = |name: &Name| level.coordinates.iter().position(|(array, _)| array == name);
    let at: Vec<Option<usize>> = property.arrays.iter().map(own).collect();
    if at.iter().all(Option::is_none) {
        return true;
    }
    let whole = level.prefix == level.coordinates.len();
    let within = |segments: &Name| level.segments.iter().any(|(array, _)| array == segments);
    if property.kind == PropertyKind::Range {
        return true;
    }
    if !property.segments.as_ref().map_or(whole, within) {
        return false;
    }
    let is_all = at.len() == level.coordinates.len();
    let in_order = at.iter().enumerate().all(|(k, own)| *own == Some(k));
    match property.kind {
        PropertyKind::Injective => is_all,
        PropertyKind::Monotonic
        | PropertyKind::PeriodicMonotonic
        | PropertyKind::Lexicographic
        | PropertyKind::PeriodicLexicographic => {
            in_order && !property.decreasing && (is_all || !property.strict)
        }
        PropertyKind::Range
        | PropertyKind::Permutation
        | PropertyKind::Disjoint
        | PropertyKind::Probing
        | PropertyKind::Formula => false,
    }
}

/// Whether what a property says of runs holds of those that come in order and lie apart.
fn run_keeps(level: &Numbered, run: &Run, property: &Property) -> bool {
    let within = match &property.segments {
        Some(segments) => level.segments.iter().any(|(array, _)| array == segments),
        None => level.prefix == 1,
    };
    match property.kind {
        PropertyKind::Range => true,
        PropertyKind::Disjoint => {
            within
                && !property.decreasing
                && run.begin.iter().chain([&run.end]).eq(&property.arrays)
                && run.begin.is_some()
        }
        PropertyKind::Monotonic | PropertyKind::PeriodicMonotonic => {
            within && property.arrays.len() == 1 && !property.decreasing
        }
        PropertyKind::Injective => within && property.arrays.len() == 1,
        PropertyKind::Lexicographic
        | PropertyKind::PeriodicLexicographic
        | PropertyKind::Permutation
        | PropertyKind::Probing
        | PropertyKind::Formula => false,
    }
}

/// Whether positions are numbered as entries come, one after the other.
fn is_plain(level: &Level) -> bool {
    level.by_count.is_none()
        && !level.each_entry
        && (!level.restarts || level.group.iter().all(|g| g.as_constant().is_some()))
        && level.first == 0
        && level.probed.is_none()
        && !level.complete
        && matches!(level.order, Order::Increasing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::shipped_level;

    fn of(text: &str) -> Option<Appending> {
        Appending::of(&Layout::named_for_rank(text, 2).unwrap())
    }

    #[test]
    fn rows_in_order_are_appended() {
        let csr = of("dense(i), compressed(j)").unwrap();
        assert_eq!((csr.order.as_slice(), csr.ordered), (&[0, 1][..], 2));
        let [level] = csr.levels.as_slice() else { panic!("{csr:?}") };
        assert_eq!(level.segments[0].1, Group::Coordinates(vec![0]));
        let by_columns = of("[i,j] dense(j), compressed(i)").unwrap();
        assert_eq!(by_columns.order, [1, 0]);
        let fibers = of("compressed(i), compressed(j)").unwrap();
        assert_eq!(fibers.levels.len(), 2);
        assert_eq!(fibers.levels[0].segments[0].1, Group::Whole);
        assert_eq!(fibers.levels[1].segments[0].1, Group::Outer);
    }

    #[test]
    fn what_a_layout_says_of_its_arrays_holds_of_all_that_is_appended() {
        for (text, appended) in [
            ("coo", true),
            ("dense(i), compressed(j, ordered=false)", true),
            ("compressed(i, unique=false), singleton(j)", true),
            // Entries of one row would store it twice.
            ("compressed(i), singleton(j)", false),
            ("compressed(i), singleton(j, unique=false)", false),
            ("compressed(i, ordered=false), singleton(j, unique=false)", false),
        ] {
            assert_eq!(of(text).is_some(), appended, "{text}");
        }
    }

    #[test]
    fn runs_of_equal_values_are_appended() {
        let rows = of("Dense(SparseRunList(Element(0.0)))").unwrap();
        assert_eq!((rows.order.as_slice(), rows.ordered), (&[1, 0][..], 2));
        let run = rows.levels[0].run.as_ref().unwrap();
        assert_eq!((run.along, run.begin.as_deref(), &*run.end), (0, Some("left1"), "right1"));
        let whole = Appending::of(&Layout::named_for_rank("run-length", 1).unwrap()).unwrap();
        assert!(whole.levels[0].run.is_some());
        // Blocks with values of their own, and a single interval, are not.
        for text in ["SparseBlockList", "SparseInterval"] {
            assert_eq!(of(&format!("Dense({text}(Element(0.0)))")), None, "{text}");
        }
    }

    #[test]
    fn runs_that_cover_all_are_appended() {
        for (text, group) in [
            ("Dense(RunList(Element(0.0)))", Group::Coordinates(vec![1])),
            ("SparseList(RunList(Element(0.0)))", Group::Outer),
        ] {
            let rows = of(text).unwrap_or_else(|| panic!("{text}"));
            let last = rows.levels.last().unwrap();
            let run = last.run.as_ref().unwrap();
            assert_eq!((run.along, run.begin.as_ref(), &*run.end), (0, None, "right1"), "{text}");
            assert_eq!(last.segments[0].1, group, "{text}");
        }
        let vector = Layout::named_for_rank("RunList(Element(0.0))", 1).unwrap();
        assert_eq!(Appending::of(&vector).unwrap().levels[0].segments[0].1, Group::Whole);
    }

    #[test]
    fn runs_that_cover_but_for_a_gap_are_not_appended() {
        let shipped = shipped_level("RunList").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let is_appended = |of: &str, instead: &str| {
            assert!(shipped.contains(of), "{of}");
            let path = folder.path().join("Chained.toml");
            std::fs::write(&path, shipped.replacen(of, instead, 1)).unwrap();
            let text = format!("[i,j] dense(j), {}(i)", path.display());
            Appending::of(&Layout::named_for_rank(&text, 2).unwrap()).is_some()
        };
        assert!(is_appended("RunList", "Chained"));
        for (of, instead) in [
            ("0 <= i < right(q) ;", "1 <= i < right(q) ;"),
            ("right(q - 1) <= i", "right(q - 1) + 1 <= i"),
            ("right(q - 1) <= i", "right(q - 1) < i"),
        ] {
            assert!(!is_appended(of, instead), "{instead}");
        }
    }

    #[test]
    fn blocks_tables_and_dense_layouts_are_not_appended() {
        assert_eq!(of("coo").unwrap().levels[0].coordinates.len(), 2);
        for text in ["bcsr(2,2)", "dense", "hashed(i), compressed(j)", "ell", "dia"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
